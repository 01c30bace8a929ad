"""Convolutions over height and width of [1, 1, N * H * W, C]."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from tt_xla.ir import shapes
from tt_xla.ttnn_api import configs
from tt_xla.ttnn_api.configs import Config, function_of
from tt_xla.ttnn_api.devices import MeshDevice
from tt_xla.ttnn_api.enums import BufferType, DataType, Layout, PaddingMode
from tt_xla.ttnn_api.errors import TTFatal
from tt_xla.ttnn_api.families.window_inputs import check_convolution, of_first_rows
from tt_xla.ttnn_api.families.window_sizes import borders
from tt_xla.ttnn_api.geometry import MemoryConfig
from tt_xla.ttnn_api.layouts import type_of
from tt_xla.ttnn_api.operation import OPERATIONS, operation
from tt_xla.ttnn_api.plan import Calls, Operand, Step


def _conv_config(config: Config | None) -> dict[str, Any] | None:
    """Returns the fields of a ``#ttnn.conv2d_config`` that change the result.

    Raises:
        TTFatal: the config asks for something that the emulated card does not compute.
    """
    if config is None:
        return None
    if config.padding_mode is not PaddingMode.Zeros:
        raise TTFatal(
            f"The emulated card pads images of convolutions with zeros, got padding_mode={config.padding_mode}",
            hint="Pad the image with ttnn.pad, or leave padding_mode out.",
        )
    return None if config.activation is None else {"activation": dict(function_of(config.activation))}


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


_FEWER = "MeshBuffer must be large enough to hold the tensor."
"""TT-NN's words about an input with fewer rows than its images."""


@operation("ttnn.conv2d")
@of_first_rows("ttnn.conv2d", "input_height", "input_width", "in_channels", _FEWER)
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
    slice_config: Config | None,
    return_output_dim: bool,
    return_weights_and_bias: bool,
) -> Step | Calls:
    """Computes a convolution."""
    geometry = _geometry(
        in_channels, out_channels, batch_size, input_height, input_width, kernel_size, stride, padding, dilation, groups
    )
    tensors = (input_tensor, weight_tensor, bias_tensor)
    check_convolution("ttnn.conv2d", geometry, weight_tensor, bias_tensor)
    if return_weights_and_bias or _converts(weight_tensor, conv_config):
        arguments = geometry | {"device": device, "conv_config": conv_config}
        more = {"dtype": dtype, "compute_config": compute_config, "memory_config": memory_config}
        more |= {"slice_config": slice_config, "return_output_dim": return_output_dim}
        return _with_prepared("conv", tensors, arguments, more, returned=return_weights_and_bias)
    chosen = (conv_config, compute_config, slice_config)
    return _convolution("ttnn.conv2d", tensors, geometry, None, dtype, chosen, memory_config, device, return_output_dim)


@operation("ttnn.conv_transpose2d")
@of_first_rows("ttnn.conv_transpose2d", "input_height", "input_width", "in_channels", _FEWER)
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
    dram_slice_config: Config | None,
    mirror_kernel: bool,
    return_output_dim: bool,
    return_weights_and_bias: bool,
) -> Step | Calls:
    """Computes a transposed convolution."""
    geometry = _geometry(
        in_channels, out_channels, batch_size, input_height, input_width, kernel_size, stride, padding, dilation, groups
    )
    tensors = (input_tensor, weight_tensor, bias_tensor)
    check_convolution("ttnn.conv_transpose2d", geometry, weight_tensor, bias_tensor)
    extra = list(output_padding)
    if return_weights_and_bias or _converts(weight_tensor, conv_config):
        arguments = geometry | {"device": device, "conv_config": conv_config}
        more = {"dtype": dtype, "compute_config": compute_config, "memory_config": memory_config}
        more |= {"dram_slice_config": dram_slice_config, "return_output_dim": return_output_dim}
        more |= {"output_padding": extra, "mirror_kernel": mirror_kernel}
        return _with_prepared("conv_transpose2d", tensors, arguments, more, returned=return_weights_and_bias)
    chosen = (conv_config, compute_config, dram_slice_config)
    op = "ttnn.conv_transpose2d"
    step = _convolution(op, tensors, geometry, extra, dtype, chosen, memory_config, device, return_output_dim)
    return step if mirror_kernel else dataclasses.replace(step, attributes={**step.attributes, "mirror_kernel": False})


