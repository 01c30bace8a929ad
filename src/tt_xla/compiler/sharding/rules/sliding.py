"""Rules of ops that slide a window over dimensions: convolutions, pooling and cumulative ops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxlib.mlir.dialects import stablehlo

from tt_xla.compiler.sharding.builder import dense, element_type, i64, i64s, local_shape, single_op, tensor
from tt_xla.compiler.sharding.context import Hints, Localiser, localises, shape_of
from tt_xla.compiler.sharding.emitter import Shard
from tt_xla.compiler.sharding.factors import Dims, Factors, Splits, has_identity, identity_value, masked_operands
from tt_xla.compiler.sharding.partial_sums import combine
from tt_xla.compiler.sharding.rules.reduction import is_identity
from tt_xla.compiler.sharding.rules.slices import along, retaken
from tt_xla.compiler.sharding.rules.structure import integers
from tt_xla.compiler.sharding.windows import Window, take
from tt_xla.compiler.stablehlo.sliding import padding_of, windows_of
from tt_xla.ir.mesh import Axes


def array(op: Any, name: str, default: Sequence[int]) -> list[int]:
    """Returns the integers of an optional array attribute."""
    return integers(op.attributes[name]) if name in op.attributes else list(default)


@localises("stablehlo.convolution")
def convolution(context: Localiser, op: Any, operands: Sequence[Shard], hints: Hints) -> Sequence[Shard]:
    """Convolves the chip's part.

    Chips with parts of the space get the rows around theirs from their neighbours. Where input channels are split, the
    chips' results are added.
    """
    numbers = stablehlo.ConvDimensionNumbers(op.attributes["dimension_numbers"])
    spatial = list(numbers.input_spatial_dimensions)
    count = len(spatial)
    strides, lhs_dilation, rhs_dilation = (
        array(op, name, [1] * count) for name in ("window_strides", "lhs_dilation", "rhs_dilation")
    )
    splits = _convolution_factors(op, numbers, operands, lhs_dilation).splits(context, operands, hints)
    result = splits.sharding(splits.factors.results[0])
    shape, padding = shape_of(op.results[0]), padding_of(op, count)
    local = result.local_shape(context.mesh, shape)
    shardings = [splits.sharding(dims) for dims in splits.factors.operands]
    split = [index for index in range(count) if result.dims[numbers.output_spatial_dimensions[index]]]
    lhs = context.reshard(operands[0], along(operands[0], shardings[0], [spatial[index] for index in split]))
    rhs = context.reshard(operands[1], shardings[1])
    lhs, rhs = masked_operands(context, splits, [lhs, rhs], context.builder.zero)
    for index in split:
        out, dim = numbers.output_spatial_dimensions[index], spatial[index]
        kernel = operands[1].shape[numbers.kernel_spatial_dimensions[index]]
        width = strides[index] * (local[out] - 1) + rhs_dilation[index] * (kernel - 1) + 1
        used = -(-shape[out] // local[out])
        window = Window(result.dims[out], strides[index] * local[out], -padding[index][0], width, used)
        zero = context.builder.zero(element_type(lhs.value))
        lhs = retaken(lhs, take(context, lhs, dim, window, zero), dim, width)
        padding[index] = 0, 0
    attributes = {
        "padding": dense(np.array(padding, np.int64).reshape(count, 2)),
        **_group_counts(context, op, splits),
    }
    values = context.copy(op, [lhs.value, rhs.value], splits.result_types(op), attributes)
    (partial,) = splits.results(op, values)
    return [combine(context, partial, splits.reduced(), "add", hints[0])]


_BATCH, _OUT, _IN, _SPACE = 0, 1, 2, 3
"""Factors of a convolution: batch, output channels (groups, if the convolution has them), input channels, space."""


def _convolution_factors(op: Any, numbers: Any, operands: Sequence[Shard], lhs_dilation: Sequence[int]) -> Factors:
    groups = op.attributes["feature_group_count"].value
    batch_groups = op.attributes["batch_group_count"].value
    lhs: list[int | None] = [None] * operands[0].rank
    rhs: list[int | None] = [None] * operands[1].rank
    result: list[int | None] = [None] * operands[0].rank
    if batch_groups == 1:
        lhs[numbers.input_batch_dimension] = result[numbers.output_batch_dimension] = _BATCH
        if groups == 1:
            lhs[numbers.input_feature_dimension] = rhs[numbers.kernel_input_feature_dimension] = _IN
            rhs[numbers.kernel_output_feature_dimension] = result[numbers.output_feature_dimension] = _OUT
        elif _is_depthwise(numbers, operands, groups):
            for dims, dim in (
                (lhs, numbers.input_feature_dimension),
                (rhs, numbers.kernel_output_feature_dimension),
                (result, numbers.output_feature_dimension),
            ):
                dims[dim] = _OUT
    for index, dim in enumerate(numbers.input_spatial_dimensions):
        reverses = "window_reversal" in op.attributes and any(np.array(op.attributes["window_reversal"]).ravel())
        if lhs_dilation[index] == 1 and not reverses:
            lhs[dim] = result[numbers.output_spatial_dimensions[index]] = _SPACE + index
    return Factors([tuple(lhs), tuple(rhs)], [tuple(result)])


def _is_depthwise(numbers: Any, operands: Sequence[Shard], groups: int) -> bool:
    """Whether each group has one input channel and one output channel, so that channels split like a batch."""
    channels = operands[0].shape[numbers.input_feature_dimension]
    return channels == groups == operands[1].shape[numbers.kernel_output_feature_dimension]


def _group_counts(context: Localiser, op: Any, splits: Splits) -> dict[str, Any]:
    """Returns the number of groups that a chip has."""
    groups = op.attributes["feature_group_count"].value
    axes = splits.axes.get(_OUT, ())
    if groups == 1 or not axes:
        return {}
    return {"feature_group_count": i64(-(-groups // context.extent(axes)))}


@localises("stablehlo.reduce_window")
def reduce_window(context: Localiser, op: Any, operands: Sequence[Shard], hints: Hints) -> Sequence[Shard]:
    """Reduces the windows of the chip's part; chips get the elements around theirs from their neighbours.

    Each window starts from the initial value once, and skips what lies outside of the tensor, as XLA's do. A dimension
    with padding is split if the body has an identity to put there. A cumulative op needs only the totals of other
    chips.
    """
    count = len(operands) // 2
    inputs, inits = operands[:count], [context.whole(init) for init in operands[count:]]
    rank, shape = inputs[0].rank, shape_of(op.results[0])
    windows, padding = windows_of(op), padding_of(op, rank)
    kind = single_op(op.regions[0]) if count == 1 else ""
    element = element_type(inits[0])
    skips = has_identity(kind, element)
    dims: Dims = tuple(
        None if window.base_dilation > 1 or (max(window.low, window.high) > 0 and not skips) else dim
        for dim, window in enumerate(windows)
    )
    splits = Factors([dims] * count, [dims] * count).splits(context, inputs, hints)
    sharding = splits.sharding(dims)
    moving = [dim for dim, window in enumerate(windows) if window.moves]
    split = [dim for dim in moving if sharding.dims[dim]]
    if kind and len(moving) == 1 and split == moving:
        (dim,) = moving
        for backwards in (False, True):
            if windows[dim].is_running(inputs[0].shape[dim], backwards=backwards):
                shard = context.reshard(inputs[0], sharding)
                return [_cumulate(context, op, shard, inits[0], dim, backwards, kind)]
    parts = [context.reshard(one, along(one, sharding, split)) for one in inputs]
    local = sharding.local_shape(context.mesh, shape)
    for dim in split:
        stride = windows[dim].stride
        width = stride * (local[dim] - 1) + windows[dim].dilation * (windows[dim].kernel - 1) + 1
        used = -(-shape[dim] // local[dim])
        needed = Window(sharding.dims[dim], stride * local[dim], -padding[dim][0], width, used)
        fill = identity_value(context, kind, element) if skips else None
        parts = [retaken(part, take(context, part, dim, needed, fill), dim, width) for part in parts]
        padding[dim] = 0, 0
    attributes = {"padding": dense(np.array(padding, np.int64).reshape(rank, 2))}
    types = [context.local_type(result.type, sharding) for result in op.results]
    values = context.copy(op, [*(part.value for part in parts), *inits], types, attributes)
    return context.shards(op, values, [sharding] * count)


def _cumulate(context: Localiser, op: Any, shard: Shard, init: Any, dim: int, backwards: bool, kind: str) -> Shard:
    """Cumulates the chip's part, and combines it with the totals of the chips before it.

    Args:
        backwards: whether the op runs from the end of the dimension.
    """
    build = context.builder
    identity = identity_value(context, kind, element_type(shard.value))
    shard = context.masked(shard, [dim], identity)
    shape = local_shape(shard.value)
    length, rank = shape[dim], len(shape)
    window, padding = [1] * rank, np.zeros((rank, 2), np.int64)
    window[dim] = length
    padding[dim] = [0, length - 1] if backwards else [length - 1, 0]
    attributes = {"window_dimensions": i64s(window), "padding": dense(padding)}
    (value,) = context.copy(op, [shard.value, identity], [shard.value.type], attributes)
    last = 0 if backwards else length - 1
    total = build.slice_dim(value, dim, last, last + 1)
    axes = shard.sharding.dims[dim]
    totals = build.all_gather(total, dim, context.groups(axes))
    before = _totals_before(context, totals, dim, axes, backwards, identity, kind)
    value = build.binary(kind, build.broadcast(before, shape, _other_dims(rank, dim)), value)
    if not is_identity(op.operands[1], identity):
        value = build.binary(kind, build.broadcast(init, shape), value)
    return Shard(value, shard.shape, shard.sharding)


def _other_dims(rank: int, dim: int) -> list[int]:
    return [other for other in range(rank) if other != dim]


def _totals_before(
    context: Localiser, totals: Any, dim: int, axes: Axes, backwards: bool, identity: Any, kind: str
) -> Any:
    """Returns the combined totals of the chips before each chip, without the dimension that counts chips."""
    build, shape = context.builder, local_shape(totals)
    own = build.broadcast(context.offset(axes, 1), shape)
    counted = build.compare(build.iota(shape, dim), own, "GT" if backwards else "LT")
    used = build.select(counted, totals, build.broadcast(identity, shape))
    rest = [size for other, size in enumerate(shape) if other != dim]
    op = build.op(
        "reduce", [used, identity], [tensor(rest, element_type(totals))], {"dimensions": i64s([dim])}, regions=1
    )
    build.reducer(op.regions[0], element_type(totals), kind)
    return op.results[0]


@localises("stablehlo.select_and_scatter")
def select_and_scatter(context: Localiser, op: Any, operands: Sequence[Shard], hints: Hints) -> Sequence[Shard]:
    """Copies the op; dimensions along which windows move are not split."""
    dims: Dims = tuple(None if window.moves else dim for dim, window in enumerate(windows_of(op)))
    splits = Factors([dims, dims, ()], [dims]).splits(context, operands, hints)
    return splits.copy(op, splits.operands(operands))
