"""In which blocks of the inner dimension TT-NN 0.81 computes a product, which decides where partial sums are rounded.

A kernel keeps the sums of one block in the accumulator. Between blocks they lie in L1, in the partial sums' own type.
Source: tt-metal's ``matmul_program_config.cpp`` and the program factories of its matmul.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tt_xla.ir.element_types import DataType

TILE = 32
_NARROW = 8
"""A product whose sides differ by more than this factor is computed along one side alone."""


@dataclass(frozen=True)
class Blocks:
    """The blocks of a product, and what happens between them."""

    width: int
    """Elements of the inner dimension in a block, a multiple of a tile."""
    adds_in_l1: bool
    """Whether the packer adds the sums of a block to those in L1; if not, the accumulator loads those first."""
    reloads_last: bool
    """Whether the sums in L1 are loaded into the accumulator for the last block; only where ``adds_in_l1``."""
    between: DataType
    """Type of the sums in L1."""
    through_source: bool = False
    """Whether sums are loaded into the accumulator through a source register, which keeps 19 bits of them."""


def blocks_of(
    shape: tuple[int, int, int],
    grid: tuple[int, int],
    result: DataType,
    config: Mapping[str, Any] | None,
    program_config: Mapping[str, Any] | None,
    *,
    wide: bool,
    biased: bool,
) -> Blocks:
    """Returns the blocks of a product of matrices.

    Args:
        shape: rows, inner dimension and columns; a batch of the left operand counts for nothing.
        grid: rows and columns of cores.
        result: type of the result.
        config: the op's compute config.
        program_config: the op's program config; without one TT-NN decides by the shape.
        wide: whether the accumulator has 32 bits.
        biased: whether the kernel adds a bias.
    """
    rows, inner, columns = (-(-size // TILE) for size in shape)
    width = int((program_config or {}).get("in0_block_w") or _width(rows, inner, columns, grid))
    count = -(-inner // width)
    # TT-NN's own choice without a config, and the one that generated programs ask for, is to add in L1.
    adds = (config or {}).get("packer_l1_acc") is not False and count > 1
    between = DataType.F32 if wide else DataType.BF16 if adds else result
    return Blocks(width * TILE, adds, adds and not biased, between)


def _width(rows: int, inner: int, columns: int, grid: Sequence[int]) -> int:
    """Returns the tiles of a block for operands and result that lie interleaved in DRAM (all counts are tiles)."""
    long, short = max(rows, columns), min(rows, columns)
    if short == 1 or long // short > _NARROW:
        return 1 if inner % 2 else 2
    return 1 if inner % grid[1] else inner // grid[1]
