"""Tensors that tiles hold badly, and the matrices of full tiles that hold the same elements.

A tile has 32 x 32 elements of the last two dimensions, so the weights of a convolution, ``[512, 512, 3, 3]``, take 114
times their size in tiles, and a vector 32 times. Such tensors stay in rows as long as they are only moved.
"""

from __future__ import annotations

import math

from xdsl.dialects.func import ReturnOp
from xdsl.ir import Use

from tt_xla.ir.element_types import TILE
from tt_xla.ir.layout import DataType, TensorLayout
from tt_xla.ir.shapes import Shape
from tt_xla.ir.ttir.structure import ConcatOp, PermuteOp, ReshapeOp, SliceStaticOp
from tt_xla.ir.ttir.window import Conv2dOp, ConvTranspose2dOp

ROW_MAJOR_TYPES = (DataType.BF16, DataType.F32, DataType.SI32, DataType.U32)
"""Element types of tensors that TT-NN converts from tiles to rows and back without a change of type."""

_MOSTLY_PADDING = 4
"""Elements of tiles for each one of the tensor from which on the tensor is kept in rows."""

_LARGE_COLUMNS, _LARGE_ROWS = 1 << 20, 1 << 24
"""Bytes in tiles from which on a tensor is kept in rows: with mostly empty columns, as of 3x3 weights, or mostly empty
rows. Moving a smaller one takes as long as starting the ops, or as moving whole rows of tiles."""

MOVEMENT = (ReshapeOp, PermuteOp, SliceStaticOp, ConcatOp)
"""Ops that move elements, which TT-NN runs on rows as well as on tiles."""

_LONGEST_ROW = 1024
"""Elements of the longest row of a matrix."""


def overfills_tiles(sizes: Shape, dtype: DataType) -> bool:
    """Returns whether a tensor is large in tiles because they hold mostly padding, so that it belongs in rows."""
    if dtype not in ROW_MAJOR_TYPES or 0 in sizes:
        return False
    tiles = TensorLayout.of(sizes, dtype)
    large = _LARGE_COLUMNS if sizes and sizes[-1] * _MOSTLY_PADDING <= TILE else _LARGE_ROWS
    return tiles.bytes >= large and tiles.pages * TILE * TILE >= _MOSTLY_PADDING * math.prod(sizes)


def matrix_of(sizes: Shape) -> Shape:
    """Returns the shape of a matrix with the elements of a tensor in their order, in as few tiles as is simple."""
    elements = math.prod(sizes)
    longest = math.gcd(elements, _LONGEST_ROW)
    splits = [math.prod(sizes[split:]) for split in range(len(sizes))]
    matrices = [(elements // columns, columns) for columns in (longest, *splits)]
    return min(matrices, key=lambda matrix: TensorLayout.of(matrix, DataType.BF16).pages)


def takes_rows(use: Use) -> bool:
    """Returns whether an op of TTIR takes an operand in rows: moves, results of the program, and convolutions their
    weights."""
    is_weight = isinstance(use.operation, Conv2dOp | ConvTranspose2dOp) and use.index == 1
    return is_weight or isinstance(use.operation, (*MOVEMENT, ReturnOp))
