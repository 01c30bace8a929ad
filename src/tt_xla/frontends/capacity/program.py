"""Programs with symbolic sizes, made for some capacities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np
from jax.extend.core import ClosedJaxpr

import tt_xla.frontends.capacity.control
import tt_xla.frontends.capacity.indexing
import tt_xla.frontends.capacity.movement
import tt_xla.frontends.capacity.reductions  # noqa: F401  the rules
from tt_xla.frontends.capacity.interpreter import evaluate, sizes_of
from tt_xla.frontends.capacity.sizes import Capacities, Size, offsets, symbols_of
from tt_xla.frontends.capacity.values import Padded, Padding, capacity_of


class SymbolicProgram:
    """A program whose sizes are symbols.

    Args:
        jaxpr: the program.

    Attributes:
        symbols: names of the symbols, in the order of the lengths that a padded function takes.
        offsets: greatest number that a size of the program adds to each symbol. Capacities hold these sizes too.
        shapes: shapes of the arguments.
        results: shapes of the results.
    """

    def __init__(self, jaxpr: ClosedJaxpr) -> None:
        self.jaxpr = jaxpr
        sizes = sizes_of(jaxpr)
        self.symbols = sorted(set[str]().union(*map(symbols_of, sizes)))
        self.offsets = offsets(sizes)
        self.shapes: list[Sequence[Size]] = [variable.aval.shape for variable in jaxpr.jaxpr.invars]
        self.results: list[Sequence[Size]] = [variable.aval.shape for variable in jaxpr.jaxpr.outvars]

    def padded(self, symbols: Mapping[str, int], replaced: Any = None) -> PaddedProgram:
        """Returns the program for some capacities of the symbols.

        Args:
            symbols: the capacities.
            replaced: replaces results of rules (:class:`~.values.Padding`).
        """
        return PaddedProgram(self, Capacities(symbols, self.offsets), replaced)


class PaddedProgram:
    """A program with symbolic sizes, for some capacities.

    Args:
        program: the program.
        capacities: the capacities.
        replaced: replaces results of rules (:class:`~.values.Padding`).

    Attributes:
        shapes: shapes of the arguments, with their padding.
        results: shapes of the results, with their padding.
    """

    def __init__(self, program: SymbolicProgram, capacities: Capacities, replaced: Any = None) -> None:
        self._program = program
        self._replaced = replaced
        self._capacities = capacities
        self.shapes = [tuple(capacities[size] for size in shape) for shape in program.shapes]
        self.results = [tuple(capacities[size] for size in shape) for shape in program.results]

    @property
    def arguments(self) -> list[jax.ShapeDtypeStruct]:
        """Shapes and types of the program's arguments, with their padding."""
        variables = self._program.jaxpr.jaxpr.invars
        return [
            jax.ShapeDtypeStruct(shape, variable.aval.dtype)
            for shape, variable in zip(self.shapes, variables, strict=True)
        ]

    def __call__(self, *arguments: Any) -> list[Any]:
        """Computes the program in a trace of JAX.

        Args:
            arguments: the program's arguments, padded with zeros at the end of each dimension to :attr:`shapes`, and
                then the value of each symbol, an integer array without dimensions.

        Returns:
            The results, padded with zeros to :attr:`results`.

        Raises:
            NoRuleError: a primitive has no rule for the padding of its operands.
        """
        count = len(self.shapes)
        lengths = [jax.lax.convert_element_type(length, np.int32) for length in arguments[count:]]
        ctx = Padding(self._capacities, dict(zip(self._program.symbols, lengths, strict=True)), self._replaced)
        operands = [
            Padded(array, ctx.dims(shape), 0)
            for array, shape in zip(arguments[:count], self._program.shapes, strict=True)
        ]
        results = evaluate(ctx, self._program.jaxpr, operands)
        padded = [
            ctx.filled(ctx.canonical(value, shape), 0)
            for value, shape in zip(results, self._program.results, strict=True)
        ]
        assert [np.shape(value.array) for value in padded] == [tuple(map(capacity_of, v.dims)) for v in padded]
        return [jax.numpy.asarray(value.array) for value in padded]


__all__ = ["PaddedProgram", "SymbolicProgram"]
