"""Tensor layouts as plain values, shared by the dialects, Programs, the cost model and the runtime.

Nothing here depends on xDSL, torch or JAX. The labels are those of upstream's text
(``#ttcore.supportedDataTypes<bf16>``, ``#ttnn.ttnn_layout<...>``).
"""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from tt_xla.ir.element_types import FACE as FACE
from tt_xla.ir.element_types import TILE as TILE
from tt_xla.ir.element_types import DataType as DataType


class BufferType(enum.StrEnum):
    """The memory that holds a tensor."""

    DRAM = "dram"
    L1 = "l1"
    SYSTEM_MEMORY = "system_memory"
    L1_SMALL = "l1_small"
    TRACE = "trace"


class MemoryLayout(enum.StrEnum):
    """The distribution of a tensor over banks or cores."""

    INTERLEAVED = "interleaved"
    HEIGHT_SHARDED = "height_sharded"
    WIDTH_SHARDED = "width_sharded"
    BLOCK_SHARDED = "block_sharded"
    ND_SHARDED = "nd_sharded"


class CoreRange(NamedTuple):
    """A rectangle of cores from ``start`` to ``end``; both are (x, y) and belong to it."""

    start: tuple[int, int]
    end: tuple[int, int]

    @property
    def cores(self) -> int:
        """Number of cores in the rectangle."""
        return (self.end[0] - self.start[0] + 1) * (self.end[1] - self.start[1] + 1)


def round_up(value: int, multiple: int) -> int:
    """Returns the least multiple of ``multiple`` that is not below ``value``."""
    return -(-value // multiple) * multiple


@dataclass(frozen=True, slots=True)
class TensorLayout:
    """The layout of a tensor, ``#ttnn.ttnn_layout``.

    A tensor is a matrix of rows and columns: the last dimension is the columns, the leading ones collapse into rows,
    and a tensor of rank 0 or 1 is one row. The matrix is cut into ``grid`` equal shards of ``shard`` rows and columns,
    in tiles if ``tiled``, else in elements.
    """

    row_strides: tuple[int, ...] | None
    """Rows that one step along each dimension but the last moves, where the second to last dimension is padded to a
    tile; None for a tensor without dimensions."""
    grid: tuple[int, int]
    """Number of shards along rows and columns; 1x1 unless the buffer is in L1."""
    shard: tuple[int, int]
    """Rows and columns of a shard."""
    dtype: DataType
    tiled: bool
    """Whether the elements lie in tiles of 32 x 32; else in row-major order."""
    buffer: BufferType
    memory: MemoryLayout | None
    """Memory layout of a buffer on the device; None in system memory."""
    core_ranges: tuple[CoreRange, ...] = ()
    """Cores, or DRAM banks, that hold the shards, in order; empty leaves the choice to TT-NN."""
    mesh: str = ""
    """Name of the mesh that the tensor is spread over; empty for a single chip."""
    ignore_physical: bool = False
    """Whether the shards have no place yet."""

    @staticmethod
    def of(
        shape: Sequence[int],
        dtype: DataType,
        *,
        tiled: bool = True,
        buffer: BufferType = BufferType.DRAM,
        memory: MemoryLayout | None = None,
        grid: tuple[int, int] = (1, 1),
        core_ranges: tuple[CoreRange, ...] = (),
        mesh: str = "",
        ignore_physical: bool = False,
    ) -> TensorLayout:
        """Returns the layout of a tensor of ``shape`` (logical, in elements), cut over ``grid``."""
        if buffer is not BufferType.SYSTEM_MEMORY and memory is None:
            memory = MemoryLayout.INTERLEAVED
        strides, rows, columns = _collapse(shape, tiled)
        unit = TILE if tiled else 1
        sharded = memory is not None and memory is not MemoryLayout.INTERLEAVED
        cuts = grid if sharded else (1, 1)
        shard = (_ceil_div(_ceil_div(rows, unit), cuts[0]), _ceil_div(_ceil_div(columns, unit), cuts[1]))
        return TensorLayout(strides, grid, shard, dtype, tiled, buffer, memory, core_ranges, mesh, ignore_physical)

    @property
    def is_sharded(self) -> bool:
        """Whether each core, or DRAM bank, holds one shard."""
        return self.memory not in (None, MemoryLayout.INTERLEAVED)

    @property
    def on_device(self) -> bool:
        """Whether the buffer is in memory of the device."""
        return self.buffer is not BufferType.SYSTEM_MEMORY

    @property
    def page_bytes(self) -> int:
        """Bytes of a page: one tile, or one row of a row-major tensor."""
        return self.dtype.tile_bytes if self.tiled else self.shard[1] * self.dtype.element_bytes

    @property
    def pages(self) -> int:
        """Number of pages of all shards together."""
        per_shard = self.shard[0] * (self.shard[1] if self.tiled else 1)
        return per_shard * (math.prod(self.grid) if self.is_sharded else 1)

    @property
    def bytes(self) -> int:
        """Bytes of all shards together with tile padding, before any alignment of pages."""
        return self.pages * self.page_bytes

    def with_(self, shape: Sequence[int], **changes: object) -> TensorLayout:
        """Returns the layout of ``shape`` with some of the keywords of :meth:`of` changed.

        The core ranges are kept only if buffer, memory layout and grid are.
        """
        fields = {name: getattr(self, name) for name in _CHOICES} | changes
        if fields["buffer"] is BufferType.SYSTEM_MEMORY:
            fields |= {"memory": None, "grid": (1, 1)}
        if "core_ranges" not in changes and any(fields[name] != getattr(self, name) for name in _PLACEMENT):
            fields["core_ranges"] = ()
        return TensorLayout.of(shape, **fields)  # pyright: ignore[reportArgumentType]

    def retyped(self, dtype: DataType) -> TensorLayout:
        """Returns this layout with another data type."""
        return replace(self, dtype=dtype)


_CHOICES = ("dtype", "tiled", "buffer", "memory", "grid", "core_ranges", "mesh", "ignore_physical")
_PLACEMENT = ("buffer", "memory", "grid")


def _ceil_div(value: int, divisor: int) -> int:
    return -(-value // divisor)


def _collapse(shape: Sequence[int], tiled: bool) -> tuple[tuple[int, ...] | None, int, int]:
    """Returns row strides, rows and columns of the matrix that ``shape`` collapses into."""
    if not shape:
        return None, 1, 1
    if len(shape) == 1:
        return (), 1, shape[0]
    rows = [*shape[:-2], round_up(shape[-2], TILE) if tiled else shape[-2]]
    strides: list[int] = []
    step = 1
    for size in reversed(rows):
        strides.append(step)
        step *= size
    return tuple(reversed(strides)), step, shape[-1]
