"""Convolutions over height and width of [1, 1, N * H * W, C]."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tt_xla.ir import shapes
from tt_xla.ttnn_api import configs
from tt_xla.ttnn_api.configs import Config, function_of
from tt_xla.ttnn_api.enums import BufferType, Layout, PaddingMode
from tt_xla.ttnn_api.errors import TTFatal
from tt_xla.ttnn_api.families.window_inputs import check_convolution, of_first_rows, weight_shape
from tt_xla.ttnn_api.families.window_sizes import borders
from tt_xla.ttnn_api.layouts import type_of
from tt_xla.ttnn_api.operation import OPERATIONS, define, operation
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


_SIZES = (
    *("in_channels", "out_channels", "batch_size", "input_height", "input_width"),
    *("kernel_size", "stride", "padding", "dilation", "groups"),
)
"""Parameters with the sizes of a convolution, which its preparations take too."""

_WINDOW = {"stride": (1, 1), "padding": (0, 0), "dilation": (1, 1)}
"""Windows of a call that names none."""


def _geometry(values: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the sizes among the arguments of a call as attributes of an op."""
    window = {name: list(values[name] or default) for name, default in _WINDOW.items()}
    sizes = {name: values[name] for name in _SIZES}
    return sizes | window | {"kernel_size": list(values["kernel_size"]), "groups": values["groups"] or 1}


def _size(geometry: dict[str, Any], axis: int, extra: Sequence[int] | None) -> int:
    """Returns the height (axis 0) or width (axis 1) of the result; ``extra`` is a transposed one's output padding."""
    size = geometry["input_height" if axis == 0 else "input_width"]
    low, high = borders(geometry["padding"])[2 * axis : 2 * axis + 2]
    kernel, step, spread = (geometry[name][axis] for name in ("kernel_size", "stride", "dilation"))
    if extra is not None:
        return (size - 1) * step - low - high + spread * (kernel - 1) + 1 + extra[axis]
    return shapes.window(size, kernel, step, low, high, spread)


_FEWER = "MeshBuffer must be large enough to hold the tensor."
"""TT-NN's words about an input with fewer rows than its images."""


_FORWARDED = (
    *("device", "dtype", "conv_config", "compute_config", "memory_config", "return_output_dim"),
    *("slice_config", "dram_slice_config", "output_padding", "mirror_kernel"),
)
"""The other parameters of a convolution. Those of the second line exist for one of the two functions alone."""


def _convolve(name: str) -> Callable[..., Step | Calls]:
    @of_first_rows(name, "input_height", "input_width", "in_channels", _FEWER)
    def rule(
        *,
        input_tensor: Operand,
        weight_tensor: Operand,
        bias_tensor: Operand | None,
        return_weights_and_bias: bool,
        **values: Any,
    ) -> Step | Calls:
        geometry, config = _geometry(values), values["conv_config"]
        tensors = (input_tensor, weight_tensor, bias_tensor)
        check_convolution(name, geometry, weight_tensor, bias_tensor)
        options = {each: values[each] for each in _FORWARDED if values.get(each) is not None}
        if return_weights_and_bias or _converts(weight_tensor, config):
            return _with_prepared(name, tensors, geometry, options, returned=return_weights_and_bias)
        return _convolution(name, tensors, geometry, options)

    rule.__doc__ = f"Computes a {'transposed convolution' if 'transpose' in name else 'convolution'}."
    return rule


_TENSORS = ("input_tensor", "weight_tensor", "bias_tensor", "return_weights_and_bias")
for _name in ("ttnn.conv2d", "ttnn.conv_transpose2d"):
    define(_name, _convolve(_name), (*_TENSORS, *_SIZES, *_FORWARDED))


def _convolution(
    op: str, tensors: tuple[Operand, Operand, Operand | None], geometry: dict[str, Any], options: Mapping[str, Any]
) -> Step:
    """Returns the step of a convolution of an input with a weight and a bias."""
    source, weight, bias = tensors
    config, compute = options.get("conv_config"), options.get("compute_config")
    slices = options.get("slice_config") or options.get("dram_slice_config")
    extra, dtype, device = options.get("output_padding"), options.get("dtype"), options["device"]
    height, width = (_size(geometry, axis, extra) for axis in (0, 1))
    shape = (1, 1, geometry["batch_size"] * height * width, geometry["out_channels"])
    from tt_xla.ttnn_api.families.window_memory import convolution_place  # imports the cost model

    chosen = (config, compute, slices)
    place = convolution_place(tensors, geometry, (height, width), extra, dtype or source.dtype, chosen, device)
    memory = place.memory if place.is_sliced else options.get("memory_config") or place.memory
    result = source.type.with_(shape=shape, dtype=dtype, layout=place.layout, memory=memory, on_device=True)
    attributes = {**geometry, "conv2d_config": _conv_config(config), "compute_config": configs.compute_config(compute)}
    if extra is not None:
        attributes |= {"output_padding": list(extra)} | ({} if options["mirror_kernel"] else {"mirror_kernel": False})
    is_freed = config is not None and config.deallocate_activation and source.memory.buffer_type is BufferType.L1
    return Step(
        op,
        {"input": source, "weight": weight, "bias": bias},
        [result],
        attributes,
        device=device,
        table_banks=place.table_banks,
        frees=source if is_freed else None,
        returns=(lambda results: (results[0], (height, width))) if options["return_output_dim"] else None,
    )


