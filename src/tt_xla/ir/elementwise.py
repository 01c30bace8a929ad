"""The tables of elementwise ops, one row for each op: TTIR mnemonic, TTNN mnemonic, meaning.

A row gives the op class of each dialect, its lowering and its file check. Ops of these tables have no properties;
elementwise ops with properties are classes in :mod:`tt_xla.ir.abstract`.
"""

from __future__ import annotations

from typing import NamedTuple

from xdsl.irdl import irdl_op_definition

from tt_xla.ir.base import TTOp


class Elementwise(NamedTuple):
    """One elementwise op."""

    ttir: str
    """Mnemonic in TTIR."""
    ttnn: str
    """Mnemonic in TTNN; empty where TT-NN has no such op."""
    meaning: str
    """Formula, which becomes the docstring of the op classes."""


UNARY = (
    Elementwise("abs", "abs", "|x|"),
    Elementwise("acos", "acos", "arc cosine in radians"),
    Elementwise("asin", "asin", "arc sine in radians"),
    Elementwise("asinh", "asinh", "inverse hyperbolic sine"),
    Elementwise("atan", "atan", "arc tangent in radians"),
    Elementwise("bitcast_convert", "bitcast_convert", "the same bits under another element type"),
    Elementwise("bitwise_not", "bitwise_not", "every bit inverted"),
    Elementwise("cbrt", "cbrt", "cube root"),
    Elementwise("ceil", "ceil", "least integer not below x"),
    Elementwise("cos", "cos", "cosine of radians"),
    Elementwise("erf", "erf", "error function"),
    Elementwise("erfc", "erfc", "1 - erf(x)"),
    Elementwise("exp", "exp", "e to the x"),
    Elementwise("exp2", "", "2 to the x"),
    Elementwise("expm1", "expm1", "e to the x, minus 1"),
    Elementwise("floor", "floor", "greatest integer not above x"),
    Elementwise("frac", "", "x - trunc(x)"),
    Elementwise("gelu", "gelu", "x * normal_cdf(x)"),
    Elementwise("", "gelu_approx", "gelu, as x / 2 plus a function of |x| that consists of six lines"),
    Elementwise("hardsigmoid", "hardsigmoid", "min(max(x + 3, 0), 6) / 6"),
    Elementwise("isfinite", "isfinite", "1 where x is finite, else 0"),
    Elementwise("log", "log", "natural logarithm"),
    Elementwise("log1p", "log1p", "log(1 + x)"),
    Elementwise("logical_not", "logical_not", "1 where x is 0, else 0"),
    Elementwise("mish", "mish", "x * tanh(softplus(x))"),
    Elementwise("neg", "neg", "-x"),
    Elementwise("reciprocal", "reciprocal", "1 / x"),
    Elementwise("relu", "relu", "max(x, 0)"),
    Elementwise("relu6", "relu6", "min(max(x, 0), 6)"),
    Elementwise("round", "round", "nearest integer to x, the even one of two"),
    Elementwise("rsqrt", "rsqrt", "1 / sqrt(x)"),
    Elementwise("sigmoid", "sigmoid", "1 / (1 + exp(-x))"),
    Elementwise("sign", "sign", "-1, 0 or 1 as the sign of x"),
    Elementwise("signbit", "", "1 where the sign bit is set, else 0"),
    Elementwise("silu", "silu", "x * sigmoid(x)"),
    Elementwise("sin", "sin", "sine of radians"),
    Elementwise("softsign", "", "x / (1 + |x|)"),
    Elementwise("sqrt", "sqrt", "square root"),
    Elementwise("square", "", "x * x"),
    Elementwise("tan", "tan", "tangent of radians"),
    Elementwise("tanh", "tanh", "hyperbolic tangent"),
    Elementwise("trunc", "", "x without its fraction"),
)

BINARY = (
    Elementwise("add", "add", "lhs + rhs"),
    Elementwise("atan2", "atan2", "angle of the point (rhs, lhs)"),
    Elementwise("bitwise_and", "bitwise_and", "lhs & rhs"),
    Elementwise("bitwise_or", "bitwise_or", "lhs | rhs"),
    Elementwise("bitwise_xor", "bitwise_xor", "lhs ^ rhs"),
    Elementwise("div", "divide", "lhs / rhs"),
    Elementwise("eq", "eq", "1 where lhs == rhs, else 0"),
    Elementwise("ge", "ge", "1 where lhs >= rhs, else 0"),
    Elementwise("gt", "gt", "1 where lhs > rhs, else 0"),
    Elementwise("le", "le", "1 where lhs <= rhs, else 0"),
    Elementwise("logical_and", "logical_and", "1 where both are not 0, else 0"),
    Elementwise("logical_left_shift", "logical_left_shift", "lhs << rhs"),
    Elementwise("logical_or", "logical_or", "1 where one is not 0, else 0"),
    Elementwise("logical_right_shift", "logical_right_shift", "lhs >> rhs without sign"),
    Elementwise("logical_xor", "logical_xor", "1 where just one is not 0, else 0"),
    Elementwise("lt", "lt", "1 where lhs < rhs, else 0"),
    Elementwise("maximum", "maximum", "the greater one"),
    Elementwise("minimum", "minimum", "the lesser one"),
    Elementwise("multiply", "multiply", "lhs * rhs"),
    Elementwise("ne", "ne", "1 where lhs != rhs, else 0"),
    Elementwise("pow", "pow_tensor", "lhs to the rhs"),
    Elementwise("remainder", "remainder", "lhs - rhs * trunc(lhs / rhs)"),
    Elementwise("right_shift", "", "lhs >> rhs, the sign kept"),
    Elementwise("subtract", "subtract", "lhs - rhs"),
)


def define(name: str, base: type[TTOp], meaning: str) -> type[TTOp]:
    """Returns the op class of a row, named as a written class would be: ``logical_not`` gives ``LogicalNotOp``."""
    mnemonic = name.partition(".")[2]
    class_name = "".join(part.capitalize() for part in mnemonic.split("_")) + "Op"
    fields = {"name": name, "__doc__": f"{meaning}.", "__module__": __name__}
    return irdl_op_definition(type(class_name, (base,), fields))
