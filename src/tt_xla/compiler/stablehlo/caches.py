"""Writes of new keys and values into a cache whose old contents nobody needs: in place, if the chip has an op for it.

A cache of attention is a tensor [B, G, K, D]: batch, heads, positions, head size. Upstream makes the same ops from
scatters (tt-mlir ``CacheFillUpdatePattern``). Upstream assumes that every prefill begins at position 0; here a
write of several positions is converted only if it is known to begin there.
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
from tt_xla.ir.element_types import TILE
from tt_xla.ir.properties import si32
from tt_xla.ir.ttir.attention import FillCacheOp, PagedUpdateCacheOp
from tt_xla.ir.ttir.creation import ArangeOp, ConstantOp
from tt_xla.ir.ttir.structure import BroadcastOp, ReshapeOp, TypecastOp, WhereOp

POSITIONS = 2
"""Dimension of a cache that counts positions."""

_MOST_SEQUENCES = 32
"""Largest batch of a write to one position: each sequence's new row lies on a core of its own."""


def is_free(context: ImportContext, value: Any) -> bool:
    """Whether the one user of a StableHLO value may overwrite its memory.

    The value is a donated argument or the result of another write to one, and no other op uses it. While called
    functions are converted in place, this must hold in every caller too.
    """
    cache = context[value]
    if cache not in context.module.donated and not isinstance(cache.owner, CacheOp):
        return False
    if any(result.uses for use in cache.uses for result in use.operation.results):
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
    """Whether exactly one live op uses a StableHLO value. Frontends leave ops behind whose results nothing uses."""
    users = [use.owner for use in value.uses if not use.owner.results or any(list(r.uses) for r in use.owner.results)]
    return len(users) == 1


def write_position(context: ImportContext, cache: SSAValue, update: SSAValue, position: SSAValue) -> SSAValue | None:
    """Emits a write of one position of a cache.

    Args:
        cache: [B, G, K, D].
        update: [B, G, 1, D].
        position: [1], in range; -1 writes nothing.

    Returns:
        The new cache, or None if the chip has no op for caches of this shape and element type.
    """
    sequences, heads, _, width = shape(cache)
    if not _is_cache(cache) or heads > TILE or sequences > _MOST_SEQUENCES:
        return None
    rows = permute(context, reshape(context, update, (sequences, heads, 1, width)), (2, 0, 1, 3))
    position = as_si32(context, position)
    if sequences > 1:
        spread = tensor((sequences,), si32)
        position = context.emit(BroadcastOp, [position], spread, broadcast_dimensions=(sequences,))
    return context.emit(PagedUpdateCacheOp, [cache, rows, position, None], tensor_type(cache), share_cache=False)


def write_first(context: ImportContext, cache: SSAValue, update: SSAValue) -> SSAValue | None:
    """Emits a write of the first positions of a cache.

    Args:
        cache: [B, G, K, D].
        update: [B, G, S, D].

    Returns:
        The new cache, or None if S is not a multiple of a tile's rows or the chip does not hold such caches.
    """
    if not _is_cache(cache) or shape(update)[POSITIONS] % TILE:
        return None
    sequences = shape(cache)[0]
    for sequence in range(sequences):
        rows = crop(context, update, 0, sequence, sequence + 1)
        cache = context.emit(FillCacheOp, [cache, rows], tensor_type(cache), batch_offset=sequence)
    return cache


def update_slice(context: ImportContext, operand: Any, update: SSAValue, start: SSAValue, dim: int) -> SSAValue | None:
    """Converts ``dynamic_update_slice`` along one dimension to a write in place.

    Args:
        operand: the StableHLO value that is updated.
        update: the new elements.
        start: first position along ``dim``, a scalar that may be out of range.
        dim: the only dimension along which ``update`` is smaller than ``operand``.

    Returns:
        The new cache, or None if this is not a write in place that the chip has an op for.
    """
    cache = context[operand]
    cache_shape, size = shape(cache), shape(update)[dim]
    if len(cache_shape) != 4 or dim != POSITIONS or not is_free(context, operand):
        return None
    known = scalar_constant(start)
    if size > 1:
        return write_first(context, cache, update) if known is not None and known <= 0 else None
    last = cache_shape[dim] - 1
    if known is not None:
        position = full(context, min(max(int(known), 0), last), tensor((1,), si32))
    else:
        indexes = f"stablehlo.dynamic_update_slice, dimension {dim}"
        position = within(context, reshape(context, start, (1,)), last + 1, indexes)
    return write_position(context, cache, update, position)


