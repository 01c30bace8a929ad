"""Without a private name of PyTorch, the part that needs it is off and says so; everything else goes on as before."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tt_xla.frontends.torch.private.names import PARTS

CHILD = Path(__file__).with_name("without_a_name.py")
NAMES = sorted((module, name) for module, part in PARTS.items() for name in part.names)


def _run(*arguments: str) -> tuple[dict[str, str], str]:
    """Runs the child. Returns what each of its steps printed, by the step's name, and its log."""
    done = subprocess.run(
        [sys.executable, str(CHILD), *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"TTXLA_CACHE": "off", "TTXLA_SYSTEM": "n300"},
    )
    assert done.returncode == 0, done.stderr
    return dict(line.split("\t", 1) for line in done.stdout.splitlines()), done.stderr


@pytest.fixture(scope="module")
def whole():
    """What the steps print with all names."""
    steps, log = _run()
    assert "private name" not in "".join(steps.values()) + log
    return steps


@pytest.mark.sample(3)
@pytest.mark.parametrize(("module", "name"), NAMES, ids=[f"{module}-{name}" for module, name in NAMES])
def test_without_a_name_its_part_alone_is_off(whole, module, name):
    steps, log = _run(module, name)
    off = {step: text for step, text in steps.items() if text != whole[step]}
    assert PARTS[module].off in "".join(off.values()) + log
    assert all("private name" in text for text in off.values())
    assert steps["import torch"] == whole["import torch"]
