"""Writes of new keys and values into a cache that nobody needs as it was: in place, where the chip has an op for it.

A cache is [B, G, K, D], as attention keeps it: G heads, K positions, D head size. Upstream forms the same ops of
scatters (tt-mlir ``CacheFillUpdatePattern``); it takes every prefill to begin at position 0, here that has to be known.
"""

from __future__ import annotations

import math
from typing import Any

from jaxlib.mlir.dialects import stablehlo
from xdsl.dialects.builtin import bf16, f32
from xdsl.ir import OpResult, SSAValue

from tt_xla.compiler.stablehlo.context import ImportContext
from tt_xla.compiler.stablehlo.creation import full
from tt_xla.compiler.stablehlo.elementwise import choose
from tt_xla.compiler.stablehlo.gather import as_si32, index_parts, within
from tt_xla.compiler.stablehlo.structure import crop, permute, reshape, scalar_constant
from tt_xla.ir import ttir
from tt_xla.ir.abstract.cache import CacheOp
from tt_xla.ir.base import shape, tensor, tensor_type
from tt_xla.ir.properties import si32
from tt_xla.ir.ttir.attention import FillCacheOp, PagedUpdateCacheOp
from tt_xla.ir.ttir.creation import ArangeOp, ConstantOp
from tt_xla.ir.ttir.structure import BroadcastOp, ReshapeOp, TypecastOp, WhereOp

POSITIONS = 2
"""The dimension of a cache along which its positions lie."""

_TILE = 32
_MOST_SEQUENCES = 32
"""Each sequence's new row lies on a core of its own."""


def is_free(context: ImportContext, value: Any) -> bool:
    """Whether the memory of a StableHLO value may be written by its one user: it is an argument that was given up, or
    what such a write made."""
    made = context[value]
    if made not in context.module.donated and not isinstance(made.owner, CacheOp):
        return False
    if any(result.uses for use in made.uses for result in use.operation.results):
        return False
    for call in reversed(context.calls):
        if not _has_one_user(value):
            return False
        callee_arguments = list(
            context.module.functions[call.attributes["callee"].value].regions[0].blocks[0].arguments
        )
        if value not in callee_arguments:
            return True
        value = call.operands[callee_arguments.index(value)]
    return _has_one_user(value)


def _has_one_user(value: Any) -> bool:
    """Whether one op needs a StableHLO value; frontends leave ops whose results nobody needs."""
    needed = [use.owner for use in value.uses if not use.owner.results or any(list(r.uses) for r in use.owner.results)]
    return len(needed) == 1


def write_position(context: ImportContext, cache: SSAValue, update: SSAValue, position: SSAValue) -> SSAValue | None:
    """The cache with update [B, G, 1, D] at one position [1], which is in range, or -1 to write nothing; None where the
    chip has no op for it."""
    sequences, heads, _, width = shape(cache)
    if not _is_cache(cache) or heads > _TILE or sequences > _MOST_SEQUENCES:
        return None
    rows = permute(context, reshape(context, update, (sequences, heads, 1, width)), (2, 0, 1, 3))
    position = as_si32(context, position)
    if sequences > 1:
        spread = tensor((sequences,), si32)
        position = context.emit(BroadcastOp, [position], spread, broadcast_dimensions=(sequences,))
    return context.emit(PagedUpdateCacheOp, [cache, rows, position, None], tensor_type(cache), share_cache=False)


def write_first(context: ImportContext, cache: SSAValue, update: SSAValue) -> SSAValue | None:
    """The cache with update [B, G, S, D] at its first positions; None where that does not end with a tile."""
    if not _is_cache(cache) or shape(update)[POSITIONS] % _TILE:
        return None
    sequences = shape(cache)[0]
    for sequence in range(sequences):
        part = crop(context, update, 0, sequence, sequence + 1)
        cache = context.emit(FillCacheOp, [cache, part], tensor_type(cache), batch_offset=sequence)
    return cache


