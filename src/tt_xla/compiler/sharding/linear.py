"""Ops that chips can apply to the terms of sums: their results are then the terms of the result."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from tt_xla.compiler.sharding.builder import element_type, single_op
from tt_xla.compiler.sharding.emitter import Shard
from tt_xla.ir.mesh import Axes, Sharding

_ALL = slice(None)

_LINEAR = {
    **dict.fromkeys(("add", "subtract", "negate", "convert", "real", "imag", "complex", "reduce_precision"), _ALL),
    **dict.fromkeys(("broadcast_in_dim", "concatenate", "pad", "reshape", "reverse", "slice", "transpose"), _ALL),
    **dict.fromkeys(("reduce", "reduce_window"), _ALL),
    **dict.fromkeys(("divide", "dynamic_slice", "gather"), slice(0, 1)),
    "dynamic_update_slice": slice(0, 2),
    "select": slice(1, 3),
}
"""Ops that are linear in some operands together, and the positions of these operands. A conversion of a tensor of
partial sums converts each term, as JAX has it, although roundings of terms are not the rounding of their sum."""

_BILINEAR = ("convolution", "dot_general", "multiply")
"""Ops that are linear in each of their two operands."""


def operand_sums(op: Any, operands: Sequence[Shard], wanted: Collection[int]) -> list[Axes]:
    """Returns the axes along which each operand is to hold partial sums, so that the op works on the terms.

    Args:
        op: an op of StableHLO.
        operands: its operands.
        wanted: axes along which partial sums of the result are wanted. Axes along which no operand has partial sums
            are left out.
    """
    name = op.operation.name.removeprefix("stablehlo.")
    own = [tuple(axis for axis in operand.sharding.unreduced if axis in wanted) for operand in operands]
    if name in _BILINEAR:
        left, right = own
        return [left, tuple(axis for axis in right if axis not in left)]
    if name == "divide" and str(element_type(operands[0].value)).startswith(("i", "ui")):
        return [()] * len(operands)  # A quotient of integers is rounded.
    if name not in _LINEAR or not all(single_op(region) == "add" for region in op.regions):
        return [()] * len(operands)
    positions = range(len(operands))[_LINEAR[name]]
    together = tuple(sorted({axis for position in positions for axis in own[position]}))
    return [together if position in positions else () for position in range(len(operands))]


def prepared(sharding: Sharding, own: Axes, kept: Collection[int]) -> Sharding:
    """Returns the sharding that an operand needs for an op on the terms of sums.

    Args:
        sharding: sharding of the operand.
        own: axes along which the operand is to hold partial sums.
        kept: axes along which the result is to hold partial sums, which may split no operand.
    """
    return Sharding(tuple(tuple(axis for axis in axes if axis not in kept) for axes in sharding.dims), own)