def scatter_slice(context: ImportContext, op: Any) -> SSAValue | None:
    """Converts a ``scatter`` of one window, or of positions 0, 1, ..., to a write in place.

    A position outside the cache becomes -1. TT-NN then writes nothing, as ``scatter`` requires.

    Returns:
        The new cache, or None if this is not a write in place that the chip has an op for.
    """
    numbers = stablehlo.ScatterDimensionNumbers(op.attributes["scatter_dimension_numbers"])
    cache, indices, update = context.operands(op)
    cache_shape, vector = shape(cache), numbers.index_vector_dim
    if (
        len(cache_shape) != 4
        or list(numbers.scattered_dims_to_operand_dims) != [POSITIONS]
        or numbers.input_batching_dims
    ):
        return None
    windows = list(numbers.update_window_dims)
    inserted = list(numbers.inserted_window_dims)
    window_dims = [dim for dim in range(4) if dim not in inserted]
    sizes = {dim: shape(update)[window] for dim, window in zip(window_dims, windows, strict=True)}
    covers_other_dims = all(sizes.get(dim) == cache_shape[dim] for dim in (0, 1, 3))
    if inserted not in ([], [POSITIONS]) or not covers_other_dims or not is_free(context, op.operands[0]):
        return None
    (positions,) = index_parts(context, indices, vector)
    count, length = math.prod(shape(positions)), sizes.get(POSITIONS, 1)
    if count == 1 and length == 1:
        position = _position_or_minus_one(context, reshape(context, positions, (1,)), cache_shape[POSITIONS])
        return write_position(context, cache, update, position)
    if count == 1 and scalar_constant(positions) == 0:
        window_shape = tuple(size for dim, size in enumerate(shape(update)) if dim in windows)
        return write_first(context, cache, reshape(context, update, window_shape))
    if length == 1 and 1 < count <= cache_shape[POSITIONS] and len(shape(positions)) == 1 and _counts_up(positions):
        return write_first(context, cache, _along_positions(context, update, windows, count))
    return None


def _along_positions(context: ImportContext, update: SSAValue, windows: list[int], count: int) -> SSAValue:
    """Returns updates of single positions as one update [B, G, S, D]."""
    (scatter_dim,) = (dim for dim in range(len(shape(update))) if dim not in windows)
    others = windows if len(windows) == 3 else [window for index, window in enumerate(windows) if index != POSITIONS]
    order = (*others[:2], scatter_dim, others[2])
    extra = tuple(dim for dim in range(len(shape(update))) if dim not in order)
    moved = permute(context, update, (*order, *extra))
    return reshape(context, moved, (*shape(moved)[:2], count, shape(moved)[3]))


def _position_or_minus_one(context: ImportContext, position: SSAValue, size: int) -> SSAValue:
    """Returns a position [1] unchanged if it lies in a cache of ``size`` positions, else -1."""
    position = as_si32(context, position)
    inside = within(context, position, size, f"stablehlo.scatter, dimension {POSITIONS}")
    if inside is position:
        return position
    is_inside = context.emit(ttir.BINARY_OPS["eq"], [inside, position], tensor((1,), bf16))
    return choose(context, is_inside, position, full(context, -1, tensor((1,), si32)))


def _counts_up(positions: SSAValue) -> bool:
    """Whether positions are 0, 1, 2, ...: an arange, also converted or reshaped, or after negative ones are wrapped."""
    while isinstance(positions, OpResult):
        op = positions.op
        if isinstance(op, ReshapeOp | TypecastOp):
            positions = op.input
        elif isinstance(op, WhereOp) and _wraps_negative(op):
            positions = op.third
        elif isinstance(op, ArangeOp):
            return op.start == 0 and op.step == 1
        elif isinstance(op, ConstantOp):
            return list(op.value_.get_values()) == list(range(len(op.value_)))
        else:
            return False
    return False


def _wraps_negative(op: WhereOp) -> bool:
    """Whether an op replaces negative positions only, and leaves the others."""
    negative = op.first.owner
    if not isinstance(negative, ttir.BINARY_OPS["lt"]):
        return False
    return negative.operands[0] is op.third and scalar_constant(negative.operands[1]) == 0


def _is_cache(value: SSAValue) -> bool:
    return tensor_type(value).element_type in (bf16, f32)
