"""Tracking of dimensions through reshapes and permutes, by the factors that these split, join and reorder.

A reshape of ``[B, H * D]`` to ``[B, H, D]`` splits a factor in two; one that joins dimensions gives a dimension of
several factors. Values at both ends of such a chain are then described by the same factors, in whatever order the
program states the ops.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from tt_xla.compiler.ttir.match import reshaped, transposed
from tt_xla.ir.base import shape
from tt_xla.ir.ttir.structure import PermuteOp, ReshapeOp, TypecastOp

VIEWS = (TypecastOp, ReshapeOp, PermuteOp)
"""Ops that keep a tensor's numbers."""


class Factor:
    """A part of a dimension, of ``size`` elements; after a split, ``parts`` holds its outer and inner factor."""

    __slots__ = ("parts", "size")

    def __init__(self, size: int) -> None:
        self.size = size
        self.parts: tuple[Factor, Factor] | None = None

    def leaves(self) -> list[Factor]:
        """Returns the factors that this one was split into, or the factor itself."""
        return [self] if self.parts is None else [leaf for part in self.parts for leaf in part.leaves()]

    def split(self, inner: int) -> tuple[Factor, Factor]:
        """Splits the factor into an outer one and an inner one of ``inner`` elements."""
        self.parts = Factor(self.size // inner), Factor(inner)
        return self.parts


Dims = list[list[Factor]]
"""The factors of each dimension, outermost first; a dimension of size 1 has none."""


def unsplit(sizes: Sequence[int]) -> Dims:
    """Returns dimensions of one factor each."""
    return [[Factor(size)] if size != 1 else [] for size in sizes]


def leaves(factors: Iterable[Factor]) -> list[Factor]:
    """Returns factors after later splits."""
    return [leaf for factor in factors for leaf in factor.leaves()]


def refined(dims: Dims) -> Dims:
    """Returns dimensions in terms of factors after later splits."""
    return [leaves(dim) for dim in dims]


def product(factors: Iterable[Factor]) -> int:
    """Returns the number of elements that factors stand for."""
    return math.prod(factor.size for factor in factors)


def regrouped(dims: Dims, sizes: Sequence[int]) -> Dims | None:
    """Returns the dimensions of a reshape's result; splits factors where the sizes demand it.

    Returns None where the sizes do not divide each other, as for [4, 6] and [8, 3].
    """
    flat = leaves(factor for dim in dims for factor in dim)
    if math.prod(sizes) != product(flat) or 0 in sizes:
        return None
    result: Dims = []
    for size in sizes:
        dimension: list[Factor] = []
        while size > 1:
            factor = flat.pop(0)
            if size % factor.size == 0:
                size //= factor.size
            elif factor.size % size == 0:
                factor, rest = factor.split(factor.size // size)
                flat.insert(0, rest)
                size = 1
            else:
                return None
            dimension.append(factor)
        result.append(dimension)
    return result


def permuted(dims: Dims, order: Sequence[int]) -> Dims:
    """Returns dimensions in another order."""
    return [dims[dim] for dim in order]


def _inverse(order: Sequence[int]) -> list[int]:
    """Returns the inverse of a permutation."""
    return sorted(range(len(order)), key=lambda place: order[place])


def before(op: Operation, dims: Dims) -> Dims | None:
    """Returns the dimensions of the operand of a reshape, permute or elementwise op, from those of its result."""
    if isinstance(op, ReshapeOp):
        return regrouped(dims, shape(op.input))
    if isinstance(op, PermuteOp):
        return permuted(dims, _inverse(op.permutation))
    return dims


def after(op: Operation, dims: Dims) -> Dims | None:
    """Returns the dimensions of the result of a reshape, permute or elementwise op, from those of its operand."""
    if isinstance(op, ReshapeOp):
        return regrouped(dims, shape(op.result))
    return permuted(dims, op.permutation) if isinstance(op, PermuteOp) else dims


def through(source: SSAValue, value: SSAValue, dims: Dims) -> Dims | None:
    """Returns the dimensions of ``value``, which reshapes, permutes and casts derived from ``source``.

    Args:
        source: Value at the start of the chain.
        value: Value at the end of the chain.
        dims: Dimensions of ``source``.

    Returns:
        None where other ops lie between the two values, or sizes do not divide each other.
    """
    ops: list[Operation] = []
    while value is not source:
        if not isinstance(value, OpResult) or not isinstance(value.op, VIEWS):
            return None
        ops.append(value.op)
        value = value.op.operands[0]
    current: Dims | None = dims
    for op in reversed(ops):
        current = after(op, current) if current is not None else None
    return current


def arranged(
    rewriter: PatternRewriter, op: Operation, value: SSAValue, dims: Dims, result_dims: Sequence[Sequence[Factor]]
) -> SSAValue:
    """Returns ``value`` rearranged to the dimensions ``result_dims``.

    Starts behind the reshapes and permutes that produced the value, where they keep its factors whole, so that a
    permute there and the one needed here become one. Inserts at most a reshape, a permute and a reshape before ``op``.

    Args:
        rewriter: Rewriter of the current pattern.
        op: Op that new ops are inserted before.
        value: Value to rearrange.
        dims: Factors of the value's dimensions.
        result_dims: Factors of the result's dimensions.
    """
    order = _flat(result_dims)
    start = value, dims
    while _flat(dims) != order:
        source = value.op if isinstance(value, OpResult) else None
        inner = _behind(source, dims) if isinstance(source, ReshapeOp | PermuteOp) else None
        if inner is None:
            value, dims = start
            break
        value, dims = inner
        if isinstance(source, PermuteOp):
            start = inner
    if _flat(dims) != order:
        value = _turned(rewriter, op, value, dims, order)
    return reshaped(rewriter, op, value, tuple(product(dim) for dim in result_dims))


def _flat(dims: Iterable[Iterable[Factor]]) -> list[Factor]:
    """Returns the factors of all dimensions in order."""
    return [factor for dim in dims for factor in dim]


def _behind(op: ReshapeOp | PermuteOp, dims: Dims) -> tuple[SSAValue, Dims] | None:
    """Returns an op's operand and its dimensions, or None where these would split a factor of the result."""
    inner = before(op, dims)
    if inner is not None and all(factor.parts is None for factor in _flat(dims)):
        return op.input, inner
    for factor in _flat(dims):
        factor.parts = None
    return None


def _turned(rewriter: PatternRewriter, op: Operation, value: SSAValue, dims: Dims, order: Sequence[Factor]) -> SSAValue:
    """Returns ``value`` with its factors in another order; dimensions of several factors are split first."""
    if any(len(dim) > 1 for dim in dims):
        dims = [[factor] for factor in _flat(dims)]
        value = reshaped(rewriter, op, value, tuple(product(dim) for dim in dims))
    ones = [place for place, dim in enumerate(dims) if not dim]
    turn = (*ones, *(dims.index([factor]) for factor in order))
    return transposed(rewriter, op, value, turn)
