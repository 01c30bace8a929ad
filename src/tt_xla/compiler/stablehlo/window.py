"""Convolution and windows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from jaxlib.mlir.dialects import stablehlo
from xdsl.dialects.builtin import bf16, f32
from xdsl.ir import SSAValue

from tt_xla.compiler.stablehlo.creation import full
from tt_xla.compiler.stablehlo.importer import Importer, converts
from tt_xla.compiler.stablehlo.reduction import body_op, is_identity
from tt_xla.compiler.stablehlo.structure import crop, permute, reshape, spread
from tt_xla.ir import shapes, ttir
from tt_xla.ir.base import Tensor, shape, tensor, tensor_type
from tt_xla.ir.ttir.reduction import CumsumOp
from tt_xla.ir.ttir.structure import ReverseOp
from tt_xla.ir.ttir.window import AvgPool2dOp, Conv2dOp, MaxPool2dOp


@converts("stablehlo.convolution")
def convolution(importer: Importer, op: Any) -> SSAValue:
    """To ``ttir.conv2d``; one spatial dimension becomes two, the kernel's layout becomes OIHW."""
    numbers = stablehlo.ConvDimensionNumbers(op.attributes["dimension_numbers"])
    spatial = len(numbers.input_spatial_dimensions)
    if spatial not in (1, 2):
        raise importer.reject(op, f"it has {spatial} spatial dimensions; 1 and 2 are supported")
    window = _Window(op, spatial)
    if int(op.attributes["batch_group_count"].value) != 1:
        raise importer.reject(op, "it groups its batch")
    operand, kernel = importer.operands(op)
    for dim, dilation in zip(numbers.input_spatial_dimensions, window.lhs_dilation, strict=True):
        operand = spread(importer, operand, dim, dilation)
    operand = window.crop_negative(importer, operand, tuple(numbers.input_spatial_dimensions))
    kernel = permute(
        importer,
        kernel,
        (
            numbers.kernel_output_feature_dimension,
            numbers.kernel_input_feature_dimension,
            *numbers.kernel_spatial_dimensions,
        ),
    )
    reversed_dims = tuple(2 + dim for dim, flag in enumerate(window.reversal) if flag)
    if reversed_dims:
        kernel = importer.emit(ReverseOp, [kernel], tensor_type(kernel), dimensions=reversed_dims)
    dims = (numbers.input_batch_dimension, numbers.input_feature_dimension, *numbers.input_spatial_dimensions)
    results = (numbers.output_batch_dimension, numbers.output_feature_dimension, *numbers.output_spatial_dimensions)
    result = importer.result_type(op)
    if spatial == 1:
        return _conv1d(importer, op, operand, kernel, window, (dims, results), result)
    if dims != results:
        operand = permute(importer, operand, tuple(dims[results.index(d)] for d in range(4)))
    return importer.emit(
        Conv2dOp,
        [operand, kernel, None],
        result,
        groups=int(op.attributes["feature_group_count"].value),
        batch_dim=results[0],
        channel_dim=results[1],
        height_dim=results[2],
        width_dim=results[3],
        **window.properties(),
    )


class _Window:
    """Stride, padding, dilation and reversal of a convolution, with upstream's defaults where they are absent."""

    def __init__(self, op: Any, spatial: int) -> None:
        given = op.attributes

        def read(name: str, default: int) -> tuple[int, ...]:
            return tuple(given[name]) if name in given else (default,) * spatial

        self.stride = read("window_strides", 1)
        self.lhs_dilation = read("lhs_dilation", 1)
        self.rhs_dilation = read("rhs_dilation", 1)
        self.reversal = read("window_reversal", 0)
        self.padding = _padding(given["padding"], spatial) if "padding" in given else ((0, 0),) * spatial

    def crop_negative(self, importer: Importer, operand: SSAValue, spatial: tuple[int, ...]) -> SSAValue:
        """Negative padding, which transposed convolutions have, as slices of the operand."""
        for dim, (low, high) in zip(spatial, self.padding, strict=True):
            operand = crop(importer, operand, dim, max(0, -low), shape(operand)[dim] - max(0, -high))
        self.padding = tuple((max(0, low), max(0, high)) for low, high in self.padding)
        return operand

    def properties(self) -> dict[str, Any]:
        (top, bottom), (left, right) = self.padding
        return {"stride": self.stride, "padding": (top, left, bottom, right), "dilation": self.rhs_dilation}


def _padding(attribute: Any, rank: int) -> tuple[tuple[int, int], ...]:
    values = np.array(attribute).reshape(rank, 2)
    return tuple((int(low), int(high)) for low, high in values)


def _conv1d(
    importer: Importer,
    op: Any,
    operand: SSAValue,
    kernel: SSAValue,
    window: _Window,
    dims: tuple[tuple[int, ...], tuple[int, ...]],
    result: Tensor,
) -> SSAValue:
    """A convolution over [N, C, 1, L]."""
    moved = permute(importer, operand, dims[0])
    batch, channels, length = shape(moved)
    planar = reshape(importer, moved, (batch, channels, 1, length))
    outputs, inputs, size = shape(kernel)
    weight = reshape(importer, kernel, (outputs, inputs, 1, size))
    low, high = window.padding[0]
    out_length = shapes.window(length, size, window.stride[0], low, high, window.rhs_dilation[0])
    found = importer.emit(
        Conv2dOp,
        [planar, weight, None],
        tensor((batch, outputs, 1, out_length), result.element_type),
        groups=int(op.attributes["feature_group_count"].value),
        batch_dim=0,
        channel_dim=1,
        height_dim=2,
        width_dim=3,
        stride=(1, window.stride[0]),
        padding=(0, low, 0, high),
        dilation=(1, window.rhs_dilation[0]),
    )
    flat = reshape(importer, found, (batch, outputs, out_length))
    return permute(importer, flat, tuple(dims[1].index(d) for d in range(3)))


