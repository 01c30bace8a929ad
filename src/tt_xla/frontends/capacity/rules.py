"""The table of rules, and the rules of elementwise primitives.

A rule gets the program's :class:`~.values.Padding`, the shapes and types of the results, the operands, and the
primitive's parameters; it returns the results. Primitives of operands without padding and of fixed sizes need no rule.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import jax
import numpy as np
from jax import lax
from jax.extend.core import Primitive

from tt_xla.frontends.capacity.values import Dim, NoRuleError, Padded, Padding, exact
from tt_xla.registry import Registry

Rule = Callable[..., Padded | Sequence[Padded]]

RULES: Registry[str, Rule] = Registry("rule for padding")
"""Rules by the names of primitives."""

rule = RULES.register
"""Decorator that registers ``rule(ctx, primitive, outs, *operands, **params)`` for primitives."""

_ELEMENTWISE = """
    abs add cbrt complex conj div exp exp2 expm1 imag integer_pow log log1p max min mul neg nextafter pow real rem
    rsqrt sign sqrt square sub acos acosh asin asinh atan atan2 atanh bessel_i0e bessel_i1e cos cosh digamma erf
    erf_inv erfc igamma igammac lgamma logistic regularized_incomplete_beta sin sinh tan tanh zeta and clz not or
    population_count shift_left shift_right_arithmetic shift_right_logical xor clamp eq ge gt is_finite le lt ne
    select_n ceil convert_element_type copy copy_p floor optimization_barrier reduce_precision round stop_gradient
"""

ELEMENTWISE = frozenset(_ELEMENTWISE.split())
"""Primitives each element of whose results depends on the same element of each operand, or on scalars."""

_KEEPS_NUMBERS = {"abs": abs, "neg": lambda number: -number, "copy": lambda number: number, "square": lambda n: n * n}
"""For primitives of one operand, what they make of a number in the ctx."""


@rule(*sorted(ELEMENTWISE))
def elementwise(ctx: Padding, primitive: Primitive, outs: Any, *operands: Padded, **params: Any) -> Any:
    if primitive.name == "optimization_barrier":
        results = primitive.bind(*(operand.array for operand in operands), **params)
        return [replace(operand, array=array) for array, operand in zip(results, operands, strict=True)]
    rank = max(len(operand.dims) for operand in operands)
    values = list(operands)
    dims: list[Dim] = [exact(1)] * rank
    for axis in range(rank):
        # JAX repeats scalars and dimensions of size 1.
        wide = [number for number, value in enumerate(values) if value.dims and value.dims[axis] != exact(1)]
        if wide:
            aligned = ctx.aligned([values[number] for number in wide], [[axis] * len(wide)])
            dims[axis] = aligned[0].dims[axis]
            for number, value in zip(wide, aligned, strict=True):
                values[number] = value
    result = primitive.bind(*(value.array for value in values), **params)
    uniform = frozenset(range(rank)).intersection(*(value.uniform | _single(value) for value in values if value.dims))
    return Padded(result, tuple(dims), _fill_of(primitive, values, outs[0].dtype), uniform)


@rule("bitcast_convert_type")
def bitcast_convert_type(ctx: Padding, primitive: Primitive, outs: Any, x: Padded, **params: Any) -> Padded:
    result = primitive.bind(x.array, **params)
    if result.ndim != len(x.dims):
        raise NoRuleError("The bits of an array become elements of another width.")
    return Padded(result, x.dims, None, x.uniform)


def _single(value: Padded) -> frozenset[int]:
    """Returns the axes of size 1."""
    return frozenset(axis for axis, dim in enumerate(value.dims) if dim == exact(1))


def _fill_of(primitive: Primitive, values: Sequence[Padded], dtype: Any) -> Any:
    """Returns what the padding of an elementwise result holds, if that can be told without computing anything."""
    if len(values) != 1 or values[0].fill is None:
        return None
    if primitive.name == "convert_element_type":
        return np.asarray(values[0].fill).astype(dtype).item() if np.dtype(dtype).kind in "fiub" else None
    known = _KEEPS_NUMBERS.get(primitive.name)
    return None if known is None or np.dtype(dtype).kind not in "fi" else known(values[0].fill)


def lowest(dtype: Any) -> Any:
    """Returns the least number of a type: -infinity for floats."""
    dtype = np.dtype(dtype)
    if jax.numpy.issubdtype(dtype, np.floating):
        return -np.inf
    return False if dtype == np.bool_ else np.iinfo(dtype).min


def greatest(dtype: Any) -> Any:
    """Returns the greatest number of a type: infinity for floats."""
    dtype = np.dtype(dtype)
    if jax.numpy.issubdtype(dtype, np.floating):
        return np.inf
    return True if dtype == np.bool_ else np.iinfo(dtype).max


def literal(array: Any) -> Padded:
    """Returns a number of the program."""
    return Padded(lax.asarray(array), ())


__all__ = ["ELEMENTWISE", "RULES", "Rule", "greatest", "literal", "lowest", "rule"]
