"""Slices whose place is computed while the program runs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import bf16
from xdsl.ir import SSAValue

from tt_xla.compiler.stablehlo.caches import update_slice
from tt_xla.compiler.stablehlo.context import ImportContext, converts
from tt_xla.compiler.stablehlo.creation import full
from tt_xla.compiler.stablehlo.elementwise import choose
from tt_xla.compiler.stablehlo.gather import line, rows_of, within
from tt_xla.compiler.stablehlo.structure import crop, permute, reshape, scalar_constant
from tt_xla.ir import ttir
from tt_xla.ir.base import shape, tensor, tensor_type
from tt_xla.ir.ttir.structure import BroadcastOp, ConcatOp


@converts("stablehlo.dynamic_slice")
def dynamic_slice(context: ImportContext, op: Any) -> SSAValue:
    """A static slice along dimensions whose start is known, rows by number along the others. Starts are clamped."""
    sizes = context.result_type(op).get_shape()
    value, *starts = context.operands(op)
    for dim, (start, size) in enumerate(zip(starts, sizes, strict=True)):
        limit = shape(value)[dim] - size
        known = 0 if limit == 0 else scalar_constant(start)
        if known is not None:
            begin = min(max(int(known), 0), limit)
            value = crop(context, value, dim, begin, begin + size)
        else:
            rows = _added(context, _clamped(context, start, limit, size), (size,))
            value = _take(context, value, dim, rows)
    return value


@converts("stablehlo.dynamic_update_slice")
def dynamic_update_slice(context: ImportContext, op: Any) -> SSAValue:
    """A write to a cache that is given up; concatenation of what stays and what is new where the place is known; else
    each element of the result chooses between the operand and the update."""
    context.result_type(op)
    operand, update, *starts = context.operands(op)
    dims = [dim for dim, size in enumerate(shape(update)) if size != shape(operand)[dim]]
    if not dims:
        return update
    if len(dims) == 1:
        written = update_slice(context, op.operands[0], update, starts[dims[0]], dims[0])
        if written is not None:
            return written
    known = [scalar_constant(starts[dim]) for dim in dims]
    if None not in known:
        limits = (shape(operand)[dim] - shape(update)[dim] for dim in dims)
        begins = [min(max(int(k or 0), 0), limit) for k, limit in zip(known, limits, strict=True)]
        return _replace_known(context, operand, update, list(zip(dims, begins, strict=True)))
    taken: SSAValue | None = None
    for dim in dims:
        update, here = _moved(context, update, starts[dim], dim, shape(operand)[dim])
        both = shape(operand)
        taken = here if taken is None else _both(context, taken, here, both)
    assert taken is not None
    return choose(context, taken, update, operand)


def _replace_known(
    context: ImportContext, operand: SSAValue, update: SSAValue, places: Sequence[tuple[int, int]]
) -> SSAValue:
    """``update`` in the place of a part of ``operand``; ``places`` are dimensions with where the part begins."""
    (dim, begin), *rest = places
    size, end = shape(operand)[dim], begin + shape(update)[dim]
    if rest:
        update = _replace_known(context, crop(context, operand, dim, begin, end), update, rest)
    parts = [update]
    if begin:
        parts.insert(0, crop(context, operand, dim, 0, begin))
    if end < size:
        parts.append(crop(context, operand, dim, end, size))
    made = ConcatOp.make([parts], [tensor_type(operand)], context.location, dim=dim)
    context.block.add_op(made)
    return made.results[0]


def _moved(context: ImportContext, update: SSAValue, start: SSAValue, dim: int, size: int) -> tuple[SSAValue, SSAValue]:
    """The update stretched to ``size`` along a dimension, each row at its place, and where it is: 1 or 0, [size] along
    that dimension and 1 along others."""
    count, rank = shape(update)[dim], len(shape(update))
    begin = _clamped(context, start, size - count, size)
    element = tensor_type(begin).element_type
    type_ = tensor((size,), element)
    position = context.emit(ttir.BINARY_OPS["subtract"], [line(context, (size,), 0, element), begin], type_)
    truth = tensor((size,), bf16)
    after = context.emit(ttir.BINARY_OPS["ge"], [position, full(context, 0, type_)], truth)
    before = context.emit(ttir.BINARY_OPS["lt"], [position, full(context, count, type_)], truth)
    here = context.emit(ttir.BINARY_OPS["logical_and"], [after, before], truth)
    along = tuple(size if d == dim else 1 for d in range(rank))
    if count == 1:
        wide = tuple(size if d == dim else s for d, s in enumerate(shape(update)))
        update = context.emit(
            BroadcastOp, [update], tensor(wide, tensor_type(update).element_type), broadcast_dimensions=along
        )
    else:
        update = _take(context, update, dim, within(context, position, count))
    return update, reshape(context, here, along)


def _both(context: ImportContext, one: SSAValue, other: SSAValue, whole: tuple[int, ...]) -> SSAValue:
    sizes = tuple(max(a, b) for a, b in zip(shape(one), shape(other), strict=True))
    return context.emit(ttir.BINARY_OPS["logical_and"], [one, other], tensor(sizes, bf16))


def _clamped(context: ImportContext, start: SSAValue, limit: int, size: int) -> SSAValue:
    """A scalar start as [1] within 0 .. limit."""
    return within(context, reshape(context, start, (1,)), limit + 1)


def _added(context: ImportContext, begin: SSAValue, sizes: tuple[int, ...]) -> SSAValue:
    """begin, begin + 1, ..."""
    element = tensor_type(begin).element_type
    return context.emit(ttir.BINARY_OPS["add"], [line(context, sizes, 0, element), begin], tensor(sizes, element))


def _take(context: ImportContext, value: SSAValue, dim: int, rows: SSAValue) -> SSAValue:
    """The given positions along a dimension."""
    whole = shape(value)
    order = (dim, *(d for d in range(len(whole)) if d != dim))
    moved = permute(context, value, order)
    rest = shape(moved)[1:]
    found = rows_of(context, reshape(context, moved, (whole[dim], math.prod(rest))), rows)
    found = reshape(context, found, (*shape(rows), *rest))
    return permute(context, found, tuple(order.index(d) for d in range(len(whole))))
