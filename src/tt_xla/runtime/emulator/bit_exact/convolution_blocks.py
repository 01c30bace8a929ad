"""How TT-NN 0.81 spreads a convolution over cores, which decides in which order its terms are added.

The rows of a convolution's product are its windows. A core of a height-sharded convolution has all channels and adds
one row of the window after another. With block sharding the channels are cut into slices, one a column of cores, and
each row of the window is added slice by slice. With width sharding a slice is added with its whole window.

A convolution whose input lies in no shards is sharded in the way that needs the least L1 on a core.

Sources: tt-metal's ``conv2d_utils.cpp`` (``determine_conv_config_for_auto_shard``, ``determine_parallel_config``,
``get_input_channels_alignment``), ``conv2d_op_program_factory_common.cpp`` (``get_cb_info``) and the kernel
``conv_bmm_tilize.cpp``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tt_xla.cost.convolution_buffers import ConvolutionCore, halo_sticks
from tt_xla.ir.layout import TILE, MemoryLayout, TensorLayout, round_up
from tt_xla.runtime.emulator.windows import Geometry, two

_ROWS_ALIGNMENT = 8
"""Channels of row-major input are padded to a multiple of 16 bytes of bfloat16."""


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


@dataclass(frozen=True)
class _Cores:
    """Cores that a convolution is spread over."""

    memory: MemoryLayout
    rows: int
    """Cores that share the positions of the result."""
    slices: int
    """Cores that share the channels of the input."""
    columns: int
    """Cores that share the channels of the result."""
    alignment: int
    """Multiple that the channels of a slice are padded to."""


def slices_of(geometry: Geometry, source: TensorLayout, whole: ConvolutionCore, grid: tuple[int, int]) -> Slices:
    """Returns how TT-NN cuts a convolution.

    Args:
        geometry: attributes of the convolution.
        source: layout of the input.
        whole: the convolution on one core: its types and its compute config; sizes count for nothing.
        grid: rows and columns of cores.
    """
    named = (geometry.conv2d_config or {}).get("shard_layout")
    if source.is_sharded:
        return _slices(geometry, _cores_of_shards(source), whole)
    if named:
        return _slices(geometry, _cores(geometry, MemoryLayout(named), source, grid), whole)
    ways = (MemoryLayout.HEIGHT_SHARDED, MemoryLayout.BLOCK_SHARDED, MemoryLayout.WIDTH_SHARDED)
    all_cores = [_cores(geometry, memory, source, grid) for memory in ways]
    height, block, width = (_slices(geometry, cores, whole) for cores in all_cores)
    blocks = all_cores[1]
    best = height
    # Blocks count only where they fill a row of the grid.
    if _bytes(geometry, block) < _bytes(geometry, best) and blocks.rows * max(blocks.slices, blocks.columns) >= grid[1]:
        best = block
    return width if _bytes(geometry, width) < _bytes(geometry, best) else best


def _cores_of_shards(source: TensorLayout) -> _Cores:
    """Returns the cores of a convolution whose input lies in shards."""
    assert source.memory is not None
    rows, columns = source.grid
    width = source.shard[1] * (TILE if source.tiled else 1)
    alignments = (TILE,) if source.tiled else (TILE, 16, _ROWS_ALIGNMENT)
    alignment = next((size for size in alignments if width % size == 0), TILE)
    if source.memory is MemoryLayout.HEIGHT_SHARDED:
        return _Cores(source.memory, rows * columns, 1, 1, alignment)
    if source.memory is MemoryLayout.WIDTH_SHARDED:
        return _Cores(source.memory, 1, rows * columns, rows * columns, alignment)
    return _Cores(source.memory, rows, columns, columns, alignment)


def _cores(geometry: Geometry, memory: MemoryLayout, source: TensorLayout, grid: tuple[int, int]) -> _Cores:
    """Returns the cores that TT-NN takes for a way of sharding."""
    rows, outputs = -(-_positions(geometry) // TILE), -(-geometry.out_channels // TILE)
    is_wide = memory is MemoryLayout.WIDTH_SHARDED
    alignment = TILE if source.tiled or is_wide else _ROWS_ALIGNMENT
    inputs = -(-geometry.in_channels // alignment)
    every = grid[0] * grid[1]
    if memory is MemoryLayout.HEIGHT_SHARDED:
        return _Cores(memory, _even(rows, every), 1, 1, alignment)
    if is_wide:
        return _Cores(memory, 1, _even(inputs, every), _even(outputs, every), alignment)
    return _Cores(memory, _even(rows, grid[0]), _even(inputs, grid[1]), _even(outputs, grid[1]), alignment)


def _positions(geometry: Geometry) -> int:
    """Returns the positions of the result in all images."""
    (high, wide), (down, right) = two(geometry.kernel_size), two(geometry.stride)
    apart_high, apart_wide = two(geometry.dilation)
    top, bottom, left, end = geometry.sides
    rows = (geometry.input_height + top + bottom - apart_high * (high - 1) - 1) // down + 1
    columns = (geometry.input_width + left + end - apart_wide * (wide - 1) - 1) // right + 1
    return geometry.batch_size * rows * columns


def _even(count: int, most: int) -> int:
    """Returns the largest number of cores, up to ``most``, of which none stays empty if each has equally many."""
    return next(cores for cores in range(most, 0, -1) if (cores - 1) * -(-count // cores) < count)


def _slices(geometry: Geometry, cores: _Cores, whole: ConvolutionCore) -> Slices:
    """Returns the slices of channels on cores, and a core's part."""
    config = geometry.conv2d_config or {}
    high, wide = two(geometry.kernel_size)
    channels = round_up(geometry.in_channels, cores.slices * cores.alignment) // cores.slices
    by_height = cores.memory is MemoryLayout.HEIGHT_SHARDED
    by_slice = cores.memory is MemoryLayout.WIDTH_SHARDED or bool(
        config.get("enable_activation_reuse" if by_height else "full_inner_dim")
    )
    tiles, outputs = -(-_positions(geometry) // TILE), -(-geometry.out_channels // TILE)
    rows = -(-tiles // cores.rows)
    core = replace(
        whole,
        memory=cores.memory,
        rows=rows,
        columns=-(-outputs // cores.columns),
        block_rows=min(int(config.get("act_block_h_override") or 0) // TILE or rows, rows),
        block_columns=-(-channels * wide * (high if by_slice else 1) // TILE),
        kernel_rows=high,
        steps=cores.slices * (1 if by_slice else high),
    )
    return Slices(cores.slices, channels, core, by_slice)


def _bytes(geometry: Geometry, slices: Slices) -> int:
    """Returns the bytes of L1 on a core that TT-NN expects: circular buffers, the result and the gathered input."""
    core = slices.core
    sticks = halo_sticks(vars(geometry), core.rows * TILE, _positions(geometry))
    result = core.rows * core.columns * core.result.tile_bytes
    indices = 2 * core.rows * TILE
    return core.buffer_bytes + result + indices + sticks * slices.channels * core.gathered.element_bytes
