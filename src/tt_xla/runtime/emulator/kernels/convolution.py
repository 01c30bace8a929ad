"""Convolutions on flattened activations, and the ops that prepare their weights.

:mod:`tt_xla.runtime.emulator.windows` has the shapes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
import torch.nn.functional as F

from tt_xla.runtime.emulator import depthwise, matrix_unit
from tt_xla.runtime.emulator.context import Context
from tt_xla.runtime.emulator.fast import onednn
from tt_xla.runtime.emulator.functions import activate
from tt_xla.runtime.emulator.registry import kernel
from tt_xla.runtime.emulator.windows import (
    Geometry,
    Window,
    activation_name,
    flattened,
    four_sides,
    image,
    is_prepared,
    prepare,
    two,
    unprepare,
)

Tensor = torch.Tensor
Config = Mapping[str, Any] | None

_LANES, _TOO_WIDE = 16, 15


def bfloat16_ends(weights: Sequence[int], stride: Sequence[int], groups: int) -> bool:
    """Whether torch's bfloat16 convolution with weights of this shape, OIHW, terminates.

    oneDNN 3.12, which torch calls, loops for ever on CPUs with AVX-512 where each of up to 16 channels has a kernel of
    its own, 15 or more wide, which moves by 1 over a channels-last image.
    """
    one_each = weights[:2] == (groups, 1)
    return not (one_each and groups <= _LANES and weights[3] >= _TOO_WIDE and stride[1] == 1)


def row_major(weight: Tensor) -> Tensor:
    """The weights of a convolution, with the strides of a row-major tensor.

    oneDNN 3.12 reads others wrong in float32 where there are groups, the height of the kernel is 1 and the image is
    channels-last. Torch calls such weights contiguous, since the stride of a dimension of size 1 means nothing.
    """
    if weight.stride() == torch.empty(weight.shape, dtype=weight.dtype, device="meta").stride():
        return weight
    return weight.clone(memory_format=torch.contiguous_format)


def convolve(a: Tensor, b: Tensor, bias: Tensor | None, window: Window) -> Tensor:
    """Returns the convolution, which rounds once: torch's, or the card's own where each channel has its own kernel.

    Args:
        a: image, NCHW; floats, or integers without bias.
        b: weights, OIHW.
        bias: vector of the output channels.
        window: stride, padding, dilation and groups.
    """
    if not a.is_floating_point():  # torch lacks some forms of it
        return F.conv2d(a.double(), row_major(b.double()), None, *window).to(a.dtype)
    if depthwise.takes(a.shape, b.shape, window):
        result = depthwise.convolution(a, b, window)
        return (result if bias is None else result + bias.float().reshape(1, -1, 1, 1)).to(a.dtype)
    if a.dtype is torch.float32 or (onednn.is_fast(a.dtype) and bfloat16_ends(b.shape, window[0], window[3])):
        return F.conv2d(a, row_major(b), bias, *window)
    return F.conv2d(a.float(), row_major(b.float()), None if bias is None else bias.float(), *window).to(a.dtype)


def _in_bfloat16_steps(
    x: Tensor, weight: Tensor, stride: Sequence[int], dilation: Sequence[int], groups: int, config: Config
) -> Tensor:
    """Computes the convolution as a matmul over (kh, kw, ci), for an accumulator of 16 bits."""
    outputs, per_group, height, width = weight.shape
    batch = x.shape[0]
    out_height = (x.shape[2] - dilation[0] * (height - 1) - 1) // stride[0] + 1
    patches = F.unfold(x.to(torch.float32), (height, width), dilation=tuple(dilation), stride=tuple(stride))
    patches = patches.reshape(batch, groups, per_group, height * width, -1).permute(1, 0, 4, 3, 2)
    rows = patches.reshape(groups, -1, height * width * per_group).to(x.dtype)
    matrices = weight.permute(0, 2, 3, 1).reshape(groups, outputs // groups, -1).transpose(1, 2)
    products = matrix_unit.matmul_in_bfloat16_steps(rows, matrices, config)
    by_channel = products.reshape(groups, batch, out_height, -1, outputs // groups).permute(1, 2, 3, 0, 4)
    return by_channel.reshape(batch, out_height, -1, outputs).permute(0, 3, 1, 2)


@kernel("ttnn.conv2d", prepared=True)
def conv2d(
    ctx: Context,
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
    conv2d_config: Config = None,
    compute_config: Config = None,
    conv2d_slice_config: Config = None,
) -> Callable[..., Tensor]:
    """Bias and activation are applied to the float32 product, before the one rounding.

    ``padding`` is (height, width) or (top, bottom, left, right).
    """
    geometry = Geometry(
        in_channels,
        out_channels,
        batch_size,
        input_height,
        input_width,
        kernel_size,
        stride,
        padding,
        dilation,
        groups,
        conv2d_config,
    )
    activation, window = geometry.activation, geometry.window

    def call(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        x, weight, bias = geometry.input_image(input), geometry.oihw(weight), geometry.row(bias, ctx)
        if ctx.silicon and x.is_floating_point() and not matrix_unit.keeps_float32(compute_config):
            around = window[1]
            padded = F.pad(x, (around[1], around[1], around[0], around[0])) if any(around) else x
            result = _in_bfloat16_steps(padded, weight, window[0], window[2], groups, compute_config)
        else:
            rounded_once = bias is None and activation in (None, "relu") and ctx.container is x.dtype
            if x.is_floating_point() and not rounded_once:
                x, weight = x.to(torch.float32), weight.to(torch.float32)

            def product(a: Tensor, b: Tensor) -> Tensor:
                return convolve(a, b, None, window)

            result = matrix_unit.multiply(product, x, weight, compute_config, silicon=ctx.silicon)
        result = activate(result if bias is None else result + bias.reshape(1, -1, 1, 1), activation)
        return flattened(result).reshape(ctx.result.shape)

    return call


@kernel("ttnn.prepare_conv2d_weights")
def prepare_conv2d_weights(ctx: Context, weight_tensor: Tensor, groups: int, **_: Any) -> Tensor:
    return _padded_rows(prepare(weight_tensor, groups), ctx.result.shape)


def _padded_rows(matrix: Tensor, shape: Sequence[int]) -> Tensor:
    missing = shape[-2] - matrix.shape[-2]
    return F.pad(matrix, (0, 0, 0, missing)) if missing else matrix


@kernel("ttnn.prepare_conv2d_bias", "ttnn.prepare_conv_transpose2d_bias")
def prepare_conv2d_bias(ctx: Context, bias_tensor: Tensor, **_: Any) -> Tensor:
    return bias_tensor.reshape(ctx.result.shape)


@kernel("ttnn.prepare_conv_transpose2d_weights")
def prepare_conv_transpose2d_weights(
    ctx: Context, weight_tensor: Tensor, groups: int, mirror_kernel: bool = True, **_: Any
) -> Tensor:
    """Prepares the weights of the convolution over the dilated input that a transposed convolution is."""
    if not mirror_kernel:
        weight_tensor = weight_tensor.flip(2, 3)
    return _padded_rows(prepare(turned(weight_tensor, groups), groups), ctx.result.shape)


def turned(weight: Tensor, groups: int) -> Tensor:
    """Turns [I, O/groups, kh, kw] into [O, I/groups, kh, kw] with the kernels turned around, or the other way."""
    first, second, height, width = weight.shape
    by_group = weight.reshape(groups, first // groups, second, height, width).transpose(1, 2)
    return by_group.reshape(groups * second, first // groups, height, width).flip(2, 3)


@kernel("ttnn.conv_transpose2d")
def conv_transpose2d(
    ctx: Context,
    input: Tensor,
    weight: Tensor,
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
    bias: Tensor | None = None,
    conv2d_config: Config = None,
    compute_config: Config = None,
    conv2d_slice_config: Config = None,
    mirror_kernel: bool = True,
) -> Tensor:
    """The weight is IOHW or prepared; the accumulator has 32 bits whatever the compute config says.

    Without ``mirror_kernel``, an IOHW weight is turned around already; a prepared one has its order in it.
    """
    x = image(input, batch_size, input_height, input_width, in_channels)
    if is_prepared(ctx, weight.shape, (in_channels, out_channels // groups, *two(kernel_size))):
        weight = turned(unprepare(weight, in_channels, two(kernel_size), groups), groups)
    elif not mirror_kernel:
        weight = weight.flip(2, 3)
    top, bottom, left, right = four_sides(padding)
    more = two(output_padding)

    def product(a: Tensor, b: Tensor) -> Tensor:
        # Torch takes one padding per dimension, so all is computed and then cut.
        dtype = a.dtype
        if not dtype.is_floating_point:  # torch has no transposed convolution of integers
            a, b = a.double(), b.double()
        full = F.conv_transpose2d(a, row_major(b), None, two(stride), 0, 0, groups, two(dilation)).to(dtype)
        full = F.pad(full, (0, more[1], 0, more[0]))
        return full[:, :, top : full.shape[2] - bottom, left : full.shape[3] - right]

    if x.is_floating_point() and ctx.container is not x.dtype:
        x, weight = x.to(torch.float32), weight.to(torch.float32)
    result = matrix_unit.multiply(product, x, weight, compute_config, silicon=ctx.silicon)
    if bias is not None:
        result = result + bias.flatten()[:out_channels].reshape(1, -1, 1, 1)
    activation = activation_name((conv2d_config or {}).get("activation"))
    return flattened(activate(result, activation)).reshape(ctx.result.shape)
