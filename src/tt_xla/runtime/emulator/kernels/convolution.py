"""Convolutions on flattened [1, 1, N*H*W, C] activations.

These are NHWC: seen as NCHW they have torch's channels-last strides, and so has the result, so that reading and
writing them costs no copy and torch takes its fast path. Weights come as OIHW or prepared, as the matrix
[1, 1, kh*kw*I, O] whose memory is O, kh, kw, I: seen as OIHW that too is channels-last. There weights of groups are
those of one whole convolution, zero between groups, as TT-NN prepares them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import torch
import torch.nn.functional as F

from tt_xla.ir.layout import DataType
from tt_xla.ir.program import TensorSpec
from tt_xla.runtime.emulator import matrix_unit, onednn
from tt_xla.runtime.emulator.containers import CONTAINERS, hold
from tt_xla.runtime.emulator.kernels.matrix import activate
from tt_xla.runtime.emulator.registry import Context, Weighted, kernel
from tt_xla.runtime.emulator.small import is_small_product

Tensor = torch.Tensor
Config = Mapping[str, Any] | None
Window = tuple[tuple[int, int], tuple[int, int], tuple[int, int], int]
"""Stride, padding of height and width, dilation, groups."""


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


@dataclass(frozen=True)
class Geometry:
    """Attributes of a convolution, by their names in IR, and what follows from them."""

    in_channels: int
    out_channels: int
    batch_size: int
    input_height: int
    input_width: int
    kernel_size: Sequence[int]
    stride: Sequence[int]
    padding: Sequence[int]
    dilation: Sequence[int]
    groups: int
    conv2d_config: Config = None

    @staticmethod
    def of(attributes: Mapping[str, Any]) -> Geometry:
        names = (field.name for field in fields(Geometry))
        return Geometry(**{name: attributes[name] for name in names if name in attributes})

    @property
    def weight(self) -> tuple[int, int, int, int]:
        """Shape, OIHW."""
        return self.out_channels, self.in_channels // self.groups, *_two(self.kernel_size)

    @property
    def steps(self) -> tuple[int, int]:
        return _two(self.stride)

    @property
    def spread(self) -> tuple[int, int]:
        """Of the taps of a window."""
        return _two(self.dilation)

    @property
    def sides(self) -> tuple[int, int, int, int]:
        """Padding: top, bottom, left, right."""
        return four_sides(self.padding)

    @property
    def result(self) -> tuple[int, int]:
        """Height and width."""
        top, bottom, left, right = self.sides
        sizes = (self.input_height + top + bottom, self.input_width + left + right)
        high, wide = (
            (size - spread * (taps - 1) - 1) // step + 1
            for size, spread, taps, step in zip(sizes, self.spread, self.weight[2:], self.steps, strict=True)
        )
        return high, wide

    @property
    def activation(self) -> str | None:
        return _activation_name((self.conv2d_config or {}).get("activation"))

    @property
    def block_float(self) -> DataType | None:
        """The format that weights are stored in, where it is one of blocks."""
        stored = (self.conv2d_config or {}).get("weights_dtype")
        return DataType(stored) if stored and DataType(stored).is_block_float else None


def _oihw(weight: Tensor, geometry: Geometry) -> Tensor:
    """The weight as OIHW, in the format that the convolution stores it in."""
    shape, groups = geometry.weight, geometry.groups
    if tuple(weight.shape) != shape:
        return unprepare(weight, geometry.in_channels, shape[2:], groups)
    if geometry.block_float is not None:
        return unprepare(hold(prepare(weight, groups), geometry.block_float), geometry.in_channels, shape[2:], groups)
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
) -> Callable[..., Tensor] | Weighted:
    """``padding`` is (height, width) or (top, bottom, left, right)."""
    height, width = input_height, input_width
    geometry = Geometry(
        in_channels,
        out_channels,
        batch_size,
        height,
        width,
        kernel_size,
        stride,
        padding,
        dilation,
        groups,
        conv2d_config,
    )
    activation, shape = geometry.activation, geometry.weight
    top, bottom, left, right = geometry.sides
    alike = (top, left) == (bottom, right)
    window = (geometry.steps, (top, left) if alike else (0, 0), geometry.spread, groups)

    def input_image(input: Tensor) -> Tensor:
        x = image(input, batch_size, height, width, in_channels)
        return x if alike else F.pad(x, (left, right, top, bottom))

    def row(bias: Tensor | None) -> Tensor | None:
        return None if bias is None else bias.reshape(-1)[:out_channels]

    def sources(weight: Tensor) -> Tensor:
        return _oihw(weight, geometry)

    def general(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        result = _in_general(ctx, input_image(input), sources(weight), row(bias), window, activation, compute_config)
        return flattened(result).reshape(ctx.result.shape)

    if not _is_one_product(ctx, compute_config):
        return general
    high, wide = (height, width) if alike else (height + top + bottom, width + left + right)
    small = is_small_convolution(ctx, geometry, compute_config)
    product = _Convolution(ctx, shape, (batch_size, in_channels, high, wide), window, activation, compute_config, small)

    def call(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        result = product(input_image(input), product.sources(sources(weight)), row(bias))
        return flattened(result).reshape(ctx.result.shape)

    def with_prepared(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        return flattened(product(input_image(input), weight, row(bias))).reshape(ctx.result.shape)

    return Weighted(call, lambda weight: product.prepared(sources(weight)), with_prepared, stay=product.small)


def _in_general(
    ctx: Context,
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    window: Window,
    activation: str | None,
    config: Config,
) -> Tensor:
    """Any operands; what is done to the product is done before it is rounded."""
    stride, padding, dilation, groups = window
    if ctx.silicon and x.is_floating_point() and not matrix_unit.keeps_float32(config):
        padded = F.pad(x, (padding[1], padding[1], padding[0], padding[0])) if any(padding) else x
        result = _in_bfloat16_steps(padded, weight, stride, dilation, groups, config)
    else:
        rounded_once = bias is None and activation in (None, "relu") and CONTAINERS[ctx.result.layout.dtype] is x.dtype
        if x.is_floating_point() and not rounded_once:
            x, weight = x.to(torch.float32), weight.to(torch.float32)

        def product(a: Tensor, b: Tensor) -> Tensor:
            return _convolved(a, b, None, *window)

        result = matrix_unit.multiply(product, x, weight, config, silicon=ctx.silicon)
    return activate(result if bias is None else result + bias.reshape(1, -1, 1, 1), activation)


def _is_one_product(ctx: Context, config: Config) -> bool:
    """Whether torch's convolution is the whole op: floats, and one product in float32."""
    specs = [spec for spec in ctx.operands.values() if isinstance(spec, TensorSpec)]
    floats = all(CONTAINERS[spec.layout.dtype] in (torch.bfloat16, torch.float32) for spec in specs)
    one_product = matrix_unit.is_one_product(config, silicon=ctx.silicon)
    return floats and one_product and all(math.prod(spec.shape) for spec in specs)


