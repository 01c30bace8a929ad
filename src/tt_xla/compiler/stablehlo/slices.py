"""Converters of slices and updates whose position is computed while the program runs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import bf16
from xdsl.ir import SSAValue

from tt_xla.compiler.stablehlo.by_chip import part_by_chip
from tt_xla.compiler.stablehlo.caches import update_slice
from tt_xla.compiler.stablehlo.context import ImportContext, converts
from tt_xla.compiler.stablehlo.creation import full
from tt_xla.compiler.stablehlo.elementwise import choose
from tt_xla.compiler.stablehlo.gather import as_si32, line, rows_of, wide, within
from tt_xla.compiler.stablehlo.structure import crop, permute, reshape, scalar_constant
from tt_xla.ir import ttir
from tt_xla.ir.base import shape, tensor, tensor_type
from tt_xla.ir.properties import si32
from tt_xla.ir.ttir.structure import BroadcastOp, ConcatOp


@converts("stablehlo.dynamic_slice")
def dynamic_slice(context: ImportContext, op: Any) -> SSAValue:
    """Slices statically along dimensions with a known start, and gathers rows along the others. Starts are clamped.

    Where the start follows from the chip's number, each chip takes its part.
    """
    sizes = context.result_type(op).get_shape()
    value, *starts = context.operands(op)
    for dim, (start, size) in enumerate(zip(starts, sizes, strict=True)):
        limit = shape(value)[dim] - size
        known = _known_start(context, start, limit)
        if known is not None:
            position = min(max(int(known), 0), limit)
            value = crop(context, value, dim, position, position + size)
            continue
        part = part_by_chip(context, value, dim, start, size)
        if part is not None:
            value = part
        else:
            begin = _clamped(context, start, limit, f"stablehlo.dynamic_slice, dimension {dim}")
            rows = _count_from(context, begin, (size,))
            value = _take(context, value, dim, rows)
    return value


@converts("stablehlo.dynamic_update_slice")
def dynamic_update_slice(context: ImportContext, op: Any) -> SSAValue:
    """Converts to a write to a donated cache; to a concatenation if the position is known; else to a selection between
    operand and update for each element."""
    context.result_type(op)
    operand, update, *starts = context.operands(op)
    dims = [dim for dim, size in enumerate(shape(update)) if size != shape(operand)[dim]]
    if not dims:
        return update
    if len(dims) == 1:
        updated_cache = update_slice(context, op.operands[0], update, starts[dims[0]], dims[0])
        if updated_cache is not None:
            return updated_cache
    known = [_known_start(context, starts[dim], shape(operand)[dim] - shape(update)[dim]) for dim in dims]
    if None not in known:
        limits = (shape(operand)[dim] - shape(update)[dim] for dim in dims)
        begins = [min(max(int(k or 0), 0), limit) for k, limit in zip(known, limits, strict=True)]
        return _replace_known(context, operand, update, list(zip(dims, begins, strict=True)))
    is_updated: SSAValue | None = None
    for dim in dims:
        update, is_in_range = _moved(context, update, starts[dim], dim, shape(operand)[dim])
        is_updated = is_in_range if is_updated is None else _both(context, is_updated, is_in_range)
    assert is_updated is not None
    return choose(context, is_updated, update, operand)


def _replace_known(
    context: ImportContext, operand: SSAValue, update: SSAValue, starts: Sequence[tuple[int, int]]
) -> SSAValue:
    """Replaces a part of ``operand`` by ``update``.

    Args:
        places: dimensions along which the update is smaller, each with the position at which it begins.
    """
    (dim, begin), *rest = starts
    size, end = shape(operand)[dim], begin + shape(update)[dim]
    if rest:
        update = _replace_known(context, crop(context, operand, dim, begin, end), update, rest)
    parts = [update]
    if begin:
        parts.insert(0, crop(context, operand, dim, 0, begin))
    if end < size:
        parts.append(crop(context, operand, dim, end, size))
    concat_op = ConcatOp.make([parts], [tensor_type(operand)], context.location, dim=dim)
    context.block.add_op(concat_op)
    return concat_op.results[0]


def _moved(context: ImportContext, update: SSAValue, start: SSAValue, dim: int, size: int) -> tuple[SSAValue, SSAValue]:
    """Stretches an update to ``size`` along a dimension, with each row at its position.

    Returns:
        The stretched update, and a mask that is 1 at the rows of the update, else 0: ``size`` along the dimension, 1
        along all others.
    """
    count, rank = shape(update)[dim], len(shape(update))
    begin = _clamped(context, start, size - count, f"stablehlo.dynamic_update_slice, dimension {dim}")
    type_ = tensor((size,), si32)
    position = context.emit(ttir.BINARY_OPS["subtract"], [line(context, (size,), 0, si32), begin], type_)
    truth = tensor((size,), bf16)
    after = context.emit(ttir.BINARY_OPS["ge"], [position, full(context, 0, type_)], truth)
    before = context.emit(ttir.BINARY_OPS["lt"], [position, full(context, count, type_)], truth)
    mask = context.emit(ttir.BINARY_OPS["logical_and"], [after, before], truth)
    mask_shape = tuple(size if d == dim else 1 for d in range(rank))
    if count == 1:
        stretched_shape = tuple(size if d == dim else s for d, s in enumerate(shape(update)))
        update = context.emit(
            BroadcastOp,
            [update],
            tensor(stretched_shape, tensor_type(update).element_type),
            broadcast_dimensions=mask_shape,
        )
    else:
        update = _take(context, update, dim, within(context, position, count))
    return update, reshape(context, mask, mask_shape)


def _both(context: ImportContext, one: SSAValue, other: SSAValue) -> SSAValue:
    """Returns where two masks, which broadcast against each other, are both 1."""
    sizes = tuple(max(a, b) for a, b in zip(shape(one), shape(other), strict=True))
    return context.emit(ttir.BINARY_OPS["logical_and"], [one, other], tensor(sizes, bf16))


def _known_start(context: ImportContext, start: SSAValue, limit: int) -> int | float | None:
    """Returns where a slice begins if the compiler knows it; None for one that the running program has to check."""
    known = scalar_constant(start)
    if context.module.checks_indices:
        return known if known is not None and 0 <= known <= limit else None
    return 0 if limit == 0 else known


def _clamped(context: ImportContext, start: SSAValue, limit: int, indexes: str) -> SSAValue:
    """Returns a scalar start as a tensor [1] of 32-bit integers, clamped to 0 .. limit."""
    return as_si32(context, within(context, wide(context, reshape(context, start, (1,))), limit + 1, indexes))


def _count_from(context: ImportContext, begin: SSAValue, sizes: tuple[int, ...]) -> SSAValue:
    """Returns begin, begin + 1, ..., in the given shape."""
    return context.emit(ttir.BINARY_OPS["add"], [line(context, sizes, 0, si32), begin], tensor(sizes, si32))


def _take(context: ImportContext, value: SSAValue, dim: int, rows: SSAValue) -> SSAValue:
    """Gathers positions along a dimension."""
    sizes = shape(value)
    order = (dim, *(d for d in range(len(sizes)) if d != dim))
    rows_first = permute(context, value, order)
    row_shape = shape(rows_first)[1:]
    gathered = rows_of(context, reshape(context, rows_first, (sizes[dim], math.prod(row_shape))), rows)
    gathered = reshape(context, gathered, (*shape(rows), *row_shape))
    return permute(context, gathered, tuple(order.index(d) for d in range(len(sizes))))