def _convolution(
    op: str,
    tensors: tuple[Operand, Operand, Operand | None],
    geometry: dict[str, Any],
    output_padding: Sequence[int] | None,
    dtype: DataType | None,
    configs_: tuple[Config | None, Config | None, Config | None],
    memory: MemoryConfig | None,
    device: MeshDevice,
    return_output_dim: bool,
) -> Step:
    """Returns the step of a convolution.

    Args:
        op: its op.
        tensors: input, weight and bias.
        geometry: its sizes.
        output_padding: of a transposed convolution; None for another one.
        dtype: data type of the result; by default that of the input.
        configs_: ``conv_config``, ``compute_config`` and the config of slices.
        memory: memory of the result; None for TT-NN's choice.
        device: the device.
        return_output_dim: whether the call also returns height and width of the result.
    """
    source, weight, bias = tensors
    config, compute, _ = configs_
    extra = output_padding or (0, 0)
    height, width = (_size(geometry, axis, transposed=output_padding is not None, extra=extra) for axis in (0, 1))
    shape = (1, 1, geometry["batch_size"] * height * width, geometry["out_channels"])
    from tt_xla.ttnn_api.families.window_memory import convolution_place  # imports the cost model

    place = convolution_place(
        tensors, geometry, (height, width), output_padding, dtype or source.dtype, configs_, device
    )
    chosen = place.memory if memory is None or place.is_sliced else memory
    result = source.type.with_(shape=shape, dtype=dtype, layout=place.layout, memory=chosen, on_device=True)
    attributes = {**geometry, "conv2d_config": _conv_config(config), "compute_config": configs.compute_config(compute)}
    if output_padding is not None:
        attributes["output_padding"] = list(output_padding)
    operands = {"input": source, "weight": weight, "bias": bias}
    is_freed = config is not None and config.deallocate_activation and source.memory.buffer_type is BufferType.L1
    sizes = (height, width)
    return Step(
        op,
        operands,
        [result],
        attributes,
        device=device,
        table_banks=place.table_banks,
        frees=source if is_freed else None,
        returns=(lambda results: (results[0], sizes)) if return_output_dim else None,
    )


def _with_prepared(
    kind: str,
    tensors: tuple[Operand, Operand, Operand | None],
    arguments: dict[str, Any],
    more: dict[str, Any],
    *,
    returned: bool,
) -> Calls:
    """Returns the calls of a convolution whose weights and bias are prepared first.

    Args:
        kind: ``conv`` or ``conv_transpose2d``, as in the names of the functions that prepare.
        tensors: input, weight and bias.
        arguments: sizes and configs that all functions take.
        more: further arguments of the convolution.
        returned: whether the call also returns the prepared tensors.
    """
    source, weight, bias = tensors
    groups = arguments["groups"] or 1
    inputs, outputs = arguments["in_channels"], arguments["out_channels"]
    first = (inputs, outputs // groups) if kind == "conv_transpose2d" else (outputs, inputs // groups)
    is_prepared = weight.type.on_device and tuple(weight.shape) != (*first, *arguments["kernel_size"])
    reading = {
        "device": arguments["device"],
        "input_memory_config": source.memory,
        "input_layout": source.layout,
        "input_dtype": source.dtype,
    }
    shared = {name: arguments[name] for name in _SIZES} | reading | {"conv_config": arguments["conv_config"]}

    def run(given: Sequence[Any]) -> Any:
        values: list[Any] = [None if each is None else given[each.index] for each in tensors]
        if not is_prepared:
            form: dict[str, Any] = {"weights_format": "OIHW", "has_bias": bias is not None}
            if kind == "conv_transpose2d":
                form |= {"weights_format": "IOHW", "mirror_kernel": more["mirror_kernel"]}
            values[1] = OPERATIONS[f"ttnn.prepare_{kind}_weights"](weight_tensor=values[1], **form, **shared)
        if bias is not None and not bias.type.on_device:
            values[2] = OPERATIONS[f"ttnn.prepare_{kind}_bias"](bias_tensor=values[2], **shared)
        call = OPERATIONS["ttnn.conv2d" if kind == "conv" else "ttnn.conv_transpose2d"]
        results = call(input_tensor=values[0], weight_tensor=values[1], bias_tensor=values[2], **arguments, **more)
        if not returned:
            return results
        parts = results if isinstance(results, tuple) else (results,)
        return (*parts, (values[1], values[2]))

    return Calls(run)


def _converts(weight: Operand, config: Config | None) -> bool:
    """Returns whether a convolution stores its weights in another data type than they have."""
    wanted = None if config is None else config.weights_dtype
    return wanted is not None and wanted is not weight.dtype and not weight.type.on_device


_SIZES = (
    *("in_channels", "out_channels", "batch_size", "input_height", "input_width"),
    *("kernel_size", "stride", "padding", "dilation", "groups"),
)
"""Arguments of a convolution that its preparations take too."""


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
