"""How TT-NN divides tensors of convolutions and poolings between cores where its user does not say so.

A convolution or pooling computes between shards. TT-NN cuts an input that is not sharded by rows, columns or both,
whichever needs the least L1, and its result has shards on the same rows of cores. The rules follow
``determine_parallel_config``, ``determine_conv_config_for_auto_shard`` and ``determine_pool_config_for_auto_shard`` of
tt-metal; they were compared with the results of TT-NN 0.81 in its mock mode on p150.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from tt_xla.cost.convolution_buffers import ConvolutionCore, halo_sticks
from tt_xla.cost.sharding import BLOCK, HEIGHT, WIDTH, core_ranges, least_cut
from tt_xla.ir.layout import FACE, TILE, CoreRange, DataType, MemoryLayout, round_up

STICK = 8
"""Channels of 16 bytes of bfloat16, to which TT-NN pads row-major inputs of a halo exchange."""


class Cores(NamedTuple):
    """The cores that share a tensor: ``rows`` parts of its rows by ``columns`` parts of its columns."""

    memory: MemoryLayout
    rows: int
    columns: int
    ranges: tuple[CoreRange, ...]
    column_major: bool = False
    """Whether parts of the rows lie along rows of cores; only blocks do."""

    def shard(self, rows: int, columns: int, unit: tuple[int, int]) -> tuple[int, int]:
        """Returns rows and columns of a shard, each a multiple of its ``unit``."""
        high = round_up(-(-rows // self.rows), unit[0])
        return high, round_up(-(-columns // self.columns), unit[1])


def _on(memory: MemoryLayout, rows: int, columns: int, grid: tuple[int, int], column_major: bool = False) -> Cores:
    """Returns the first cores of the chip for a number of parts."""
    shards = (columns, rows) if column_major and memory is BLOCK else (rows, columns)
    return Cores(memory, rows, columns, core_ranges(memory, shards, grid), column_major and memory is BLOCK)


@dataclass(frozen=True)
class Windows:
    """Sizes of a convolution or pooling."""

    batch: int
    input: tuple[int, int]
    """Height and width of the images."""
    output: tuple[int, int]
    """Height and width of the result."""
    kernel: tuple[int, int]
    stride: tuple[int, int]
    padding: tuple[int, ...]
    """At the top and bottom and at both sides, or at the top, bottom, left and right."""
    dilation: tuple[int, int]
    in_channels: int
    out_channels: int

    @property
    def positions(self) -> int:
        """Rows of the result."""
        return self.batch * math.prod(self.output)

    @property
    def attributes(self) -> Mapping[str, Any]:
        """Attributes of the op by which a halo exchange is sized."""
        window = {"kernel_size": self.kernel, "stride": self.stride, "padding": self.padding, "dilation": self.dilation}
        return {**window, "input_height": self.input[0], "input_width": self.input[1]}


@dataclass(frozen=True)
class ConvolutionSetting:
    """The types and options that, besides its sizes, decide how much L1 a convolution needs."""

    source: DataType
    """Element type of the input."""
    weight: DataType
    """Element type of the weights."""
    result: DataType
    """Element type of the result."""
    bias: bool
    tiled: bool
    """Whether the input is tiled."""
    product: bool
    """Whether it is a matrix product of single positions."""
    depthwise_rows: bool = False
    """Whether each channel of images of one column is convolved by itself; TT-NN divides those by rows."""
    compute: Mapping[str, Any] | None = None
    """The compute config that a user gives; None for TT-NN's."""
    block_height: int = 0
    """``act_block_h_override``; 0 for TT-NN's choice."""
    column_major: bool = False
    """``transpose_shards``."""

    @property
    def compute_config(self) -> Mapping[str, Any]:
        """The compute config: without a user's, the accumulator has 32 bits if input and weights are float32
        (``get_conv_default_compute_kernel_config``)."""
        if self.compute:
            return self.compute
        wide = self.source is self.weight is DataType.F32
        return {"math_fidelity": "hifi4", "fp32_dest_acc_en": wide, "packer_l1_acc": False}

    def alignment(self, memory: MemoryLayout | None) -> int:
        """Returns the multiple to which the channels of the input are padded."""
        return TILE if self.tiled or self.product or memory is WIDTH else STICK

    def input(self, memory: MemoryLayout, windows: Windows, grid: tuple[int, int], alignment: int) -> Cores:
        """Returns the cores between which TT-NN divides the input in a given way."""
        sizes = (windows.positions, windows.in_channels, windows.out_channels)
        options: dict[str, Any] = {"block_height": self.block_height, "column_major": self.column_major}
        return convolution_input(memory, sizes, grid, alignment=alignment, product=self.product, **options)


