"""Converters of convolutions, pooling and its gradient."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jaxlib.mlir.dialects import stablehlo
from xdsl.dialects.builtin import bf16, f32
from xdsl.ir import SSAValue

from tt_xla.compiler.stablehlo.composites import legalises
from tt_xla.compiler.stablehlo.context import ImportContext, converts
from tt_xla.compiler.stablehlo.creation import full
from tt_xla.compiler.stablehlo.reduction import body_op, is_identity
from tt_xla.compiler.stablehlo.sliding import ON_BOOLEANS, padding_of, slide, strided, windows_of
from tt_xla.compiler.stablehlo.structure import crop, extend, permute, reshape, spread
from tt_xla.ir import shapes, ttir
from tt_xla.ir.base import Tensor, shape, tensor, tensor_type
from tt_xla.ir.properties import si32
from tt_xla.ir.ttcore import ReduceType
from tt_xla.ir.ttir.indexing import ScatterOp
from tt_xla.ir.ttir.reduction import CumsumOp
from tt_xla.ir.ttir.structure import ConcatOp, ReverseOp
from tt_xla.ir.ttir.window import AvgPool2dOp, Conv2dOp, ConvTranspose2dOp, MaxPool2dOp, MaxPool2dWithIndicesOp


@converts("stablehlo.convolution")
def convolution(context: ImportContext, op: Any) -> SSAValue:
    """Converts to ``ttir.conv2d`` or ``ttir.conv_transpose2d``.

    A single spatial dimension becomes two. The first of three spatial dimensions is moved to the channels. The kernel's
    layout becomes OIHW.
    """
    numbers = stablehlo.ConvDimensionNumbers(op.attributes["dimension_numbers"])
    spatial = len(numbers.input_spatial_dimensions)
    if spatial not in (1, 2, 3):
        raise context.reject(op, f"it has {spatial} spatial dimensions; 1, 2 and 3 are supported")
    if context.result_type(op).element_type not in (bf16, f32):
        raise context.reject(op, "TT-NN convolves f32 and bf16")
    window = _Window(op, spatial)
    operand, kernel = context.operands(op)
    batch_groups = int(op.attributes["batch_group_count"].value)
    groups = int(op.attributes["feature_group_count"].value) * batch_groups
    operand = _batch_as_features(
        context, operand, numbers.input_batch_dimension, numbers.input_feature_dimension, batch_groups
    )
    transposed = _transposed_properties(op, window, shape(kernel), tuple(numbers.kernel_spatial_dimensions))
    if transposed is not None:
        return _conv_transpose2d(context, op, operand, kernel, transposed)
    for dim, dilation in zip(numbers.input_spatial_dimensions, window.lhs_dilation, strict=True):
        operand = spread(context, operand, dim, dilation)
    operand = window.crop_negative(context, operand, tuple(numbers.input_spatial_dimensions))
    kernel = permute(
        context,
        kernel,
        (
            numbers.kernel_output_feature_dimension,
            numbers.kernel_input_feature_dimension,
            *numbers.kernel_spatial_dimensions,
        ),
    )
    reversed_dims = tuple(2 + dim for dim, flag in enumerate(window.reversal) if flag)
    if reversed_dims:
        kernel = context.emit(ReverseOp, [kernel], tensor_type(kernel), dimensions=reversed_dims)
    dims = (numbers.input_batch_dimension, numbers.input_feature_dimension, *numbers.input_spatial_dimensions)
    results = (numbers.output_batch_dimension, numbers.output_feature_dimension, *numbers.output_spatial_dimensions)
    result = context.result_type(op)
    if spatial == 1:
        return _conv1d(context, (operand, kernel), groups, window, (dims, results), result)
    if spatial == 3:
        return _conv3d(context, (operand, kernel), groups, window, (dims, results), result)
    if dims != results:
        operand = permute(context, operand, tuple(dims[results.index(d)] for d in range(4)))
    return context.emit(
        Conv2dOp,
        [operand, kernel, None],
        result,
        groups=groups,
        batch_dim=results[0],
        channel_dim=results[1],
        height_dim=results[2],
        width_dim=results[3],
        **window.properties(),
    )


def _batch_as_features(context: ImportContext, operand: SSAValue, batch: int, feature: int, groups: int) -> SSAValue:
    """Moves the groups of a batch to the features, which are then grouped in the same way."""
    if groups == 1:
        return operand
    sizes = shape(operand)
    split = reshape(context, operand, (*sizes[:batch], groups, sizes[batch] // groups, *sizes[batch + 1 :]))
    order = [dim for dim in range(len(sizes) + 1) if dim != batch]
    order.insert(order.index(feature + (feature > batch)), batch)
    merged = tuple(
        size // groups if dim == batch else size * groups if dim == feature else size for dim, size in enumerate(sizes)
    )
    return reshape(context, permute(context, split, tuple(order)), merged)


def _transposed_properties(
    op: Any, window: _Window, kernel: tuple[int, ...], spatial: tuple[int, ...]
) -> dict[str, Any] | None:
    """Returns the properties of the transposed convolution that equals a convolution over a dilated plane.

    Padding by k - 1 on each side, with k the dilated size of the kernel, corresponds to no padding of the transposed
    convolution. Less padding crops its result.

    Returns:
        The properties, with the kernel dimensions to reverse under "reversed", or None if no transposed convolution
        equals this one.
    """
    if len(spatial) != 2 or all(dilation == 1 for dilation in window.lhs_dilation):
        return None
    is_grouped = any(int(op.attributes[name].value) != 1 for name in ("feature_group_count", "batch_group_count"))
    if is_grouped or any(stride != 1 for stride in window.stride):
        return None
    reach = [step * (kernel[dim] - 1) for dim, step in zip(spatial, window.rhs_dilation, strict=True)]
    cuts = [(size - low, size - high) for size, (low, high) in zip(reach, window.padding, strict=True)]
    output_padding = tuple(max(0, -high) for _, high in cuts)
    if any(low < 0 for low, _ in cuts) or any(a >= b for a, b in zip(output_padding, window.lhs_dilation, strict=True)):
        return None
    (top, bottom), (left, right) = cuts
    return {
        "stride": window.lhs_dilation,
        "padding": (top, left, max(0, bottom), max(0, right)),
        "output_padding": output_padding,
        "dilation": window.rhs_dilation,
        "reversed": tuple(2 + axis for axis, flag in enumerate(window.reversal) if not flag),
    }


def _conv_transpose2d(
    context: ImportContext, op: Any, operand: SSAValue, kernel: SSAValue, properties: dict[str, Any]
) -> SSAValue:
    """Emits a transposed convolution. Its kernel is [I, O, kh, kw], reversed where the convolution's is not."""
    numbers = stablehlo.ConvDimensionNumbers(op.attributes["dimension_numbers"])
    channels = (numbers.kernel_input_feature_dimension, numbers.kernel_output_feature_dimension)
    kernel = permute(context, kernel, (*channels, *numbers.kernel_spatial_dimensions))
    if turned := properties.pop("reversed"):
        kernel = context.emit(ReverseOp, [kernel], tensor_type(kernel), dimensions=turned)
    dims = (numbers.input_batch_dimension, numbers.input_feature_dimension, *numbers.input_spatial_dimensions)
    results = (numbers.output_batch_dimension, numbers.output_feature_dimension, *numbers.output_spatial_dimensions)
    operand = permute(context, operand, tuple(dims[results.index(d)] for d in range(4)))
    layout = dict(zip(("batch_dim", "channel_dim", "height_dim", "width_dim"), results, strict=True))
    operands = [operand, kernel, None]
    return context.emit(ConvTranspose2dOp, operands, context.result_type(op), groups=1, **layout, **properties)


