"""Lowerings of convolutions and pooling, which TT-NN computes over [1, 1, N * H * W, C]."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from xdsl.ir import SSAValue

from tt_xla.compiler.locations import describe
from tt_xla.compiler.ttir_to_ttnn.lowering import Lowering, lowers
from tt_xla.errors import UnsupportedOpError
from tt_xla.ir import shapes
from tt_xla.ir.base import DATA_TYPES, TTOp, shape, tensor_type
from tt_xla.ir.layout import DataType, TensorLayout
from tt_xla.ir.ttir import window as source
from tt_xla.ir.ttnn import window as target
from tt_xla.ir.ttnn.attributes import Conv2dConfigAttr, Layout, laid_out, layout_of
from tt_xla.ir.ttnn.structure import PadOp, ReshapeOp


@lowers(source.Conv2dOp, source.ConvTranspose2dOp)
def conv2d(lowering: Lowering, op: source.Conv2dOp | source.ConvTranspose2dOp) -> SSAValue:
    """Lowers a convolution. Weights come from the host, or are prepared on the device; then the activation stays in
    tiles.

    Raises:
        UnsupportedOpError: the elements are integers.
    """
    sizes, dtype = lowering.result(op)
    if not dtype.is_float:
        raise UnsupportedOpError(
            f"'{op.name}' has elements of type {tensor_type(op.result).element_type}; TT-NN convolves f32 and bf16.",
            hint="Cast the operands to f32, and the result back.",
            location=describe(op.location),
        )
    batch, height, width, channels = shape(op.input)
    geometry: dict[str, Any] = {
        "in_channels": channels,
        "out_channels": sizes[3],
        "batch_size": batch,
        "input_height": height,
        "input_width": width,
        "kernel_size": shape(op.weight)[2:],
        "stride": shapes.pair(op.stride, "stride"),
        "padding": _torch_order(op.padding),
        "dilation": shapes.pair(op.dilation, "dilation"),
        "groups": op.groups,
        "conv2d_config": Conv2dConfigAttr.of(weights_dtype=dtype, config_tensors_in_dram=True),
    }
    kind: type[TTOp] = target.Conv2dOp
    if isinstance(op, source.ConvTranspose2dOp):
        kind = target.ConvTranspose2dOp
        geometry["output_padding"] = shapes.pair(op.output_padding, "output_padding")
    activation = _flat(lowering, lowering.tiled(op.input), (1, 1, batch * height * width, channels))
    weight, bias = lowering.host(op.weight), None
    if op.bias is not None:
        bias = lowering.host(op.bias)
    if lowering.prepare_weights:
        weight, bias = _prepared(lowering, weight, bias, dtype, geometry)
    else:
        activation = lowering.convert(activation, tiled=False)
    rows = sizes[0] * sizes[1] * sizes[2]
    operands = [activation, weight, bias, lowering.device]
    convolved = lowering.emit(kind, operands, (1, 1, rows, sizes[3]), dtype, **geometry)
    return _flat(lowering, convolved, sizes)


def _prepared(
    lowering: Lowering, weight: SSAValue, bias: SSAValue | None, dtype: DataType, geometry: dict[str, Any]
) -> tuple[SSAValue, SSAValue | None]:
    """Adds ops that bring weights and bias into the form that the convolution reads."""
    common: dict[str, Any] = geometry | {
        "input_tensor_layout": Layout.TILE,
        "input_dtype": dtype,
        "output_dtype": dtype,
    }
    kernel = geometry["kernel_size"]
    rows = kernel[0] * kernel[1] * geometry["in_channels"]
    transposed = "output_padding" in geometry
    matrix = lowering.emit(
        target.PrepareConvTranspose2dWeightsOp if transposed else target.PrepareConv2dWeightsOp,
        [weight, lowering.device],
        (1, 1, rows, geometry["out_channels"]),
        dtype,
        weights_format="IOHW" if transposed else "OIHW",
        has_bias=bias is not None,
        **common,
    )
    if bias is None:
        return matrix, None
    row_shape = (1, 1, 1, geometry["out_channels"])
    kind = target.PrepareConvTranspose2dBiasOp if transposed else target.PrepareConv2dBiasOp
    common.pop("output_padding", None)
    return matrix, lowering.emit(kind, [bias, lowering.device], row_shape, dtype, **common)


@lowers(source.MaxPool2dOp, source.AvgPool2dOp)
def pool2d(lowering: Lowering, op: source.MaxPool2dOp | source.AvgPool2dOp) -> SSAValue:
    """Lowers pooling, which reads and writes row-major bfloat16; under exact numerics float32 stays float32."""
    sizes, dtype = lowering.result(op)
    operand, padding = lowering.tiled(op.operands[0], _pooled_type(lowering, dtype)), _torch_order(op.padding)
    if _exceeds(padding, shapes.pair(op.kernel, "kernel")):
        operand, padding = _padded(lowering, op, operand, padding), (0, 0, 0, 0)
    values = _pool_geometry(op, shape(operand), padding)
    kind: type[TTOp] = target.MaxPool2dOp
    if isinstance(op, source.AvgPool2dOp):
        kind, values["count_include_pad"] = target.AvgPool2dOp, op.count_include_pad
    operand = _flat_sticks(lowering, operand)
    pooled = lowering.emit(kind, [operand], _rows(sizes), layout_of(operand).dtype, tiled=False, **values)
    return _flat(lowering, lowering.convert(pooled, tiled=True, dtype=dtype), sizes)


@lowers(source.MaxPool2dWithIndicesOp)
def max_pool2d_with_indices(lowering: Lowering, op: source.MaxPool2dWithIndicesOp) -> Sequence[SSAValue]:
    """Lowers pooling with positions, which TT-NN returns in u16."""
    sizes, dtype = lowering.result(op)
    values = _pool_geometry(op, shape(op.input), _torch_order(op.padding))
    operand = _flat_sticks(lowering, lowering.tiled(op.input, _pooled_type(lowering, dtype)))
    types = (layout_of(operand).dtype, DataType.U16)
    results = [laid_out(_rows(sizes), TensorLayout.of(_rows(sizes), type_, tiled=False)) for type_ in types]
    pooled = lowering.emit_all(target.MaxPool2dWithIndicesOp, [operand], results, **values)
    dtypes = (dtype, DATA_TYPES[tensor_type(op.result_indices).element_type])
    return [
        _flat(lowering, lowering.convert(value, tiled=True, dtype=type_), sizes)
        for value, type_ in zip(pooled, dtypes, strict=True)
    ]


def _pooled_type(lowering: Lowering, dtype: DataType) -> DataType:
    """Returns the element type in which pooling computes."""
    return dtype if lowering.exact and dtype.is_float else DataType.BF16


def _pool_geometry(
    op: source.MaxPool2dOp | source.MaxPool2dWithIndicesOp | source.AvgPool2dOp,
    sizes: tuple[int, ...],
    padding: tuple[int, int, int, int],
) -> dict[str, Any]:
    """Returns the attributes that describe a pooling's windows."""
    batch, height, width, channels = sizes
    return {
        "batch_size": batch,
        "input_height": height,
        "input_width": width,
        "channels": channels,
        "kernel_size": shapes.pair(op.kernel, "kernel"),
        "stride": shapes.pair(op.stride, "stride"),
        "padding": padding,
        "dilation": shapes.pair(op.dilation, "dilation"),
        "ceil_mode": op.ceil_mode,
    }


