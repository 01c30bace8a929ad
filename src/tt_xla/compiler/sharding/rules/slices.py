"""Rules of ops that cut, join, pad and reverse dimensions, split ones too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tt_xla.compiler.sharding.builder import i64s, local_shape
from tt_xla.compiler.sharding.context import Hints, Localiser, localises, shape_of
from tt_xla.compiler.sharding.emitter import Shard
from tt_xla.compiler.sharding.factors import Factors
from tt_xla.compiler.sharding.rules.structure import integers
from tt_xla.compiler.sharding.windows import Window, take
from tt_xla.ir.mesh import Sharding


def same_axes(context: Localiser, operands: Sequence[Shard], hints: Hints) -> Sharding:
    """Returns a sharding for operands of one rank and for the result: each dimension is split in all of them alike."""
    dims = tuple(range(operands[0].rank))
    splits = Factors([dims] * len(operands), [dims]).splits(context, operands, hints)
    return splits.sharding(dims)


def along(shard: Shard, sharding: Sharding, dims: Sequence[int]) -> Sharding:
    """Returns a sharding that is the shard's own along some dimensions, and another one along the others.

    An axis that a dimension of the other sharding uses does not split the shard's own dimensions.
    """
    used = {axis for dim, axes in enumerate(sharding.dims) if dim not in dims for axis in axes}
    own = {dim: shard.sharding.dims[dim] for dim in dims if not used & {*shard.sharding.dims[dim]}}
    return Sharding(tuple(own.get(dim, () if dim in dims else axes) for dim, axes in enumerate(sharding.dims)))


@localises("stablehlo.slice")
def slice_op(context: Localiser, op: Any, operands: Sequence[Shard], hints: Hints) -> Sequence[Shard]:
    """Cuts; where the dimension is split, each chip takes its part of the result from its neighbours."""
    starts, limits, strides = (integers(op.attributes[name]) for name in ("start_indices", "limit_indices", "strides"))
    shape = shape_of(op.results[0])
    sharding = same_axes(context, operands, hints)
    cut = [dim for dim, size in enumerate(operands[0].shape) if shape[dim] != size]
    split = [dim for dim in cut if sharding.dims[dim]]
    shard = context.reshard(operands[0], along(operands[0], sharding, split))
    value, local = shard.value, sharding.local_shape(context.mesh, shape)
    for dim in split:
        width = strides[dim] * (local[dim] - 1) + 1
        used = -(-shape[dim] // local[dim])
        window = Window(sharding.dims[dim], strides[dim] * local[dim], starts[dim], width, used)
        value = take(context, shard, dim, window)
        shard = retaken(shard, value, dim, width)
        starts[dim], limits[dim] = 0, width
    for dim in range(len(shape)):
        if dim not in cut:
            limits[dim] = local[dim]
    attributes = {"start_indices": i64s(starts), "limit_indices": i64s(limits), "strides": i64s(strides)}
    values = context.copy(op, [value], [context.local_type(op.results[0].type, sharding)], attributes)
    return context.shards(op, values, [sharding])


def retaken(shard: Shard, value: Any, dim: int, width: int) -> Shard:
    """Returns a shard after each chip has taken its part of a dimension, which counts as not split from then on."""
    shape = (*shard.shape[:dim], width, *shard.shape[dim + 1 :])
    return Shard(value, shape, shard.sharding.with_dim(dim))


@localises("stablehlo.pad")
def pad(context: Localiser, op: Any, operands: Sequence[Shard], hints: Hints) -> Sequence[Shard]:
    """Pads; where the dimension is split, each chip takes its part of the padded dimension from its neighbours."""
    names = ("edge_padding_low", "edge_padding_high", "interior_padding")
    low, high, interior = (integers(op.attributes[name]) for name in names)
    shape, fill = shape_of(op.results[0]), context.whole(operands[1])
    padded = [dim for dim in range(len(shape)) if low[dim] or high[dim] or interior[dim]]
    sharding = same_axes(context, operands[:1], hints)
    split = [dim for dim in padded if sharding.dims[dim] and not interior[dim]]
    blocked = [dim for dim in padded if interior[dim]]
    sharding = Sharding(tuple(() if dim in blocked else axes for dim, axes in enumerate(sharding.dims)))
    shard = context.reshard(operands[0], along(operands[0], sharding, split))
    for dim in split:
        length = sharding.local_shape(context.mesh, shape)[dim]
        window = Window(sharding.dims[dim], length, -low[dim], length, -(-shape[dim] // length))
        value = take(context, shard, dim, window, fill)
        shard = retaken(shard, value, dim, length)
        low[dim] = high[dim] = 0
    attributes = {"edge_padding_low": i64s(low), "edge_padding_high": i64s(high)}
    types = [context.local_type(op.results[0].type, sharding)]
    return context.shards(op, context.copy(op, [shard.value, fill], types, attributes), [sharding])


@localises("stablehlo.concatenate")
def concatenate(context: Localiser, op: Any, operands: Sequence[Shard], hints: Hints) -> Sequence[Shard]:
    """Joins; where the dimension is split, each chip takes its part of the result from every operand in turn."""
    dim: int = op.attributes["dimension"].value
    shape, dims = shape_of(op.results[0]), tuple(range(operands[0].rank))
    others = tuple(None if other == dim else other for other in dims)
    largest = max(operands, key=lambda operand: (bool(operand.sharding.dims[dim]), operand.shape[dim]))
    axes = next((one.dims[dim] for one in (*hints, largest.sharding) if one is not None and one.dims[dim]), ())
    splits = Factors([others] * len(operands), [others]).splits(context, operands, hints)
    sharding = splits.sharding(others)
    if not axes or sharding.axes & {*axes}:
        parts = [context.reshard(operand, sharding).value for operand in operands]
        values = context.copy(op, parts, [context.local_type(op.results[0].type, sharding)])
        return context.shards(op, values, [sharding])
    sharding = sharding.with_dim(dim, axes)
    length = sharding.local_shape(context.mesh, shape)[dim]
    build, joined, start = context.builder, None, 0
    result = Shard(None, shape, sharding)
    places: Any = None
    for operand in operands:
        if not operand.shape[dim]:
            continue
        shard = context.reshard(operand, along(operand, sharding, [dim]))
        part = take(context, shard, dim, Window(axes, length, -start, length, -(-shape[dim] // length)))
        if joined is None:
            joined = part
            places = context.indices(Shard(part, result.shape, sharding), dim)
        else:
            after = build.compare(places, build.broadcast(build.scalar(start), local_shape(part)), "GE")
            joined = build.select(after, part, joined)
        start += operand.shape[dim]
    return [Shard(joined, shape, sharding)]


@localises("stablehlo.reverse")
def reverse(context: Localiser, op: Any, operands: Sequence[Shard], hints: Hints) -> Sequence[Shard]:
    """Reverses each chip's part, and lets chips exchange parts along dimensions that are split."""
    sharding = same_axes(context, operands, hints)
    shard = context.reshard(operands[0], sharding)
    (value,) = context.copy(op, [shard.value], [shard.value.type])
    for dim in integers(op.attributes["dimensions"]):
        axes = sharding.dims[dim]
        if not axes:
            continue
        groups = context.groups(axes)
        pairs = [pair for group in groups for pair in zip(group, reversed(group), strict=True)]
        value = context.builder.collective_permute(value, pairs)
        length = local_shape(value)[dim]
        total = length * context.extent(axes)
        padding = total - shard.shape[dim]
        if padding:  # The padding is at the start now.
            full = Shard(value, (*shard.shape[:dim], total, *shard.shape[dim + 1 :]), sharding)
            value = take(context, full, dim, Window(axes, length, padding, length, context.extent(axes)))
    return [Shard(value, shard.shape, sharding)]
