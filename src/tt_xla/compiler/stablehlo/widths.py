"""Integers keep the width that the program declares, also where the chip holds them in more bits."""

from __future__ import annotations

from typing import Any

from xdsl.ir import SSAValue

from tt_xla.compiler.analysis.ranges import bounds
from tt_xla.compiler.stablehlo.context import ImportContext
from tt_xla.compiler.stablehlo.creation import full
from tt_xla.ir import ttir
from tt_xla.ir.base import tensor_type
from tt_xla.ir.properties import si32
from tt_xla.ir.ttir.host import HostCallOp

SIGN_BITS = {"i8": 0x80, "i16": 0x8000}
"""Sign bit of signed integers that the chip holds in more bits than they have, by StableHLO element type."""

_KEEP_WIDTH = frozenset(
    {
        "func.call",
        "sdy.sharding_constraint",
        "sdy.sharding_group",
        *(
            f"stablehlo.{name}"
            for name in (
                *("all_gather", "all_to_all", "collective_broadcast", "collective_permute"),
                *("broadcast_in_dim", "concatenate", "pad", "reshape", "reverse", "slice", "transpose"),
                *("dynamic_slice", "dynamic_update_slice", "gather", "select", "sort"),
                *("and", "clamp", "maximum", "minimum", "not", "or", "remainder", "sign", "xor"),
                "shift_right_arithmetic",
                *("case", "composite", "constant", "get_tuple_element", "if", "optimization_barrier", "tuple", "while"),
            )
        ),
    }
)
"""Ops whose results are elements of their operands, or no larger than these: they stay within a type. Results of all
others are wrapped, unless their ranges are known."""


def wrapped(context: ImportContext, op: Any, value: SSAValue, declared: Any) -> SSAValue:
    """Returns a result of an op wrapped to the width of its declared type: its low bits, sign-extended.

    Args:
        context: the context of the op.
        op: the StableHLO op.
        value: the TTIR value that the result became.
        declared: the StableHLO type of the result.
    """
    sign = SIGN_BITS.get(str(getattr(declared, "element_type", "")))
    if sign is None or op.operation.name in _KEEP_WIDTH or isinstance(value.owner, HostCallOp):
        return value
    type_, limits = tensor_type(value), bounds(value)
    if type_.element_type != si32 or (-sign <= limits.low and limits.high < sign):
        return value
    binary = ttir.BINARY_OPS
    low = context.emit(binary["bitwise_and"], [value, full(context, 2 * sign - 1, type_)], type_)
    flipped = context.emit(binary["bitwise_xor"], [low, full(context, sign, type_)], type_)
    return context.emit(binary["subtract"], [flipped, full(context, sign, type_)], type_)
