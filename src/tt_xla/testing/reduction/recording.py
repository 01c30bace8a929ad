"""Runs a script, or a model of a loader, in a child process, and keeps the programs that it compiles.

Each program is in a folder before it is compiled, and the arguments of its first run before it runs, so a crash of the
process loses none.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tt_xla.environment import child_environment
from tt_xla.testing.child_processes import end_of, run_child, signal_name
from tt_xla.testing.divergence.runs import Array
from tt_xla.testing.reduction import recorder
from tt_xla.testing.reduction.api import program_of
from tt_xla.testing.reduction.trials import Program

_SHOWN_BYTES = 1500
"""Bytes at the end of a script's output that are shown if it ends with an error."""


@dataclass(frozen=True)
class Recorded:
    """A program that a script compiled.

    Attributes:
        name: its name and position.
        program: its StableHLO, and the arguments of its first run; random ones if it did not run.
        options: the compile options, as plain data.
    """

    name: str
    program: Program
    options: dict[str, Any]


@dataclass(frozen=True)
class Recording:
    """The programs of a script, and how it ended.

    Attributes:
        programs: the programs, in the order in which they were compiled.
        ending: why the script ended early; empty if it ended by itself.
        output: the end of its output.
    """

    programs: list[Recorded]
    ending: str
    output: str


def record(folder: Path, script: str, arguments: Sequence[str], limit: float, imports: Sequence[Path]) -> Recording:
    """Runs a script in a child process.

    Args:
        folder: an empty folder for its programs.
        script: path of the script, or :data:`.recorder.MODEL`.
        arguments: its command-line arguments.
        limit: seconds after which it is stopped.
        imports: Python files to run in the process before the script.
    """
    command = [sys.executable, "-m", recorder.__name__, str(folder), str(os.getpid())]
    command.append(os.pathsep.join(map(str, imports)))
    output = folder / "output"
    status = run_child([*command, script, *arguments], limit, output, env=child_environment({"TTXLA_CACHE": "off"}))
    ending = f"it took more than {limit:g} s" if status is None else signal_name(status) if status else ""
    programs = [_read(path) for path in sorted(folder.glob("*.mlir"))]
    return Recording(programs, ending, end_of(output, _SHOWN_BYTES))


def _read(path: Path) -> Recorded:
    text = path.read_text()
    name, options = json.loads(path.with_suffix(".json").read_text())
    try:
        with np.load(path.with_suffix(".npz")) as file:
            inputs: list[Array] | None = [file[key] for key in file.files]
    except (OSError, ValueError):
        inputs = None
    return Recorded(f"program {int(path.stem)}, {name}", program_of(text, inputs), options)
