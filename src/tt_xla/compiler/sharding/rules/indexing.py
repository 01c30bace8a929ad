"""Rules of slices at indices that the program computes, of split dimensions too.

A chip knows where a slice lies relative to its own part of a dimension. To read, it takes what lies in its part, and
the chips' pieces are added; to write, it writes what lies in its part.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jaxlib.mlir import ir

from tt_xla.compiler.sharding.builder import element_type, i64s, local_shape
from tt_xla.compiler.sharding.context import Hints, Localiser, localises, shape_of
from tt_xla.compiler.sharding.emitter import Shard
from tt_xla.compiler.sharding.factors import Dims, Factors, Splits
from tt_xla.compiler.sharding.partial_sums import combine
from tt_xla.compiler.stablehlo.annotations import INDEXES
from tt_xla.ir.mesh import Axes, Shape, Sharding


@localises("stablehlo.dynamic_slice")
def dynamic_slice(context: Localiser, op: Any, operands: Sequence[Shard], hints: Hints) -> Sequence[Shard]:
    """Slices the chip's part.

    Along a split dimension that the slice cuts, each chip takes what it has of the slice, and zeros for the rest, and
    the chips' pieces are added. Where that moves more than gathering the dimension, it is gathered.
    """
    source, *starts = operands
    shape = shape_of(op.results[0])
    dims = _kept_dims(source, shape)
    splits = Factors([dims, *[()] * len(starts)], [dims]).splits(context, operands, hints)
    sizes = splits.sharding(dims).local_shape(context.mesh, shape)
    cut = _cut_dims(source, splits, dims)
    axes = tuple(axis for dim_axes in cut.values() for axis in dim_axes)
    if not cut or not _is_adding_cheaper(context, source, shape, list(cut), axes):
        return splits.copy(op, splits.operands(operands), {"slice_sizes": i64s(sizes)})
    part = context.reshard(source, _split_along(splits.sharding(dims), cut))
    piece = _Window(context, part, shape, starts, cut).read(sizes)
    kind = "or" if str(element_type(piece)) == "i1" else "add"
    return [combine(context, Shard(piece, shape, splits.sharding(dims)), axes, kind, hints[0])]


@localises("stablehlo.dynamic_update_slice")
def dynamic_update_slice(context: Localiser, op: Any, operands: Sequence[Shard], hints: Hints) -> Sequence[Shard]:
    """Writes into the chip's part; along a split dimension that the update does not cover, what lies in the part."""
    target, update, *starts = operands
    dims = _kept_dims(target, update.shape)
    splits = Factors([dims, dims, *[()] * len(starts)], [dims]).splits(context, operands, hints)
    cut = _cut_dims(target, splits, dims)
    if not cut:
        return splits.copy(op, splits.operands(operands))
    part = context.reshard(target, _split_along(splits.sharding(dims), cut))
    written = context.reshard(update, splits.sharding(dims))
    value = _Window(context, part, update.shape, starts, cut).write(written.value)
    return [Shard(value, target.shape, part.sharding)]


def _kept_dims(shard: Shard, shape: Sequence[int]) -> Dims:
    return tuple(dim if shard.shape[dim] == size else None for dim, size in enumerate(shape))


def _cut_dims(shard: Shard, splits: Splits, dims: Dims) -> dict[int, Axes]:
    """Returns the axes of the split dimensions that a slice cuts, as far as no other dimension uses them."""
    used = splits.sharding(dims).axes
    axes_of = {dim: shard.sharding.dims[dim] for dim, factor in enumerate(dims) if factor is None}
    return {dim: axes for dim, axes in axes_of.items() if axes and not used & {*axes}}


def _split_along(sharding: Sharding, cut: dict[int, Axes]) -> Sharding:
    return Sharding(tuple(cut.get(dim, axes) for dim, axes in enumerate(sharding.dims)))


def _is_adding_cheaper(context: Localiser, source: Shard, shape: Shape, cut: Sequence[int], axes: Axes) -> bool:
    """Whether adding the chips' pieces of a slice moves less than gathering the dimensions that it cuts.

    A chip adds floats in two steps that move as much as one gather of the slice each; other types are gathered from all
    chips.
    """
    sliced = gathered = 1
    for dim in cut:
        sliced, gathered = sliced * shape[dim], gathered * source.shape[dim]
    is_float = isinstance(element_type(source.value), ir.FloatType)
    return sliced * (2 if is_float else context.extent(axes)) < gathered


