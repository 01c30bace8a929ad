"""Convolution and pooling on [1, 1, N * H * W, C]. Source: tt-mlir ``TTNNOps.td``."""

from __future__ import annotations

from abc import ABC

from xdsl.dialects.builtin import TensorType
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, opt_prop_def, prop_def

from tt_xla.ir import abstract as shared
from tt_xla.ir import shapes
from tt_xla.ir.base import BOOL, I32, I32S, SI32, STR, shape
from tt_xla.ir.ttnn.attributes import COMPUTE_CONFIG, CONV2D_CONFIG, DTYPE, LAYOUT, DeviceType
from tt_xla.ir.ttnn.base import ComputeOp, TTNNOp


class _Conv2dGeometry(TTNNOp, ABC):
    """``padding`` is top, bottom, left, right as in ``ttnn.conv2d``."""

    in_channels = prop_def(I32)
    out_channels = prop_def(I32)
    batch_size = prop_def(I32)
    input_height = prop_def(I32)
    input_width = prop_def(I32)
    kernel_size = prop_def(I32S)
    stride = prop_def(I32S)
    padding = prop_def(I32S)
    dilation = prop_def(I32S)
    groups = prop_def(I32)
    conv2d_config = opt_prop_def(CONV2D_CONFIG)

    def output_size(self) -> tuple[int, int]:
        kernel, stride, dilation = self.value("kernel_size"), self.value("stride"), self.value("dilation")
        shapes.check_window(padding=self.value("padding"), kernel_size=kernel, stride=stride, dilation=dilation)
        top, bottom, left, right = self.value("padding")
        return (
            shapes.window(self.value("input_height"), kernel[0], stride[0], top, bottom, dilation[0]),
            shapes.window(self.value("input_width"), kernel[1], stride[1], left, right, dilation[1]),
        )

    def weight_shape(self) -> shapes.Shape:
        """[O, I / groups, kernel height, kernel width]."""
        groups, inputs, outputs = self.value("groups"), self.value("in_channels"), self.value("out_channels")
        if groups < 1 or inputs % groups or outputs % groups:
            raise ValueError(f"{groups} groups do not divide {inputs} input and {outputs} output channels")
        return (outputs, inputs // groups, *self.value("kernel_size"))

    def bias_shape(self) -> shapes.Shape:
        return (1, 1, 1, self.value("out_channels"))

    def prepared_shape(self) -> shapes.Shape:
        """Of the matrix that the weights become; those of groups become one matrix with zeros between groups."""
        outputs, _, height, width = self.weight_shape()
        return (1, 1, height * width * self.value("in_channels"), outputs)

    def geometry(self) -> dict[str, object]:
        """Properties that a convolution and the preparation of its weights share."""
        names = ("in_channels", "out_channels", "batch_size", "input_height", "input_width")
        names += ("kernel_size", "stride", "padding", "dilation", "groups")
        return {name: self.value(name) for name in names}


@irdl_op_definition
class Conv2dOp(ComputeOp, _Conv2dGeometry, shared.TensorOp):
    """2-D convolution. weight is [O, I / groups, kh, kw] on the host, or prepared: [1, 1, kh * kw * I, O]."""

    name = "ttnn.conv2d"
    input = operand_def(TensorType)
    weight = operand_def(TensorType)
    bias = opt_operand_def(TensorType)
    device = operand_def(DeviceType)

    def result_shape(self) -> shapes.Shape:
        batch, channels = self.value("batch_size"), self.value("in_channels")
        rows = batch * self.value("input_height") * self.value("input_width")
        if shape(self.input) != (1, 1, rows, channels):
            raise ValueError(f"input has shape {shape(self.input)}, expected {(1, 1, rows, channels)}")
        height, width = self.output_size()
        if shape(self.weight) not in (self.weight_shape(), self.prepared_shape()):
            raise ValueError(
                f"weight has shape {shape(self.weight)}, expected {self.weight_shape()} or {self.prepared_shape()}"
            )
        if self.bias is not None and shape(self.bias) != self.bias_shape():
            raise ValueError(f"bias has shape {shape(self.bias)}, expected {self.bias_shape()}")
        return (1, 1, batch * height * width, self.value("out_channels"))


class _Prepare(_Conv2dGeometry, shared.TensorOp, ABC):
    input_tensor_layout = prop_def(LAYOUT)
    input_dtype = prop_def(DTYPE)
    output_dtype = opt_prop_def(DTYPE)
    compute_config = opt_prop_def(COMPUTE_CONFIG)


@irdl_op_definition
class PrepareConv2dWeightsOp(_Prepare):
    """Weights as the matrix that the convolution multiplies by: rows in order kernel row, kernel column, channel."""

    name = "ttnn.prepare_conv2d_weights"
    weight_tensor = operand_def(TensorType)
    device = operand_def(DeviceType)
    weights_format = prop_def(STR)
    has_bias = prop_def(BOOL)

    def result_shape(self) -> shapes.Shape:
        self.output_size()
        if shape(self.weight_tensor) != self.weight_shape():
            raise ValueError(f"weight_tensor has shape {shape(self.weight_tensor)}, expected {self.weight_shape()}")
        return self.prepared_shape()


@irdl_op_definition
class PrepareConv2dBiasOp(_Prepare):
    """Bias in tiles on the device."""

    name = "ttnn.prepare_conv2d_bias"
    bias_tensor = operand_def(TensorType)
    device = operand_def(DeviceType)

    def result_shape(self) -> shapes.Shape:
        self.output_size()
        self.weight_shape()
        if shape(self.bias_tensor) != self.bias_shape():
            raise ValueError(f"bias_tensor has shape {shape(self.bias_tensor)}, expected {self.bias_shape()}")
        return self.bias_shape()


class _Pool2d(TTNNOp, shared.TensorOp, ABC):
    """``padding`` is top, bottom, left, right."""

    input = operand_def(TensorType)
    batch_size = prop_def(SI32)
    input_height = prop_def(SI32)
    input_width = prop_def(SI32)
    channels = prop_def(SI32)
    kernel_size = prop_def(I32S)
    stride = prop_def(I32S)
    padding = prop_def(I32S)
    dilation = prop_def(I32S)
    ceil_mode = prop_def(BOOL)

    def result_shape(self) -> shapes.Shape:
        kernel, stride, dilation = self.value("kernel_size"), self.value("stride"), self.value("dilation")
        shapes.check_window(padding=self.value("padding"), kernel_size=kernel, stride=stride, dilation=dilation)
        rows = self.value("batch_size") * self.value("input_height") * self.value("input_width")
        if shape(self.input) != (1, 1, rows, self.value("channels")):
            raise ValueError(f"input has shape {shape(self.input)}, expected {(1, 1, rows, self.value('channels'))}")
        top, bottom, left, right = self.value("padding")
        ceil = self.value("ceil_mode")
        height = shapes.window(self.value("input_height"), kernel[0], stride[0], top, bottom, dilation[0], ceil)
        width = shapes.window(self.value("input_width"), kernel[1], stride[1], left, right, dilation[1], ceil)
        return (1, 1, self.value("batch_size") * height * width, self.value("channels"))


@irdl_op_definition
class MaxPool2dOp(_Pool2d):
    """Greatest element of each window."""

    name = "ttnn.max_pool2d"


@irdl_op_definition
class AvgPool2dOp(_Pool2d):
    """Mean of each window."""

    name = "ttnn.avg_pool2d"
    count_include_pad = prop_def(BOOL)


OPS = (Conv2dOp, PrepareConv2dWeightsOp, PrepareConv2dBiasOp, MaxPool2dOp, AvgPool2dOp)
