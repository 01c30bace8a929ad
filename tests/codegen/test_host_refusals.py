"""Host ops that have no torch code, each beside its nearest form that has some."""

from __future__ import annotations

import pytest

from tt_xla.codegen.host import NoTorchCodeError, torch_function

pytestmark = pytest.mark.quick

REDUCTION = """%r = "stablehlo.reduce"(%x, %z) ({{
    ^bb0(%p: tensor<{kind}>, %q: tensor<{kind}>):
      {body}
    }}) {{dimensions = array<i64: 1>}} : (tensor<{shape}x{kind}>, tensor<{kind}>) -> tensor<4x{kind}>"""
SORT = """%r = "stablehlo.sort"(%x) ({{
    ^bb0(%p: tensor<{kind}>, %q: tensor<{kind}>):
      {body}
    }}) {{dimension = 0 : i64, is_stable = true}} : (tensor<4x{kind}>) -> tensor<4x{kind}>"""


def reduction(kind: str, op: str, shape: str = "4x8", operands: str = "%p, %q") -> tuple[str, str, str]:
    """Returns the inputs, the op and the result of a reduction by one op."""
    body = f"%s = stablehlo.{op} {operands} : tensor<{kind}>\n      stablehlo.return %s : tensor<{kind}>"
    text = REDUCTION.format(kind=kind, shape=shape, body=body)
    return f"%x: tensor<{shape}x{kind}>, %z: tensor<{kind}>", text, f"tensor<4x{kind}>"


def sort(kind: str, direction: str, order: str = "", operands: str = "%p, %q") -> tuple[str, str, str]:
    """Returns the inputs, the op and the result of a sort by one comparison."""
    types = f"(tensor<{kind}>, tensor<{kind}>) -> tensor<i1>"
    body = f"%c = stablehlo.compare {direction}, {operands}{order} : {types}\n      stablehlo.return %c : tensor<i1>"
    return f"%x: tensor<4x{kind}>", SORT.format(kind=kind, body=body), f"tensor<4x{kind}>"


def plain(source: str, op: str, result: str) -> tuple[str, str, str]:
    """Returns the inputs, the op and the result of an op of one tensor."""
    return f"%x: tensor<{source}>", f"%r = {op} : (tensor<{source}>) -> tensor<{result}>", f"tensor<{result}>"


def alike(kind: str, op: str) -> tuple[str, str, str]:
    """Returns the inputs, the op and the result of an op of tensors of one type."""
    return f"%x: tensor<4x{kind}>", f"%r = {op} : tensor<4x{kind}>", f"tensor<4x{kind}>"


def compared(kind: str, order: str) -> tuple[str, str, str]:
    """Returns the inputs, the op and the result of a comparison."""
    types = f"(tensor<4x{kind}>, tensor<4x{kind}>) -> tensor<4xi1>"
    return f"%x: tensor<4x{kind}>", f"%r = stablehlo.compare LT, %x, %x, {order} : {types}", "tensor<4xi1>"


def spread(dims: str) -> tuple[str, str, str]:
    """Returns the inputs, the op and the result of a broadcast of [4, 8]."""
    return plain("4x8xf32", f"stablehlo.broadcast_in_dim %x, dims = {dims}", "8x4x8xf32")


CASES = {
    "maximum": (alike("f32", "stablehlo.maximum %x, %x"), alike("complex<f32>", "stablehlo.maximum %x, %x")),
    "power": (alike("i32", "stablehlo.power %x, %x"), alike("ui32", "stablehlo.power %x, %x")),
    "atan2": (alike("f32", "stablehlo.atan2 %x, %x"), alike("complex<f32>", "stablehlo.atan2 %x, %x")),
    "compare": (compared("f32", "FLOAT"), compared("f32", "TOTALORDER")),
    "clamp": (alike("i64", "stablehlo.clamp %x, %x, %x"), alike("ui64", "stablehlo.clamp %x, %x, %x")),
    "bitcast_convert": (
        plain("4x2xf32", "stablehlo.bitcast_convert %x", "4x2xi32"),
        plain("4x2xf32", "stablehlo.bitcast_convert %x", "4xf64"),
    ),
    "bitcast_convert to smaller elements": (
        plain("4xf32", "stablehlo.bitcast_convert %x", "4xi32"),
        plain("4xf32", "stablehlo.bitcast_convert %x", "4x2xi16"),
    ),
    "bitcast_convert to unsigned": (
        plain("4xi8", "stablehlo.bitcast_convert %x", "4xui8"),
        plain("4xi16", "stablehlo.bitcast_convert %x", "4xui16"),
    ),
    "broadcast_in_dim": (spread("[1, 2]"), spread("[1, 0]")),
    "reduce": (reduction("f32", "add"), reduction("f32", "subtract")),
    "reduce of nothing": (reduction("f32", "maximum"), reduction("f32", "maximum", shape="4x0")),
    "reduce by one of its operands": (reduction("f32", "add"), reduction("f32", "add", operands="%p, %p")),
    "reduce of bits": (reduction("i1", "and"), reduction("i32", "and")),
    "reduce of unsigned": (reduction("ui32", "maximum"), reduction("ui64", "maximum")),
    "sort": (sort("f32", "LT"), sort("f32", "EQ")),
    "sort of bits": (sort("f32", "GT"), sort("f32", "GT", ", TOTALORDER")),
    "sort backwards": (sort("f32", "GE"), sort("f32", "GE", operands="%q, %p")),
}
"""Inputs, op and result of what has torch code, and of what has none."""


def code_of(case: tuple[str, str, str]) -> list[str]:
    inputs, op, result = case
    text = f"func.func public @main({inputs}) -> {result} {{\n  {op}\n  return %r : {result}\n}}"
    return torch_function(text, "part", "A part.")


@pytest.mark.parametrize("name", CASES)
def test_torch_code_is_refused_where_it_would_compute_something_else(name: str) -> None:
    written, refused = CASES[name]
    assert code_of(written)[0].startswith("def part(")
    with pytest.raises(NoTorchCodeError, match=rf"^stablehlo\.{name.split(maxsplit=1)[0]}$"):
        code_of(refused)