def is_small_convolution(ctx: Context, geometry: Geometry, config: Config) -> bool:
    """Whether it is a small product, which is summed in float64."""
    work = math.prod(ctx.result.shape[:-1]) * math.prod(geometry.weight)
    return _is_one_product(ctx, config) and is_small_product(ctx.operands.values(), work)


class _Convolution:
    """The convolution of one image with weights OIHW in one dtype, by oneDNN where that is worth it."""

    def __init__(
        self,
        ctx: Context,
        weight: tuple[int, int, int, int],
        shape: tuple[int, int, int, int],
        window: Window,
        activation: str | None,
        config: Config,
        small: bool,
    ) -> None:
        self.small = small
        """Whether it is summed in float64."""
        self._activation = activation
        self._window = window
        stride, padding, dilation, groups = window
        self._input_bits, self._weight_bits = matrix_unit.source_bits(config, silicon=ctx.silicon)
        specs = (ctx.operands["input"], ctx.operands["weight"])
        types = {CONTAINERS[spec.layout.dtype] for spec in (*specs, ctx.result) if isinstance(spec, TensorSpec)}
        work = math.prod(ctx.result.shape[:-1]) * math.prod(weight)
        self._onednn: onednn.Convolution | None = None
        self._taps: list[int] | None = None
        if not self.small and "bias" not in ctx.operands and not activation:
            self._taps = _taps_of_gradient(shape, weight, window)
        elsewhere = self.small or self._taps is not None or not onednn.ends(weight, stride, groups)
        if types == {torch.bfloat16} and not elsewhere and onednn.takes(work, activation):
            self._onednn = onednn.Convolution(shape, padding, stride, dilation, groups, activation)
        # What comes after the product comes before it is rounded.
        narrow = types == {torch.bfloat16} and (self._onednn is not None or activation in (None, "relu"))
        self._dtype = torch.bfloat16 if narrow else torch.float32

    def sources(self, weight: Tensor) -> Tensor:
        """As the registers hold it."""
        if self.small:
            return matrix_unit.in_float64(weight, self._weight_bits)
        return matrix_unit.significant(weight.to(self._dtype), self._weight_bits)

    def prepared(self, weight: Tensor) -> Tensor:
        weight = self.sources(weight)
        return weight if self._onednn is None else self._onednn.ordered(weight)

    def __call__(self, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        if self.small:
            x = matrix_unit.in_float64(x, self._input_bits)
            return activate(
                F.conv2d(x, weight, None if bias is None else bias.to(x.dtype), *self._window), self._activation
            )
        x = matrix_unit.significant(x.to(self._dtype), self._input_bits)
        bias = None if bias is None else bias.to(self._dtype)
        if self._onednn is not None:
            return self._onednn(x, weight, bias)
        if self._taps is not None:
            return _as_gradient(x, weight, self._taps, self._window)
        return activate(_of_floats(x, weight, bias, *self._window), self._activation)


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


def _convolved(
    a: Tensor,
    b: Tensor,
    bias: Tensor | None,
    stride: tuple[int, int],
    padding: tuple[int, int],
    dilation: tuple[int, int],
    groups: int,
) -> Tensor:
    """A convolution; of integers too, which torch lacks in some forms."""
    if a.dtype.is_floating_point:
        window = (stride, padding, dilation, groups)
        taps = None if bias is not None else _taps_of_gradient(a.shape, b.shape, window)
        if taps is not None:
            return _as_gradient(a, b, taps, window)
        return _of_floats(a, b, bias, stride, padding, dilation, groups)
    wide = None if bias is None else bias.double()
    return F.conv2d(a.double(), b.double(), wide, stride, padding, dilation, groups).to(a.dtype)


def _of_floats(
    a: Tensor,
    b: Tensor,
    bias: Tensor | None,
    stride: tuple[int, int],
    padding: tuple[int, int],
    dilation: tuple[int, int],
    groups: int,
) -> Tensor:
    """torch's convolution, which rounds once."""
    if a.dtype is torch.float32 or onednn.ends(b.shape, stride, groups):
        return F.conv2d(a, b, bias, stride, padding, dilation, groups)
    bias = None if bias is None else bias.float()
    return F.conv2d(a.float(), b.float(), bias, stride, padding, dilation, groups).to(a.dtype)


def _taps_of_gradient(x: Sequence[int], weight: Sequence[int], window: Window) -> list[int] | None:
    """Height and width of a result that is smaller than the kernel, as in a backward pass, where the convolution is the
    gradient of another one by its weight; None where it is not, or that one would have a larger result.

    Args:
        x: shape of the input, NCHW.
        weight: that of the weight, OIHW.
    """
    stride, padding, dilation, groups = window
    kernel = weight[2:]
    reach = [size + 2 * pad for size, pad in zip(x[2:], padding, strict=True)]
    counts = [
        (size - spread * (taps - 1) - 1) // step + 1
        for size, spread, taps, step in zip(reach, dilation, kernel, stride, strict=True)
    ]
    covered = [
        (size - step * (count - 1) - 1) // spread + 1
        for size, step, count, spread in zip(reach, stride, counts, dilation, strict=True)
    ]
    smaller = kernel[0] * kernel[1] > counts[0] * counts[1] and stride == (1, 1)  # not patches side by side
    return counts if groups == 1 and smaller and covered == list(kernel) else None


def _as_gradient(a: Tensor, b: Tensor, taps: Sequence[int], window: Window) -> Tensor:
    """A convolution of which torch has a fast path for what it is: the gradient, by its weight, of one with batch and
    channels exchanged, and with stride and dilation exchanged: there ``b`` is the gradient of the result."""
    stride, padding, dilation, _ = window
    weight = a.new_empty(b.shape[0], a.shape[0], *taps)
    # In other orders torch takes longer than the copies.
    x, gradient = (part.transpose(0, 1).contiguous(memory_format=torch.channels_last) for part in (a, b))
    mask = (False, True, False)
    gradients = torch.ops.aten.convolution_backward(
        gradient, x, weight, None, dilation, padding, stride, False, (0, 0), 1, mask
    )
    return gradients[1].transpose(0, 1)


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

    if x.is_floating_point() and CONTAINERS[ctx.result.layout.dtype] is not x.dtype:
        x, weight = x.to(torch.float32), weight.to(torch.float32)
    result = matrix_unit.multiply(product, x, weight, compute_config, silicon=ctx.silicon)
    if bias is not None:
        result = result + bias.flatten()[:out_channels].reshape(1, -1, 1, 1)
    activation = _activation_name((conv2d_config or {}).get("activation"))
    return flattened(activate(result, activation)).reshape(ctx.result.shape)
