"""One measured op as an instruction that the cost model can price, and how a file's words become one."""

from __future__ import annotations

import dataclasses
import functools
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tt_xla.ir.layout import BufferType, DataType, MemoryLayout, TensorLayout
from tt_xla.ir.program import Instruction, Operand, TensorSpec
from tt_xla.target import Target, load_target

Row = Mapping[str, str]


class RowError(ValueError):
    """A row that cannot be priced; its text is the reason."""


@dataclass(frozen=True)
class Measurement:
    line: int
    """Of the file, the header being 1."""
    label: str
    family: str
    instruction: Instruction
    values: tuple[TensorSpec, ...]
    target: Target
    measured_us: float
    wall: str = ""
    """``traced`` or ``untraced`` where the time is of the host's clock and so has the gap between programs in it;
    ``math`` where it is of the math thread, which does not see its own launch."""


@dataclass(frozen=True)
class Unpriced:
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
    """The positive finite number of a cell.

    Raises:
        RowError: the cell is empty, no number, or not positive.
    """
    text = (row.get(column) or "").strip()
    try:
        value = float(text)
    except ValueError:
        raise RowError(f"{column} is {text!r}, not a number") from None
    if not math.isfinite(value) or value <= 0:
        raise RowError(f"{column} is {text!r}, not a positive number")
    return value


def whole(row: Row, column: str) -> int:
    value = number(row, column)
    if value != int(value) or value > 2**40:
        raise RowError(f"{column} is {row[column]!r}, not a whole number")
    return int(value)


def shape_of(text: str) -> tuple[int, ...]:
    """``1x384x1280x3`` as sizes.

    Raises:
        RowError: it is something else, or has no elements.
    """
    if not re.fullmatch(r"\d+(x\d+)*", text.strip()):
        raise RowError(f"shape {text!r} is not sizes joined by x")
    sizes = tuple(map(int, text.split("x")))
    if not math.prod(sizes) or math.prod(sizes) > 2**40:
        raise RowError(f"shape {text!r} has no elements or too many")
    return sizes


def dtype_of(text: str) -> DataType:
    name = text.replace("DataType.", "").replace("DataType::", "").strip().upper()
    if name not in DTYPES:
        raise RowError(f"element type {text!r} is none of {', '.join(DTYPES)}")
    return DTYPES[name]


def tensor(
    shape: Sequence[int], dtype: str, layout: str, memory: str, cores: int, grid: tuple[int, int], line: bool = False
) -> TensorSpec:
    """A tensor of a profiler's row.

    Args:
        cores: over how many cores a sharded tensor is cut.
        grid: the chip's rows and columns of cores.
    """
    place = _MEMORY.search(memory)
    if place is None:
        raise RowError(f"memory {memory!r} is not known")
    kind = MemoryLayout(place[2].lower())
    cuts = {
        MemoryLayout.HEIGHT_SHARDED: (cores, 1),
        MemoryLayout.WIDTH_SHARDED: (1, cores),
        MemoryLayout.BLOCK_SHARDED: block(cores, grid),
    }.get(kind, (1, 1))
    found = TensorLayout.of(
        tuple(shape),
        dtype_of(dtype),
        tiled=layout.strip().upper().startswith("TILE"),
        buffer=BufferType(place[1].lower()),
        memory=kind,
        grid=cuts,
    )
    return TensorSpec(tuple(shape), found)


def ceil_div(count: int, parts: int) -> int:
    return -(-count // parts)


def block(cores: int, grid: tuple[int, int]) -> tuple[int, int]:
    """Rows and columns of a block of ``cores`` on a chip of ``grid``: as the grid is, if it can."""
    for rows in range(min(grid[0], cores), 0, -1):
        if cores % rows == 0 and cores // rows <= grid[1]:
            return rows, cores // rows
    return 1, cores


def step(
    op: str, inputs: Sequence[TensorSpec], outputs: Sequence[TensorSpec], attributes: Mapping[str, Any] | None = None
) -> tuple[Instruction, tuple[TensorSpec, ...]]:
    operands: dict[str, Operand] = {f"operand{index}": index for index in range(len(inputs))}
    results = tuple(range(len(inputs), len(inputs) + len(outputs)))
    return Instruction(f"ttnn.{op}", operands, results, dict(attributes or {})), (*inputs, *outputs)


# Compute grids that programs see, by the number of cores (rows, columns): "13x10" in files is columns by rows.
_GRIDS = {20: (4, 5), 64: (8, 8), 110: (10, 11), 120: (10, 12), 130: (10, 13), 56: (7, 8), 72: (8, 9), 140: (10, 14)}

# What a board's name says beside its architecture: DRAM controllers left on. (tt-isa-documentation)
_P100_DRAM = 7 / 8


@functools.cache
def board_target(arch: str, board: str = "", cores: int = 0, grid: tuple[int, int] | None = None) -> Target:
    """The facts of the chip of a row: of its architecture, with the grid and the DRAM of its board.

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
    if board.startswith("p100"):
        target = dataclasses.replace(
            target,
            dram_peak_bytes_per_second=target.dram_peak_bytes_per_second * _P100_DRAM,
            dram_achieved_bytes_per_second=target.dram_achieved_bytes_per_second * _P100_DRAM,
            dram_sharded_bytes_per_second=target.dram_sharded_bytes_per_second * _P100_DRAM,
        )
    return target
