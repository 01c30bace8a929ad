"""Convolution and pooling on [1, 1, N * H * W, C]. Source: tt-mlir ``TTNNOps.td``."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import TensorType
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, result_def, traits_def
from xdsl.traits import Pure

from tt_xla.ir import abstract as shared
from tt_xla.ir import shapes
from tt_xla.ir.abstract import structure as more
from tt_xla.ir.base import shape
from tt_xla.ir.layout import TILE, round_up
from tt_xla.ir.properties import BOOL, I32, I32S, SI32, STR, defaulted, opt_prop_def, prop_def
from tt_xla.ir.ttcore import DTYPE
from tt_xla.ir.ttnn.attributes import DeviceType
from tt_xla.ir.ttnn.base import ComputeOp, TTNNOp
from tt_xla.ir.ttnn.configs import (
    COMPUTE_CONFIG,
    CONV2D_CONFIG,
    CONV2D_SLICE,
    CONV3D_CONFIG,
    LAYOUT,
    MEMORY_CONFIG,
    MEMORY_LAYOUT,
)


class _Channels(TTNNOp, ABC):
    """The properties of a convolution that count batch, channels and groups."""

    in_channels = prop_def(I32)
    out_channels = prop_def(I32)
    batch_size = prop_def(I32)
    groups = prop_def(I32)

    def group_channels(self) -> tuple[int, int]:
        """Returns the numbers of input and output channels of a group.

        Raises:
            ValueError: the groups do not divide the channels.
        """
        groups, inputs, outputs = self.groups, self.in_channels, self.out_channels
        if groups < 1 or inputs % groups or outputs % groups:
            raise ValueError(f"{groups} groups do not divide {inputs} input and {outputs} output channels")
        return inputs // groups, outputs // groups


class _Conv2dGeometry(_Channels, ABC):
    """The properties of a 2-D convolution.

    ``padding`` is top, bottom, left, right as in ``ttnn.conv2d``, or height and width.
    """

    input_height = prop_def(I32)
    input_width = prop_def(I32)
    kernel_size = prop_def(I32S)
    stride = prop_def(I32S)
    padding = prop_def(I32S)
    dilation = prop_def(I32S)
    conv2d_config = opt_prop_def(CONV2D_CONFIG)
    conv2d_slice_config = opt_prop_def(CONV2D_SLICE)

    def output_size(self) -> tuple[int, int]:
        """Returns height and width of the result.

        Raises:
            ValueError: the window does not fit the input.
        """
        kernel, stride, dilation = self.kernel_size, self.stride, self.dilation
        padding = _borders(self.padding)
        shapes.check_window(padding=padding, kernel_size=kernel, stride=stride, dilation=dilation)
        top, bottom, left, right = padding
        return (
            shapes.window(self.input_height, kernel[0], stride[0], top, bottom, dilation[0]),
            shapes.window(self.input_width, kernel[1], stride[1], left, right, dilation[1]),
        )

    def weight_shape(self) -> shapes.Shape:
        """Returns the shape of the weights, [O, I / groups, kernel height, kernel width]."""
        inputs, _ = self.group_channels()
        return (self.out_channels, inputs, *self.kernel_size)

    def bias_shape(self) -> shapes.Shape:
        """Returns the shape of the bias, [1, 1, 1, O]."""
        return (1, 1, 1, self.out_channels)

    def prepared_shape(self) -> shapes.Shape:
        """Returns the shape of prepared weights: a matrix, with zeros between groups."""
        height, width = self.kernel_size
        return (1, 1, height * width * self.in_channels, self.out_channels)

    def prepared_shapes(self) -> set[shapes.Shape]:
        """Returns the shapes that prepared weights may have.

        TT-NN pads input channels to its alignments and output channels to tiles.
        """
        height, width = self.kernel_size
        rows = {height * width * round_up(self.in_channels, unit) for unit in (1, 8, 16, TILE)}
        columns = self.prepared_shape()[3]
        return {(1, 1, row, column) for row in rows for column in (columns, round_up(columns, TILE))}

    def geometry(self) -> dict[str, object]:
        """Returns the values of the properties that a convolution and the preparation of its weights share."""
        names = ("in_channels", "out_channels", "batch_size", "input_height", "input_width")
        names += ("kernel_size", "stride", "padding", "dilation", "groups")
        return {name: self.value(name) for name in names}


def _borders(padding: tuple[int, ...]) -> tuple[int, ...]:
    """Returns a padding of two or four numbers as top, bottom, left, right."""
    return (padding[0], padding[0], padding[1], padding[1]) if len(padding) == 2 else padding


class _Convolution2d(ComputeOp, _Conv2dGeometry, shared.TensorOp, ABC):
    """A convolution over height and width of [1, 1, N * H * W, I]; the result is [1, 1, N * H * W, O]."""

    def result_shape(self) -> shapes.Shape:
        batch, channels = self.batch_size, self.in_channels
        rows = batch * self.input_height * self.input_width
        self.expect_shape("input", (1, 1, rows, channels))
        height, width = self.output_size()
        weight = shape(self.operands[1])
        if weight not in (self.weight_shape(), *self.prepared_shapes()):
            raise ValueError(f"weight has shape {weight}, expected {self.weight_shape()} or {self.prepared_shape()}")
        self.expect_shape("bias", self.bias_shape())
        return (1, 1, batch * height * width, self.out_channels)


@irdl_op_definition
class Conv2dOp(_Convolution2d):
    """Computes a 2-D convolution.

    weight is [O, I / groups, kh, kw] on the host, or prepared, [1, 1, kh * kw * I, O].
    """

    name = "ttnn.conv2d"
    input = operand_def(TensorType)
    weight = operand_def(TensorType)
    bias = opt_operand_def(TensorType)
    device = operand_def(DeviceType)


class _Transposed(_Conv2dGeometry, ABC):
    """The properties of a transposed convolution; weight is [I, O / groups, kernel height, kernel width]."""

    if TYPE_CHECKING:
        output_padding: tuple[int, ...]
        """Declared by each op, by some with a default."""

    def weight_shape(self) -> shapes.Shape:
        _, outputs = self.group_channels()
        return (self.in_channels, outputs, *self.kernel_size)

    def output_size(self) -> tuple[int, int]:
        kernel, stride, dilation = self.kernel_size, self.stride, self.dilation
        padding, extra = _borders(self.padding), self.output_padding
        shapes.check_window(padding=padding, kernel_size=kernel, stride=stride, dilation=dilation, output_padding=extra)
        top, bottom, left, right = padding
        size, across = self.input_height, self.input_width
        return (
            shapes.transposed_window(size, kernel[0], stride[0], top, bottom, dilation[0], extra[0]),
            shapes.transposed_window(across, kernel[1], stride[1], left, right, dilation[1], extra[1]),
        )


@irdl_op_definition
class ConvTranspose2dOp(_Transposed, _Convolution2d):
    """Computes a transposed 2-D convolution. weight is [I, O / groups, kh, kw] on the host, or prepared."""

    name = "ttnn.conv_transpose2d"
    input = operand_def(TensorType)
    weight = operand_def(TensorType)
    bias = opt_operand_def(TensorType)
    device = operand_def(DeviceType)
    output_padding = prop_def(I32S)


@irdl_op_definition
class Conv1dOp(ComputeOp, _Channels, shared.TensorOp):
    """Computes a 1-D convolution of [N, L, C].

    weight is [O, I / groups, kernel], bias [1, 1, 1, O]; padding is left, right.
    """

    name = "ttnn.conv1d"
    input = operand_def(TensorType)
    weight = operand_def(TensorType)
    bias = opt_operand_def(TensorType)
    device = operand_def(DeviceType)
    input_length = prop_def(I32)
    kernel_size = prop_def(I32)
    stride = prop_def(I32)
    padding = prop_def(I32S)
    dilation = prop_def(I32)
    conv2d_config = opt_prop_def(CONV2D_CONFIG)
    conv2d_slice_config = opt_prop_def(CONV2D_SLICE)

    def result_shape(self) -> shapes.Shape:
        batch, length, kernel = self.batch_size, self.input_length, self.kernel_size
        inputs, _ = self.group_channels()
        self.expect_shape("input", (batch, length, self.in_channels))
        self.expect_shape("weight", (self.out_channels, inputs, kernel))
        self.expect_shape("bias", (1, 1, 1, self.out_channels))
        left, right = shapes.pair(self.padding, "padding")
        size = shapes.window(length, kernel, self.stride, left, right, self.dilation)
        return (batch, size, self.out_channels)


@irdl_op_definition
class Conv3dOp(ComputeOp, _Channels, shared.TensorOp):
    """Computes a 3-D convolution of [N, D, H, W, C]. weight is [kd * kh * kw * I / groups, O], bias [1, O]."""

    name = "ttnn.conv3d"
    input = operand_def(TensorType)
    weight = operand_def(TensorType)
    bias = opt_operand_def(TensorType)
    device = operand_def(DeviceType)
    input_depth = prop_def(I32)
    input_height = prop_def(I32)
    input_width = prop_def(I32)
    kernel_size = prop_def(I32S)
    stride = prop_def(I32S)
    padding = prop_def(I32S)
    padding_mode = defaulted(STR, "zeros")
    conv3d_config = opt_prop_def(CONV3D_CONFIG)

    def result_shape(self) -> shapes.Shape:
        kernel, stride, padding = self.kernel_size, self.stride, self.padding
        for name, numbers in (("kernel_size", kernel), ("stride", stride), ("padding", padding)):
            self.require(len(numbers) == 3, f"{name} {numbers} has {len(numbers)} entries, expected 3")
        sizes = (self.input_depth, self.input_height, self.input_width)
        batch, outputs = self.batch_size, self.out_channels
        inputs, _ = self.group_channels()
        self.expect_shape("input", (batch, *sizes, self.in_channels))
        rows = kernel[0] * kernel[1] * kernel[2] * inputs
        weight = self.shape_of_rank("weight", 2)
        self.require(
            weight[0] >= rows and weight[1] == outputs, f"weight has shape {weight}, expected {(rows, outputs)}"
        )
        self.expect_shape("bias", (1, outputs))
        result_sizes = (
            shapes.window(size, kernel[dim], stride[dim], padding[dim], padding[dim], 1)
            for dim, size in enumerate(sizes)
        )
        return (batch, *result_sizes, outputs)


class _Prepare(_Conv2dGeometry, shared.TensorOp, ABC):
    """Prepares weights or bias of a 2-D convolution, once, for all of its runs."""

    input_memory_config = opt_prop_def(MEMORY_CONFIG)
    input_tensor_layout = prop_def(LAYOUT)
    input_dtype = prop_def(DTYPE)
    output_dtype = opt_prop_def(DTYPE)
    compute_config = opt_prop_def(COMPUTE_CONFIG)

    def prepared_weights(self, operand: str) -> shapes.Shape:
        """Returns the shape of prepared weights, after checking the shape of ``operand``, the weights."""
        self.output_size()
        self.expect_shape(operand, self.weight_shape())
        sizes = shape(self.result)
        return sizes if sizes in self.prepared_shapes() else self.prepared_shape()

    def prepared_bias(self) -> shapes.Shape:
        """Returns the shape of a prepared bias, after checking the shape of the operand."""
        self.output_size()
        self.weight_shape()
        self.expect_shape("bias_tensor", self.bias_shape())
        padded = (1, 1, 1, round_up(self.out_channels, TILE))
        return padded if shape(self.result) == padded else self.bias_shape()


@irdl_op_definition
class PrepareConv2dWeightsOp(_Prepare):
    """Makes the matrix that the convolution multiplies by; its rows are in order kernel row, kernel column, channel."""

    name = "ttnn.prepare_conv2d_weights"
    weight_tensor = operand_def(TensorType)
    device = operand_def(DeviceType)
    weights_format = prop_def(STR)
    has_bias = prop_def(BOOL)

    def result_shape(self) -> shapes.Shape:
        return self.prepared_weights("weight_tensor")


@irdl_op_definition
class PrepareConv2dBiasOp(_Prepare):
    """Moves the bias to the device, in tiles."""

    name = "ttnn.prepare_conv2d_bias"
    bias_tensor = operand_def(TensorType)
    device = operand_def(DeviceType)

    def result_shape(self) -> shapes.Shape:
        return self.prepared_bias()


@irdl_op_definition
class PrepareConvTranspose2dWeightsOp(_Transposed, _Prepare):
    """Makes the matrix that the transposed convolution multiplies by."""

    name = "ttnn.prepare_conv_transpose2d_weights"
    weight_tensor = operand_def(TensorType)
    device = operand_def(DeviceType)
    output_padding = defaulted(I32S, (0, 0))
    weights_format = prop_def(STR)
    has_bias = prop_def(BOOL)
    mirror_kernel = defaulted(BOOL, True)

    def result_shape(self) -> shapes.Shape:
        return self.prepared_weights("weight_tensor")


@irdl_op_definition
class PrepareConvTranspose2dBiasOp(_Prepare):
    """Moves the bias of a transposed convolution to the device, in tiles."""

    name = "ttnn.prepare_conv_transpose2d_bias"
    bias_tensor = operand_def(TensorType)
    device = operand_def(DeviceType)

    def output_size(self) -> tuple[int, int]:
        """Returns zeros: the bias does not depend on the size, and the op has no output_padding."""
        return (0, 0)

    def result_shape(self) -> shapes.Shape:
        return self.prepared_bias()


@irdl_op_definition
class PrepareConv3dWeightsOp(TTNNOp, shared.TensorOp):
    """Makes the matrix that the 3-D convolution multiplies by, from weights [O, I / groups, kd, kh, kw].

    Channels are in blocks of ``c_in_block`` and padded to a multiple of ``alignment``.
    """

    name = "ttnn.prepare_conv3d_weights"
    weight_tensor = operand_def(TensorType)
    device = operand_def(DeviceType)
    groups = prop_def(I32)
    c_in_block = prop_def(I32)
    alignment = prop_def(I32)

    def result_shape(self) -> shapes.Shape:
        outputs, inputs, depth, height, width = self.shape_of_rank("weight_tensor", 5)
        unit = self.alignment
        self.require(unit > 0, f"alignment is {unit}, expected a positive number")
        return (depth * height * width * -(-inputs // unit) * unit, outputs)


class _Pool2d(TTNNOp, shared.ShapedOp, ABC):
    """Reduces windows of [1, 1, N * H * W, C]; ``padding`` is top, bottom, left, right, or height and width."""

    traits = traits_def(Pure())
    input = operand_def(TensorType)
    batch_size = prop_def(SI32)
    input_height = prop_def(SI32)
    input_width = prop_def(SI32)
    channels = prop_def(SI32)
    kernel_size = prop_def(I32S)
    stride = prop_def(I32S)
    padding = prop_def(I32S)
    dilation = prop_def(I32S)
    applied_shard_scheme = opt_prop_def(MEMORY_LAYOUT)
    ceil_mode = prop_def(BOOL)
    reallocate_halo_output = defaulted(BOOL, True)
    config_tensors_in_dram = opt_prop_def(BOOL)
    result = result_def(TensorType)

    def result_shapes(self) -> Sequence[shapes.Shape]:
        kernel, stride, dilation = self.kernel_size, self.stride, self.dilation
        padding = _borders(self.padding)
        shapes.check_window(padding=padding, kernel_size=kernel, stride=stride, dilation=dilation)
        rows = self.batch_size * self.input_height * self.input_width
        self.expect_shape("input", (1, 1, rows, self.channels))
        top, bottom, left, right = padding
        ceil = self.ceil_mode
        height = shapes.window(self.input_height, kernel[0], stride[0], top, bottom, dilation[0], ceil)
        width = shapes.window(self.input_width, kernel[1], stride[1], left, right, dilation[1], ceil)
        return ((1, 1, self.batch_size * height * width, self.channels),) * 2


@irdl_op_definition
class MaxPool2dOp(_Pool2d):
    """Computes the greatest element of each window."""

    name = "ttnn.max_pool2d"


@irdl_op_definition
class MaxPool2dWithIndicesOp(_Pool2d):
    """Computes the greatest element of each window and its position within its channel."""

    name = "ttnn.max_pool2d_with_indices"
    result = result_def(TensorType)
    result_indices = result_def(TensorType)


@irdl_op_definition
class AvgPool2dOp(_Pool2d):
    """Computes the mean of each window."""

    name = "ttnn.avg_pool2d"
    count_include_pad = defaulted(BOOL, True)


@irdl_op_definition
class UpsampleOp(TTNNOp, more.Upsample2d):
    """Enlarges height and width of [N, H, W, C] by a factor."""

    name = "ttnn.upsample"


@irdl_op_definition
class GlobalAvgPool2dOp(TTNNOp, more.GlobalAvgPool2d):
    """Computes the mean over height and width of [N, H, W, C]."""

    name = "ttnn.global_avg_pool2d"


OPS = (
    Conv2dOp,
    ConvTranspose2dOp,
    Conv1dOp,
    Conv3dOp,
    PrepareConv2dWeightsOp,
    PrepareConv2dBiasOp,
    PrepareConvTranspose2dWeightsOp,
    PrepareConvTranspose2dBiasOp,
    PrepareConv3dWeightsOp,
    MaxPool2dOp,
    MaxPool2dWithIndicesOp,
    AvgPool2dOp,
    UpsampleOp,
    GlobalAvgPool2dOp,
)
