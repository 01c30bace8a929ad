"""L1 that a convolution of shards needs: the rows of its windows, gathered by the halo exchange, and circular buffers.

TT-NN's convolution first runs a halo exchange, whose result holds the input rows of each core's windows as row-major
bfloat16 (or float32), and then tilizes and multiplies blocks of windows. The figures are equal to the byte to those
that TT-NN 0.81 reports in its mock mode on p150 when L1 is full (``tests/unit/test_memory_layouts.py``). They follow
``get_cb_info`` and ``generate_shard_boundaries`` of tt-metal.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tt_xla.ir.layout import TILE, BufferType, DataType, MemoryLayout, TensorLayout, round_up
from tt_xla.ir.program import Instruction, TensorSpec

_WINDOWS = ("ttnn.conv2d", "ttnn.max_pool2d", "ttnn.avg_pool2d")
"""Ops that run a halo exchange first."""
_HALO_TILES = 4
"""Blocks of a row of tiles that the halo exchange untilizes at a time, in bfloat16."""
_REST = 1024
"""Upper bound in bytes of the small buffers: indices, addresses and alignment."""


@dataclass(frozen=True)
class ConvolutionCore:
    """A core's part of a convolution; sizes are in tiles."""

    memory: MemoryLayout
    """How the input is sharded: by height, blocks or width."""
    rows: int
    """Rows of the result."""
    columns: int
    """Columns of the result."""
    block_rows: int
    """Rows of a block of windows."""
    block_columns: int
    """Columns of a block of windows."""
    kernel_rows: int
    """Rows of the kernel."""
    steps: int
    """Blocks along the inner dimension."""
    source: DataType
    """Element type of the input."""
    weight: DataType
    """Element type of the prepared weights."""
    result: DataType
    """Element type of the result, and of blocks of windows."""
    is_biased: bool
    """Whether a bias is added."""
    compute: Mapping[str, Any]
    """The compute config."""

    @property
    def gathered(self) -> DataType:
        """Element type of gathered rows."""
        return DataType.F32 if self.source is DataType.F32 else DataType.BF16

    @property
    def adds_in_l1(self) -> bool:
        """Whether the packer adds the sums of blocks; TT-NN lets it for three blocks, or two and a bias."""
        return self.compute.get("packer_l1_acc") is not False and self.steps > (1 if self.is_biased else 2)

    @property
    def partial(self) -> DataType:
        """Element type of the sums of blocks."""
        if not self.adds_in_l1:
            return self.result
        return DataType.F32 if self.compute.get("fp32_dest_acc_en", True) else DataType.BF16

    @property
    def buffer_bytes(self) -> int:
        """Bytes of the circular buffers."""
        block = self.block_rows * self.block_columns
        turns = -(-self.rows // self.block_rows)
        by_height = self.memory is MemoryLayout.HEIGHT_SHARDED
        tilized = block * self.result.tile_bytes
        read = block * self.gathered.tile_bytes
        if not by_height and self.gathered is not self.result:  # rows are tilized into a buffer before they are sent
            read += block * self.result.tile_bytes
        if self.memory is MemoryLayout.WIDTH_SHARDED:  # and rows are read into one of two rows of tiles
            read = tilized + 2 * self.block_columns * self.gathered.tile_bytes
        weights = self.block_columns * self.columns * self.weight.tile_bytes
        if by_height and turns > 1:
            weights *= self.kernel_rows
        sums = self.block_rows * self.columns * self.partial.tile_bytes
        if self.partial is self.result and turns == 1:
            sums = 0
        return tilized + read + weights + sums + (self.columns * self.weight.tile_bytes if self.is_biased else 0)


def is_of_shards(instruction: Instruction, source: TensorSpec, result: TensorSpec) -> bool:
    """Returns whether a convolution or pooling reads and writes shards of the same rows."""
    before, after = source.layout, result.layout
    has_windows = instruction.op in _WINDOWS and bool(instruction.attributes.get("input_width"))
    is_sharded = before.is_sharded and after.is_sharded and before.buffer is after.buffer is BufferType.L1
    return has_windows and is_sharded and before.memory is after.memory and before.grid[0] == after.grid[0]


def halo_tensor(instruction: Instruction, source: TensorSpec, result: TensorSpec) -> TensorSpec | None:
    """Returns the result of the halo exchange before an op over windows of shards, as equal shards of rows, or None."""
    if not is_of_shards(instruction, source, result):
        return None
    parts, wide = source.layout.grid
    sticks = halo_sticks(instruction.attributes, _elements(result.layout)[0], math.prod(result.shape[:-1]))
    channels = _elements(source.layout)[1]
    dtype = DataType.F32 if source.layout.dtype is DataType.F32 else DataType.BF16
    sizes = (parts * wide * sticks, channels)
    place: dict[str, Any] = {"buffer": BufferType.L1, "memory": MemoryLayout.HEIGHT_SHARDED, "grid": (parts * wide, 1)}
    return TensorSpec(sizes, TensorLayout.of(sizes, dtype, tiled=False, **place))


def _elements(layout: TensorLayout) -> tuple[int, int]:
    """Returns the sizes of a shard in elements."""
    unit = TILE if layout.tiled else 1
    return layout.shard[0] * unit, layout.shard[1] * unit


def halo_sticks(attributes: Mapping[str, Any], each: int, positions: int) -> int:
    """Returns the most positions of the padded input from the first to the last window of a core.

    Args:
        attributes: those of the op.
        each: positions of the result on each core.
        positions: positions of the result.
    """
    (kernel_high, kernel_wide), (step_high, step_wide) = attributes["kernel_size"], attributes["stride"]
    apart_high, apart_wide = attributes.get("dilation") or (1, 1)
    padding = tuple(attributes.get("padding") or (0, 0))
    top, bottom, left, right = padding if len(padding) == 4 else (padding[0], padding[0], padding[1], padding[1])
    high = int(attributes["input_height"]) + top + bottom
    wide = int(attributes["input_width"]) + left + right
    rows = (high - apart_high * (kernel_high - 1) - 1) // step_high + 1
    columns = (wide - apart_wide * (kernel_wide - 1) - 1) // step_wide + 1

    def first(position: int) -> int:
        image, inside = divmod(position, rows * columns)
        row, column = divmod(inside, columns)
        return image * high * wide + row * step_high * wide + column * step_wide

    starts = range(0, positions, each)
    longest = max(first(min(start + each, positions) - 1) - first(start) for start in starts)
    return longest + apart_high * (kernel_high - 1) * wide + apart_wide * (kernel_wide - 1) + 1


def block_columns(instruction: Instruction, source: TensorSpec) -> int:
    """Returns the tiles in a row of a block of windows: a row of the window on each core."""
    channels = _elements(source.layout)[1]
    return -(-channels * int(instruction.attributes["kernel_size"][-1]) // TILE)


def sharded_convolution_buffers(
    instruction: Instruction, inputs: Sequence[TensorSpec], result: TensorSpec, block_rows: int = 0
) -> int:
    """Returns the bytes of the circular buffers of a convolution of shards, or of its halo exchange if that needs more.

    Args:
        instruction: the convolution.
        inputs: input, weights, and the bias if there is one.
        result: the result.
        block_rows: rows of tiles in a block of windows; 0 for what the convolution's config says.
    """
    attributes, source = instruction.attributes, inputs[0]
    config = attributes.get("conv2d_config") or {}
    rows, columns = result.layout.shard
    window_high = int(attributes["kernel_size"][0])
    by_height = result.layout.memory is MemoryLayout.HEIGHT_SHARDED
    core = ConvolutionCore(
        memory=MemoryLayout.HEIGHT_SHARDED if by_height else MemoryLayout.BLOCK_SHARDED,
        rows=rows,
        columns=columns,
        block_rows=block_rows or min(int(config.get("act_block_h_override") or 0) // TILE or rows, rows),
        block_columns=block_columns(instruction, source),
        kernel_rows=window_high,
        steps=window_high * (1 if by_height else source.layout.grid[1]),
        source=source.layout.dtype,
        weight=inputs[1].layout.dtype,
        result=result.layout.dtype,
        is_biased=len(inputs) > 2,
        compute=attributes.get("compute_config") or {},
    )
    return round_up(max(core.buffer_bytes, halo_buffers(source.layout)) + _REST, 64)


def halo_buffers(source: TensorLayout) -> int:
    """Returns the bytes of the circular buffers in which a halo exchange untilizes rows of tiles; rows need none."""
    return _HALO_TILES * source.shard[1] * DataType.BF16.tile_bytes if source.tiled else 0
