"""Calls of our ``ttnn`` beside the real one: types of results, and which calls are refused."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tt_xla.codegen.mock import mock, ttnn_python
from tt_xla.environment import variable

SCRIPT = Path(__file__).with_name("calls.py")


def printed(python: str, environment: Mapping[str, str]) -> list[str]:
    """Returns the lines about calls that an interpreter prints."""
    code = f"import runpy; runpy.run_path({str(SCRIPT)!r}, run_name='__main__')"
    done = subprocess.run([python, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return [line for line in done.stdout.splitlines() if line.startswith("ttnn.")]


@pytest.mark.skipif(not variable("TTXLA_TTNN_PYTHON"), reason="TTXLA_TTNN_PYTHON names no interpreter with ttnn")
def test_results_have_tt_nns_types() -> None:
    real = mock(ttnn_python(), "p150")
    ours = printed(sys.executable, os.environ | {"TTXLA_SYSTEM": "p150"})
    assert len(ours) > 60
    assert ours == printed(str(real.python), real.environment)