class _Window:
    """Stride, padding, dilation and reversal of a convolution. Absent attributes have upstream's defaults."""

    def __init__(self, op: Any, spatial: int) -> None:
        attributes = op.attributes

        def read(name: str, default: int) -> tuple[int, ...]:
            return tuple(attributes[name]) if name in attributes else (default,) * spatial

        self.stride = read("window_strides", 1)
        self.lhs_dilation = read("lhs_dilation", 1)
        self.rhs_dilation = read("rhs_dilation", 1)
        self.reversal = read("window_reversal", 0)
        self.padding = tuple(padding_of(op, spatial))

    def crop_negative(self, context: ImportContext, operand: SSAValue, spatial: tuple[int, ...]) -> SSAValue:
        """Slices the operand where padding is negative, as in transposed convolutions, and sets that padding to 0."""
        for dim, (low, high) in zip(spatial, self.padding, strict=True):
            operand = crop(context, operand, dim, max(0, -low), shape(operand)[dim] - max(0, -high))
        self.padding = tuple((max(0, low), max(0, high)) for low, high in self.padding)
        return operand

    def properties(self) -> dict[str, Any]:
        (top, bottom), (left, right) = self.padding
        return {"stride": self.stride, "padding": (top, left, bottom, right), "dilation": self.rhs_dilation}


