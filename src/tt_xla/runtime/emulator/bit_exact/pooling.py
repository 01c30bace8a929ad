"""Average pooling as TT-NN's kernel computes it: positions of a window are rows of a tile, which the matrix unit adds.

Sources: TT-NN 0.81's ``generic_pools.cpp``, ``pool_utils.cpp``, ``pool_multi_core_program_factory.cpp`` and
``compute_pool_2d.cpp``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch
import torch.nn.functional as F

from tt_xla.ir import shapes
from tt_xla.ir.element_types import DataType
from tt_xla.ir.layout import FACE, TILE, MemoryLayout
from tt_xla.runtime.emulator.bit_exact import vector_unit as sfpu
from tt_xla.runtime.emulator.bit_exact.elementwise import otherwise
from tt_xla.runtime.emulator.bit_exact.reductions import sum_of_columns
from tt_xla.runtime.emulator.bit_exact.registers import packed
from tt_xla.runtime.emulator.bit_exact.settings import Settings
from tt_xla.runtime.emulator.context import Context
from tt_xla.runtime.emulator.registry import kernel
from tt_xla.runtime.emulator.windows import four_sides, image

Tensor = torch.Tensor


@kernel("ttnn.avg_pool2d", bit_exact=True)
def avg_pool2d(ctx: Context, input: Tensor, **attributes: Any) -> Tensor:
    """Sums of windows by their inverse sizes, which TT-NN cuts to bfloat16. Float32 is computed as by default.

    One window that is the whole image is a sum of columns. The accumulator has 32 bits if a window has more rows than
    the kernel takes at once.
    """
    if ctx.spec("input").layout.dtype is DataType.F32 or not input.is_floating_point():
        return otherwise(ctx, attributes)(input)
    sizes = tuple(attributes[name] for name in ("batch_size", "input_height", "input_width", "channels"))
    batch_size, *side, channels = sizes
    divisor_override = attributes.get("divisor_override")
    kernel_size, stride, padding = (attributes[name] for name in ("kernel_size", "stride", "padding"))
    images = image(input, *sizes).to(torch.float32)
    area = math.prod(kernel_size)
    in_tiles = area % TILE == 0 or not ctx.spec("input").layout.dtype.is_block_float
    if list(kernel_size) == side and not any(padding) and in_tiles:
        return _of_whole_images(ctx, images, 1 / (divisor_override or area)).reshape(ctx.result.shape)
    rest = _channels_of_a_core(ctx, channels) % TILE
    settings = Settings.of(None, wide=area > (FACE if 0 < rest <= FACE else TILE), approximate=False)
    areas = _window_sizes(images, attributes)
    if divisor_override is not None:
        areas = torch.full_like(areas, divisor_override)
    windows = _windows(images, kernel_size, stride, padding, (areas.shape[0], areas.shape[1]))
    areas = areas.expand(batch_size, *areas.shape[-2:]).flatten()
    result = torch.zeros(areas.numel(), channels, device=input.device, dtype=torch.float32)
    for size in areas.unique().tolist():
        chosen = areas == size
        scale = sfpu.stored(
            torch.tensor([1 / size if size else 0.0], device=input.device, dtype=torch.float32), wide=False
        )
        total = settings.sum_of_columns(windows[:, chosen].flatten(1), float(scale))
        result[chosen] = total.reshape(-1, channels)
    return packed(packed(result, DataType.BF16), ctx.dtype).reshape(ctx.result.shape).to(ctx.container)


@kernel("ttnn.global_avg_pool2d", bit_exact=True)
def global_avg_pool2d(ctx: Context, input: Tensor) -> Tensor:
    """Means of each channel of [N, H, W, C]; those of float32 are computed as by default."""
    if ctx.spec("input").layout.dtype is DataType.F32 or not input.is_floating_point():
        return otherwise(ctx, {})(input)
    images = input.permute(0, 3, 1, 2).to(torch.float32)
    return _of_whole_images(ctx, images, 1 / math.prod(images.shape[2:])).reshape(ctx.result.shape)


def _of_whole_images(ctx: Context, images: Tensor, scale: float) -> Tensor:
    """Returns the sum over each image NCHW by a scale, [images, channels]."""
    rows = images.flatten(2).mT.unsqueeze(1)
    return sum_of_columns(ctx, rows, scale).to(ctx.container)


def _channels_of_a_core(ctx: Context, channels: int) -> int:
    """Returns the channels that a core has, which the shards of the result say."""
    layout = ctx.result.layout
    columns = layout.grid[1] if layout.memory is MemoryLayout.BLOCK_SHARDED else math.prod(layout.grid)
    by_channels = layout.memory in (MemoryLayout.BLOCK_SHARDED, MemoryLayout.WIDTH_SHARDED)
    return channels // columns if by_channels else channels


def _window_sizes(images: Tensor, attributes: Mapping[str, Any]) -> Tensor:
    """Returns the number of elements by which each window is divided, [rows, columns] of the result."""
    top, bottom, left, right = four_sides(attributes["padding"])
    modes = attributes["ceil_mode"], attributes.get("count_include_pad", True)
    sides = zip(images.shape[2:], attributes["kernel_size"], attributes["stride"], strict=True)
    rows, columns = (
        torch.tensor(_lengths(*side, around, *modes), dtype=torch.int64, device=images.device)
        for side, around in zip(sides, ((top, bottom), (left, right)), strict=True)
    )
    return rows[:, None] * columns


def _lengths(
    size: int, kernel: int, step: int, around: tuple[int, int], ceil_mode: bool, counts_padding: bool
) -> list[int]:
    """Returns the length of each window along one side: within the image, or within its padding too."""
    before, after = around
    lengths = []
    for place in range(shapes.window(size, kernel, step, before, after, 1, ceil_mode)):
        start = place * step - before
        end = min(start + kernel, size + after)
        lengths.append(end - start if counts_padding else max(min(end, size) - max(start, 0), 0))
    return lengths


def _windows(
    images: Tensor, kernel_size: Sequence[int], stride: Sequence[int], padding: Sequence[int], count: tuple[int, int]
) -> Tensor:
    """Returns the windows of images NCHW: [positions of a window, windows, channels]."""
    top, _bottom, left, _right = four_sides(padding)
    needed = [(number - 1) * step + size for number, step, size in zip(count, stride, kernel_size, strict=True)]
    below, beside = needed[0] - top - images.shape[2], needed[1] - left - images.shape[3]
    padded = F.pad(images, (left, beside, top, below))
    columns = F.unfold(padded, tuple(kernel_size), stride=tuple(stride))
    return columns.unflatten(1, (images.shape[1], -1)).permute(2, 0, 3, 1).flatten(1, 2)
