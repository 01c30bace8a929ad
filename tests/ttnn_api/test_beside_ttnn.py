"""Calls of our ``ttnn`` beside the real one: types of results, and which calls are refused."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from tt_xla.codegen.mock import mock, ttnn_python
from tt_xla.environment import variable

FOLDER = Path(__file__).parent


def printed(script: str, python: str, environment: Mapping[str, str]) -> list[str]:
    """Returns the lines about calls that an interpreter prints."""
    code = f"import runpy; runpy.run_path({str(FOLDER / script)!r}, run_name='__main__')"
    with tempfile.TemporaryDirectory() as scratch:  # TT-NN writes files about the fabric there
        done = subprocess.run(
            [python, "-c", code], env=environment, cwd=scratch, capture_output=True, text=True, check=False
        )
    assert done.returncode == 0, done.stderr[-2000:]
    return [line for line in done.stdout.splitlines() if line.startswith("ttnn.")]


@pytest.mark.skipif(not variable("TTXLA_TTNN_PYTHON"), reason="TTXLA_TTNN_PYTHON names no interpreter with ttnn")
@pytest.mark.parametrize(("script", "system"), [("calls.py", "p150"), ("mesh_calls.py", "p150x4")])
def test_results_have_tt_nns_types(script: str, system: str) -> None:
    real = mock(ttnn_python(), system)
    ours = printed(script, sys.executable, os.environ | {"TTXLA_SYSTEM": system})
    assert len(ours) > 45
    assert ours == printed(script, str(real.python), real.environment)
