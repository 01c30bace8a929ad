"""Modules of one chip against the programs they come from: see ``programs.py`` for the table.

A process with eight CPU devices runs them (``run_programs.py``), as the number of devices holds for a whole process.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent


def outcomes(script: str, *arguments: str) -> dict[str, str]:
    """Runs a script of this folder; returns the error of each case, which is empty for those that passed."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("JAX_", "XLA_"))}
    process = subprocess.run(
        [sys.executable, str(FOLDER / script), *arguments],
        capture_output=True,
        text=True,
        timeout=900,
        env=environment,
        check=False,
    )
    assert process.returncode == 0, process.stderr[-4000:]
    return json.loads(process.stdout.strip().splitlines()[-1])


@pytest.mark.parametrize("part", [0, *(pytest.param(part, marks=pytest.mark.nightly) for part in range(1, 4))])
def test_chips_compute_what_one_device_does(part: int) -> None:
    failures = outcomes("run_programs.py", f"{part}/4")
    assert len(failures) > 10
    assert {name: error for name, error in failures.items() if error} == {}


@pytest.mark.parametrize("partitioner", ["shardy", pytest.param("gspmd", marks=pytest.mark.nightly)])
def test_chips_compute_what_jax_computes_on_them(partitioner: str) -> None:
    failures = outcomes("run_lowered.py", partitioner)
    assert len(failures) > 15
    assert {name: error for name, error in failures.items() if error} == {}


@pytest.mark.nightly
def test_partial_sums() -> None:
    failures = outcomes("run_partial_sums.py")
    assert len(failures) > 20
    assert {name: error for name, error in failures.items() if error} == {}