def _with_prepared(
    name: str,
    tensors: tuple[Operand, Operand, Operand | None],
    geometry: dict[str, Any],
    options: Mapping[str, Any],
    *,
    returned: bool,
) -> Calls:
    """Returns the calls of a convolution whose weights and bias are prepared first.

    Args:
        name: its full name.
        tensors: input, weight and bias.
        geometry: its sizes.
        options: its other arguments.
        returned: whether the call also returns the prepared tensors.
    """
    source, weight, bias = tensors
    kind = name.removeprefix("ttnn.").replace("conv2d", "conv")
    is_prepared = weight.type.on_device and tuple(weight.shape) != weight_shape(name, geometry)
    reading = {"input_memory_config": source.memory, "input_layout": source.layout, "input_dtype": source.dtype}
    shared = geometry | reading | {"device": options["device"], "conv_config": options.get("conv_config")}

    def run(given: Sequence[Any]) -> Any:
        values: list[Any] = [None if each is None else given[each.index] for each in tensors]
        if not is_prepared:
            form: dict[str, Any] = {"weights_format": "OIHW", "has_bias": bias is not None}
            if "mirror_kernel" in options:
                form |= {"weights_format": "IOHW", "mirror_kernel": options["mirror_kernel"]}
            values[1] = OPERATIONS[f"ttnn.prepare_{kind}_weights"](weight_tensor=values[1], **form, **shared)
        if bias is not None and not bias.type.on_device:
            values[2] = OPERATIONS[f"ttnn.prepare_{kind}_bias"](bias_tensor=values[2], **shared)
        named = dict(zip(_TENSORS, values, strict=False))
        results = OPERATIONS[name](**named, **geometry, **options)
        if not returned:
            return results
        parts = results if isinstance(results, tuple) else (results,)
        return (*parts, (values[1], values[2]))

    return Calls(run)


def _converts(weight: Operand, config: Config | None) -> bool:
    """Returns whether a convolution stores its weights in another data type than they have."""
    wanted = None if config is None else config.weights_dtype
    return wanted is not None and wanted is not weight.dtype and not weight.type.on_device


def _prepared(
    op: str, operand: dict[str, Operand], rows: int, geometry: dict[str, Any], values: Mapping[str, Any]
) -> Step:
    """Returns the step that brings weights or a bias into the form that a convolution reads: a matrix of so many
    rows."""
    (source,) = operand.values()
    config = values["conv_config"]
    dtype = (None if config is None else config.weights_dtype) or source.dtype
    result = type_of((1, 1, rows, geometry["out_channels"]), dtype, Layout.TILE)
    return Step(op, operand, [result], geometry, device=values["device"])


_PREPARING = (*_SIZES, "device", "conv_config")
_IGNORED = ("output_dtype", "compute_config", "slice_config")
"""Parameters of a preparation that change no element here."""


_OF_WEIGHTS = (*_PREPARING, *_IGNORED, "output_padding")


@operation("ttnn.prepare_conv_weights", "ttnn.prepare_conv_transpose2d_weights", also=_OF_WEIGHTS)
def prepare_weights(weight_tensor: Operand, weights_format: str, mirror_kernel: bool | None, **values: Any) -> Step:
    """Makes the matrix that a convolution multiplies by."""
    geometry = _geometry(values)
    rows = math.prod(geometry["kernel_size"]) * geometry["in_channels"]
    if weights_format != "IOHW":
        return _prepared("ttnn.prepare_conv2d_weights", {"weight_tensor": weight_tensor}, rows, geometry, values)
    attributes = geometry | {"mirror_kernel": mirror_kernel}
    return _prepared(
        "ttnn.prepare_conv_transpose2d_weights", {"weight_tensor": weight_tensor}, rows, attributes, values
    )


@operation("ttnn.prepare_conv_bias", "ttnn.prepare_conv_transpose2d_bias", also=(*_PREPARING, *_IGNORED))
def prepare_bias(bias_tensor: Operand, **values: Any) -> Step:
    """Moves the bias of a convolution to the device, in tiles."""
    return _prepared("ttnn.prepare_conv2d_bias", {"bias_tensor": bias_tensor}, 1, _geometry(values), values)
