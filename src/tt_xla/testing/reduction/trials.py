"""Runs one program, in a process that may crash or hang meanwhile, and tells how that ended."""

from __future__ import annotations

import math
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tt_xla.compiler import compile_module, parse_module, read_module
from tt_xla.environment import selected_system
from tt_xla.errors import TTXLAError
from tt_xla.options import CompileOptions
from tt_xla.target import load_target
from tt_xla.testing.divergence.parts import Error, size_of
from tt_xla.testing.divergence.runs import Array, load, on_cpu
from tt_xla.testing.reduction.failures import Outcome


@dataclass(frozen=True)
class Program:
    """A module and its arguments.

    Attributes:
        text: text of the module.
        inputs: arrays of the declared shapes; 16-bit floats as float32.
    """

    text: str
    inputs: tuple[Array, ...]


@dataclass(frozen=True)
class Trial:
    """A program to run on the emulated card.

    Attributes:
        program: the program.
        options: compile options.
        compares: whether to compare its results with those of XLA on the CPU.
    """

    program: Program
    options: CompileOptions
    compares: bool = False

    def run(self, entered: Callable[[str], None]) -> Outcome:
        """Compiles and runs the program.

        Args:
            entered: called with each stage: ``read``, ``card``, ``reference``. An end of the process or a hang in
                another stage than ``card`` says nothing about the program on the card.
        """
        entered("read")
        try:
            module = read_module(self.program.text, trusted=True)
        except TTXLAError as error:
            return Outcome("unknown", _reason(error))
        target = load_target(selected_system())
        entered("card")
        started = time.perf_counter()
        try:
            compiled = compile_module(module, self.options, target)
            run = load(compiled)
            loaded = time.perf_counter()
            results = run(self.program.inputs)
        except Exception as error:
            return Outcome("error", _reason(error), cause=_reason(_cause_of(error)), details=traceback.format_exc())
        ended = time.perf_counter()
        outcome = Outcome("ran", "", loaded - started, ended - loaded, compiled.host_ops)
        if not self.compares:
            return outcome
        entered("reference")
        try:
            golden = on_cpu(parse_module(self.program.text), self.program.inputs)
        except Exception as error:
            return replace(outcome, ending="unknown", reason=_reason(error))
        difference, pcc = deviation(results, golden)
        return replace(outcome, difference=difference, pcc=pcc)


@dataclass(frozen=True)
class Reference:
    """A program to run with XLA on the CPU."""

    program: Program

    def run(self, entered: Callable[[str], None]) -> list[Array]:
        """Returns the results; see :meth:`Trial.run`."""
        entered("reference")
        return on_cpu(parse_module(self.program.text), self.program.inputs)


def deviation(actual: Sequence[Array], golden: Sequence[Array]) -> tuple[float, float]:
    """Returns the largest difference of two elements over the size of the expected result, and the least correlation.

    The size is the root mean square of the finite elements; 1 if all of them are zero. Two NaN are equal; a NaN on one
    side only, and another shape, differ by infinity.
    """
    if any(one.shape != other.shape for one, other in zip(actual, golden, strict=True)):
        return math.inf, math.nan
    pairs = [_without_common_nans(one, other) for one, other in zip(actual, golden, strict=True)]
    errors = [Error.of([one], [other]) for one, other in pairs]
    differences = [error.absolute / (size_of(other) or 1.0) for error, (_, other) in zip(errors, pairs, strict=True)]
    worst = math.inf if any(map(math.isnan, differences)) else max(differences, default=0.0)
    return worst, Error.of([one for one, _ in pairs], [other for _, other in pairs]).pcc


def _without_common_nans(one: Array, other: Array) -> tuple[Array, Array]:
    if other.dtype.kind not in "fc":
        return one, other
    kept = ~(np.isnan(one) & np.isnan(other))
    return one[kept], other[kept]


def _cause_of(error: BaseException) -> BaseException:
    """Returns the error that was raised first, of which others were raised in turn."""
    while error.__cause__ is not None:
        error = error.__cause__
    return error


def _reason(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


__all__ = ["Program", "Reference", "Trial", "deviation"]