def convolution_input(
    memory: MemoryLayout,
    sizes: tuple[int, int, int],
    grid: tuple[int, int],
    *,
    alignment: int = TILE,
    block_height: int = 0,
    product: bool = False,
    column_major: bool = False,
) -> Cores:
    """Returns the cores between which TT-NN divides a convolution's input in a given way.

    Args:
        memory: the way.
        sizes: rows of the result, channels of the input and of the result.
        grid: rows and columns of the chip's cores.
        alignment: multiple to which channels of the input are padded.
        block_height: rows of a block of windows; 0 for TT-NN's choice.
        product: whether it is a matrix product of single positions.
        column_major: whether parts of the rows of blocks lie along rows of cores.
    """
    positions, in_channels, out_channels = sizes
    tiles = -(-positions // TILE)
    high, wide = grid[::-1] if column_major else grid
    if memory is HEIGHT:
        return _on(memory, _cut(tiles, math.prod(grid), block_height), 1, grid)
    if memory is WIDTH:
        return _on(memory, 1, least_cut(-(-in_channels // TILE), math.prod(grid)), grid)
    blocks = -(-in_channels // alignment)
    columns = _divisor(wide, blocks, -(-out_channels // TILE)) if product else least_cut(blocks, wide)
    return _on(memory, _cut(tiles, high, block_height), columns, grid, column_major)


def _cut(tiles: int, cores: int, block_height: int) -> int:
    """Returns the number of cores for tiles that each core takes in whole blocks."""
    return least_cut(-(-tiles // max(block_height // TILE, 1)), cores)


def _divisor(most: int, *counts: int) -> int:
    """Returns the greatest number up to ``most`` that divides all counts."""
    return next(parts for parts in range(most, 0, -1) if not any(count % parts for count in counts))


def convolution_result(source: Cores, out_channels: int, product: bool, grid: tuple[int, int]) -> Cores:
    """Returns the cores of a convolution's result: those of the input's rows, and as many columns as channels fill."""
    tiles = -(-out_channels // TILE)
    if product or source.memory is HEIGHT:
        return source
    if source.memory is WIDTH:
        return _on(WIDTH, 1, least_cut(tiles, math.prod(grid)), grid)
    wide = grid[0 if source.column_major else 1]
    return _on(BLOCK, source.rows, least_cut(tiles, wide), grid, source.column_major)


def chosen_for_convolution(windows: Windows, setting: ConvolutionSetting, grid: tuple[int, int]) -> MemoryLayout:
    """Returns how TT-NN divides an input that is not sharded: as needs the least L1."""
    height, block, width = (convolution_bytes(each, windows, setting, grid) for each in (HEIGHT, BLOCK, WIDTH))
    best, least = HEIGHT, height.all
    if setting.depthwise_rows:
        return best
    if block.all < least and block.cores >= grid[1]:
        best, least = BLOCK, block.all
    return WIDTH if not setting.product and width.all < least else best


class ConvolutionBytes(NamedTuple):
    """Bytes of a core's L1 that a convolution takes, as TT-NN estimates them."""

    cores: int
    """Number of cores."""
    buffers: int
    """Bytes of circular buffers."""
    all: int
    """Bytes of buffers, gathered input and result."""


def convolution_bytes(
    memory: MemoryLayout,
    windows: Windows,
    setting: ConvolutionSetting,
    grid: tuple[int, int],
    source: Cores | None = None,
) -> ConvolutionBytes:
    """Returns the L1 that a convolution takes if its input is divided in a given way.

    Args:
        memory: the way.
        windows: sizes of the convolution.
        setting: its types and options.
        grid: rows and columns of the chip's cores.
        source: cores of the input; None for TT-NN's choice.
    """
    alignment = setting.alignment(memory)
    source = source or setting.input(memory, windows, grid, alignment)
    core = convolution_core(windows, setting, grid, source)
    channels = round_up(windows.in_channels, source.columns * alignment) // source.columns
    halo = halo_sticks(windows.attributes, core.rows * TILE, windows.positions) * channels
    tensors = core.rows * core.columns * setting.result.tile_bytes + halo * core.gathered.element_bytes
    result = convolution_result(source, windows.out_channels, setting.product, grid)
    cores = max(each.rows * each.columns for each in (source, result))
    return ConvolutionBytes(cores, core.buffer_bytes, core.buffer_bytes + tensors)


def convolution_core(
    windows: Windows, setting: ConvolutionSetting, grid: tuple[int, int], source: Cores
) -> ConvolutionCore:
    """Returns a core's part of a convolution, with as many steps as TT-NN's estimate of L1 counts.

    Args:
        windows: sizes of the convolution.
        setting: its types and options.
        grid: rows and columns of the chip's cores.
        source: cores of the input.
    """
    memory, alignment = source.memory, setting.alignment(source.memory)
    result = convolution_result(source, windows.out_channels, setting.product, grid)
    rows, columns = (size // TILE for size in result.shard(windows.positions, windows.out_channels, (TILE, TILE)))
    channels = round_up(windows.in_channels, source.columns * alignment)
    high, wide = windows.kernel
    across = -(-channels // source.columns * wide * (high if memory is WIDTH else 1) // TILE)
    steps = round_up(windows.in_channels, alignment) * high * wide // TILE // max(across, 1)
    if memory is BLOCK:
        steps *= -(-windows.out_channels // TILE) // columns
    return ConvolutionCore(
        memory=memory,
        rows=rows,
        columns=columns,
        block_rows=_divisor(setting.block_height // TILE, rows) if setting.block_height else rows,
        block_columns=across,
        kernel_rows=high,
        steps=steps,
        source=setting.source,
        weight=setting.weight,
        result=setting.result,
        is_biased=setting.bias,
        compute=setting.compute_config,
    )


@dataclass(frozen=True)
class PoolingSetting:
    """The types and options that, besides its sizes, decide how much L1 a pooling needs."""

    tiled: bool
    """Whether the input is tiled."""
    result_tiled: bool
    result: DataType
    average: bool
    indices: bool = False
    """Whether it returns the positions of maxima."""


def pooling_input(
    memory: MemoryLayout, windows: Windows, setting: PoolingSetting, grid: tuple[int, int], channels: int = TILE
) -> Cores:
    """Returns the cores between which TT-NN divides a pooling's input in a given way.

    Args:
        memory: the way.
        windows: sizes of the pooling.
        setting: its options.
        grid: rows and columns of the chip's cores.
        channels: number whose multiples blocks of channels are.
    """
    rows = -(-windows.positions // (TILE if setting.result_tiled else 1))
    columns = -(-windows.in_channels // (TILE if setting.tiled or setting.result_tiled else FACE))
    if memory is HEIGHT:
        return _on(memory, least_cut(rows, math.prod(grid)), 1, grid)
    if memory is WIDTH:
        return _on(memory, 1, _divisor(math.prod(grid), columns), grid)
    high, wide = grid
    return _on(memory, least_cut(rows, high), _divisor(wide, columns, -(-windows.in_channels // channels)), grid)


def chosen_for_pooling(windows: Windows, setting: PoolingSetting, grid: tuple[int, int]) -> MemoryLayout:
    """Returns how TT-NN divides an input that is not sharded: as needs the least L1, by rows if all need the same."""
    needed = {memory: _pooling_bytes(memory, windows, setting, grid) for memory in (HEIGHT, WIDTH, BLOCK)}
    return min(needed, key=lambda memory: needed[memory])


_WIDE_TILES = 8
"""Tiles of channels from which a pooling reduces them in turns."""


def _pooling_bytes(memory: MemoryLayout, windows: Windows, setting: PoolingSetting, grid: tuple[int, int]) -> int:
    """Returns the bytes of L1 that TT-NN estimates for a core (``calculate_L1_usage`` of its pooling)."""
    cores = pooling_input(memory, windows, setting, grid)
    rows, columns = cores.shard(windows.positions, windows.in_channels, (1 if memory is WIDTH else TILE, TILE))
    element, each = 2, windows.in_channels / cores.columns
    window = math.prod(windows.kernel)
    tiles, faces = math.ceil(each / TILE), math.ceil(each / (TILE if setting.result_tiled else FACE))
    most = 1 if setting.indices else 4 if setting.average and window > TILE else _WIDE_TILES
    tilized = TILE if setting.indices or window > FACE else window
    read = round_up(min(tiles, most) * TILE * tilized, TILE * TILE) * element * 4  # two readers, two buffers each
    if setting.result_tiled:
        written = rows * columns // (TILE * TILE) * setting.result.tile_bytes + tiles * TILE * TILE * element
    else:
        written = rows * faces * min(FACE, columns) * element
    copies = 2 if setting.indices else 1
    return copies * (read + round_up(written, 32))