def _conv1d(
    context: ImportContext,
    operands: tuple[SSAValue, SSAValue],
    groups: int,
    window: _Window,
    dims: tuple[tuple[int, ...], tuple[int, ...]],
    result: Tensor,
) -> SSAValue:
    """Emits a convolution over one spatial dimension as one over [N, C, 1, L].

    Args:
        operands: input, and kernel [O, I, L].
        dims: batch, feature and spatial dimension of the input, and of the result.
    """
    operand, kernel = operands
    moved = permute(context, operand, dims[0])
    batch, channels, length = shape(moved)
    planar = reshape(context, moved, (batch, channels, 1, length))
    outputs, inputs, size = shape(kernel)
    weight = reshape(context, kernel, (outputs, inputs, 1, size))
    low, high = window.padding[0]
    out_length = shapes.window(length, size, window.stride[0], low, high, window.rhs_dilation[0])
    convolved = context.emit(
        Conv2dOp,
        [planar, weight, None],
        tensor((batch, outputs, 1, out_length), result.element_type),
        groups=groups,
        batch_dim=0,
        channel_dim=1,
        height_dim=2,
        width_dim=3,
        stride=(1, window.stride[0]),
        padding=(0, low, 0, high),
        dilation=(1, window.rhs_dilation[0]),
    )
    flat = reshape(context, convolved, (batch, outputs, out_length))
    return permute(context, flat, tuple(dims[1].index(d) for d in range(3)))


def _conv3d(
    context: ImportContext,
    operands: tuple[SSAValue, SSAValue],
    groups: int,
    window: _Window,
    dims: tuple[tuple[int, ...], tuple[int, ...]],
    result: Tensor,
) -> SSAValue:
    """Emits a convolution over three spatial dimensions as one over [N * D, H, W, kd * C].

    The planes that the kernel's depth spans lie side by side among the channels of each group.

    Args:
        operands: input, and kernel [O, I, kd, kh, kw].
        dims: batch, feature and spatial dimensions of the input, and of the result.
    """
    batch, channel, *space = dims[0]
    moved = permute(context, operands[0], (batch, *space, channel))
    outputs, inputs, depth, kernel_height, kernel_width = shape(operands[1])
    kernel = permute(context, operands[1], (0, 2, 1, 3, 4))
    kernel = reshape(context, kernel, (outputs, depth * inputs, kernel_height, kernel_width))
    moved = extend(context, moved, 1, window.padding[0], full(context, 0, tensor((), result.element_type)))
    planes = shapes.window(shape(moved)[1], depth, window.stride[0], 0, 0, window.rhs_dilation[0])
    side_by_side = _depth_as_channels(context, moved, (planes, depth, groups), window)
    count, _, height, width, channels = shape(moved)
    side_by_side = reshape(context, side_by_side, (count * planes, height, width, depth * channels))
    layout = {name: dim for dim, name in enumerate(("batch_dim", "height_dim", "width_dim", "channel_dim"))}
    (top, bottom), (left, right) = window.padding[1:]
    out_sizes = [
        shapes.window(size, reach, window.stride[dim], *window.padding[dim], window.rhs_dilation[dim])
        for dim, (size, reach) in enumerate(((height, kernel_height), (width, kernel_width)), start=1)
    ]
    convolved = context.emit(
        Conv2dOp,
        [side_by_side, kernel, None],
        tensor((count * planes, *out_sizes, outputs), result.element_type),
        groups=groups,
        stride=window.stride[1:],
        padding=(top, left, bottom, right),
        dilation=window.rhs_dilation[1:],
        **layout,
    )
    convolved = reshape(context, convolved, (count, planes, *out_sizes, outputs))
    to_batch, to_channel, *to_space = dims[1]
    order = (to_batch, *to_space, to_channel)
    return permute(context, convolved, tuple(order.index(dim) for dim in range(5)))


