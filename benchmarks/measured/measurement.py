"""Measured ops as instructions that the cost model can price, and parsers for the cells of their files."""

from __future__ import annotations

import dataclasses
import functools
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tt_xla.ir.layout import BufferType, DataType, MemoryLayout, TensorLayout
from tt_xla.ir.mesh import Mesh
from tt_xla.ir.program import Instruction, Operand, TensorSpec
from tt_xla.target import Target, load_target

Row = Mapping[str, str]


class RowError(ValueError):
    """A row cannot be priced; the message is the reason."""


@dataclass(frozen=True)
class Measurement:
    """One measured op.

    Attributes:
        line: line in the file; the header is line 1.
        label: short description for tables.
        family: op family.
        instruction: the op for the cost model.
        values: operands and results of the instruction.
        target: the chip.
        measured_us: measured time in microseconds.
        wall: the clock of the time. ``traced`` and ``untraced`` mean the host's clock, which includes the gap between
            programs; ``math`` means the math thread, which does not see the last writes; empty means the kernel.
        mesh: the chips that take part; None for one chip.
    """

    line: int
    label: str
    family: str
    instruction: Instruction
    values: tuple[TensorSpec, ...]
    target: Target
    measured_us: float
    wall: str = ""
    mesh: Mesh | None = None


@dataclass(frozen=True)
class Unpriced:
    """A row without a prediction, and the reason."""

    line: int
    label: str
    reason: str


DTYPES = {
    "BFLOAT16": DataType.BF16,
    "FLOAT32": DataType.F32,
    "BFLOAT8_B": DataType.BFP_BF8,
    "BFLOAT4_B": DataType.BFP_BF4,
    "UINT32": DataType.U32,
    "INT32": DataType.SI32,
    "UINT16": DataType.U16,
    "UINT8": DataType.U8,
}

_MEMORY = re.compile(r"(?:DEV_\d+_)?(DRAM|L1)_(INTERLEAVED|HEIGHT_SHARDED|WIDTH_SHARDED|BLOCK_SHARDED)")


def number(row: Row, column: str) -> float:
    """Returns the number in a cell.

    Raises:
        RowError: the cell is empty, or is not a positive finite number.
    """
    text = (row.get(column) or "").strip()
    try:
        value = float(text)
    except ValueError:
        raise RowError(f"{column} is {text!r}, not a number") from None
    if not math.isfinite(value) or value <= 0:
        raise RowError(f"{column} is {text!r}, not a positive number")
    return value


def integer(row: Row, column: str) -> int:
    """Returns the integer in a cell.

    Raises:
        RowError: the cell is empty, or is not a positive integer.
    """
    value = number(row, column)
    if value != int(value) or value > 2**40:
        raise RowError(f"{column} is {row[column]!r}, not an integer")
    return int(value)


def shape_of(text: str) -> tuple[int, ...]:
    """Returns the sizes in a text such as ``1x384x1280x3``.

    Raises:
        RowError: the text is not a shape, or the shape has no elements.
    """
    if not re.fullmatch(r"\d+(x\d+)*", text.strip()):
        raise RowError(f"shape {text!r} does not consist of sizes joined by x")
    sizes = tuple(map(int, text.split("x")))
    if not math.prod(sizes) or math.prod(sizes) > 2**40:
        raise RowError(f"shape {text!r} has no elements or too many")
    return sizes


def dtype_of(text: str) -> DataType:
    """Returns the element type of a name in a file.

    Raises:
        RowError: the name is unknown.
    """
    name = text.replace("DataType.", "").replace("DataType::", "").strip().upper()
    if name not in DTYPES:
        raise RowError(f"element type {text!r} is unknown; expected one of {', '.join(DTYPES)}")
    return DTYPES[name]


