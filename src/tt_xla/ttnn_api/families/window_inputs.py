"""Conditions on the tensors of convolutions and poolings, in TT-NN's words."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tt_xla.ttnn_api import conditions, signatures
from tt_xla.ttnn_api.errors import TTFatal
from tt_xla.ttnn_api.families.window_sizes import borders
from tt_xla.ttnn_api.layouts import volume
from tt_xla.ttnn_api.operation import OPERATIONS, unrefused
from tt_xla.ttnn_api.plan import Calls, Operand, Step

Rule = Callable[..., Step | Calls]


def of_first_rows(name: str, height: str, width: str, channels: str, words: str) -> Callable[[Rule], Rule]:
    """Makes a rule of images take tensors with more rows than the images have, of which TT-NN reads the first ones.

    A tensor with fewer rows is refused: TT-NN reads memory after it, or refuses it as well.

    Args:
        name: full name of the function.
        height: parameter with the height of the images.
        width: parameter with their width.
        channels: parameter with their channels.
        words: what TT-NN says of fewer rows.
    """

    def wrapped(rule: Rule) -> Rule:
        @functools.wraps(rule)
        def checked(**values: Any) -> Step | Calls:
            source: Operand = values["input_tensor"]
            images = (values["batch_size"], values[height], values[width], values[channels])
            if source.rank < 3 or volume(source.shape) == volume(images):
                return rule(**values)
            rows = volume(images[:3])
            present = volume(source.shape) // max(source.shape[-1], 1)
            hint = f"The tensor has shape {source.shape}; images of [N, H, W, C] = {list(images)} have {rows} rows."
            if source.shape[-1] != images[3]:
                raise TTFatal("Attempting to reshape between two shapes with different volumes", hint=hint)
            if present < rows:
                raise TTFatal(words, hint=hint)
            return Calls(functools.partial(_of_first_rows, name, _stated(name, values), rows))

        return checked

    return wrapped


def _stated(name: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the arguments of a call that TT-NN's function takes together."""
    stated = {each: value for each, value in values.items() if value is not None}
    overloads = signatures.overloads(name)
    return stated if any(stated.keys() <= {*each.names} for each in overloads) else dict(values)


def _of_first_rows(name: str, values: Mapping[str, Any], rows: int, tensors: Sequence[Any]) -> Any:
    """Calls a function with the first rows of its input."""
    given = {key: tensors[each.index] if isinstance(each, Operand) else each for key, each in values.items()}
    source = given["input_tensor"]
    columns = source.shape[-1]
    with unrefused():
        matrix = OPERATIONS["ttnn.reshape"](source, [1, 1, volume(source.shape) // columns, columns])
        part = OPERATIONS["ttnn.slice"](matrix, [0, 0, 0, 0], [1, 1, rows, columns])
        return OPERATIONS[name](**given | {"input_tensor": part})


def check_pool(name: str, source: Operand, attributes: Mapping[str, Any]) -> None:
    """Refuses windows that a pooling does not take, and images of another shape than its numbers say.

    Args:
        name: full name of the function.
        source: the images.
        attributes: sizes of images and windows.

    Raises:
        TypeError: a window has not two numbers, or a negative one.
        TTFatal: TT-NN refuses windows or images.
    """
    kernel, stride, dilation = (attributes[each] for each in ("kernel_size", "stride", "dilation"))
    padding = attributes["padding"]
    for parameter, pair in (("kernel_size", kernel), ("stride", stride), ("dilation", dilation)):
        if len(pair) != 2:
            raise signatures.unfit(name, f"{parameter} must have two numbers, got {list(pair)}")
        conditions.check_unsigned(name, parameter, pair)
    if len(padding) not in (2, 4):
        raise signatures.unfit(name, f"padding must have two or four numbers, got {list(padding)}")
    conditions.check_unsigned(name, "padding", padding)
    sides = borders(padding)
    if min(dilation) == 0:
        raise TTFatal(
            f"Pool2D: Dilation must be greater than 0 in both dimensions, got {tuple(dilation)}",
            hint="Pass dilation=[1, 1].",
        )
    if min(stride) == 0 or min(kernel) == 0 or not attributes["batch_size"]:
        raise TTFatal(
            f"Pool2D: batch size {attributes['batch_size']}, kernel {list(kernel)} and stride {list(stride)} must be "
            "greater than 0",
            hint="A card stops at such a call.",
        )
    if any(side > kernel[place // 2] // 2 for place, side in enumerate(sides)):
        raise TTFatal(
            f"Pool2D: Padding {sides[:3]} should not exceed half of kernel size {tuple(kernel)}",
            hint="Pad the images with ttnn.pad first.",
        )
    _check_images(source, attributes)


def _check_images(source: Operand, attributes: Mapping[str, Any]) -> None:
    """Refuses images of two or three dimensions that are not those of the call."""
    if source.rank >= 4:
        return
    batch, height, width, channels = (
        attributes[each] for each in ("batch_size", "input_height", "input_width", "channels")
    )
    axes = "[H, W, C]" if source.rank == 3 else "[H, W]"
    start = f"Pool2D: For rank-{source.rank} input {axes}, "
    words = None
    if source.rank == 2 and (batch, channels) != (1, 1):
        words = f"{start}batch_size and channels must be 1, got batch_size={batch}, channels={channels}"
    elif source.rank == 3 and batch != 1:
        words = f"{start}batch_size must be 1, got batch_size={batch}"
    elif tuple(source.shape) != (height, width, channels)[: source.rank]:
        sizes = f"input_h={height}, input_w={width}" + (f", channels={channels}" if source.rank == 3 else "")
        words = f"{start}dimensions must match: {sizes}, but got shape {source.shape}"
    if words is not None:
        raise TTFatal(words, hint="Make the images [1, 1, N * H * W, C] with ttnn.reshape.")


def check_convolution(name: str, geometry: Mapping[str, Any], weight: Operand, bias: Operand | None) -> None:
    """Refuses strides, dilations, weights and biases that are not those of a convolution.

    Args:
        name: full name of the function.
        geometry: sizes of images and windows.
        weight: its weights, which may be prepared.
        bias: its bias; None for none.

    Raises:
        TTFatal: TT-NN refuses them.
    """
    for parameter in ("stride", "dilation"):
        if min(geometry[parameter]) <= 0:
            raise TTFatal(
                f"{parameter} must be greater than 0, got {tuple(geometry[parameter])}", hint="Pass 1 or more."
            )
    channels = geometry["out_channels"]
    if bias is not None:
        conditions.check_rank(bias, 4, f"[1, 1, 1, {channels}]")
        if bias.shape[-1] != channels and not bias.type.on_device:
            raise TTFatal(
                "Bias must have the same length as output channels",
                hint=f"The bias has shape {bias.shape}; make it [1, 1, 1, {channels}].",
            )
    conditions.check_rank(weight, 4, "one of four dimensions")
    if weight.shape[:2] == (1, 1):
        return  # prepared
    wanted = weight_shape(name, geometry)
    if tuple(weight.shape) != wanted:
        raise TTFatal(
            "Invalid weight shape. Incorrect weight tensor.",
            hint=f"The weights have shape {weight.shape}; make them {list(wanted)}.",
        )


def weight_shape(name: str, geometry: Mapping[str, Any]) -> tuple[int, ...]:
    """Returns the shape of the weights of a convolution before they are prepared."""
    groups, inputs, outputs = (geometry[each] for each in ("groups", "in_channels", "out_channels"))
    sides = (inputs, outputs // groups) if "transpose" in name else (outputs, inputs // groups)
    return (*sides, *geometry["kernel_size"])
