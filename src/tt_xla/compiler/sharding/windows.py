"""Parts of a split dimension that do not begin where shards do: halos, shifts, and cuts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tt_xla.compiler.sharding.builder import element_type, local_shape
from tt_xla.compiler.sharding.emitter import Emitter, Shard
from tt_xla.compiler.sharding.reshard import reshard_dims
from tt_xla.ir.mesh import Axes


@dataclass(frozen=True)
class Window:
    """The part of a dimension that each chip needs: chip ``k`` of those that split the result needs elements from
    ``step * k + start`` on."""

    axes: Axes
    """Mesh axes that split the result; ``k`` counts along them."""
    step: int
    start: int
    width: int
    """Number of elements that each chip needs."""
    used: int
    """Number of chips that need anything; the others have padding only."""

    @property
    def starts(self) -> list[int]:
        """Places at which the chips' parts begin."""
        return [self.step * k + self.start for k in range(self.used)]


def take(context: Emitter, shard: Shard, dim: int, window: Window, fill: Any = None) -> Any:
    """Returns the part of a tensor that each chip needs, along one dimension.

    Neighbours exchange the parts that lie in others' shards (``collective_permute``). Where a chip needs parts of all
    other chips, the dimension is gathered first.

    Args:
        shard: the tensor.
        dim: the dimension.
        window: the part that each chip needs. It may begin before the tensor and end after it.
        fill: scalar for elements outside of the tensor; None if they may hold anything.
    """
    exchanged = _exchanged(context, shard, dim, window)
    value = _sliced(context, shard, dim, window) if exchanged is None else exchanged
    return value if fill is None else _filled(context, shard.shape[dim], value, dim, window, fill)


def _sliced(context: Emitter, shard: Shard, dim: int, window: Window) -> Any:
    """Takes each chip's part from the gathered dimension."""
    gathered = shard.sharding.with_dim(dim)
    value = reshard_dims(context, shard, gathered).value if shard.sharding != gathered else shard.value
    low = max(0, -min(window.starts))
    high = max(0, max(window.starts) + window.width - shard.shape[dim])
    return _cut(context, context.builder.pad_dim(value, dim, low, high), dim, window, window.step, window.start + low)


def _cut(context: Emitter, value: Any, dim: int, window: Window, step: int, start: int) -> Any:
    """Returns ``width`` elements of a value from ``step * k + start`` on."""
    build, shape = context.builder, local_shape(value)
    if step == 0:
        return build.slice_dim(value, dim, start, start + window.width)
    starts = [build.scalar(0)] * len(shape)
    starts[dim] = context.offset(window.axes, step)
    if start:
        starts[dim] = build.add(starts[dim], build.scalar(start))
    shape[dim] = window.width
    return build.dynamic_slice(value, starts, shape)


def _exchanged(context: Emitter, shard: Shard, dim: int, window: Window) -> Any | None:
    """Takes each chip's part from its own shard and those of neighbours; None if the parts come from too many."""
    axes = shard.sharding.dims[dim]
    if axes != window.axes or not axes:
        return None
    count, length = context.extent(axes), local_shape(shard.value)[dim]
    first = min(start // length - k for k, start in enumerate(window.starts))
    last = max((start + window.width - 1) // length - k for k, start in enumerate(window.starts))
    shifted = window.step == length
    pieces = [
        _piece(
            window,
            shift,
            length,
            shard.shape[dim],
            window.start - first * length if shifted and shift == first else 0,
            window.start + window.width - last * length if shifted and shift == last else length,
        )
        for shift in range(first, last + 1)
    ]
    if sum(piece.high - piece.low for piece in pieces if piece.shift) >= length * (count - 1):
        return None
    joined = context.builder.concatenate([_received(context, shard, dim, piece) for piece in pieces], dim)
    if shifted:
        return joined
    return _cut(context, joined, dim, window, window.step - length, window.start - first * length)


@dataclass(frozen=True)
class _Piece:
    """A part of each chip's shard, and the chips that need it: those ``shift`` shards before."""

    shift: int
    low: int
    high: int
    before: int
    """Number of elements of the shard before the part for which there must be place."""
    after: int
    receivers: tuple[int, ...]
    """Numbers of the chips that need any of it."""


def _piece(window: Window, shift: int, length: int, size: int, low: int, high: int) -> _Piece:
    """Returns the part of the shard ``shift`` shards further that chips need, of the elements from low to high."""
    if shift == 0:
        return _Piece(shift, low, high, 0, 0, ())
    needs: list[tuple[int, int, int]] = []
    for k, start in enumerate(window.starts):
        offset = (k + shift) * length
        first, last = max(offset + low, start, 0), min(offset + high, size, start + window.width)
        if first < last:
            needs.append((k, first - offset, last - offset))
    if not needs:
        return _Piece(shift, low, low, 0, high - low, ())
    first, last = min(need[1] for need in needs), max(need[2] for need in needs)
    return _Piece(shift, first, last, first - low, high - last, tuple(need[0] for need in needs))


def _received(context: Emitter, shard: Shard, dim: int, piece: _Piece) -> Any:
    """Returns a piece on the chips that need it, and anything on the others."""
    build = context.builder
    if piece.shift and not piece.receivers:
        shape = local_shape(shard.value)
        shape[dim] = piece.after
        return build.broadcast(build.zero(element_type(shard.value)), shape)
    value = build.slice_dim(shard.value, dim, piece.low, piece.high)
    if piece.shift:
        groups = context.groups(shard.sharding.dims[dim])
        pairs = [(group[k + piece.shift], group[k]) for group in groups for k in piece.receivers]
        value = build.collective_permute(value, pairs)
    return build.pad_dim(value, dim, piece.before, piece.after)


def _filled(context: Emitter, size: int, value: Any, dim: int, window: Window, fill: Any) -> Any:
    """Returns a value with a scalar in the places outside of a dimension's size."""
    before, after = min(window.starts) < 0, max(window.starts) + window.width > size
    if not (before or after):
        return value
    build, shape = context.builder, local_shape(value)
    start = context.offset(window.axes, window.step) if window.step else build.scalar(0)
    if window.start:
        start = build.add(start, build.scalar(window.start))
    width = [shape[dim]]
    places = build.add(build.iota(width, 0), build.broadcast(start, width))
    inside: Any = None
    for needed, bound, direction in ((before, 0, "GE"), (after, size, "LT")):
        if needed:
            within = build.compare(places, build.broadcast(build.scalar(bound), width), direction)
            inside = within if inside is None else build.binary("and", inside, within)
    return build.select(build.broadcast(inside, shape, [dim]), value, build.broadcast(fill, shape))
