"""Dimensions followed through reshapes and permutes, by the factors that those split, join and reorder.

A reshape that splits ``[B, H * D]`` into ``[B, H, D]`` splits a factor in two; one that joins dimensions gives a
dimension of several factors. A value at either end of such ops is then described in the same factors, whatever the
order in which a program states them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from tt_xla.compiler.rewriting import insert_before
from tt_xla.compiler.ttir.match import reshaped
from tt_xla.ir import shapes
from tt_xla.ir.base import shape, tensor, tensor_type
from tt_xla.ir.ttir.structure import PermuteOp, ReshapeOp, TypecastOp

VIEWS = (TypecastOp, ReshapeOp, PermuteOp)
"""What leaves a tensor's numbers as they are."""


class Factor:
    """A part of a dimension, of ``size`` elements; once split, the outer and inner one of its ``parts``."""

    __slots__ = ("parts", "size")

    def __init__(self, size: int) -> None:
        self.size = size
        self.parts: tuple[Factor, Factor] | None = None

    def leaves(self) -> list[Factor]:
        return [self] if self.parts is None else [leaf for part in self.parts for leaf in part.leaves()]

    def split(self, inner: int) -> tuple[Factor, Factor]:
        self.parts = Factor(self.size // inner), Factor(inner)
        return self.parts


Dims = list[list[Factor]]
"""The factors of each dimension, outermost first; a dimension of size 1 has none."""


def whole(sizes: Sequence[int]) -> Dims:
    """Each dimension as one factor."""
    return [[Factor(size)] if size != 1 else [] for size in sizes]


def leaves(factors: Iterable[Factor]) -> list[Factor]:
    """Factors as they are after later splits."""
    return [leaf for factor in factors for leaf in factor.leaves()]


def refined(dims: Dims) -> Dims:
    """Dimensions in factors as they are after later splits."""
    return [leaves(dim) for dim in dims]


def product(factors: Iterable[Factor]) -> int:
    return math.prod(factor.size for factor in factors)


def regrouped(dims: Dims, sizes: Sequence[int]) -> Dims | None:
    """The same elements in the same order as dimensions of other sizes; factors are split where that is needed.

    None where the sizes do not divide each other, as in [4, 6] and [8, 3].
    """
    flat = leaves(factor for dim in dims for factor in dim)
    if math.prod(sizes) != product(flat) or 0 in sizes:
        return None
    result: Dims = []
    for size in sizes:
        found: list[Factor] = []
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
            found.append(factor)
        result.append(found)
    return result


def permuted(dims: Dims, order: Sequence[int]) -> Dims:
    return [dims[dim] for dim in order]


def _inverse(order: Sequence[int]) -> list[int]:
    return sorted(range(len(order)), key=lambda place: order[place])


def before(op: Operation, dims: Dims) -> Dims | None:
    """The dimensions of the operand of a reshape, permute or elementwise op, from those of its result."""
    if isinstance(op, ReshapeOp):
        return regrouped(dims, shape(op.input))
    if isinstance(op, PermuteOp):
        return permuted(dims, _inverse(op.permutation))
    return dims


def after(op: Operation, dims: Dims) -> Dims | None:
    """The dimensions of the result of a reshape, permute or elementwise op, from those of its operand."""
    if isinstance(op, ReshapeOp):
        return regrouped(dims, shape(op.result))
    return permuted(dims, op.permutation) if isinstance(op, PermuteOp) else dims


def through(source: SSAValue, value: SSAValue, dims: Dims) -> Dims | None:
    """The dimensions of ``value``, which reshapes, permutes and casts made of ``source`` with dimensions ``dims``.

    None where it was made otherwise.
    """
    ops: list[Operation] = []
    while value is not source:
        if not isinstance(value, OpResult) or not isinstance(value.op, VIEWS):
            return None
        ops.append(value.op)
        value = value.op.operands[0]
    found: Dims | None = dims
    for op in reversed(ops):
        found = after(op, found) if found is not None else None
    return found


def arranged(
    rewriter: PatternRewriter, op: Operation, value: SSAValue, dims: Dims, wanted: Sequence[Sequence[Factor]]
) -> SSAValue:
    """``value``, whose dimensions have the factors ``dims``, with those of ``wanted``.

    Starts behind the reshapes and permutes that made it where they keep the factors whole, so that a permute there and
    one needed here become one. Inserts before ``op`` at most a reshape, a permute and a reshape.
    """
    order = _flat(wanted)
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
    return reshaped(rewriter, op, value, tuple(product(dim) for dim in wanted))


def _flat(dims: Iterable[Iterable[Factor]]) -> list[Factor]:
    return [factor for dim in dims for factor in dim]


def _behind(op: ReshapeOp | PermuteOp, dims: Dims) -> tuple[SSAValue, Dims] | None:
    """The operand of an op and its dimensions, unless those would split a factor of the result's."""
    found = before(op, dims)
    if found is not None and all(factor.parts is None for factor in _flat(dims)):
        return op.input, found
    for factor in _flat(dims):
        factor.parts = None
    return None


def _turned(rewriter: PatternRewriter, op: Operation, value: SSAValue, dims: Dims, order: Sequence[Factor]) -> SSAValue:
    """``value`` with its factors in another order; each is a dimension where some dimension has several."""
    if any(len(dim) > 1 for dim in dims):
        dims = [[factor] for factor in _flat(dims)]
        value = reshaped(rewriter, op, value, tuple(product(dim) for dim in dims))
    ones = [place for place, dim in enumerate(dims) if not dim]
    turn = (*ones, *(dims.index([factor]) for factor in order))
    if turn == tuple(range(len(turn))):
        return value
    type_ = tensor(shapes.permute(shape(value), turn), tensor_type(value).element_type)
    return insert_before(rewriter, op, PermuteOp, [value], type_, permutation=turn)
