"""Reports of faults in what makes the emulated card faster: each is written to a file and logged once."""

from __future__ import annotations

import functools
import os
import platform
import time
import traceback
from collections.abc import Callable, Iterable
from pathlib import Path

import torch

import tt_xla
from tt_xla import environment
from tt_xla.log import logger
from tt_xla.temporary import made_private, private_folder

_logged: set[str] = set()
"""Faults of this process that were logged."""


def report(error: Exception, *, name: str, failed: str, outcome: str, details: Callable[[], Iterable[str]]) -> None:
    """Logs a fault, the first time in this process, with the path of a file that says what is needed to repeat it.

    Args:
        error: the fault.
        name: what the name of the file begins with.
        failed: what failed, as in "Fused kernels failed while compiling".
        outcome: what happens instead.
        details: returns further lines of the file.
    """
    fault = f"{failed}: {type(error).__name__}: {error}".rstrip(".")
    if fault in _logged:
        return
    _logged.add(fault)
    heading = [
        f"{failed}.",
        "",
        f"tt-xla {tt_xla.__version__}, torch {torch.__version__}, Python {platform.python_version()}",
        f"{platform.platform()}, {torch.get_num_threads()} threads",
        f"CPU {cpu_flags()}",
    ]
    lines = [*heading, "", "Traceback", *traceback.format_exception(error), *details()]
    path = _written(f"{name}-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}-{len(_logged)}.txt", "\n".join(lines))
    logger().warning(
        "%s; %s. %s",
        fault,
        outcome,
        f"Please send {path} with your report." if path else "No report could be written.",
    )


def forget() -> None:
    """Forgets which faults were logged, so that each is logged again."""
    _logged.clear()


@functools.cache
def cpu_flags() -> str:
    """Returns the line of the CPU's features, empty where the system does not tell."""
    return next((line for line in _cpu_lines() if line.startswith(("flags", "Features"))), "")


@functools.cache
def _cpu_lines() -> tuple[str, ...]:
    try:
        return tuple(Path("/proc/cpuinfo").read_text().splitlines())
    except OSError:
        return ()


def _written(name: str, text: str) -> Path | None:
    """Writes the report into the cache directory, else into the user's own folder of temporary files."""
    cached = environment.cache_directory() / "reports"
    for folder_of in (lambda: made_private(cached), lambda: private_folder("tt-xla")):
        try:
            path = folder_of() / name
            path.write_text(text)
        except OSError:
            continue
        return path
    return None
