"""Elementwise ops, clamps and choices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tt_xla.codegen.calls.registry import Op, calls, given
from tt_xla.codegen.expressions import Call, Expression, Name
from tt_xla.ir.elementwise import BINARY, UNARY

_RENAMED = {
    "pow_tensor": "pow",
    # TT-NN's remainder has the sign of the divisor.
    "remainder": "fmod",
}
_WITHOUT_DTYPE = {
    "atan2",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "logical_left_shift",
    "logical_right_shift",
}


@calls(*(f"ttnn.{row.ttnn}" for row in UNARY if row.ttnn and row.ttnn != "bitcast_convert"))
def unary(op: Op) -> Call:
    return Call(op.instruction.op, (op["input"],), given(memory_config=op.memory))


@calls("ttnn.bitcast_convert")
def bitcast(op: Op) -> Call:
    return Call("ttnn.bitcast", (op["input"], op.dtype), given(memory_config=op.memory))


@calls(*(f"ttnn.{row.ttnn}" for row in BINARY if row.ttnn))
def binary(op: Op) -> Call:
    """The result has the data type of the first operand unless another one is asked for."""
    name = op.instruction.op.removeprefix("ttnn.")
    converts = op.result.layout.dtype != op.spec("lhs").layout.dtype and name not in _WITHOUT_DTYPE
    keywords: dict[str, Expression] = given(dtype=op.dtype if converts else None, memory_config=op.memory)
    if name == "divide" and not op.result.layout.dtype.is_float:
        keywords["rounding_mode"] = "trunc"  # else the quotient is float32
    keywords |= {side: _functions(op, side) for side in _FUNCTIONS if op.get(side)}
    return Call(f"ttnn.{_RENAMED.get(name, name)}", (op["lhs"], op["rhs"]), keywords)


_FUNCTIONS = ("activations", "input_tensor_a_activations", "input_tensor_b_activations")
"""What a binary op applies to its result and to its operands."""


def _functions(op: Op, side: str) -> Expression:
    return tuple(activation(dict(item)) for item in op.get(side))


@calls("ttnn.where")
def where(op: Op) -> Call:
    return Call("ttnn.where", (op["first"], op["second"], op["third"]), given(memory_config=op.memory))


@calls("ttnn.clamp_scalar")
def clamp_scalar(op: Op) -> Call:
    bounds: dict[str, Expression] = {"min": op.get("min"), "max": op.get("max")}
    return Call("ttnn.clamp", (op["input"],), bounds | given(memory_config=op.memory))


@calls("ttnn.clamp_tensor")
def clamp_tensor(op: Op) -> Call:
    return Call("ttnn.clamp", (op["input"], op["min"], op["max"]), given(memory_config=op.memory))


@calls("ttnn.leaky_relu")
def leaky_relu(op: Op) -> Call:
    slope = {"negative_slope": op.get("parameter")}
    return Call("ttnn.leaky_relu", (op["input"],), slope | given(memory_config=op.memory))


def activation(function: str | Mapping[str, Any] | None) -> Expression:
    """A function that a product or convolution applies to its result; the accurate kind where TT-NN has two.

    Products have its name, configs a ``#ttnn.unary_with_param`` as named fields.
    """
    label = function["op_type"] if isinstance(function, Mapping) else function
    if label is None:
        return None
    kind = Name(f"ttnn.UnaryOpType.{label.upper()}")
    params = function.get("params", ()) if isinstance(function, Mapping) else ()
    return Call("ttnn.UnaryWithParam", (kind, False) if label == "gelu" else (kind, *params))
