"""Runs the tests of each system of several chips in a process of its own: a process has the chips of one system."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.jax.multi_chip.conftest import SYSTEMS

FOLDER = Path(__file__).parent / "multi_chip"


@pytest.mark.nightly
@pytest.mark.parametrize(
    "folder", [pytest.param(folder, marks=[pytest.mark.nightly] * (folder != "n300")) for folder in SYSTEMS]
)
def test_a_system(folder):
    pytest.importorskip("tt_xla.frontends.jax.pjrt.trampoline", reason="the C part of the plugin is not built")
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n", "0", str(FOLDER / folder)],
        capture_output=True,
        text=True,
        env=os.environ | {"TTXLA_SYSTEM": SYSTEMS[folder]},
        timeout=500,
        check=False,
    )
    assert run.returncode == 0, run.stdout[-4000:]
