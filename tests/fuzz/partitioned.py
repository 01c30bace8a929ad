"""Judges a StableHLO module that is split over the chips of a board: beside XLA, and beside the same module unsplit."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tests.fuzz.cases import Difference
from tests.fuzz.judge import DEFAULT_NOISE, EXACT_NOISE, Judge, Module, arrays_of, defined, tensors_of
from tests.fuzz.values import is_float
from tt_xla.compiler import compile_module, parse_module
from tt_xla.compiler.sharding import localise
from tt_xla.ir.program import Program
from tt_xla.options import CompileOptions
from tt_xla.runtime import get_device
from tt_xla.target import load_target


@dataclass
class Partitioned:
    """A module with shardings, the same module for one chip, and its arguments.

    Attributes:
        source: Text of the module with shardings.
        plain: What it must compute.
        board: Name of the system that runs it.
        levels: Optimisation levels of exact and of default numerics.
        one_chip: Whether the plain module is compiled and judged too.
    """

    source: str
    plain: Module
    board: str
    levels: tuple[int, int] = (0, 2)
    one_chip: bool = False
    options: dict[str, Any] = field(default_factory=lambda: {})

    @property
    def text(self) -> str:
        return f"// for {self.board}, levels {self.levels}\n{self.source}\n// without shardings:\n{self.plain.text}"

    def check(self) -> Iterator[Difference]:
        """Yields the differences; see :meth:`tests.fuzz.cases.Subject.check`."""
        expected = self.plain.expected
        judge = Judge(self.plain, adds_zeros="unreduced" in self.source)  # some chips hold 0 of partial sums
        exact, default = self.levels
        results = self.run(numerics="exact", optimization_level=exact)
        bits = defined(self.plain.module)
        yield from judge.compare(f"{self.board}, exact at level {exact}", results, expected, bits, EXACT_NOISE)
        if any(is_float(value.dtype) or value.dtype.kind == "c" for value in expected):
            results = self.run(optimization_level=default)
            yield from judge.compare(f"{self.board}, level {default}", results, expected, None, DEFAULT_NOISE)
        if self.one_chip:
            yield from self.plain.check()

    @functools.cached_property
    def localised(self) -> Any:
        """The module of one chip; the module itself where it is for one chip."""
        module = parse_module(self.source)
        return localise(module, load_target(self.board).chips) or module

    def run(self, **options: Any) -> list[np.ndarray]:
        """Returns the results of the board."""
        target = load_target(self.board)
        program = compile_module(self.localised, CompileOptions.parse({**self.options, **options}), target)
        return ran(program, self.board, self.plain.inputs)


def ran(program: Program, board: str, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Returns the results of a program, as a file would hold it, on the chips of its mesh or on one chip."""
    executable = get_device(board).load(Program.from_bytes(program.to_bytes()))
    tensors = tensors_of(program, inputs)
    if program.mesh is None:
        return arrays_of(program, executable.run(tensors, [0] * len(tensors)))
    return arrays_of(program, executable.run_whole(tensors))
