"""Convolutions over height and width of [1, 1, N * H * W, C]."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from tt_xla.ir import shapes
from tt_xla.ttnn_api import configs
from tt_xla.ttnn_api.configs import Config, function_of
from tt_xla.ttnn_api.devices import MeshDevice
from tt_xla.ttnn_api.enums import DataType, Layout
from tt_xla.ttnn_api.geometry import MemoryConfig
from tt_xla.ttnn_api.layouts import type_of
from tt_xla.ttnn_api.operation import operation
from tt_xla.ttnn_api.plan import Operand, Step


def borders(padding: Sequence[int]) -> tuple[int, int, int, int]:
    """Returns a padding of two or four numbers as top, bottom, left, right."""
    if len(padding) == 2:
        return padding[0], padding[0], padding[1], padding[1]
    top, bottom, left, right = padding
    return top, bottom, left, right


def _conv_config(config: Config | None) -> dict[str, Any] | None:
    """Returns the fields of a ``#ttnn.conv2d_config`` that change the result."""
    if config is None or config.activation is None:
        return None
    return {"activation": dict(function_of(config.activation))}


def _geometry(
    in_channels: int,
    out_channels: int,
    batch_size: int,
    input_height: int,
    input_width: int,
    kernel_size: Sequence[int],
    stride: Sequence[int] | None,
    padding: Sequence[int] | None,
    dilation: Sequence[int] | None,
    groups: int | None,
) -> dict[str, Any]:
    sizes = {"in_channels": in_channels, "out_channels": out_channels, "batch_size": batch_size}
    plane = {"input_height": input_height, "input_width": input_width, "kernel_size": list(kernel_size)}
    window = {
        "stride": list(stride or (1, 1)),
        "padding": list(padding or (0, 0)),
        "dilation": list(dilation or (1, 1)),
    }
    return {**sizes, **plane, **window, "groups": groups or 1}


def _size(geometry: dict[str, Any], axis: int, *, transposed: bool, extra: Sequence[int]) -> int:
    """Returns the height (axis 0) or width (axis 1) of the result."""
    size = geometry["input_height" if axis == 0 else "input_width"]
    low, high = borders(geometry["padding"])[2 * axis : 2 * axis + 2]
    kernel, step, spread = (geometry[name][axis] for name in ("kernel_size", "stride", "dilation"))
    if transposed:
        return (size - 1) * step - low - high + spread * (kernel - 1) + 1 + extra[axis]
    return shapes.window(size, kernel, step, low, high, spread)


@operation("ttnn.conv2d")
def conv2d(
    input_tensor: Operand,
    weight_tensor: Operand,
    device: MeshDevice,
    in_channels: int,
    out_channels: int,
    batch_size: int,
    input_height: int,
    input_width: int,
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    groups: int,
    dtype: DataType | None,
    bias_tensor: Operand | None,
    conv_config: Config | None,
    compute_config: Config | None,
    memory_config: MemoryConfig | None,
    return_output_dim: bool,
    return_weights_and_bias: bool,
) -> Step:
    """Computes a convolution."""
    geometry = _geometry(
        in_channels, out_channels, batch_size, input_height, input_width, kernel_size, stride, padding, dilation, groups
    )
    tensors = (input_tensor, weight_tensor, bias_tensor)
    wanted = (return_output_dim, return_weights_and_bias)
    return _convolution(
        "ttnn.conv2d", tensors, geometry, None, dtype, conv_config, compute_config, memory_config, device, wanted
    )


@operation("ttnn.conv_transpose2d")
def conv_transpose2d(
    input_tensor: Operand,
    weight_tensor: Operand,
    device: MeshDevice,
    in_channels: int,
    out_channels: int,
    batch_size: int,
    input_height: int,
    input_width: int,
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    output_padding: Sequence[int],
    dilation: Sequence[int],
    groups: int,
    dtype: DataType | None,
    bias_tensor: Operand | None,
    conv_config: Config | None,
    compute_config: Config | None,
    memory_config: MemoryConfig | None,
    mirror_kernel: bool,
    return_output_dim: bool,
    return_weights_and_bias: bool,
) -> Step:
    """Computes a transposed convolution."""
    geometry = _geometry(
        in_channels, out_channels, batch_size, input_height, input_width, kernel_size, stride, padding, dilation, groups
    )
    tensors = (input_tensor, weight_tensor, bias_tensor)
    wanted = (return_output_dim, return_weights_and_bias)
    extra = list(output_padding)
    step = _convolution(
        "ttnn.conv_transpose2d",
        tensors,
        geometry,
        extra,
        dtype,
        conv_config,
        compute_config,
        memory_config,
        device,
        wanted,
    )
    return step if mirror_kernel else dataclasses.replace(step, attributes={**step.attributes, "mirror_kernel": False})


