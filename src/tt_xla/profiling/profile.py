"""Implements ``python -m tracy`` and ``tt-xla profile``: runs a script and writes the files of a card's profiler."""

from __future__ import annotations

import functools
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tt_xla.errors import OptionError
from tt_xla.profiling.chrome_trace import write_trace
from tt_xla.profiling.device_time import Kernel, kernels
from tt_xla.profiling.ops_csv import DEVICE_LOG_NAME, write_device_log, write_ops
from tt_xla.profiling.recording import Recording, Signpost
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


@dataclass(frozen=True)
class Contents:
    """The contents of a profile's files."""

    kernel_calls: Mapping[int, Sequence[Kernel]]
    """The kernel calls of each device, by its number."""
    signposts: Sequence[Signpost]
    write_trace: Callable[[Path], None]
    """Writes the timeline to a path."""
    error: str
    """Error that ended the script early; empty if none did."""
    done: str
    """A description of what the script did until then."""


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
        synchronised: Whether the timeline shows the device's kernels on the host's clock.
        report, name, keep_partial: As for :func:`write_profile`.

    Raises:
        OptionError: The script does not exist, or the name has a slash.
        OutputError: The folder cannot be created.
    """

    def contents() -> Contents:
        recording = run_recorded(script, arguments, as_module=as_module, functions=functions)
        calls = kernels(recording)
        trace = functools.partial(write_trace, recording=recording, kernel_calls=calls, synchronised=synchronised)
        return Contents({0: calls}, recording.signposts, trace, recording.error, describe(recording))

    return write_profile(folder, contents, report=report, name=name, keep_partial=keep_partial)


def write_profile(
    folder: Path, contents: Callable[[], Contents], *, report: bool, name: str, keep_partial: bool
) -> Profile:
    """Writes a profile.

    Args:
        folder: Output folder, which is created before the script runs.
        contents: Runs the script and returns what the files show.
        report: Whether to write the table of ops too.
        name: Part of the names of folders and files.
        keep_partial: Whether to write the report of a script that failed.

    Raises:
        OptionError: The name has a slash.
        OutputError: The folder cannot be created.
    """
    if "/" in name:
        raise OptionError(
            f"The name '{name}' contains a slash.", hint="Give a name without slashes; it becomes part of file names."
        )
    stamp = time.strftime("%Y_%m_%d_%H_%M_%S")
    logs = create_folder(folder / ".logs")
    shown = contents()
    write_device_log(logs / DEVICE_LOG_NAME, shown.kernel_calls)
    shown.write_trace(logs / TRACE_NAME)
    if not report or (shown.error and not keep_partial):
        return Profile(logs, None, sum(map(len, shown.kernel_calls.values())), shown.error)
    target = create_folder(unused_folder(folder / "reports" / name / stamp))
    for log in (DEVICE_LOG_NAME, TRACE_NAME):
        shutil.copyfile(logs / log, target / log)
    path = target / f"ops_perf_results_{f'{name}_' if name else ''}{target.name}.csv"
    count = write_ops(path, shown.signposts, shown.kernel_calls)
    if shown.error:
        (target / "PARTIAL.txt").write_text(
            f"The script ended early: {shown.error}\nThese files show what it did until then: {shown.done}.\n"
        )
    return Profile(target, path, count, shown.error)


def describe(recording: Recording) -> str:
    """Returns in words how much a recording holds."""
    return (
        f"{len(recording.runs)} runs of programs, {len(recording.optimizer_steps)} optimizer steps, "
        f"{len(recording.signposts)} signposts"
    )
