"""Convolutions as TT-NN's kernel computes them: products of windows, in blocks of a row of the window.

The kernel tilizes windows as the type of the result, for which float32 is cut to bfloat16; through a 32-bit accumulator
the packer aligns bfloat16 in block floats without a rounding before. Sums of blocks lie in L1;
unlike those of a product they are loaded into the accumulator through a source register, which keeps 19 bits. A
convolution with a kernel of 1 x 1, or one whose windows do not overlap and whose input lies in DRAM, is a product.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
import torch.nn.functional as F

from tt_xla.cost.window_shards import ConvolutionSetting
from tt_xla.ir import shapes
from tt_xla.ir.layout import BufferType, DataType, MemoryLayout, TensorLayout
from tt_xla.ir.program import TensorSpec
from tt_xla.runtime.emulator import matrix_unit as fidelities
from tt_xla.runtime.emulator.bit_exact import matrix_unit
from tt_xla.runtime.emulator.bit_exact.blocks import Blocks
from tt_xla.runtime.emulator.bit_exact.convolution_blocks import Slices, slices_of
from tt_xla.runtime.emulator.bit_exact.elementwise import applied, otherwise
from tt_xla.runtime.emulator.bit_exact.products import in_blocks, linear
from tt_xla.runtime.emulator.bit_exact.registers import packed, source
from tt_xla.runtime.emulator.context import Context
from tt_xla.runtime.emulator.kernels.convolution import turned
from tt_xla.runtime.emulator.registry import kernel
from tt_xla.runtime.emulator.windows import Geometry, is_prepared, prepare, two

Tensor = torch.Tensor
Config = Mapping[str, Any] | None


@kernel("ttnn.conv2d", prepared=True, bit_exact=True)
def conv2d(ctx: Context, compute_config: Config = None, **attributes: Any) -> Callable[..., Tensor]:
    """TT-NN cuts a convolution that does not fit L1 into parts, which are not modelled; they change the order of terms
    only where they change the way of sharding."""
    geometry = Geometry.of(attributes)
    source_layout = ctx.spec("input").layout
    setting = _setting(ctx, geometry, compute_config)
    config = setting.compute_config
    is_product = _is_product(geometry, source_layout)

    def call(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        if not input.is_floating_point():
            return otherwise(ctx, {**attributes, "compute_config": config})(input, weight, bias)
        image, kernels, vector = geometry.input_image(input), geometry.oihw(weight), geometry.row(bias, ctx)
        if is_product:
            windows = _windows(image, geometry).flatten(1)
            matrix = prepare(kernels, geometry.groups)[0, 0]
            activation = geometry.activation
            result = linear(_of_product(ctx), windows, matrix, vector, activation=activation, compute_config=config)
            return result.reshape(ctx.result.shape)
        slices = slices_of(geometry, source_layout, setting, ctx.grid)
        wide = fidelities.keeps_float32(config)
        windows = source(_windows(image.to(torch.float32), geometry), wide=ctx.dtype is DataType.F32)
        if ctx.dtype.is_block_float:
            windows = packed(windows, ctx.dtype, rounds_first=not wide)
        matrix = prepare(kernels, geometry.groups).reshape(*windows.shape[1:], -1)
        total = _sum(source(windows, wide=wide), source(matrix, wide=wide), slices, config, wide=wide)
        if vector is not None:
            total = matrix_unit.add(source(total, wide=wide), source(vector, wide=wide), wide=wide)
        if geometry.activation:
            total = applied(geometry.activation, total, wide=wide)
        return packed(total, ctx.dtype).to(ctx.container).reshape(ctx.result.shape)

    return call


@kernel("ttnn.conv_transpose2d", prepared=True, bit_exact=True)
def conv_transpose2d(
    ctx: Context,
    output_padding: Sequence[int],
    compute_config: Config = None,
    conv2d_slice_config: Config = None,
    mirror_kernel: bool = True,
    **attributes: Any,
) -> Callable[..., Tensor]:
    """Returns the convolution of the input, with zeros put between its elements, by kernels that are turned around."""
    geometry = Geometry.of(attributes)
    (down, right), (high, wide) = two(geometry.stride), two(geometry.kernel_size)
    (apart_high, apart_wide), (below, beside) = two(geometry.dilation), two(output_padding)
    top, bottom, left, upright = geometry.sides
    rows, columns = ((high - 1) * apart_high, (wide - 1) * apart_wide)
    height, width = (geometry.input_height - 1) * down + 1, (geometry.input_width - 1) * right + 1
    spread = attributes | {
        "input_height": height,
        "input_width": width,
        "stride": (1, 1),
        "padding": (rows - top, rows - bottom + below, columns - left, columns - upright + beside),
    }
    convolution = conv2d(ctx, compute_config, **spread)

    def call(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        if not input.is_floating_point():
            more = {"compute_config": compute_config, "mirror_kernel": mirror_kernel, "output_padding": output_padding}
            return otherwise(ctx, {**attributes, **more})(input, weight, bias)
        sizes = (geometry.batch_size, geometry.input_height, geometry.input_width, geometry.in_channels)
        zeros = input.new_zeros(sizes[0], height, width, sizes[3])
        zeros[:, ::down, ::right] = input.reshape(sizes)
        if not is_prepared(ctx, weight.shape, geometry.turned_weight):
            weight = turned(weight if mirror_kernel else weight.flip(2, 3), geometry.groups)
        return convolution(zeros, weight, bias)

    return call


def _is_product(geometry: Geometry, layout: TensorLayout) -> bool:
    """Returns whether TT-NN computes a convolution as a product: one of points, or of windows side by side."""
    kernel_size, stride, padding = two(geometry.kernel_size), two(geometry.stride), geometry.sides
    if geometry.groups > 1 or two(geometry.dilation) != (1, 1) or kernel_size != stride:
        return False
    if kernel_size == (1, 1):
        return not any(padding)
    top, bottom, left, right = padding
    fits = (geometry.input_height + top + bottom) % stride[0] == (geometry.input_width + left + right) % stride[1] == 0
    in_dram = layout.buffer is BufferType.DRAM and (not layout.tiled or not any(padding))
    return fits and (in_dram or layout.memory is MemoryLayout.HEIGHT_SHARDED)


def _of_product(ctx: Context) -> Context:
    """Returns the context of a product of the operands: TT-NN prepares weights and bias in DRAM."""
    operands = {"a": ctx.spec("input")}
    for name, prepared in (("weight", "b"), ("bias", "bias")):
        if name in ctx.operands:
            spec = ctx.spec(name)
            operands[prepared] = TensorSpec(spec.shape, TensorLayout.of(spec.shape, spec.layout.dtype))
    return replace(ctx, operands=operands)


def _setting(ctx: Context, geometry: Geometry, config: Config) -> ConvolutionSetting:
    """Returns types and options of a convolution."""
    source, weight = (ctx.spec(name).layout for name in ("input", "weight"))
    chosen = geometry.conv2d_config or {}
    is_column, is_biased = two(geometry.kernel_size)[1] == geometry.input_width == 1, "bias" in ctx.operands
    return ConvolutionSetting(
        source.dtype,
        weight.dtype,
        ctx.dtype,
        is_biased,
        source.tiled,
        product=False,
        depthwise_rows=is_column and not is_biased and geometry.groups == geometry.in_channels,
        compute=config,
        block_height=int(chosen.get("act_block_h_override") or 0),
        column_major=bool(chosen.get("transpose_shards")),
    )


def _windows(image: Tensor, geometry: Geometry) -> Tensor:
    """Returns the windows of an image NCHW: [positions, rows of the window, its columns, channels]."""
    (down, right), (top, left), (apart_high, apart_wide), _ = geometry.window
    high, wide = two(geometry.kernel_size)
    x = F.pad(image, (left, left, top, top)).permute(0, 2, 3, 1)
    rows = shapes.window(x.shape[1], high, down, 0, 0, apart_high)
    columns = shapes.window(x.shape[2], wide, right, 0, 0, apart_wide)
    parts = [
        x[:, i * apart_high :: down, j * apart_wide :: right][:, :rows, :columns]
        for i in range(high)
        for j in range(wide)
    ]
    return torch.stack(parts, dim=3).reshape(-1, high, wide, x.shape[3])


def _sum(windows: Tensor, weights: Tensor, slices: Slices, config: Config, *, wide: bool) -> Tensor:
    """Returns the sum of a convolution over its blocks.

    Args:
        windows: [positions, rows of the window, its columns, channels], as SrcB holds them.
        weights: [rows, columns, channels, results], as SrcA holds them.
        slices: how the convolution is cut.
        config: the compute config.
        wide: whether the accumulator has 32 bits.
    """
    core = slices.core
    missing = slices.count * slices.channels - windows.shape[-1]
    a = F.pad(windows, (0, missing)).unflatten(-1, (slices.count, slices.channels))
    b = F.pad(weights, (0, 0, 0, missing)).unflatten(-2, (slices.count, slices.channels))
    order = (2, 0, 1, 3) if slices.by_slice else (0, 2, 1, 3)
    a = a.permute(0, *(place + 1 for place in order)).reshape(a.shape[0], core.steps, -1)
    b = b.permute(*order, 4).reshape(core.steps, -1, b.shape[-1])
    padding = -a.shape[2] % matrix_unit.TILE
    a, b = F.pad(a, (0, padding)).flatten(1), F.pad(b, (0, 0, 0, padding)).flatten(0, 1)
    width = a.shape[1] // core.steps
    blocks = Blocks(width, core.adds_in_l1, core.adds_in_l1 and not core.is_biased, core.partial, through_source=True)
    phases = matrix_unit.PHASES[fidelities.fidelity(config)]
    return in_blocks(a, b, blocks, phases, wide=wide, keeps_blocks=core.is_biased)
