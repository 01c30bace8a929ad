"""Implements ``python -m tracy`` and ``tt-xla profile``: runs a script and writes the files of a card's profiler."""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tt_xla.errors import OptionError
from tt_xla.profiling.chrome_trace import write_trace
from tt_xla.profiling.device_time import kernels
from tt_xla.profiling.ops_csv import DEVICE_LOG_NAME, write_device_log, write_ops
from tt_xla.profiling.recording import Recording
from tt_xla.profiling.scripts import run_recorded
from tt_xla.publish import create_folder, unused_folder

TRACE_NAME = "tracy_profile_log_host.json"


@dataclass(frozen=True)
class Profile:
    """Location of a profile, and how the script ended."""

    folder: Path
    """``.logs`` in the output folder, or ``reports/<timestamp>`` if there is a report."""
    csv: Path | None
    """The report's table of ops; None without a report."""
    ops: int
    """Number of kernels and host fallbacks."""
    error: str
    """Error that ended the script early, so that the files are partial; empty otherwise."""


def profile(
    script: str,
    arguments: Sequence[str],
    folder: Path,
    *,
    report: bool = True,
    as_module: bool = False,
    functions: bool = False,
    synchronised: bool = True,
    name: str = "",
    keep_partial: bool = True,
) -> Profile:
    """Runs a script and writes its profile, also if the script fails.

    Args:
        script, arguments, as_module, functions: As for :func:`.run_recorded`.
        folder: Output folder.
        report: Whether to write the table of ops too.
        synchronised: Whether the timeline shows the device's kernels on the host's clock.
        name: Part of the names of folders and files.
        keep_partial: Whether to write the report of a script that failed.

    Raises:
        OptionError: The script does not exist, or the name has a slash.
        OutputError: The folder cannot be created.
    """
    if "/" in name:
        raise OptionError(
            f"The name '{name}' contains a slash.", hint="Give a name without slashes; it becomes part of file names."
        )
    stamp = time.strftime("%Y_%m_%d_%H_%M_%S")
    logs = create_folder(folder / ".logs")
    recording = run_recorded(script, arguments, as_module=as_module, functions=functions)
    kernel_calls = kernels(recording)
    write_device_log(logs / DEVICE_LOG_NAME, recording, kernel_calls)
    write_trace(logs / TRACE_NAME, recording, kernel_calls, synchronised=synchronised)
    if not report or (recording.error and not keep_partial):
        return Profile(logs, None, len(kernel_calls), recording.error)
    target = create_folder(unused_folder(folder / "reports" / name / stamp))
    for log in (DEVICE_LOG_NAME, TRACE_NAME):
        shutil.copyfile(logs / log, target / log)
    path = target / f"ops_perf_results_{f'{name}_' if name else ''}{target.name}.csv"
    count = write_ops(path, recording, kernel_calls)
    if recording.error:
        (target / "PARTIAL.txt").write_text(_partial(recording))
    return Profile(target, path, count, recording.error)


def _partial(recording: Recording) -> str:
    return (
        f"The script ended early: {recording.error}\n"
        f"These files show what it did until then: {len(recording.runs)} runs of programs, "
        f"{len(recording.optimizer_steps)} optimizer steps, {len(recording.signposts)} signposts.\n"
    )