@converts("stablehlo.reduce_window")
def reduce_window(importer: Importer, op: Any) -> SSAValue:
    """Pooling over one or two dimensions, or a running sum."""
    reducer = body_op(op)
    if len(op.results) != 1 or reducer not in ("stablehlo.maximum", "stablehlo.add"):
        raise importer.reject(op, "its body is not one maximum or add")
    operand, initial = importer.operands(op)
    if not is_identity(reducer, initial):
        raise importer.reject(op, "its initial value is not the identity of its body")
    rank = len(shape(operand))
    window = _PoolWindow(op, rank)
    if any(dilation != 1 for dilation in window.base_dilations):
        raise importer.reject(op, "it dilates its input")
    if reducer == "stablehlo.add" and (dim := window.running_sum(shape(operand))) is not None:
        return importer.emit(CumsumOp, [operand], importer.result_type(op), dim=dim)
    if tensor_type(operand).element_type not in (bf16, f32):
        raise importer.reject(op, "TT-NN pools floats alone")
    pooled = [d for d in range(rank) if window.moves(d)]
    if len(pooled) > 2:
        raise importer.reject(op, f"its window spans {len(pooled)} dimensions; 1 and 2 are supported")
    return _pool2d(importer, operand, reducer, window, pooled)


class _PoolWindow:
    def __init__(self, op: Any, rank: int) -> None:
        given = op.attributes
        ones = (1,) * rank
        self.sizes = tuple(given["window_dimensions"])
        self.strides = tuple(given["window_strides"]) if "window_strides" in given else ones
        self.dilations = tuple(given["window_dilations"]) if "window_dilations" in given else ones
        self.base_dilations = tuple(given["base_dilations"]) if "base_dilations" in given else ones
        self.padding = _padding(given["padding"], rank) if "padding" in given else ((0, 0),) * rank

    def moves(self, dim: int) -> bool:
        return self.sizes[dim] != 1 or self.strides[dim] != 1 or self.padding[dim] != (0, 0)

    def running_sum(self, whole: tuple[int, ...]) -> int | None:
        moving = [d for d in range(len(whole)) if self.moves(d)]
        if len(moving) != 1:
            return None
        dim = moving[0]
        full_window = self.sizes[dim] == whole[dim] and self.padding[dim] == (whole[dim] - 1, 0)
        return dim if full_window and self.strides[dim] == 1 else None


def _pool2d(importer: Importer, operand: SSAValue, reducer: str, window: _PoolWindow, pooled: list[int]) -> SSAValue:
    """Through [N, H, W, C]: dimensions outside the window collapse into N and C."""
    whole = shape(operand)
    others = [d for d in range(len(whole)) if d not in pooled]
    channel = [max(others, key=lambda d: (d == 1, d))] if others else []
    batch = [d for d in others if d not in channel]
    spatial = pooled if len(pooled) == 2 else pooled + [None] * (2 - len(pooled))
    order = (*batch, *pooled, *channel)
    moved = permute(importer, operand, order)
    sizes = [1 if d is None else whole[d] for d in spatial]
    channels = math.prod(whole[d] for d in channel)
    flat = reshape(importer, moved, (math.prod(whole[d] for d in batch), *sizes, channels))
    kernel = tuple(1 if d is None else window.sizes[d] for d in spatial)
    stride = tuple(1 if d is None else window.strides[d] for d in spatial)
    dilation = tuple(1 if d is None else window.dilations[d] for d in spatial)
    (top, bottom), (left, right) = [(0, 0) if d is None else window.padding[d] for d in spatial]
    height = shapes.window(sizes[0], kernel[0], stride[0], top, bottom, dilation[0])
    width = shapes.window(sizes[1], kernel[1], stride[1], left, right, dilation[1])
    type_ = tensor((shape(flat)[0], height, width, channels), tensor_type(operand).element_type)
    properties = {"kernel": kernel, "stride": stride, "dilation": dilation, "padding": (top, left, bottom, right)}
    if reducer == "stablehlo.maximum":
        found = importer.emit(MaxPool2dOp, [flat], type_, ceil_mode=False, **properties)
    else:
        mean = importer.emit(AvgPool2dOp, [flat], type_, ceil_mode=False, count_include_pad=True, **properties)
        found = importer.emit(ttir.BINARY_OPS["multiply"], [mean, full(importer, math.prod(kernel), type_)], type_)
    after = dict(zip((d for d in spatial if d is not None), (height, width), strict=False))
    found = reshape(importer, found, tuple(after.get(d, whole[d]) for d in order))
    return permute(importer, found, tuple(order.index(d) for d in range(len(whole))))