class _Window:
    """The place of a slice relative to a chip's part of a tensor."""

    def __init__(
        self, context: Localiser, part: Shard, shape: Shape, starts: Sequence[Shard], cut: dict[int, Axes]
    ) -> None:
        """Computes where the slice lies.

        Args:
            part: the chip's part of the tensor.
            shape: shape of the slice of the whole tensor.
            starts: indices at which the slice starts, which count as the nearest ones at which it fits.
            cut: axes of the split dimensions that the slice cuts.
        """
        self.context, self.part, self.cut, self.shape = context, part, cut, shape
        self.lengths = local_shape(part.value)
        self.starts = [
            self._start(dim, context.whole(start), part.shape[dim] - size)
            for dim, (start, size) in enumerate(zip(starts, shape, strict=True))
        ]

    def _start(self, dim: int, start: Any, last: int) -> Any:
        """Returns the first place of the slice in the chip's part, which may lie outside of it."""
        build = self.context.builder
        start = build.signed(start)
        bounds = [build.convert(build.scalar(bound), element_type(start)) for bound in (0, last)]
        marks = {INDEXES: ir.StringAttr.get(f"a slice, dimension {dim}")}
        start = build.result("clamp", [bounds[0], start, bounds[1]], start.type, marks)
        start = build.convert(start, ir.IntegerType.get_signless(32))
        if dim not in self.cut:
            return start
        return build.binary("subtract", start, self.context.offset(self.cut[dim], self.lengths[dim]))

    def read(self, sizes: Sequence[int]) -> Any:
        """Returns the chip's part of the slice, and zeros for the rest.

        Args:
            sizes: shape of the slice on one chip.
        """
        build, value, starts = self.context.builder, self.part.value, list(self.starts)
        several = [dim for dim in self.cut if self.shape[dim] > 1]
        for dim in several:
            size = self.shape[dim]
            value = build.pad_dim(value, dim, size, size)
            starts[dim] = self._clamped(build.add(starts[dim], build.scalar(size)), self.lengths[dim] + size)
        single = [dim for dim in self.cut if dim not in several]
        for dim in single:
            starts[dim] = self._clamped(starts[dim], self.lengths[dim] - 1)
        piece = build.dynamic_slice(value, starts, sizes)
        if not single:
            return piece
        zeros = build.broadcast(build.zero(element_type(piece)), sizes)
        return build.select(self._mask(sizes, {dim: self.starts[dim] for dim in single}, self.lengths), piece, zeros)

    def write(self, update: Any) -> Any:
        """Returns the chip's part after an update, of which it takes what lies in the part."""
        build, sizes, starts = self.context.builder, local_shape(update), list(self.starts)
        positions: dict[int, Any] = {}
        for dim in self.cut:
            size, width = sizes[dim], min(sizes[dim], self.lengths[dim])
            starts[dim] = self._clamped(starts[dim], self.lengths[dim] - width)
            positions[dim] = build.binary("subtract", starts[dim], self.starts[dim])
            if size > 1:
                update = build.pad_dim(update, dim, width, width)
                first = self._clamped(build.add(positions[dim], build.scalar(width)), size + width)
                update = self._sliced(update, dim, first, width)
            sizes[dim] = width
        old = build.dynamic_slice(self.part.value, starts, sizes)
        merged = build.select(self._mask(sizes, positions, self.shape), update, old)
        return build.result("dynamic_update_slice", [self.part.value, merged, *starts], self.part.value.type)

    def _sliced(self, value: Any, dim: int, start: Any, width: int) -> Any:
        build, shape = self.context.builder, local_shape(value)
        starts = [build.scalar(0)] * len(shape)
        starts[dim], shape[dim] = start, width
        return build.dynamic_slice(value, starts, shape)

    def _clamped(self, value: Any, last: int) -> Any:
        build = self.context.builder
        return build.result("clamp", [build.scalar(0), value, build.scalar(last)], value.type)

    def _mask(self, sizes: Sequence[int], positions: dict[int, Any], lengths: Sequence[int]) -> Any:
        """Returns which elements of a tensor lie within ``lengths``, if it starts at some positions."""
        build, mask = self.context.builder, None
        for dim, position in positions.items():
            width = [sizes[dim]]
            places = build.add(build.iota(width, 0), build.broadcast(position, width))
            for bound, direction in ((0, "GE"), (lengths[dim], "LT")):
                inside = build.compare(places, build.broadcast(build.scalar(bound), width), direction)
                inside = build.broadcast(inside, sizes, [dim])
                mask = inside if mask is None else build.binary("and", mask, inside)
        return mask
