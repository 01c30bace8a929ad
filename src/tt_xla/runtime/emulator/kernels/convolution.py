"""Convolutions on flattened [1, 1, N*H*W, C] activations.

These are NHWC: seen as NCHW they have torch's channels-last strides, and so has the result, so that reading and
writing them costs no copy and torch takes its fast path. Weights come as OIHW or prepared, as the matrix
[1, 1, kh*kw*I, O] whose memory is O, kh, kw, I: seen as OIHW that too is channels-last. There weights of groups are
those of one whole convolution, zero between groups, as TT-NN prepares them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
import torch.nn.functional as F

from tt_xla.ir.layout import DataType
from tt_xla.runtime.emulator import matrix_unit
from tt_xla.runtime.emulator.containers import hold
from tt_xla.runtime.emulator.kernels.matrix import activate
from tt_xla.runtime.emulator.registry import Context, kernel

Tensor = torch.Tensor
Config = Mapping[str, Any] | None


def image(input: Tensor, batch: int, height: int, width: int, channels: int) -> Tensor:
    """[..., N*H*W, C] seen as [N, C, H, W]."""
    return input.reshape(batch, height, width, channels).permute(0, 3, 1, 2)


def flattened(result: Tensor) -> Tensor:
    """[N, C, H, W] seen as [1, 1, N*H*W, C]."""
    return result.permute(0, 2, 3, 1).reshape(1, 1, -1, result.shape[1])


def four_sides(padding: Sequence[int]) -> tuple[int, int, int, int]:
    """Top, bottom, left, right, of one, two (height, width) or four numbers."""
    if len(padding) == 1:
        return padding[0], padding[0], padding[0], padding[0]
    if len(padding) == 2:
        return padding[0], padding[0], padding[1], padding[1]
    top, bottom, left, right = padding
    return top, bottom, left, right


def prepare(weight: Tensor, groups: int) -> Tensor:
    """OIHW to [1, 1, kh*kw*I, O] with O outermost in memory."""
    weight = _whole(weight, groups)
    ordered = weight.permute(0, 2, 3, 1).contiguous(memory_format=torch.contiguous_format)
    return ordered.view(weight.shape[0], -1).t().unsqueeze(0).unsqueeze(0)


def _whole(weight: Tensor, groups: int) -> Tensor:
    """[O, I/groups, kh, kw] as the [O, I, kh, kw] of a convolution without groups."""
    if groups == 1:
        return weight
    outputs, inputs, height, width = weight.shape
    found = weight.new_zeros(groups, outputs // groups, groups, inputs, height, width)
    found.diagonal(dim1=0, dim2=2).copy_(weight.reshape(groups, -1, inputs, height, width).permute(1, 2, 3, 4, 0))
    return found.reshape(outputs, groups * inputs, height, width)


def unprepare(matrix: Tensor, channels: int, kernel_size: Sequence[int], groups: int) -> Tensor:
    """What :func:`prepare` made of [O, channels/groups, kh, kw], seen as that; further rows are padding."""
    height, width = kernel_size
    columns = matrix.reshape(matrix.shape[-2:])[: height * width * channels].t()
    whole = columns.reshape(-1, height, width, channels).permute(0, 3, 1, 2)
    if groups == 1:
        return whole
    blocks = whole.reshape(groups, -1, groups, channels // groups, height, width).diagonal(dim1=0, dim2=2)
    return blocks.permute(4, 0, 1, 2, 3).reshape(-1, channels // groups, height, width)


def _two(values: Sequence[int]) -> tuple[int, int]:
    return (values[0], values[0]) if len(values) == 1 else (values[0], values[1])


def _oihw(weight: Tensor, shape: tuple[int, int, int, int], groups: int, config: Config) -> Tensor:
    """The weight as OIHW, in the format that the convolution stores it in."""
    channels = shape[1] * groups
    if tuple(weight.shape) != shape:
        return unprepare(weight, channels, shape[2:], groups)
    stored = (config or {}).get("weights_dtype")
    if stored and DataType(stored).is_block_float:
        return unprepare(hold(prepare(weight, groups), DataType(stored)), channels, shape[2:], groups)
    return weight


def _in_bfloat16_steps(
    x: Tensor, weight: Tensor, stride: Sequence[int], dilation: Sequence[int], groups: int, config: Config
) -> Tensor:
    """The convolution as a matmul over (kh, kw, ci), for an accumulator of 16 bits."""
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


@kernel("ttnn.conv2d")
def conv2d(
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
    dilation: Sequence[int],
    groups: int,
    bias: Tensor | None = None,
    conv2d_config: Config = None,
    compute_config: Config = None,
    conv2d_slice_config: Config = None,
) -> Tensor:
    """``padding`` is (height, width) or (top, bottom, left, right)."""
    x = image(input, batch_size, input_height, input_width, in_channels)
    kernel_size, stride, dilation = _two(kernel_size), _two(stride), _two(dilation)
    oihw = _oihw(weight, (out_channels, in_channels // groups, *kernel_size), groups, conv2d_config)
    top, bottom, left, right = four_sides(padding)
    if (top, left) != (bottom, right):
        x, top, left = F.pad(x, (left, right, top, bottom)), 0, 0
    shift = None if bias is None else bias.flatten()[:out_channels]
    activation = (conv2d_config or {}).get("activation")

    def product(a: Tensor, b: Tensor) -> Tensor:
        return _convolved(a, b, None, stride, (top, left), dilation, groups)

    def product_with_bias(a: Tensor, b: Tensor) -> Tensor:
        assert shift is not None
        return _convolved(a, b, shift.to(a.dtype), stride, (top, left), dilation, groups)

    if ctx.silicon and not matrix_unit.keeps_float32(compute_config):
        padded = F.pad(x, (left, left, top, top)) if top or left else x
        result = _in_bfloat16_steps(padded, oihw, stride, dilation, groups, compute_config)
    elif shift is not None and shift.dtype is input.dtype and matrix_unit.fidelity(compute_config) != "hifi3":
        result = matrix_unit.multiply(product_with_bias, x, oihw, compute_config, silicon=ctx.silicon)
        shift = None
    else:
        result = matrix_unit.multiply(product, x, oihw, compute_config, silicon=ctx.silicon)
    if shift is not None:
        result = result + shift.reshape(1, -1, 1, 1)
    return flattened(activate(result, _activation_name(activation))).reshape(ctx.result.shape)


def _activation_name(activation: Any) -> str | None:
    """The config has it as a name or, as newer IR does, as a record with ``op_type``."""
    if isinstance(activation, Mapping):
        return str(activation.get("op_type") or activation.get("type") or "") or None  # pyright: ignore
    return str(activation) if activation else None


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
    """As the weights of the convolution over the dilated input that a transposed one is."""
    if not mirror_kernel:
        weight_tensor = weight_tensor.flip(2, 3)
    return _padded_rows(prepare(_turned(weight_tensor, groups), groups), ctx.result.shape)


def _turned(weight: Tensor, groups: int) -> Tensor:
    """[I, O/groups, kh, kw] as [O, I/groups, kh, kw] with the kernels turned around, or the other way."""
    first, second, height, width = weight.shape
    parts = weight.reshape(groups, first // groups, second, height, width).transpose(1, 2)
    return parts.reshape(groups * second, first // groups, height, width).flip(2, 3)


def _convolved(a: Tensor, b: Tensor, bias: Tensor | None, *rest: Any) -> Tensor:
    """A convolution; of integers too, which torch lacks in some forms."""
    if a.dtype.is_floating_point:
        return F.conv2d(a, b, bias, *rest)
    return F.conv2d(a.double(), b.double(), None if bias is None else bias.double(), *rest).to(a.dtype)


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
) -> Tensor:
    """The weight is IOHW or prepared; the accumulator has 32 bits whatever the compute config says."""
    x = image(input, batch_size, input_height, input_width, in_channels)
    if tuple(weight.shape) != (in_channels, out_channels // groups, *_two(kernel_size)):
        weight = _turned(unprepare(weight, in_channels, _two(kernel_size), groups), groups)
    top, bottom, left, right = four_sides(padding)
    more = _two(output_padding)

    def product(a: Tensor, b: Tensor) -> Tensor:
        # torch takes one padding per dimension: compute all, then cut.
        dtype = a.dtype
        if not dtype.is_floating_point:  # torch has no such product of integers
            a, b = a.double(), b.double()
        whole = F.conv_transpose2d(a, b, None, _two(stride), 0, 0, groups, _two(dilation)).to(dtype)
        whole = F.pad(whole, (0, more[1], 0, more[0]))
        return whole[:, :, top : whole.shape[2] - bottom, left : whole.shape[3] - right]

    result = matrix_unit.multiply(product, x, weight, compute_config, silicon=ctx.silicon)
    if bias is not None:
        result = result + bias.flatten()[:out_channels].reshape(1, -1, 1, 1)
    activation = _activation_name((conv2d_config or {}).get("activation"))
    return flattened(activate(result, activation)).reshape(ctx.result.shape)
