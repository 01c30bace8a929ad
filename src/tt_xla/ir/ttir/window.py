"""Convolution and pooling, channels last unless the dimension properties say otherwise."""

from __future__ import annotations

from abc import ABC

from xdsl.dialects.builtin import TensorType
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, prop_def

from tt_xla.ir import abstract as shared
from tt_xla.ir import shapes
from tt_xla.ir.base import BOOL, I32, I32S, I64, shape


@irdl_op_definition
class Conv2dOp(shared.TensorOp):
    """2-D convolution. weight is [O, I / groups, kernel height, kernel width], bias [1, 1, 1, O].

    ``padding`` is top, left, bottom, right. Source: tt-mlir ``TTIR_Conv2dOp``.
    """

    name = "ttir.conv2d"
    input = operand_def(TensorType)
    weight = operand_def(TensorType)
    bias = opt_operand_def(TensorType)
    stride = prop_def(I32S)
    padding = prop_def(I32S)
    dilation = prop_def(I32S)
    groups = prop_def(I32)
    batch_dim = prop_def(I64)
    height_dim = prop_def(I64)
    width_dim = prop_def(I64)
    channel_dim = prop_def(I64)

    @property
    def dims(self) -> tuple[int, int, int, int]:
        """Where batch, height, width and channels lie in input and result."""
        return (
            self.value("batch_dim"),
            self.value("height_dim"),
            self.value("width_dim"),
            self.value("channel_dim"),
        )

    def result_shape(self) -> shapes.Shape:
        whole, weight = shape(self.input), shape(self.weight)
        if len(whole) != 4 or len(weight) != 4:
            raise ValueError(f"expected operands of rank 4, got {whole} and {weight}")
        if sorted(self.dims) != [0, 1, 2, 3]:
            raise ValueError(f"batch, height, width and channel dimensions {self.dims} are not 0 to 3 in some order")
        batch, height, width, channel = self.dims
        stride, dilation = self.value("stride"), self.value("dilation")
        shapes.check_window(padding=self.value("padding"), stride=stride, dilation=dilation)
        top, left, bottom, right = self.value("padding")
        groups = self.value("groups")
        if groups < 1 or whole[channel] != weight[1] * groups or weight[0] % groups:
            raise ValueError(f"{whole[channel]} channels do not fit weight {weight} in {groups} groups")
        if self.bias is not None and shape(self.bias) != (1, 1, 1, weight[0]):
            raise ValueError(f"bias has shape {shape(self.bias)}, expected {(1, 1, 1, weight[0])}")
        result = [0] * 4
        result[batch], result[channel] = whole[batch], weight[0]
        result[height] = shapes.window(whole[height], weight[2], stride[0], top, bottom, dilation[0])
        result[width] = shapes.window(whole[width], weight[3], stride[1], left, right, dilation[1])
        return tuple(result)


class _Pool2d(shared.TensorOp, ABC):
    """A window over height and width of [N, H, W, C]. ``padding`` is top, left, bottom, right."""

    input = operand_def(TensorType)
    kernel = prop_def(I32S)
    stride = prop_def(I32S)
    dilation = prop_def(I32S)
    padding = prop_def(I32S)
    ceil_mode = prop_def(BOOL)

    def result_shape(self) -> shapes.Shape:
        whole = shape(self.input)
        if len(whole) != 4:
            raise ValueError(f"expected an operand [N, H, W, C], got {whole}")
        kernel, stride, dilation = self.value("kernel"), self.value("stride"), self.value("dilation")
        shapes.check_window(padding=self.value("padding"), kernel=kernel, stride=stride, dilation=dilation)
        top, left, bottom, right = self.value("padding")
        ceil_mode = self.value("ceil_mode")
        height = shapes.window(whole[1], kernel[0], stride[0], top, bottom, dilation[0], ceil_mode)
        width = shapes.window(whole[2], kernel[1], stride[1], left, right, dilation[1], ceil_mode)
        return (whole[0], height, width, whole[3])


@irdl_op_definition
class MaxPool2dOp(_Pool2d):
    """Greatest element of each window; padding counts as minus infinity."""

    name = "ttir.max_pool2d"


@irdl_op_definition
class AvgPool2dOp(_Pool2d):
    """Mean of each window; padding counts as zeros when ``count_include_pad``."""

    name = "ttir.avg_pool2d"
    count_include_pad = prop_def(BOOL)


OPS = (Conv2dOp, MaxPool2dOp, AvgPool2dOp)