def _rows(sizes: tuple[int, ...]) -> tuple[int, ...]:
    """Returns the shape [1, 1, N * H * W, C] of a tensor [N, H, W, C]."""
    return (1, 1, math.prod(sizes[:3]), sizes[3])


def _flat_sticks(lowering: Lowering, value: SSAValue) -> SSAValue:
    """Returns a value of shape [N, H, W, C] as row-major [1, 1, N * H * W, C]."""
    return lowering.convert(_flat(lowering, value, _rows(shape(value))), tiled=False)


def _exceeds(padding: tuple[int, int, int, int], kernel: tuple[int, int]) -> bool:
    """Returns whether padding is more than half of the window, which TT-NN does not accept."""
    return max(padding[:2]) > kernel[0] // 2 or max(padding[2:]) > kernel[1] // 2


def _padded(lowering: Lowering, op: TTOp, value: SSAValue, padding: tuple[int, int, int, int]) -> SSAValue:
    """Returns a channels-last tensor padded by an op of its own.

    Raises:
        UnsupportedOpError: A mean does not count padding.
    """
    if isinstance(op, source.AvgPool2dOp) and not op.count_include_pad:
        raise UnsupportedOpError(
            f"'{op.name}' pads by {padding} (top, bottom, left, right), more than half of its window, and does not "
            "count padding in the mean; TT-NN has no such pooling.",
            location=describe(op.location),
            hint="Pad by half of the window at most, or count the padding (count_include_pad).",
        )
    fill = 0.0 if isinstance(op, source.AvgPool2dOp) else -math.inf
    amounts = (0, 0, *padding, 0, 0)
    operand = lowering.convert(value, tiled=False)
    values: dict[str, Any] = {"padding": amounts, "value": fill, "use_multicore": True}
    sizes = shapes.pad(shape(value), amounts)
    return lowering.emit(PadOp, [operand], sizes, layout_of(value).dtype, tiled=False, **values)


def _torch_order(padding: int | Sequence[int]) -> tuple[int, int, int, int]:
    """Returns TTIR's padding (top, left, bottom, right) in TT-NN's order: top, bottom, left, right."""
    top, left, bottom, right = shapes.borders(padding)
    return (top, bottom, left, right)


def _flat(lowering: Lowering, value: SSAValue, sizes: tuple[int, ...]) -> SSAValue:
    """Returns a TTNN value in another shape, by a reshape where they differ."""
    if shape(value) == sizes:
        return value
    layout = layout_of(value)
    return lowering.emit(ReshapeOp, [value], sizes, layout.dtype, tiled=layout.tiled, shape=sizes)
