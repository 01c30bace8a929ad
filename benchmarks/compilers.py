"""Runs our compiler and upstream's on StableHLO files, each time in a fresh process, as a user has it.

Upstream's compiler is a Python script that takes ``--arch --level --json --out DIR FILE`` and prints
``compile_seconds``, the op counts, and the folder of its dumps (``--reference`` or TTXLA_REFERENCE_COMPILER). Both
compilers measure themselves with ``time.perf_counter``, which counts processor time where ``processor_time`` is set.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

import click

_UNCOUNTED = ("deallocate", "get_device")
_PROCESSOR_CLOCK = Path(__file__).resolve().parent / "processor_clock"

reference_option = click.option(
    "--reference",
    type=click.Path(path_type=Path, exists=True),
    default=lambda: os.environ.get(
        "TTXLA_REFERENCE_COMPILER",
        Path(__file__).resolve().parent.parent.parent / "shared" / "tools" / "reference_compile.py",
    ),
    help="Upstream's compiler.",
)


class CompilerFailed(click.ClickException):
    """A compiler ended with an error; the message has the end of its output."""


def run_json(command: list[str], *, processor_time: bool = False) -> dict[str, Any]:
    """Runs a command and returns the JSON object on the last line of its output.

    Args:
        command: a Python program and its arguments.
        processor_time: whether ``time.perf_counter`` counts processor time in the command's processes.

    Raises:
        CompilerFailed: the command failed.
    """
    environment = dict(os.environ)
    if processor_time:
        folders = (str(_PROCESSOR_CLOCK), environment.get("PYTHONPATH", ""))
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, folders))
    run = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if run.returncode:
        raise CompilerFailed(f"{' '.join(command)} failed:\n{(run.stdout + run.stderr)[-2000:]}")
    return json.loads(run.stdout.splitlines()[-1])


def ours(path: Path, level: str, arch: str, out: Path | None = None, *, processor_time: bool = False) -> dict[str, Any]:
    """Compiles a file with our compiler; ``out`` is the folder for its dumps."""
    command = [sys.executable, "-m", "tt_xla", "compile", str(path), "--level", level, "--arch", arch, "--json"]
    return run_json([*command, "--out", str(out)] if out is not None else command, processor_time=processor_time)


def theirs(
    reference: Path, path: Path, level: str, arch: str, out: Path, *, processor_time: bool = False
) -> dict[str, Any]:
    """Compiles a file with upstream's compiler."""
    command = [str(reference), "--arch", arch, "--level", level, "--json", "--out", str(out), str(path)]
    return run_json(command, processor_time=processor_time)


def count(ops: dict[str, int]) -> int:
    """Returns the number of ops that do something on the device, from the number of each TTNN op."""
    return sum(number for name, number in ops.items() if name.removeprefix("ttnn.") not in _UNCOUNTED)


def of_upstream(ratios: list[float]) -> str:
    """Returns the median and the worst of some ratios as text."""
    return f"median {statistics.median(ratios):.2f}, worst {max(ratios):.2f} times upstream's"
