"""The functions that the explorer's worker process runs, by name. The last argument receives lines about progress."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tt_xla.ir.program import Program
from tt_xla.tools.explorer import compiling, subjects
from tt_xla.tools.explorer.compiling import Progress
from tt_xla.tools.explorer.nodes import FunctionNodes
from tt_xla.tools.explorer.results import Accuracy, Compiled


def _load(path: Path, arguments: Sequence[str], progress: Progress) -> list[subjects.Subject]:
    progress(f"{'running' if subjects.is_script(path) else 'reading'} {path.name}")
    return subjects.subjects_of(path, arguments)


def _known(subject: subjects.Subject, arch: str, progress: Progress) -> Compiled | None:
    return compiling.known(subject, arch)


def _converted(stage: str, text: str | bytes, name: str, progress: Progress) -> list[FunctionNodes]:
    progress(f"reading the stage {stage}")
    return compiling.converted(stage, text, name)


def _executed(subject: subjects.Subject, program: Program, runtime: str, progress: Progress) -> Accuracy:
    from tt_xla.tools.explorer.running import run

    return run(subject, program, runtime, progress)


JOBS: Mapping[str, Callable[..., Any]] = {
    "load": _load,
    "known": _known,
    "compile": compiling.compiled,
    "convert": _converted,
    "execute": _executed,
}