def _depth_as_channels(
    context: ImportContext, value: SSAValue, sizes: tuple[int, int, int], window: _Window
) -> SSAValue:
    """Returns the planes of a padded [N, D, H, W, C] that the kernel's depth spans, for each output plane:
    [N * planes * H * W, groups, depth * C / groups].

    Args:
        sizes: number of output planes, depth of the kernel, number of groups.
    """
    planes, depth, groups = sizes
    stride, dilation = window.stride[0], window.rhs_dilation[0]
    count, _, height, width, channels = shape(value)
    flat = (count * planes * height * width, groups, channels // groups)
    planes_by_depth: list[SSAValue] = []
    for first in range(0, depth * dilation, dilation):
        plane = crop(context, value, 1, first, first + (planes - 1) * stride + 1)
        planes_by_depth.append(reshape(context, strided(context, plane, 1, stride), flat))
    if depth == 1:
        return planes_by_depth[0]
    type_ = tensor((flat[0], groups, depth * flat[2]), tensor_type(value).element_type)
    concat_op = ConcatOp.make([planes_by_depth], [type_], context.location, dim=2)
    context.block.add_op(concat_op)
    return concat_op.results[0]


@converts("stablehlo.reduce_window")
def reduce_window(context: ImportContext, op: Any) -> SSAValue:
    """Converts to a running sum, to pooling of floats over one or two dimensions, or else to shifted slices."""
    reducer = body_op(op)
    if len(op.results) != 1:
        raise context.reject(op, f"it reduces {len(op.results)} tensors at once")
    if not reducer:
        names = " and ".join(inner.operation.name for inner in list(op.regions[0].blocks[0].operations)[:-1])
        raise context.reject(op, f"its body is not one op, but {names or 'none'}")
    operand, initial = context.operands(op)
    context.result_type(op)
    declared = str(op.results[0].type.element_type)
    if reducer not in ON_BOOLEANS or not is_identity(reducer, initial, declared):
        raise context.reject(op, "its initial value is not the identity of its body")
    windows = _pool_windows(op, shape(operand))
    dilates = any(window.base_dilation != 1 for window in windows)
    native = not dilates and declared != "i1"
    moving = [dim for dim, window in enumerate(windows) if window.moves]
    if native and not moving:
        return operand
    running = [dim for dim in moving if windows[dim].is_running(shape(operand)[dim])]
    if declared != "i1" and reducer == "stablehlo.add" and len(running) == 1 and running == moving:
        return context.emit(CumsumOp, [operand], context.result_type(op), dim=running[0])
    dilated = any(window.dilation != 1 for window in windows)
    # TT-NN's average pooling has no dilation; its maximum pooling has.
    pools = native and (reducer == "stablehlo.maximum" or (reducer == "stablehlo.add" and not dilated))
    element = tensor_type(operand).element_type
    # Non-maximum suppression compares elements with the maximum of their neighbours. TT-NN's pooling rounds to
    # bfloat16, so hardly any element would be equal to it.
    suppresses = reducer == "stablehlo.maximum" and element == f32 and {window.stride for window in windows} == {1}
    if pools and _is_poolable(windows) and element in (bf16, f32) and not (suppresses and context.module.approximate):
        return _pool2d(context, operand, reducer, _planes(context, op, shape(operand), windows))
    return slide(context, op, reducer, windows)


def _pool_windows(op: Any, operand_shape: tuple[int, ...]) -> list[shapes.Window]:
    """Returns the window along each dimension, without parts that lie in the padding for every result."""
    windows = windows_of(op)
    if 0 in op.results[0].type.shape:
        return windows
    return [window.within(size) for window, size in zip(windows, operand_shape, strict=True)]


def _is_poolable(windows: Sequence[shapes.Window]) -> bool:
    """Whether TT-NN's pooling takes a window: at most two dimensions, padded by at most half of the size."""
    is_narrow = all(0 <= edge <= window.kernel // 2 for window in windows for edge in (window.low, window.high))
    return sum(window.moves for window in windows) <= 2 and is_narrow


@dataclass(frozen=True)
class _Planes:
    """The view of a tensor as [N, H, W, C]. Dimensions along which the window does not slide collapse into N and C."""

    operand_shape: tuple[int, ...]
    """Shape of the tensor."""
    order: tuple[int, ...]
    """Dimensions of the tensor in the order batch, height, width, channels."""
    spatial: tuple[int | None, int | None]
    """Dimensions that are height and width; None for a height or width of 1."""
    channels: int
    """Size of C."""
    windows: Sequence[shapes.Window]
    """The window along each of the tensor's dimensions."""

    def of_plane(self, values: Sequence[Any], neutral: Any) -> tuple[Any, Any]:
        """Returns the values of height and width, given those of all dimensions.

        Args:
            neutral: value of a height or width that is not a dimension of the tensor.
        """
        height, width = (neutral if d is None else values[d] for d in self.spatial)
        return height, width

    def flat(self, context: ImportContext, value: SSAValue) -> SSAValue:
        """Rearranges a tensor of these dimensions, or of their windows, as [N, H, W, C]."""
        height, width = self.of_plane(shape(value), 1)
        count = math.prod(shape(value)) // (height * width * self.channels)
        return reshape(context, permute(context, value, self.order), (count, height, width, self.channels))

    def back(self, context: ImportContext, value: SSAValue) -> SSAValue:
        """Rearranges [N, H, W, C] to the dimensions of the tensor."""
        _, height, width, _ = shape(value)
        after = dict(zip(self.spatial, (height, width), strict=True))
        value = reshape(context, value, tuple(after.get(d, self.operand_shape[d]) for d in self.order))
        return permute(context, value, tuple(self.order.index(d) for d in range(len(self.operand_shape))))

    def properties(self) -> dict[str, Any]:
        height, width = self.of_plane(self.windows, shapes.Window(1, 1, 0, 0))
        return {
            "kernel": (height.kernel, width.kernel),
            "stride": (height.stride, width.stride),
            "dilation": (height.dilation, width.dilation),
            "padding": (height.low, width.low, height.high, width.high),
        }

    def pooled(self, flat: tuple[int, ...]) -> tuple[int, ...]:
        """Returns the shape that pooling gives for [N, H, W, C]."""
        properties = self.properties()
        top, left, bottom, right = properties["padding"]
        kernel, stride, dilation = properties["kernel"], properties["stride"], properties["dilation"]
        height = shapes.window(flat[1], kernel[0], stride[0], top, bottom, dilation[0])
        width = shapes.window(flat[2], kernel[1], stride[1], left, right, dilation[1])
        return (flat[0], height, width, flat[3])


def _pool2d(context: ImportContext, operand: SSAValue, reducer: str, planes: _Planes) -> SSAValue:
    flat = planes.flat(context, operand)
    type_ = tensor(planes.pooled(shape(flat)), tensor_type(operand).element_type)
    properties = planes.properties()
    if reducer == "stablehlo.maximum":
        pooled = context.emit(MaxPool2dOp, [flat], type_, ceil_mode=False, **properties)
    else:
        mean = context.emit(AvgPool2dOp, [flat], type_, ceil_mode=False, count_include_pad=True, **properties)
        count = full(context, math.prod(properties["kernel"]), type_)
        pooled = context.emit(ttir.BINARY_OPS["multiply"], [mean, count], type_)
    return planes.back(context, pooled)


@converts("stablehlo.select_and_scatter")
def select_and_scatter(context: ImportContext, op: Any) -> SSAValue:
    """Converts the gradient of maximum pooling: finds the positions of the maxima, and scatters the gradients to them,
    one channel at a time."""
    context.result_type(op)
    operand, source, initial = context.operands(op)
    windows = _pool_windows(op, shape(operand))
    if tensor_type(operand).element_type not in (bf16, f32) or not _keeps_first_greatest(op):
        raise context.reject(op, "it is not the gradient of maximum pooling")
    if body_op(op, region=1) != "stablehlo.add" or not is_identity("stablehlo.add", initial):
        raise context.reject(op, "it does not add to zeros")
    planes = _planes(context, op, shape(operand), windows)
    flat = planes.flat(context, operand)
    batch, height, width, channels = shape(flat)
    kernel, (top, left, bottom, right) = planes.properties()["kernel"], planes.properties()["padding"]
    if height * width > _POSITIONS or max(top, bottom) > kernel[0] // 2 or max(left, right) > kernel[1] // 2:
        raise context.reject(op, "TT-NN's pooling gives no positions for planes or padding of this size")
    pooled = planes.pooled(shape(flat))
    types = [tensor(pooled, tensor_type(flat).element_type), tensor(pooled, si32)]
    pooling_op = MaxPool2dWithIndicesOp.make(
        [flat, []], types, context.location, ceil_mode=False, **planes.properties()
    )
    context.block.add_op(pooling_op)
    by_channel = (0, 3, 1, 2)
    index, gradient = (
        reshape(context, permute(context, value, by_channel), (batch * channels, pooled[1] * pooled[2]))
        for value in (pooling_op.results[1], planes.flat(context, source))
    )
    type_ = tensor((batch * channels, height * width), tensor_type(operand).element_type)
    overlaps = any(step < size for step, size in zip(planes.properties()["stride"], kernel, strict=True))
    kind = ReduceType.SUM if overlaps else ReduceType.INVALID
    zeros = full(context, 0, type_)
    scattered = context.emit(ScatterOp, [zeros, index, gradient], type_, dim=1, scatter_reduce_type=kind)
    scattered = reshape(context, scattered, (batch, channels, height, width))
    return planes.back(context, permute(context, scattered, (0, 2, 3, 1)))


@legalises("tenstorrent.max_pool2d_with_indices")
def max_pool2d_with_indices(context: ImportContext, op: Any, attributes: Mapping[str, Any]) -> list[SSAValue] | None:
    """Converts maximum pooling with indices of a bfloat16 [N, C, H, W].

    The tensor is the last operand; the decomposition's constants come before it. Padding is top, left, bottom, right.
    An index is the position in the plane of a channel.
    """
    x = context.operands(op)[-1]
    sizes = {name: tuple(int(size) for size in attributes[name]) for name in ("kernel", "stride", "dilation")}
    padding = tuple(int(size) for size in attributes["padding"])
    too_wide = any(edge > size // 2 for edge, size in zip(padding, sizes["kernel"] * 2, strict=True))
    if tensor_type(x).element_type != bf16 or math.prod(shape(x)[2:]) > _POSITIONS or too_wide:
        return None
    flat = permute(context, x, (0, 2, 3, 1))
    batch, channels, height, width = context.result_type(op).get_shape()
    types = [tensor((batch, height, width, channels), element) for element in (bf16, si32)]
    pooling_op = MaxPool2dWithIndicesOp.make(
        [flat, []], types, context.location, ceil_mode=False, padding=padding, **sizes
    )
    context.block.add_op(pooling_op)
    return [permute(context, result, (0, 3, 1, 2)) for result in pooling_op.results]


_POSITIONS = 1 << 16
"""Largest plane, in positions, that the 16-bit indices of TT-NN's pooling cover."""


def _keeps_first_greatest(op: Any) -> bool:
    """Whether the comparison of a ``select_and_scatter`` selects the first greatest element."""
    block = op.regions[0].blocks[0]
    compare = block.operations[0]
    if len(list(block.operations)) != 2 or compare.operation.name != "stablehlo.compare":
        return False
    direction = stablehlo.ComparisonDirectionAttr(compare.attributes["comparison_direction"]).value
    return direction == "GE" and list(compare.operands) == list(block.arguments)


def _planes(
    context: ImportContext, op: Any, operand_shape: tuple[int, ...], windows: Sequence[shapes.Window]
) -> _Planes:
    """Chooses the dimensions of an operand that are height, width and channels.

    Raises:
        UnsupportedOpError: the window slides along more than two dimensions.
    """
    pooled = [d for d, window in enumerate(windows) if window.moves]
    if len(pooled) > 2:
        raise context.reject(op, f"its window spans {len(pooled)} dimensions; 1 and 2 are supported")
    others = [d for d in range(len(operand_shape)) if d not in pooled]
    channel = [max(others, key=lambda d: (d == 1, d))] if others else []
    batch = [d for d in others if d not in channel]
    height, width = [*pooled, None, None][:2]
    return _Planes(
        operand_shape,
        (*batch, *pooled, *channel),
        (height, width),
        math.prod(operand_shape[d] for d in channel),
        windows,
    )
