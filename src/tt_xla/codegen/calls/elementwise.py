"""Calls for elementwise ops, clamps and selections."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tt_xla.codegen.calls.registry import MEMORY, Op, calls, row, without_none
from tt_xla.codegen.expressions import Call, Expression, Name
from tt_xla.ir.op_table import BINARY, UNARY

_FUNCTIONS_OF_TWO = {each.ttnn: each.python for each in BINARY if each.ttnn}
"""TT-NN's function by binary op."""
_WITHOUT_DTYPE = {
    "atan2",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "logical_left_shift",
    "logical_right_shift",
}
"""Binary functions that take no ``dtype``."""


for _unary in UNARY:
    if _unary.ttnn and _unary.python == _unary.ttnn:
        row(f"ttnn.{_unary.ttnn}", "input", **MEMORY)
row("ttnn.bitcast_convert", "input", "dtype", function="ttnn.bitcast", **MEMORY)
row("ttnn.where", "first", "second", "third", **MEMORY)
row("ttnn.clamp_scalar", "input", function="ttnn.clamp", min="min", max="max", **MEMORY)
row("ttnn.clamp_tensor", "input", "min", "max", function="ttnn.clamp", **MEMORY)
row("ttnn.leaky_relu", "input", negative_slope="parameter", **MEMORY)


@calls("ttnn.gelu_approx")
def gelu_approx(op: Op) -> Call:
    fast: dict[str, Expression] = {"fast_and_approximate_mode": True}
    return Call("ttnn.gelu", (op["input"],), fast | without_none(memory_config=op.memory))


@calls(*(f"ttnn.{name}" for name in _FUNCTIONS_OF_TWO))
def binary(op: Op) -> Call:
    """Returns the call of a binary op. The result has the left operand's data type unless ``dtype`` is passed."""
    name = op.instruction.op.removeprefix("ttnn.")
    converts = op.result.layout.dtype != op.spec("lhs").layout.dtype and name not in _WITHOUT_DTYPE
    keywords: dict[str, Expression] = without_none(dtype=op.dtype if converts else None, memory_config=op.memory)
    if name == "divide" and not op.result.layout.dtype.is_float:
        keywords["rounding_mode"] = "trunc"  # without it the quotient is float32
    keywords |= {side: tuple(activation(dict(item)) for item in op.get(side)) for side in _FUNCTIONS if op.get(side)}
    return Call(f"ttnn.{_FUNCTIONS_OF_TWO[name]}", (op["lhs"], op["rhs"]), keywords)


_FUNCTIONS = ("activations", "input_tensor_a_activations", "input_tensor_b_activations")
"""Attributes with the functions that a binary op applies to its result, its left and its right operand."""


def activation(function: str | Mapping[str, Any] | None) -> Expression:
    """Returns the function that an op applies to its result. TT-NN's gelu takes whether it is the approximate one.

    Args:
        function: the function's name, or the fields of a ``#ttnn.unary_with_param``.
    """
    label = function["op_type"] if isinstance(function, Mapping) else function
    if label is None:
        return None
    kind = Name(f"ttnn.UnaryOpType.{label.upper().removesuffix('_APPROX')}")
    params = function.get("params", ()) if isinstance(function, Mapping) else ()
    is_gelu = label in ("gelu", "gelu_approx")
    return Call("ttnn.UnaryWithParam", (kind, label == "gelu_approx") if is_gelu else (kind, *params))
