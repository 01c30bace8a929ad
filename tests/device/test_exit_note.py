"""A script in a terminal ends with the time that the chip is predicted to take."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
from dataclasses import dataclass

import pytest

from tt_xla.runtime.exit_note import EXIT_NOTE, ExitNote
from tt_xla.tools.cli import main

SCRIPT = """
import torch
x = torch.ones(4, 4, device="tt")
(x @ x).cpu()
"""


@dataclass
class Runs:
    busy_us: float
    runs: int
    system: str = "n150"


@dataclass
class Chip:
    status: Runs


@pytest.mark.quick
def test_the_chip_with_the_longest_time_counts():
    note = ExitNote()
    assert note.text() == ""
    chips = [Chip(Runs(0.0, 0)), Chip(Runs(67_410.0, 126)), Chip(Runs(80.0, 1))]
    for chip in [*chips, *chips]:
        note.add(chip)
    assert "Predicted on n150: 535 us a run of a program, in 126 runs." in note.text()


@pytest.mark.quick
def test_without_runs_nothing_is_said():
    note = ExitNote()
    note.add(Chip(Runs(0.0, 0)))
    assert note.text() == ""


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="the system has no pseudo-terminals")
def test_a_script_in_a_terminal_says_that_it_was_emulated():
    leader, follower = os.openpty()
    process = subprocess.Popen([sys.executable, "-c", SCRIPT], stdout=subprocess.DEVNULL, stderr=follower)
    os.close(follower)
    said = b""
    with contextlib.suppress(OSError):  # which Linux raises where all processes have closed the terminal
        while part := os.read(leader, 1 << 16):
            said += part
    os.close(leader)
    assert process.wait() == 0
    assert len(re.findall(rb"tt: emulated.*Predicted on n150: \d+ us a run of a program, in \d+ runs", said)) == 1


@pytest.mark.quick
def test_commands_show_predictions_themselves(monkeypatch):
    monkeypatch.setattr(EXIT_NOTE, "wanted", True)
    with pytest.raises(SystemExit):
        main(["--version"])
    assert not EXIT_NOTE.wanted
