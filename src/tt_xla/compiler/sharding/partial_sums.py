"""Tensors that chips hold as partial sums: the sum over some mesh axes is yet to be computed.

A sharding lists these axes as unreduced. The first chip along such an axis may hold the whole tensor and the others
zeros, or each chip its own contribution; the tensor is the sum of them in any case.
"""

from __future__ import annotations

from collections.abc import Collection

from tt_xla.compiler.sharding.builder import element_type, local_shape
from tt_xla.compiler.sharding.emitter import Emitter, Shard
from tt_xla.compiler.sharding.reshard import axes_before, constant_value, reshard_dims
from tt_xla.ir.mesh import Axes, Sharding


def reshard(context: Emitter, shard: Shard, sharding: Sharding) -> Shard:
    """Returns the same tensor in another sharding.

    Sums that the sharding does not leave unfinished are computed first. Chips that hold a tensor, or shards of it,
    become holders of partial sums without an exchange.
    """
    finished = tuple(axis for axis in shard.sharding.unreduced if axis not in sharding.unreduced)
    if finished:
        shard = _finished(context, shard, finished, sharding)
    added = tuple(axis for axis in sharding.unreduced if axis not in shard.sharding.unreduced)
    if added:
        shard = _started(context, shard, added)
    return marked(reshard_dims(context, unmarked(shard), sharding.with_unreduced()), sharding.unreduced)


def marked(shard: Shard, axes: Collection[int]) -> Shard:
    """Returns a shard whose values are partial sums along these mesh axes alone."""
    if {*axes} == {*shard.sharding.unreduced}:
        return shard
    return Shard(shard.value, shard.shape, shard.sharding.with_unreduced(axes))


def unmarked(shard: Shard, axes: Collection[int] | None = None) -> Shard:
    """Returns a shard as code sees it that works on the terms of a sum along some mesh axes, or along all."""
    rest = () if axes is None else [axis for axis in shard.sharding.unreduced if axis not in axes]
    return marked(shard, rest)


def combine(context: Emitter, shard: Shard, axes: Axes, kind: str, hint: Sharding | None) -> Shard:
    """Combines the partial results that chips have, over some mesh axes.

    Where the wanted sharding splits a dimension along one of those axes, each chip gets its part alone
    (``reduce_scatter``); over the other axes all get the result (``all_reduce``). Partial sums that the wanted sharding
    leaves unfinished stay so.

    Args:
        shard: the partial result.
        axes: mesh axes over which chips have different partial results.
        kind: the op that combines, of ``builder.REDUCERS``.
        hint: sharding that is wanted; None if any will do.
    """
    build, value, sharding = context.builder, shard.value, shard.sharding
    if hint is not None and kind == "add":
        left = {*axes} & {*hint.unreduced}
        sharding = sharding.with_unreduced({*sharding.unreduced} | left)
        axes = tuple(axis for axis in axes if axis not in left)
        for dim, hinted_axes in enumerate(hint.dims):
            now = sharding.dims[dim]
            added = hinted_axes[len(now) :]
            scatters = added and hinted_axes[: len(now)] == now and set(added) <= set(axes)
            if scatters and shard.shape[dim] % context.extent(hinted_axes) == 0:
                value = build.reduce_scatter(value, kind, dim, context.groups(added))
                sharding = sharding.with_dim(dim, hinted_axes)
                axes = tuple(axis for axis in axes if axis not in added)
    if axes:
        value = build.all_reduce(value, kind, context.groups(axes))
    return Shard(value, shard.shape, sharding)


def _finished(context: Emitter, shard: Shard, axes: Axes, wanted: Sharding) -> Shard:
    """Returns a tensor after its sum over some axes has been computed."""
    shard = unmarked(shard, axes)
    return shard if _is_zero(shard) else combine(context, shard, axes, "add", wanted.with_unreduced())


def _started(context: Emitter, shard: Shard, axes: Axes) -> Shard:
    """Returns a tensor that chips hold, or are split over, as partial sums along some axes."""
    left = list(axes)
    if not _is_zero(shard):
        for dim, splitting in enumerate(shard.sharding.dims):
            outer = axes_before(splitting, axes)
            inner = splitting[len(outer) :]
            if {*inner} <= {*axes} and (not outer or _divides(context, shard, dim)):
                shard = _widened(context, shard, dim, outer, inner)
                left = [axis for axis in left if axis not in inner]
    dims = tuple(tuple(axis for axis in splitting if axis not in axes) for splitting in shard.sharding.dims)
    if dims != shard.sharding.dims:
        plain = reshard_dims(context, unmarked(shard), Sharding(dims))
        shard = marked(plain, shard.sharding.unreduced)
    if left and not _is_zero(shard):
        build, shape = context.builder, local_shape(shard.value)
        first = build.compare(context.offset(left, 1), build.scalar(0), "EQ")
        zeros = build.broadcast(build.zero(element_type(shard.value)), shape)
        shard = Shard(build.select(build.broadcast(first, shape), shard.value, zeros), shard.shape, shard.sharding)
    return marked(shard, (*shard.sharding.unreduced, *axes))


def _divides(context: Emitter, shard: Shard, dim: int) -> bool:
    """Whether a dimension is split evenly."""
    return shard.shape[dim] % context.extent(shard.sharding.dims[dim]) == 0


def _widened(context: Emitter, shard: Shard, dim: int, outer: Axes, inner: Axes) -> Shard:
    """Returns a tensor of which each chip along ``inner`` holds its own part of a dimension, and zeros elsewhere."""
    if not inner:
        return shard
    build, count = context.builder, context.extent(inner)
    shape = local_shape(shard.value)
    part = shape[dim]
    shape[dim] = part * count
    owners = build.integers([place // part for place in range(shape[dim])])
    own = build.broadcast(context.offset(inner, 1), [shape[dim]])
    inside = build.broadcast(build.compare(owners, own, "EQ"), shape, [dim])
    zeros = build.broadcast(build.zero(element_type(shard.value)), shape)
    value = build.select(inside, build.concatenate([shard.value] * count, dim), zeros)
    sharding = shard.sharding.with_dim(dim, outer)
    value = build.slice_dim(value, dim, 0, sharding.local_shape(context.mesh, shard.shape)[dim])
    return Shard(value, shard.shape, sharding)


def _is_zero(shard: Shard) -> bool:
    """Whether a tensor is a constant of zeros, which is a sum of such constants."""
    value = constant_value(shard.value)
    return value is not None and value.is_splat and not value.get_splat_value().value
