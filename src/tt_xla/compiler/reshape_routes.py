"""The two ways in which the device reshapes a tensor of tiles, and their predicted times.

TT-NN's reshape of tiles copies every row in pieces of a tile's face. On a row-major tensor it copies whole rows, or
returns a view where the last dimension stays; the conversions between tiles and rows around it take whole rows, too.
"""

from __future__ import annotations

from tt_xla.compiler.tile_padding import ROW_MAJOR_TYPES
from tt_xla.cost import instruction_cost
from tt_xla.cost.rates import rates_of
from tt_xla.ir.program import Instruction, TensorSpec
from tt_xla.target import Target

_RESHAPE = Instruction("ttnn.reshape", {"input": 0}, (1,), {})
_CONVERSION = Instruction("ttnn.to_layout", {"input": 0}, (1,), {})

_WORTH_IT_US = 1.0
"""Predicted gain in us below which tiles, the usual form, stay; it is within the prediction's error."""


def tiled_us(before: TensorSpec, after: TensorSpec, target: Target) -> float:
    """Returns the predicted time of a reshape of tiles in us, with the gap after it."""
    return _us(_RESHAPE, before, after, target)


def row_major_us(before: TensorSpec, after: TensorSpec, target: Target, *, ends_in_tiles: bool = True) -> float:
    """Returns the predicted time of a reshape by way of rows in us, with the gaps between ops.

    Args:
        before: Operand in tiles.
        after: Result in tiles.
        target: Chip that the time is predicted for.
        ends_in_tiles: Whether the rows become tiles again.
    """
    first, last = row_major(before), row_major(after)
    total = _us(_CONVERSION, before, first, target) + _us(_RESHAPE, first, last, target)
    return total + (_us(_CONVERSION, last, after, target) if ends_in_tiles else 0.0)


def by_rows(before: TensorSpec, after: TensorSpec, target: Target, *, ends_in_tiles: bool = True) -> bool:
    """Returns whether a reshape of tiles is predicted to be faster by way of rows."""
    layouts = (before.layout, after.layout)
    if not all(layout.tiled and layout.on_device and layout.dtype in ROW_MAJOR_TYPES for layout in layouts):
        return False
    tiled = tiled_us(before, after, target)
    if tiled < _WORTH_IT_US:
        return False
    return row_major_us(before, after, target, ends_in_tiles=ends_in_tiles) < tiled - _WORTH_IT_US


def reshape_us(before: TensorSpec, after: TensorSpec, target: Target) -> float:
    """Returns the predicted time of a reshape from tiles to tiles by the faster way in us, with the gaps after ops."""
    if by_rows(before, after, target):
        return row_major_us(before, after, target)
    return tiled_us(before, after, target)


def row_major(spec: TensorSpec) -> TensorSpec:
    """Returns a tensor's shape and its layout with rows in the place of tiles."""
    return TensorSpec(spec.shape, spec.layout.with_(spec.shape, tiled=False))


def _us(instruction: Instruction, before: TensorSpec, after: TensorSpec, target: Target) -> float:
    """Returns the predicted time of an op in us, with the gap after it."""
    predicted = instruction_cost(instruction, (before, after), target).total_us
    return predicted + rates_of(target).gap_traced if predicted else 0.0