def tensor(
    shape: Sequence[int], dtype: str, layout: str, memory: str, cores: int, grid: tuple[int, int], line: bool = False
) -> TensorSpec:
    """Returns the tensor of a profiler's row.

    Args:
        shape: its shape.
        dtype: name of its element type.
        layout: name of its layout.
        memory: name of its memory and memory layout.
        cores: number of cores that a sharded tensor is spread over.
        grid: rows and columns of the chip's cores.

    Raises:
        RowError: a name is unknown.
    """
    memory_match = _MEMORY.search(memory)
    if memory_match is None:
        raise RowError(f"memory {memory!r} is unknown")
    kind = MemoryLayout(memory_match[2].lower())
    if memory_match[1] == "DRAM":  # the banks that share it are not those cores
        kind = MemoryLayout.INTERLEAVED
    shard_grid = {
        MemoryLayout.HEIGHT_SHARDED: (cores, 1),
        MemoryLayout.WIDTH_SHARDED: (1, cores),
        MemoryLayout.BLOCK_SHARDED: block(cores, grid),
    }.get(kind, (1, 1))
    tensor_layout = TensorLayout.of(
        tuple(shape),
        dtype_of(dtype),
        tiled=layout.strip().upper().startswith("TILE"),
        buffer=BufferType(memory_match[1].lower()),
        memory=kind,
        grid=shard_grid,
    )
    return TensorSpec(tuple(shape), tensor_layout)


def ceil_div(count: int, parts: int) -> int:
    """Returns ``count / parts``, rounded up."""
    return -(-count // parts)


def block(cores: int, grid: tuple[int, int]) -> tuple[int, int]:
    """Returns rows and columns of a block of cores that fits in a grid, with as many rows as possible."""
    for rows in range(min(grid[0], cores), 0, -1):
        if cores % rows == 0 and cores // rows <= grid[1]:
            return rows, cores // rows
    return 1, cores


def step(
    op: str, inputs: Sequence[TensorSpec], outputs: Sequence[TensorSpec], attributes: Mapping[str, Any] | None = None
) -> tuple[Instruction, tuple[TensorSpec, ...]]:
    """Returns an instruction with inputs and outputs, and the list of its values."""
    operands: dict[str, Operand] = {f"operand{index}": index for index in range(len(inputs))}
    results = tuple(range(len(inputs), len(inputs) + len(outputs)))
    return Instruction(f"ttnn.{op}", operands, results, dict(attributes or {})), (*inputs, *outputs)


# Rows and columns of the compute grid by its number of cores. Files write columns first: "13x10".
_GRIDS = {20: (4, 5), 64: (8, 8), 110: (10, 11), 120: (10, 12), 130: (10, 13), 56: (7, 8), 72: (8, 9), 140: (10, 14)}

# Share of Blackhole's DRAM controllers that are enabled on p100 boards (tt-isa-documentation).
_P100_DRAM = 7 / 8

# Most bytes per second that the 20 cores of a bh20 board move to and from DRAM: concat, eltwise and copies, 257e9 to
# 342e9.
_BH20_DRAM = 300e9


@functools.cache
def board_target(arch: str, board: str = "", cores: int = 0, grid: tuple[int, int] | None = None) -> Target:
    """Returns the chip of a row.

    Args:
        arch: name of the architecture.
        board: name of the board, which tells the share of enabled DRAM controllers.
        cores: number of cores; 0 if the row does not tell.
        grid: rows and columns of the cores; None if the row does not tell.

    Raises:
        RowError: the architecture is unknown.
    """
    name = arch.lower()
    if name.startswith(("wormhole", "n150", "n300")):
        target = load_target("n150")
    elif name.startswith(("blackhole", "p1", "p3")):
        target = load_target("p150")
    else:
        raise RowError(f"architecture {arch!r} is neither wormhole_b0 nor blackhole")
    if grid is None and board.startswith("bh20"):
        grid = _GRIDS[20]
    if grid is None and cores:
        grid = _GRIDS.get(cores) or block(cores, (10, 14))
    if grid is not None and grid != target.grid:
        target = dataclasses.replace(target, grid=grid)
    if board.startswith("bh20"):
        target = dataclasses.replace(target, dram_achieved_bytes_per_second=_BH20_DRAM)
    if board.startswith("p100"):
        target = dataclasses.replace(
            target,
            dram_peak_bytes_per_second=target.dram_peak_bytes_per_second * _P100_DRAM,
            dram_achieved_bytes_per_second=target.dram_achieved_bytes_per_second * _P100_DRAM,
            dram_sharded_bytes_per_second=target.dram_sharded_bytes_per_second * _P100_DRAM,
        )
    return target