def update_slice(context: ImportContext, operand: Any, update: SSAValue, start: SSAValue, dim: int) -> SSAValue | None:
    """``dynamic_update_slice`` along one dimension as a write in place; None when it is none.

    Args:
        operand: the StableHLO value that is updated.
        start: a scalar, to be clamped.
    """
    cache = context[operand]
    whole, size = shape(cache), shape(update)[dim]
    if len(whole) != 4 or dim != POSITIONS or not is_free(context, operand):
        return None
    known = scalar_constant(start)
    if size > 1:
        return write_first(context, cache, update) if known is not None and known <= 0 else None
    last = whole[dim] - 1
    if known is not None:
        position = full(context, min(max(int(known), 0), last), tensor((1,), si32))
    else:
        position = within(context, reshape(context, start, (1,)), last + 1)
    return write_position(context, cache, update, position)


def scatter_slice(context: ImportContext, op: Any) -> SSAValue | None:
    """A ``scatter`` of one window, or of positions 0, 1, ..., as a write in place; None when it is none.

    A position outside the cache becomes -1, at which TT-NN writes nothing, as ``scatter`` has it.
    """
    numbers = stablehlo.ScatterDimensionNumbers(op.attributes["scatter_dimension_numbers"])
    cache, indices, update = context.operands(op)
    whole, vector = shape(cache), numbers.index_vector_dim
    if len(whole) != 4 or list(numbers.scattered_dims_to_operand_dims) != [POSITIONS] or numbers.input_batching_dims:
        return None
    windows = list(numbers.update_window_dims)
    inserted = list(numbers.inserted_window_dims)
    kept = [dim for dim in range(4) if dim not in inserted]
    sizes = {dim: shape(update)[window] for dim, window in zip(kept, windows, strict=True)}
    alike = all(sizes.get(dim) == whole[dim] for dim in (0, 1, 3))
    if inserted not in ([], [POSITIONS]) or not alike or not is_free(context, op.operands[0]):
        return None
    (part,) = index_parts(context, indices, vector)
    count, length = math.prod(shape(part)), sizes.get(POSITIONS, 1)
    if count == 1 and length == 1:
        return write_position(context, cache, update, _inside(context, reshape(context, part, (1,)), whole[POSITIONS]))
    if count == 1 and scalar_constant(part) == 0:
        apart = [size for dim, size in enumerate(shape(update)) if dim in windows]
        return write_first(context, cache, reshape(context, update, tuple(apart)))
    if length == 1 and 1 < count <= whole[POSITIONS] and len(shape(part)) == 1 and _counts(part):
        return write_first(context, cache, _along_positions(context, update, windows, count))
    return None


def _along_positions(context: ImportContext, update: SSAValue, windows: list[int], count: int) -> SSAValue:
    """Updates of single positions as [B, G, S, D]."""
    (at,) = (dim for dim in range(len(shape(update))) if dim not in windows)
    others = windows if len(windows) == 3 else [window for place, window in enumerate(windows) if place != POSITIONS]
    order = (*others[:2], at, others[2])
    extra = tuple(dim for dim in range(len(shape(update))) if dim not in order)
    moved = permute(context, update, (*order, *extra))
    return reshape(context, moved, (*shape(moved)[:2], count, shape(moved)[3]))


def _inside(context: ImportContext, position: SSAValue, size: int) -> SSAValue:
    """A position [1] in the cache as it is, any other as -1."""
    position = as_si32(context, position)
    inside = within(context, position, size)
    if inside is position:
        return position
    here = context.emit(ttir.BINARY_OPS["eq"], [inside, position], tensor((1,), bf16))
    return choose(context, here, position, full(context, -1, tensor((1,), si32)))


def _counts(positions: SSAValue) -> bool:
    """Whether positions are 0, 1, 2, ...: an arange, converted, reshaped, or with negative ones made positive."""
    while isinstance(positions, OpResult):
        op = positions.op
        if isinstance(op, ReshapeOp | TypecastOp):
            positions = op.input
        elif isinstance(op, WhereOp) and _wraps(op):
            positions = op.third
        elif isinstance(op, ArangeOp):
            return op.start == 0 and op.step == 1
        elif isinstance(op, ConstantOp):
            return list(op.value_.get_values()) == list(range(len(op.value_)))
        else:
            return False
    return False


def _wraps(op: WhereOp) -> bool:
    """Whether an op counts negative positions from the end and leaves others."""
    negative = op.first.owner
    if not isinstance(negative, ttir.BINARY_OPS["lt"]):
        return False
    return negative.operands[0] is op.third and scalar_constant(negative.operands[1]) == 0


def _is_cache(value: SSAValue) -> bool:
    return tensor_type(value).element_type in (bf16, f32)
