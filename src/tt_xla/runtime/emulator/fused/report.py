"""The report of a fault in fused kernels: written to a file that can be sent, and logged once."""

from __future__ import annotations

import os
import platform
import subprocess
import tempfile
import time
import traceback
from collections.abc import Iterable
from pathlib import Path

import torch

import tt_xla
from tt_xla import options
from tt_xla.log import logger
from tt_xla.runtime.binding import Step
from tt_xla.runtime.emulator.fused.build import compiler, cpu_flags

_logged: set[str] = set()
"""Faults of this process that were logged."""


def report(error: Exception, doing: str, steps: Iterable[Step], source: str) -> None:
    """Logs a fault, the first time in this process, with the path of a file that says what is needed to repeat it.

    Args:
        error: the fault.
        doing: what failed, as in "compiling".
        steps: instructions of the program.
        source: the generated C++, as far as it was written.
    """
    fault = f"{doing}: {type(error).__name__}: {error}"
    if fault in _logged:
        return
    _logged.add(fault)
    path = _written(_text(error, doing, steps, source))
    logger().warning(
        "Fused kernels failed while %s; the program goes on without them, with the same results. %s",
        fault.rstrip("."),
        f"Please send {path} with your report." if path else "No report could be written.",
    )


def _text(error: Exception, doing: str, steps: Iterable[Step], source: str) -> str:
    said = error.stderr if isinstance(error, subprocess.CalledProcessError) else b""
    return "\n".join(
        [
            f"A fault in fused kernels while {doing}.",
            "",
            f"tt-xla {tt_xla.__version__}, torch {torch.__version__}, Python {platform.python_version()}",
            f"{platform.platform()}, {torch.get_num_threads()} threads",
            f"compiler {compiler()}, TTXLA_EMULATOR_CHAINS={options.emulator_chains()}",
            f"CPU {cpu_flags()}",
            "",
            "Traceback",
            *traceback.format_exception(error),
            "Output of the compiler",
            said.decode(errors="replace") if isinstance(said, bytes) else str(said),
            "Instructions",
            *map(_instruction, steps),
            "",
            "C++",
            source,
        ]
    )


def _instruction(step: Step) -> str:
    if step.context is None:
        return f"  {step.instruction.op}"
    specs = ", ".join(f"{spec.layout.dtype.value}{list(spec.shape)}" for spec in step.context.specs)
    return f"  {step.instruction.results} = {step.instruction.op}{step.inputs} {step.instruction.attributes} [{specs}]"


def _written(text: str) -> Path | None:
    """Writes the report into the cache directory, else into the one for temporary files."""
    name = f"fused-kernels-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}-{len(_logged)}.txt"
    for folder in (options.cache_directory() / "reports", Path(tempfile.gettempdir())):
        try:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
        except OSError:
            continue
        return folder / name
    return None
