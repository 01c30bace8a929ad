"""How TT-NN 0.81 cuts a convolution into blocks, which decides in which order its terms are added.

The rows of a convolution's product are its windows. A core of a height-sharded convolution has all channels and adds
one row of the window after another. With block sharding the channels are cut into slices, one a column of cores, and
each row of the window is added slice by slice. With width sharding a slice is added with its whole window. Which cores
a convolution has says ``tt_xla.cost.window_shards``.

Source: tt-metal's kernel ``conv_bmm_tilize.cpp`` and the program factories of its convolutions.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tt_xla.cost.convolution_buffers import ConvolutionCore
from tt_xla.cost.window_shards import (
    STICK,
    ConvolutionSetting,
    Cores,
    Windows,
    chosen_for_convolution,
    convolution_core,
)
from tt_xla.ir import shapes
from tt_xla.ir.layout import FACE, TILE, MemoryLayout, TensorLayout, round_up
from tt_xla.runtime.emulator.windows import Geometry, two


@dataclass(frozen=True)
class Slices:
    """The channels of a convolution, and a core's part of it."""

    count: int
    """Slices of the channels."""
    channels: int
    """Channels of a slice, with padding."""
    core: ConvolutionCore
    """A core's part."""
    by_slice: bool
    """Whether a slice is added with all rows of the window before the next one; if not, a row of the window is added
    slice by slice before the next one."""


def slices_of(geometry: Geometry, source: TensorLayout, setting: ConvolutionSetting, grid: tuple[int, int]) -> Slices:
    """Returns how TT-NN cuts a convolution.

    Args:
        geometry: attributes of the convolution.
        source: layout of the input.
        setting: types and options of the convolution.
        grid: rows and columns of cores.
    """
    windows, config = _windows(geometry), geometry.conv2d_config or {}
    if source.is_sharded:
        cores = _cores_of_shards(source)
        width = source.shard[1] * (TILE if source.tiled else 1)
        alignments = (TILE,) if source.tiled else (TILE, FACE, STICK)
        alignment = next((size for size in alignments if width % size == 0), TILE)
    else:
        named = config.get("shard_layout")
        memory = MemoryLayout(named) if named else chosen_for_convolution(windows, setting, grid)
        alignment = setting.alignment(memory)
        cores = setting.input(memory, windows, grid, alignment)
    by_height = cores.memory is MemoryLayout.HEIGHT_SHARDED
    by_slice = cores.memory is MemoryLayout.WIDTH_SHARDED or bool(
        config.get("enable_activation_reuse" if by_height else "full_inner_dim")
    )
    channels = round_up(windows.in_channels, cores.columns * alignment) // cores.columns
    steps = cores.columns * (1 if by_slice else windows.kernel[0])
    core = replace(convolution_core(windows, setting, grid, cores), steps=steps)
    return Slices(cores.columns, channels, core, by_slice)


def _cores_of_shards(source: TensorLayout) -> Cores:
    """Returns the cores of shards."""
    memory, (rows, columns) = source.memory or MemoryLayout.BLOCK_SHARDED, source.grid
    if memory is MemoryLayout.BLOCK_SHARDED:
        return Cores(memory, rows, columns, source.core_ranges)
    parts = rows * columns
    rows, columns = (parts, 1) if memory is MemoryLayout.HEIGHT_SHARDED else (1, parts)
    return Cores(memory, rows, columns, source.core_ranges)


def _windows(geometry: Geometry) -> Windows:
    """Returns the sizes of a convolution."""
    kernel, stride, dilation = (two(each) for each in (geometry.kernel_size, geometry.stride, geometry.dilation))
    top, bottom, left, right = geometry.sides
    height, width = geometry.input_height, geometry.input_width
    rows = shapes.window(height, kernel[0], stride[0], top, bottom, dilation[0])
    columns = shapes.window(width, kernel[1], stride[1], left, right, dilation[1])
    images = (geometry.batch_size, (height, width), (rows, columns))
    channels = (geometry.in_channels, geometry.out_channels)
    return Windows(*images, kernel, stride, geometry.sides, dilation, *channels)
