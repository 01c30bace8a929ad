"""Implements ``tt-xla run``: runs programs from files on the emulated card and shows their results."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np

from tt_xla.ir.element_types import ElementType
from tt_xla.ir.program import Program
from tt_xla.options import CompileOptions
from tt_xla.testing.divergence.runs import Array, load, load_inputs, random_array
from tt_xla.tools.output import print_json, writing
from tt_xla.tools.programs import load_program
from tt_xla.tools.running import for_each

_SHOWN = 6
"""Number of elements of each result that are shown."""


@dataclass(frozen=True)
class Outcome:
    """A program that was run."""

    program: Program
    results: list[Array]
    """Its results; bfloat16 as float32."""
    seconds: float
    """Wall-clock time of the run on the emulated card."""


def run_file(path: Path, options: CompileOptions, inputs: Path | None = None, seed: int = 0) -> Outcome:
    """Runs the program in a file once, on the arguments of a ``.npz`` file or on random numbers.

    Raises:
        TTXLAError: the file holds no program, the arguments do not fit, or the program fails.
        OSError: a file cannot be read.
    """
    program = load_program(path, options)
    arguments = [
        (argument.global_shape or argument.shape, ElementType(argument.dtype)) for argument in program.arguments
    ]
    if inputs is None:
        generator = np.random.default_rng(seed)
        arrays = [random_array(generator, *argument) for argument in arguments]
    else:
        arrays = load_inputs(inputs, arguments)
    run = load(program)
    started = time.perf_counter()
    results = run(arrays)
    return Outcome(program, results, time.perf_counter() - started)


def run_files(
    programs: Sequence[Path],
    options: CompileOptions,
    inputs: Path | None,
    out: Path | None,
    seed: int,
    *,
    as_json: bool,
) -> bool:
    """Runs each file and shows its results; see ``tt-xla run --help``.

    Returns:
        Whether a file failed, which does not affect the others.
    """

    def work(path: Path) -> None:
        outcome = run_file(path, options, inputs, seed)
        if out is not None:
            with writing(out), out.open("wb") as file:
                np.savez(file, *outcome.results)
        if as_json:
            print_json(record(path, outcome))
        else:
            click.echo("\n".join(lines(path, outcome)))

    return for_each(programs, work)


def record(path: Path, outcome: Outcome) -> dict[str, Any]:
    """Returns the outcome of a run as plain data, with the first elements of each result."""
    program = outcome.program
    declared = zip(program.results, outcome.results, strict=True)
    return {
        "file": str(path),
        "arch": program.target,
        "predicted_device_us": program.predicted_device_us,
        "seconds": outcome.seconds,
        "results": [
            {"shape": list(array.shape), "dtype": result.dtype, "first": _first(array)} for result, array in declared
        ],
    }


def lines(path: Path, outcome: Outcome) -> list[str]:
    """Returns the lines that describe a run."""
    program = outcome.program
    head = (
        f"{path} on {program.target}: predicted device time {program.predicted_device_us:.1f} us, "
        f"{1e3 * outcome.seconds:.1f} ms on the emulated card"
    )
    rows = [
        f"  result {index}: {'x'.join(map(str, array.shape)) or 'scalar'} {result.dtype}, "
        f"first {' '.join(f'{value:.6g}' for value in _first(array))}"
        for index, (result, array) in enumerate(zip(program.results, outcome.results, strict=True))
    ]
    return [head, *rows]


def _first(array: Array) -> list[Any]:
    return np.asarray(array).reshape(-1)[:_SHOWN].tolist()
