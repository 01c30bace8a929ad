"""What ``python -m tracy`` and ``tt-xla profile`` do: run a script, and write what a profiler of a card would."""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tt_xla.errors import OptionError, OutputError
from tt_xla.profiling.chrome_trace import write_trace
from tt_xla.profiling.device_time import kernels
from tt_xla.profiling.ops_csv import DEVICE_LOG_NAME, write_device_log, write_ops
from tt_xla.profiling.recording import Recording
from tt_xla.profiling.scripts import run_recorded

DEFAULT_FOLDER = Path("generated/profiler")
TRACE_NAME = "tracy_profile_log_host.json"


@dataclass(frozen=True)
class Profile:
    """Where a profile lies, and how the script ended."""

    folder: Path
    """``.logs`` of the output folder, or ``reports/<timestamp>`` where a report was asked for."""
    csv: Path | None
    ops: int
    """Kernels and host fallbacks in the report."""
    error: str
    """Why the script ended early; then the files are partial."""


def profile(
    script: str,
    arguments: Sequence[str],
    folder: Path = DEFAULT_FOLDER,
    *,
    report: bool = True,
    as_module: bool = False,
    functions: bool = False,
    synchronised: bool = True,
    name: str = "",
    keep_partial: bool = True,
) -> Profile:
    """Runs ``script`` and writes its profile, also when it fails.

    Args:
        report: also write the table of ops.
        as_module: ``script`` is the name of a module.
        functions: also record Python functions of the script's folder.
        synchronised: put the device's kernels on the host's clock in the timeline.
        name: goes into the names of folders and files.
        keep_partial: write the report of a script that failed.

    Raises:
        OptionError: there is no such script, or the name has a slash.
        OutputError: the folder cannot be made.
    """
    if "/" in name:
        raise OptionError(f"The name '{name}' has a slash.", hint="Give a name without one; it becomes part of files.")
    stamp = time.strftime("%Y_%m_%d_%H_%M_%S")
    logs = _made(folder / ".logs")
    recording = run_recorded(script, arguments, as_module=as_module, functions=functions)
    found = kernels(recording)
    write_device_log(logs / DEVICE_LOG_NAME, recording, found)
    write_trace(logs / TRACE_NAME, recording, found, synchronised=synchronised)
    if not report or (recording.error and not keep_partial):
        return Profile(logs, None, len(found), recording.error)
    target = _made(_unused(folder / "reports" / name / stamp))
    for log in (DEVICE_LOG_NAME, TRACE_NAME):
        shutil.copyfile(logs / log, target / log)
    path = target / f"ops_perf_results_{f'{name}_' if name else ''}{target.name}.csv"
    count = write_ops(path, recording, found)
    if recording.error:
        (target / "PARTIAL.txt").write_text(_partial(recording))
    return Profile(target, path, count, recording.error)


def _partial(recording: Recording) -> str:
    return (
        f"The script ended early: {recording.error}\n"
        f"What is here was recorded before: {len(recording.runs)} runs of programs, "
        f"{len(recording.optimizer_steps)} optimizer steps, {len(recording.signposts)} signposts.\n"
    )


def _made(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(
            f"The folder '{folder}' cannot be made: {error.strerror}.", hint="Give another one with -o."
        ) from error
    return folder


def _unused(folder: Path) -> Path:
    """``folder``, or with a number behind its name where two profiles start in one second."""
    number, found = 1, folder
    while found.exists():
        number += 1
        found = folder.with_name(f"{folder.name}_{number}")
    return found