def _convolution(
    op: str,
    tensors: tuple[Operand, Operand, Operand | None],
    geometry: dict[str, Any],
    output_padding: Sequence[int] | None,
    dtype: DataType | None,
    config: Config | None,
    compute: Config | None,
    memory: MemoryConfig | None,
    device: MeshDevice,
    wanted: tuple[bool, bool],
) -> Step:
    source, weight, bias = tensors
    extra = output_padding or (0, 0)
    height, width = (_size(geometry, axis, transposed=output_padding is not None, extra=extra) for axis in (0, 1))
    shape = (1, 1, geometry["batch_size"] * height * width, geometry["out_channels"])
    layout = Layout.TILE if config is None else config.output_layout
    result = source.type.with_(shape=shape, dtype=dtype, layout=layout, memory=memory, on_device=True)
    attributes = {**geometry, "conv2d_config": _conv_config(config), "compute_config": configs.compute_config(compute)}
    if output_padding is not None:
        attributes["output_padding"] = list(output_padding)
    operands = {"input": source, "weight": weight, "bias": bias}

    def returned(results: list[Any]) -> Any:
        parts = [results[0]]
        if wanted[0]:
            parts.append((height, width))
        if wanted[1]:
            parts.append((None, None))
        return results[0] if len(parts) == 1 else tuple(parts)

    return Step(op, operands, [result], attributes, device=device, returns=returned)


def _prepared(
    op: str,
    operand: dict[str, Operand],
    shape: Sequence[int],
    geometry: dict[str, Any],
    config: Config | None,
    dtype: DataType | None,
    device: MeshDevice | None,
) -> Step:
    """Returns the step that brings weights or a bias into the form that a convolution reads."""
    (source,) = operand.values()
    result = type_of(shape, (None if config is None else config.weights_dtype) or dtype or source.dtype, Layout.TILE)
    return Step(op, operand, [result], geometry, device=device)


@operation("ttnn.prepare_conv_weights", "ttnn.prepare_conv_transpose2d_weights")
def prepare_weights(
    *,
    weight_tensor: Operand,
    weights_format: str,
    in_channels: int,
    out_channels: int,
    batch_size: int,
    input_height: int,
    input_width: int,
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    has_bias: bool,
    groups: int,
    device: MeshDevice,
    input_dtype: DataType,
    input_memory_config: MemoryConfig | None = None,
    input_layout: Layout | None = None,
    output_padding: Sequence[int] | None = None,
    output_dtype: DataType | None = None,
    conv_config: Config | None = None,
    compute_config: Config | None = None,
    slice_config: object = None,
    mirror_kernel: bool = True,
) -> Step:
    """Makes the matrix that a convolution multiplies by."""
    geometry = _geometry(
        in_channels, out_channels, batch_size, input_height, input_width, kernel_size, stride, padding, dilation, groups
    )
    rows = kernel_size[0] * kernel_size[1] * in_channels
    transposed = weights_format == "IOHW"
    op = "ttnn.prepare_conv_transpose2d_weights" if transposed else "ttnn.prepare_conv2d_weights"
    attributes = geometry | ({"mirror_kernel": mirror_kernel} if transposed else {})
    shape = (1, 1, rows, out_channels)
    return _prepared(op, {"weight_tensor": weight_tensor}, shape, attributes, conv_config, None, device)


@operation("ttnn.prepare_conv_bias", "ttnn.prepare_conv_transpose2d_bias")
def prepare_bias(
    *,
    bias_tensor: Operand,
    in_channels: int,
    out_channels: int,
    batch_size: int,
    input_height: int,
    input_width: int,
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    groups: int,
    device: MeshDevice,
    input_dtype: DataType,
    input_memory_config: MemoryConfig | None = None,
    input_layout: Layout | None = None,
    output_dtype: DataType | None = None,
    conv_config: Config | None = None,
    compute_config: Config | None = None,
    slice_config: object = None,
) -> Step:
    """Moves the bias of a convolution to the device, in tiles."""
    geometry = _geometry(
        in_channels, out_channels, batch_size, input_height, input_width, kernel_size, stride, padding, dilation, groups
    )
    shape = (1, 1, 1, out_channels)
    op = "ttnn.prepare_conv2d_bias"
    return _prepared(op, {"bias_tensor": bias_tensor}, shape, geometry, conv_config, None, device)
