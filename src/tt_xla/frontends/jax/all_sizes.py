"""A JAX function that serves all sizes of its arguments up to a capacity with one program.

``jax.jit`` compiles for each shape. ``for_all_sizes(f, "b, 784")`` traces ``f`` once, with ``b`` as a symbol, and
compiles it for powers of two; arguments are padded with zeros, and results are cut.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tt_xla.frontends.capacity.program import SymbolicProgram
from tt_xla.frontends.capacity.sizes import integer_value, step_capacity


def for_all_sizes(function: Callable[..., Any], *shapes: Any, half_steps: bool = False) -> Callable[..., Any]:
    """Returns a function that is compiled once for all sizes up to a capacity.

    Args:
        function: a function of arrays, and of trees of arrays, which JAX can trace.
        shapes: for each argument the shape of its arrays, such as ``"b, 3, h, w"``, as ``jax.export.symbolic_shape``
            takes it: letters are sizes that change from call to call, and are at least 1; the same letter is the same
            size everywhere. ``"..."`` stands for the rest of an array's own shape, and None for the whole.
        half_steps: whether capacities are also 1.5 times powers of two.

    Returns:
        The function. It is traced at its first call, and compiled once for each set of capacities.

    Raises:
        NoRuleError: at a call, if a primitive has no rule for the padding of its operands; it is an
            :class:`~tt_xla.errors.UnsupportedOpError`. Use ``jax.jit``, which compiles for each size.
        ValueError: at a call, if an argument does not have its shape.
    """
    return functools.wraps(function)(_ForAllSizes(function, shapes, half_steps=half_steps))


class _ForAllSizes:
    """See :func:`for_all_sizes`."""

    def __init__(self, function: Callable[..., Any], shapes: Sequence[Any], *, half_steps: bool) -> None:
        self._function, self._shapes, self._half_steps = function, shapes, half_steps
        self._traced: dict[Any, tuple[SymbolicProgram, list[Any], Any]] = {}
        self._compiled: dict[Any, Any] = {}

    def __call__(self, *args: Any) -> Any:
        leaves, structure = jax.tree.flatten(args)
        key = structure, tuple((np.ndim(leaf), jnp.result_type(leaf)) for leaf in leaves)
        if key not in self._traced:
            self._traced[key] = self._trace(args)
        program, specs, results = self._traced[key]
        values = _values(program, specs, leaves)
        capacities = {
            name: step_capacity(value + program.offsets.get(name, 0), half_steps=self._half_steps)
            for name, value in values.items()
        }
        padded = program.padded(capacities)
        chosen = key, tuple(capacities.values())
        if chosen not in self._compiled:
            self._compiled[chosen] = jax.jit(padded.__call__)
        arrays = [_padded(leaf, shape) for leaf, shape in zip(leaves, padded.shapes, strict=True)]
        lengths = [np.int32(values[name]) for name in program.symbols]
        found = self._compiled[chosen](*arrays, *lengths)
        cut = [
            array[tuple(slice(integer_value(size, values)) for size in shape)]
            for array, shape in zip(found, program.results, strict=True)
        ]
        return jax.tree.unflatten(results, cut)

    def _trace(self, args: Sequence[Any]) -> tuple[SymbolicProgram, list[Any], Any]:
        shapes = [*self._shapes, *[None] * (len(args) - len(self._shapes))]
        texts = jax.tree.map(lambda shape: "..." if shape is None else shape, shapes, is_leaf=lambda x: x is None)
        specs = jax.export.symbolic_args_specs(tuple(args), tuple(texts))
        structures: list[Any] = []

        def flat(*leaves: Any) -> list[Any]:
            results, structure = jax.tree.flatten(self._function(*jax.tree.unflatten(given, leaves)))
            structures[:] = [structure]
            return [jnp.asarray(result) for result in results]

        leaves, given = jax.tree.flatten(specs)
        program = SymbolicProgram(jax.make_jaxpr(flat)(*leaves))
        return program, leaves, structures[0]


def _values(program: SymbolicProgram, specs: Sequence[Any], leaves: Sequence[Any]) -> dict[str, int]:
    """Returns the values of the symbols in a call.

    Raises:
        ValueError: an argument does not have its shape.
    """
    values: dict[str, int] = {}
    for spec, leaf in zip(specs, leaves, strict=True):
        for size, number in zip(spec.shape, np.shape(leaf), strict=True):
            if str(size) in program.symbols:
                values.setdefault(str(size), number)
    for number, (spec, leaf) in enumerate(zip(specs, leaves, strict=True)):
        expected = tuple(integer_value(size, values) for size in spec.shape)
        if expected != np.shape(leaf):
            raise ValueError(
                f"Array {number} of the arguments has shape {np.shape(leaf)}; expected {expected}, by its shape "
                f"{tuple(map(str, spec.shape))} and the sizes {values} of the arrays before it."
            )
    return {name: values[name] for name in program.symbols}


def _padded(leaf: Any, shape: Sequence[int]) -> Any:
    """Returns an array with zeros behind its elements."""
    if np.shape(leaf) == tuple(shape):
        return leaf
    edges = [(0, capacity - size) for capacity, size in zip(shape, np.shape(leaf), strict=True)]
    return np.pad(np.asarray(leaf), edges)


__all__ = ["for_all_sizes"]
