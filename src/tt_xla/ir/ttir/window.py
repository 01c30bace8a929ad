"""Convolution and pooling, channels last unless the dimension properties say otherwise.

A window property is one number for all dimensions of the window, or one for each. A padding of height and width is one
number, height and width, or top, left, bottom, right. Source: tt-mlir ``TTIROps.td``.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import ClassVar

from xdsl import irdl
from xdsl.dialects.builtin import TensorType
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, result_def, traits_def, var_operand_def
from xdsl.traits import Pure

from tt_xla.ir import abstract as shared
from tt_xla.ir import shapes
from tt_xla.ir.abstract import structure as more
from tt_xla.ir.base import shape
from tt_xla.ir.properties import BOOL, I32, I64, STR, WINDOW, defaulted, prop_def


class _Convolution(shared.TensorOp, ABC):
    """A convolution; ``groups`` splits its channels."""

    input = operand_def(TensorType)
    weight = operand_def(TensorType)
    bias = opt_operand_def(TensorType)
    groups = prop_def(I32)

    DIMS: ClassVar[tuple[str, ...]]
    """Names of the properties that give the dimensions of batch, positions and channels."""
    POSITIONS: ClassVar[int]
    """Number of dimensions that the window moves along."""

    @property
    def dims(self) -> tuple[int, ...]:
        """Dimensions of batch, positions and channels, in input and result."""
        return tuple(self.value(name) for name in self.DIMS)

    def checked_shapes(self, inputs: int, outputs: int) -> tuple[shapes.Shape, shapes.Shape]:
        """Returns the shapes of input and weight.

        Args:
            inputs: dimension of the weight that counts input channels.
            outputs: dimension of the weight that counts output channels. Dimension 1 counts those of one group.

        Raises:
            ValueError: input, weight, bias and groups contradict each other.
        """
        input_shape, weight, rank = shape(self.input), shape(self.weight), self.POSITIONS + 2
        if len(input_shape) != rank or len(weight) != rank:
            raise ValueError(f"input has shape {input_shape} and weight {weight}, expected rank {rank}")
        if sorted(self.dims) != list(range(rank)):
            raise ValueError(f"{', '.join(self.DIMS)} are {self.dims}, expected 0 to {rank - 1} in some order")
        groups, channels = self.groups, input_shape[self.dims[-1]]
        factor = 1 if inputs == 0 else groups
        if groups < 1 or channels != weight[inputs] * factor or weight[0] % groups:
            raise ValueError(f"{channels} input channels do not fit weight {weight} in {groups} groups")
        count = weight[outputs] * (groups if inputs == 0 else 1)
        expected = (*([1] * (rank - 1)), count)
        if self.bias is not None and shape(self.bias) != expected:
            raise ValueError(f"bias has shape {shape(self.bias)}, expected {expected}")
        return input_shape, weight

    def shape_of(self, batch: int, positions: Sequence[int], channels: int) -> shapes.Shape:
        """Returns the shape whose dimensions :attr:`dims` have these sizes."""
        result = [0] * (self.POSITIONS + 2)
        for dim, size in zip(self.dims, (batch, *positions, channels), strict=True):
            result[dim] = size
        return tuple(result)


def per_dimension(value: int | Sequence[int], count: int, name: str) -> tuple[int, ...]:
    """Returns one number for each of ``count`` dimensions.

    Args:
        value: one number for all dimensions, or one for each.
        count: number of dimensions.
        name: name of the property, for the message.

    Raises:
        ValueError: ``value`` has more or fewer numbers.
    """
    numbers = (value,) * count if isinstance(value, int) else tuple(value)
    if len(numbers) != count:
        raise ValueError(f"{name} {numbers} has {len(numbers)} entries, expected {count}")
    return numbers


@irdl_op_definition
class Conv1dOp(_Convolution):
    """Computes a 1-D convolution. weight is [O, I / groups, kernel], bias [1, 1, O]; padding is left, right."""

    name = "ttir.conv1d"
    stride = prop_def(WINDOW)
    padding = prop_def(WINDOW)
    dilation = prop_def(WINDOW)
    batch_dim = defaulted(I64, 0)
    length_dim = defaulted(I64, 1)
    channel_dim = defaulted(I64, 2)
    DIMS: ClassVar[tuple[str, ...]] = ("batch_dim", "length_dim", "channel_dim")
    POSITIONS: ClassVar[int] = 1

    def result_shape(self) -> shapes.Shape:
        input_shape, weight = self.checked_shapes(1, 0)
        (stride,), (dilation,) = per_dimension(self.stride, 1, "stride"), per_dimension(self.dilation, 1, "dilation")
        left, right = shapes.pair(self.padding, "padding")
        length = shapes.window(input_shape[self.dims[1]], weight[2], stride, left, right, dilation)
        return self.shape_of(input_shape[self.dims[0]], (length,), weight[0])


class _Convolution2d(_Convolution, ABC):
    """A convolution over height and width."""

    stride = prop_def(WINDOW)
    padding = prop_def(WINDOW)
    dilation = prop_def(WINDOW)
    batch_dim = defaulted(I64, 0)
    height_dim = defaulted(I64, 1)
    width_dim = defaulted(I64, 2)
    channel_dim = defaulted(I64, 3)
    flattened_compat_info = irdl.opt_prop_def()
    DIMS: ClassVar[tuple[str, ...]] = ("batch_dim", "height_dim", "width_dim", "channel_dim")
    POSITIONS: ClassVar[int] = 2


@irdl_op_definition
class Conv2dOp(_Convolution2d):
    """Computes a 2-D convolution. weight is [O, I / groups, kernel height, kernel width], bias [1, 1, 1, O]."""

    name = "ttir.conv2d"

    def result_shape(self) -> shapes.Shape:
        input_shape, weight = self.checked_shapes(1, 0)
        stride, dilation = shapes.pair(self.stride, "stride"), shapes.pair(self.dilation, "dilation")
        top, left, bottom, right = padding = shapes.borders(self.padding)
        shapes.check_window(padding=padding)
        _, high, wide, _ = self.dims
        height = shapes.window(input_shape[high], weight[2], stride[0], top, bottom, dilation[0])
        width = shapes.window(input_shape[wide], weight[3], stride[1], left, right, dilation[1])
        return self.shape_of(input_shape[self.dims[0]], (height, width), weight[0])


@irdl_op_definition
class ConvTranspose2dOp(_Convolution2d):
    """Computes a transposed 2-D convolution.

    weight is [I, O / groups, kernel height, kernel width], bias [1, 1, 1, O].
    """

    name = "ttir.conv_transpose2d"
    output_padding = prop_def(WINDOW)

    def result_shape(self) -> shapes.Shape:
        input_shape, weight = self.checked_shapes(0, 1)
        stride, dilation = shapes.pair(self.stride, "stride"), shapes.pair(self.dilation, "dilation")
        extra = shapes.pair(self.output_padding, "output_padding")
        top, left, bottom, right = shapes.borders(self.padding)
        _, high, wide, _ = self.dims
        sizes = (
            shapes.transposed_window(input_shape[high], weight[2], stride[0], top, bottom, dilation[0], extra[0]),
            shapes.transposed_window(input_shape[wide], weight[3], stride[1], left, right, dilation[1], extra[1]),
        )
        return self.shape_of(input_shape[self.dims[0]], sizes, weight[1] * self.groups)


@irdl_op_definition
class Conv3dOp(_Convolution):
    """Computes a 3-D convolution. weight is [O, I / groups, depth, height, width], bias [1, 1, 1, 1, O]."""

    name = "ttir.conv3d"
    stride = prop_def(WINDOW)
    padding = prop_def(WINDOW)
    batch_dim = defaulted(I64, 0)
    depth_dim = defaulted(I64, 1)
    height_dim = defaulted(I64, 2)
    width_dim = defaulted(I64, 3)
    channel_dim = defaulted(I64, 4)
    padding_mode = defaulted(STR, "zeros")
    DIMS: ClassVar[tuple[str, ...]] = ("batch_dim", "depth_dim", "height_dim", "width_dim", "channel_dim")
    POSITIONS: ClassVar[int] = 3

    def result_shape(self) -> shapes.Shape:
        input_shape, weight = self.checked_shapes(1, 0)
        strides, paddings = per_dimension(self.stride, 3, "stride"), per_dimension(self.padding, 3, "padding")
        sizes = tuple(
            shapes.window(input_shape[dim], kernel, stride, padding, padding, 1)
            for dim, kernel, stride, padding in zip(self.dims[1:4], weight[2:], strides, paddings, strict=True)
        )
        return self.shape_of(input_shape[self.dims[0]], sizes, weight[0])


class _Pool2d(shared.ShapedOp, ABC):
    """Reduces windows over height and width of [N, H, W, C]."""

    traits = traits_def(Pure())
    input = operand_def(TensorType)
    kernel = prop_def(WINDOW)
    stride = prop_def(WINDOW)
    dilation = prop_def(WINDOW)
    padding = prop_def(WINDOW)
    ceil_mode = prop_def(BOOL)
    flattened_compat_info = irdl.opt_prop_def()
    result = result_def(TensorType)

    def result_shapes(self) -> Sequence[shapes.Shape]:
        input_shape = shape(self.input)
        if len(input_shape) != 4:
            raise ValueError(f"input has shape {input_shape}, expected [N, H, W, C]")
        kernel, stride, dilation = (shapes.pair(self.value(name), name) for name in ("kernel", "stride", "dilation"))
        top, left, bottom, right = padding = shapes.borders(self.padding)
        shapes.check_window(padding=padding)
        ceil_mode = self.ceil_mode
        height = shapes.window(input_shape[1], kernel[0], stride[0], top, bottom, dilation[0], ceil_mode)
        width = shapes.window(input_shape[2], kernel[1], stride[1], left, right, dilation[1], ceil_mode)
        return ((input_shape[0], height, width, input_shape[3]),) * 2


@irdl_op_definition
class MaxPool2dOp(_Pool2d):
    """Computes the greatest element of each window; padding counts as minus infinity."""

    name = "ttir.max_pool2d"


@irdl_op_definition
class MaxPool2dWithIndicesOp(_Pool2d):
    """Computes the greatest element of each window and its position within its channel."""

    name = "ttir.max_pool2d_with_indices"
    input = operand_def(TensorType)
    output = var_operand_def(TensorType)
    result = result_def(TensorType)
    result_indices = result_def(TensorType)


@irdl_op_definition
class AvgPool2dOp(_Pool2d):
    """Computes the mean of each window; with ``count_include_pad``, padding counts as zeros."""

    name = "ttir.avg_pool2d"
    count_include_pad = defaulted(BOOL, True)


@irdl_op_definition
class Upsample2dOp(more.Upsample2d):
    """Enlarges height and width by a factor."""

    name = "ttir.upsample2d"


@irdl_op_definition
class GlobalAvgPool2dOp(more.GlobalAvgPool2d):
    """Computes the mean over height and width."""

    name = "ttir.global_avg_pool2d"


OPS = (
    Conv1dOp,
    Conv2dOp,
    ConvTranspose2dOp,
    Conv3dOp,
    MaxPool2dOp,
    MaxPool2dWithIndicesOp,
    AvgPool2dOp,
    Upsample2dOp,
    GlobalAvgPool2dOp,
)
