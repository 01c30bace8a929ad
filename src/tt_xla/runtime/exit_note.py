"""One line at the end of a script in a terminal: its programs ran in the emulation, and what the chip would have taken.

Seconds that a script prints itself are those of the emulation. The commands of ``tt-xla`` show predictions, so they
leave the line out, as do tests. Nothing is written to a file, a pipe or a notebook.
"""

from __future__ import annotations

import atexit
import os
import sys
from typing import Protocol

from tt_xla.environment import shows_progress


class Runs(Protocol):
    """Runs of a chip, with their predicted time."""

    system: str
    runs: int
    busy_us: float


class Chip(Protocol):
    """A chip that counts its runs."""

    @property
    def status(self) -> Runs: ...


class ExitNote:
    """The line, and the emulated chips that it sums up."""

    def __init__(self) -> None:
        self.wanted = True
        """False in a command that shows predictions itself."""
        self._chips: list[Chip] = []
        self._pid = 0

    def add(self, chip: Chip) -> None:
        """Has the line written at exit if this chip has run a program by then."""
        if self._pid != os.getpid():  # of a forked process, the runs before the fork are its parent's
            self._pid, self._chips = os.getpid(), []
            atexit.register(self._write)
        if all(chip is not other for other in self._chips):
            self._chips.append(chip)

    def text(self) -> str:
        """Returns the line, for the chip with the longest predicted time; empty if no program ran."""
        statuses = [chip.status for chip in self._chips]
        runs = max(statuses, key=lambda status: status.busy_us, default=None)
        if runs is None or not runs.runs:
            return ""
        return (
            f"tt: emulated, in this machine's time. Predicted on {runs.system}: {runs.busy_us / runs.runs:,.0f} us a "
            f"run of a program, in {runs.runs:,} runs. "
            "`tt-xla bench SCRIPT` shows where the time goes; TTXLA_PROGRESS=0 hides this line."
        )

    def _write(self) -> None:
        is_script = self.wanted and self._pid == os.getpid() and "pytest" not in sys.modules
        if is_script and shows_progress() and (text := self.text()):
            print(text, file=sys.stderr)


EXIT_NOTE = ExitNote()

__all__ = ["EXIT_NOTE", "ExitNote"]
