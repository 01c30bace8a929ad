"""Folds at compile time compared with StableHLO's interpreter: constants of all integer types, and exact arithmetic."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo
from test_against_stablehlo import assert_identical, on_card

from tt_xla.compiler.stablehlo import parse_module

INTEGERS = {"i8": 8, "i16": 16, "i32": 32, "ui8": 8, "ui16": 16, "ui32": 32}
"""Integer types of StableHLO that the chip holds in full, and their bits."""

BINARY = ("add", "subtract", "multiply", "maximum", "minimum", "and", "or", "xor", "shift_left", "shift_right_logical")
COMPARISONS = ("EQ", "NE", "LT", "LE", "GT", "GE")


def limits(element: str) -> tuple[int, int]:
    """Returns the least and the greatest value of an integer type."""
    bits = INTEGERS[element]
    return (0, 2**bits - 1) if element.startswith("u") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def interpreted(text: str, *inputs: np.ndarray) -> list[np.ndarray]:
    """Returns the results of a program by StableHLO's interpreter."""
    module = parse_module(text)
    with module.context:
        arguments = [ir.DenseElementsAttr.get(array) for array in inputs]
        return [np.array(ir.DenseElementsAttr(value)) for value in stablehlo.eval_module(module, arguments)]


def assert_same_bits(text: str, *inputs: np.ndarray, **options: Any) -> None:
    """Compares a program's results on the card with the interpreter's, bit by bit; NaN equals NaN."""
    expected = interpreted(text, *inputs)
    results = on_card(parse_module(text), inputs, **options)
    assert len(results) == len(expected)
    for result, value in zip(results, expected, strict=True):
        assert_identical(result, value, text)


class Writer:
    """Writes a program of constants line by line; every value is a ``tensor<4xELEMENT>``."""

    def __init__(self, draw: Any) -> None:
        self.draw = draw
        self.lines: list[str] = []
        self.values: list[tuple[str, str]] = []
        """Name and element type of each value so far."""

    def add(self, text: str, element: str, *, is_value: bool = True) -> str:
        """Adds a line and returns the name of its result."""
        name = f"%{len(self.lines)}"
        self.lines.append(f"{name} = {text}")
        if is_value:
            self.values.append((name, element))
        return name

    def constant(self, element: str, *, minimum: int | None = None) -> str:
        """Adds a constant, often at an end of its type's range."""
        least, greatest = limits(element)
        least = least if minimum is None else minimum
        edges = [number for number in (0, 1, 2, -1, least, greatest, greatest - 1) if least <= number <= greatest]
        number = self.draw(st.sampled_from(edges) | st.integers(least, greatest))
        return self.add(f"stablehlo.constant dense<{number}> : tensor<4x{element}>", element)

    def operand(self, element: str) -> str:
        """Returns a value of an element type: an earlier one, or a new constant."""
        names = [name for name, other in self.values if other == element]
        return self.draw(st.sampled_from(names)) if names and self.draw(st.booleans()) else self.constant(element)

    def step(self) -> None:
        """Adds one op and the constants that it needs."""
        element = self.draw(st.sampled_from(list(INTEGERS)))
        type_ = f"tensor<4x{element}>"
        unary = ("negate", "not", "abs", "sign") if not element.startswith("u") else ("negate", "not")
        kind = self.draw(st.sampled_from(["binary", "binary", "unary", "compare", "clamp", "divide", "convert", "sum"]))
        if kind == "binary":
            operands = f"{self.operand(element)}, {self.operand(element)}"
            self.add(f"stablehlo.{self.draw(st.sampled_from(BINARY))} {operands} : {type_}", element)
        elif kind == "unary":
            self.add(f"stablehlo.{self.draw(st.sampled_from(unary))} {self.operand(element)} : {type_}", element)
        elif kind == "divide":
            name = self.draw(st.sampled_from(["divide", "remainder"]))
            operands = f"{self.operand(element)}, {self.constant(element, minimum=1)}"
            self.add(f"stablehlo.{name} {operands} : {type_}", element)
        elif kind == "clamp":
            operands = ", ".join(self.operand(element) for _ in range(3))
            self.add(f"stablehlo.clamp {operands} : {type_}", element)
        elif kind == "convert":
            target = self.draw(st.sampled_from(list(INTEGERS)))
            self.add(f"stablehlo.convert {self.operand(element)} : ({type_}) -> tensor<4x{target}>", target)
        elif kind == "sum":
            zero = self.add(f"stablehlo.constant dense<0> : tensor<{element}>", element, is_value=False)
            total = self.add(
                f"stablehlo.reduce({self.operand(element)} init: {zero}) applies stablehlo.add across dimensions = [0]"
                f" : ({type_}, tensor<{element}>) -> tensor<{element}>",
                element,
                is_value=False,
            )
            self.add(f"stablehlo.broadcast_in_dim {total}, dims = [] : (tensor<{element}>) -> {type_}", element)
        else:
            direction, sides = (
                self.draw(st.sampled_from(COMPARISONS)),
                f"{self.operand(element)}, {self.operand(element)}",
            )
            sign = "UNSIGNED" if element.startswith("u") else "SIGNED"
            truth = self.add(
                f"stablehlo.compare {direction}, {sides}, {sign} : ({type_}, {type_}) -> tensor<4xi1>",
                "i1",
                is_value=False,
            )
            chosen = f"{self.operand(element)}, {self.operand(element)}"
            self.add(f"stablehlo.select {truth}, {chosen} : tensor<4xi1>, {type_}", element)

    def text(self) -> str:
        """Returns the program, which returns every value."""
        types = ", ".join(f"tensor<4x{element}>" for _, element in self.values)
        body = "\n".join(f"  {line}" for line in self.lines)
        names = ", ".join(name for name, _ in self.values)
        return f"func.func @main() -> ({types}) {{\n{body}\n  return {names} : {types}\n}}"


@st.composite
def integer_programs(draw: Any) -> str:
    """Draws a program of up to 12 ops on integer constants."""
    writer = Writer(draw)
    for _ in range(draw(st.integers(1, 12))):
        writer.step()
    return writer.text()


@given(integer_programs())
def test_integers_fold_as_the_interpreter_computes_them(text: str) -> None:
    assert_same_bits(text, numerics="exact", optimization_level=0)


CONSTANTS = {
    "unsigned_sum_wraps": """func.func @main() -> tensor<4xui8> {
      %a = stablehlo.constant dense<200> : tensor<4xui8>
      %b = stablehlo.constant dense<100> : tensor<4xui8>
      %c = stablehlo.add %a, %b : tensor<4xui8>
      return %c : tensor<4xui8> }""",
    "unsigned_difference_wraps": """func.func @main() -> tensor<4xui32> {
      %a = stablehlo.constant dense<0> : tensor<4xui32>
      %b = stablehlo.constant dense<1> : tensor<4xui32>
      %c = stablehlo.subtract %a, %b : tensor<4xui32>
      return %c : tensor<4xui32> }""",
    "unsigned_product_beyond_64_bits": """func.func @main() -> tensor<4xui32> {
      %a = stablehlo.constant dense<4294967295> : tensor<4xui32>
      %c = stablehlo.multiply %a, %a : tensor<4xui32>
      return %c : tensor<4xui32> }""",
    "negative_to_unsigned": """func.func @main() -> tensor<4xui32> {
      %a = stablehlo.constant dense<-1> : tensor<4xi32>
      %c = stablehlo.convert %a : (tensor<4xi32>) -> tensor<4xui32>
      return %c : tensor<4xui32> }""",
    "limit_beyond_the_signed_range": """func.func @main() -> tensor<4xui32> {
      %a = stablehlo.constant dense<7> : tensor<4xui32>
      %b = stablehlo.constant dense<4294967295> : tensor<4xui32>
      %c = stablehlo.clamp %a, %a, %b : tensor<4xui32>
      return %c : tensor<4xui32> }""",
    "float_to_integers": """func.func @main() ->
        (tensor<4xi32>, tensor<4xi32>, tensor<4xui8>, tensor<4xui32>, tensor<4xi8>) {
      %a = stablehlo.constant dense<3.0e9> : tensor<4xf32>
      %n = stablehlo.constant dense<0x7FC00000> : tensor<4xf32>
      %m = stablehlo.constant dense<-1.5> : tensor<4xf32>
      %0 = stablehlo.convert %a : (tensor<4xf32>) -> tensor<4xi32>
      %1 = stablehlo.convert %n : (tensor<4xf32>) -> tensor<4xi32>
      %2 = stablehlo.convert %a : (tensor<4xf32>) -> tensor<4xui8>
      %3 = stablehlo.convert %m : (tensor<4xf32>) -> tensor<4xui32>
      %4 = stablehlo.convert %m : (tensor<4xf32>) -> tensor<4xi8>
      return %0, %1, %2, %3, %4 : tensor<4xi32>, tensor<4xi32>, tensor<4xui8>, tensor<4xui32>, tensor<4xi8> }""",
}


@pytest.mark.parametrize("numerics", ["exact", "silicon"])
@pytest.mark.parametrize("name", CONSTANTS)
def test_constants_fold_within_their_type(name: str, numerics: str) -> None:
    for level in (0, 2):
        assert_same_bits(CONSTANTS[name], numerics=numerics, optimization_level=level)


@pytest.mark.parametrize("numerics", ["exact", "silicon"])
@pytest.mark.parametrize(("element", "limit"), [("ui8", 256), ("ui16", 65536), ("i8", 128), ("i16", 32768)])
def test_sums_and_products_wrap_at_the_width_of_narrow_integers(element: str, limit: int, numerics: str) -> None:
    """Also where float32 computes them, whose casts saturate. The interpreter takes no unsigned arguments."""
    text = f"""func.func @main(%a: tensor<2x4xi32>, %b: tensor<4x3xi32>)
        -> (tensor<2x3xi32>, tensor<2xi32>, tensor<3xi32>) {{
      %zero = stablehlo.constant dense<0> : tensor<{element}>
      %one = stablehlo.constant dense<1> : tensor<{element}>
      %x = stablehlo.convert %a : (tensor<2x4xi32>) -> tensor<2x4x{element}>
      %y = stablehlo.convert %b : (tensor<4x3xi32>) -> tensor<4x3x{element}>
      %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0]
        : (tensor<2x4x{element}>, tensor<4x3x{element}>) -> tensor<2x3x{element}>
      %1 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1]
        : (tensor<2x4x{element}>, tensor<{element}>) -> tensor<2x{element}>
      %2 = stablehlo.reduce(%y init: %one) applies stablehlo.multiply across dimensions = [0]
        : (tensor<4x3x{element}>, tensor<{element}>) -> tensor<3x{element}>
      %3 = stablehlo.convert %0 : (tensor<2x3x{element}>) -> tensor<2x3xi32>
      %4 = stablehlo.convert %1 : (tensor<2x{element}>) -> tensor<2xi32>
      %5 = stablehlo.convert %2 : (tensor<3x{element}>) -> tensor<3xi32>
      return %3, %4, %5 : tensor<2x3xi32>, tensor<2xi32>, tensor<3xi32> }}"""
    x = (np.arange(8, dtype=np.int32).reshape(2, 4) + 16) * (limit // 64)  # of few digits, as the matrix unit reads
    y = np.array([[3, 1, 2], [5, 7, 3], [9, 11, 13], [7, 5, 3]], np.int32)
    assert_same_bits(text, x, y, numerics=numerics, optimization_level=0)


def test_factors_whose_product_loses_digits_stay_apart() -> None:
    text = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %a = stablehlo.constant dense<1.0e-30> : tensor<4xf32>
      %b = stablehlo.constant dense<1.0e-15> : tensor<4xf32>
      %0 = stablehlo.multiply %x, %a : tensor<4xf32>
      %1 = stablehlo.multiply %0, %b : tensor<4xf32>
      return %1 : tensor<4xf32> }"""
    x = np.array([1e20, -3e20, 7e25, 0.0], np.float32)
    (result,) = on_card(parse_module(text), (x,), optimization_level=2)
    np.testing.assert_allclose(result, interpreted(text, x)[0], rtol=1e-2)


@pytest.mark.parametrize("level", [0, 2])
def test_the_sign_of_a_zero_is_that_zero(level: int) -> None:
    text = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = stablehlo.sign %x : tensor<4xf32>
      return %0 : tensor<4xf32> }"""
    x = np.array([-0.0, 0.0, -2.5, np.nan], np.float32)
    assert_same_bits(text, x, numerics="exact", optimization_level=level)


@pytest.mark.parametrize("element", ["ui8", "ui16", "i8", "i16"])
def test_ranges_wrap_at_the_width_of_narrow_integers(element: str) -> None:
    text = f"""func.func @main(%x: tensor<4xi32>) -> (tensor<4xi1>, tensor<4xi1>) {{
      %two = stablehlo.constant dense<2> : tensor<4xi32>
      %one = stablehlo.constant dense<1> : tensor<4x{element}>
      %s = stablehlo.sign %x : tensor<4xi32>
      %u = stablehlo.convert %s : (tensor<4xi32>) -> tensor<4x{element}>
      %w = stablehlo.convert %u : (tensor<4x{element}>) -> tensor<4xi32>
      %0 = stablehlo.compare LT, %w, %two : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
      %d = stablehlo.subtract %u, %one : tensor<4x{element}>
      %e = stablehlo.convert %d : (tensor<4x{element}>) -> tensor<4xi32>
      %1 = stablehlo.compare LT, %e, %two : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
      return %0, %1 : tensor<4xi1>, tensor<4xi1> }}"""
    assert_same_bits(text, np.array([-5, 0, 7, 300], np.int32), numerics="exact")


def test_terms_of_unsigned_sums_join_modulo_their_width() -> None:
    text = """func.func @main() -> tensor<4xui32> {
      %x = stablehlo.constant dense<[0, 1, 2, 4294967295]> : tensor<4xui32>
      %a = stablehlo.constant dense<3> : tensor<4xui32>
      %b = stablehlo.constant dense<5> : tensor<4xui32>
      %0 = stablehlo.subtract %x, %b : tensor<4xui32>
      %1 = stablehlo.add %0, %a : tensor<4xui32>
      return %1 : tensor<4xui32> }"""
    assert_same_bits(text)


X = np.array([1e30, 3e-39, 1.0, -1.0, 0.0, -0.0, np.inf, -np.inf, np.nan, 0.1, 7.7, -1e-30], np.float32)
Y = np.array([1e10, 3e-5, 3.0, -7.0, -0.0, 0.0, np.inf, np.inf, 1.0, 0.7, 1e-20, 1e-10], np.float32)
S = np.float32(0.3) * np.ones((), np.float32)

ARITHMETIC: dict[str, Callable[..., Any]] = {
    "product_by_factors": lambda x, y, s: (x * 1e20) * 1e-20,
    "quotient_of_quotient": lambda x, y, s: (x / 3) / 7,
    "quotient_of_product": lambda x, y, s: (x * 3) / 7,
    "negative_by_factor": lambda x, y, s: (-x) * 3,
    "negative_of_product": lambda x, y, s: -(x * 3),
    "negative_of_negative": lambda x, y, s: jnp.negative(-x),
    "minus_one": lambda x, y, s: x * -1,
    "scalar_factors": lambda x, y, s: (x * s) * (s + 1),
    "plus_zero": lambda x, y, s: x + 0.0,
    "zero_plus": lambda x, y, s: 0.0 + x,
    "minus_negative_zero": lambda x, y, s: x - jnp.float32(-0.0),
    "minus_zero": lambda x, y, s: x - 0.0,
    "plus_negative": lambda x, y, s: x + -y,
    "terms": lambda x, y, s: (x + 1e8) - 1e8,
    "by_one": lambda x, y, s: (x * 1.0) / 1.0,
    "moved_product": lambda x, y, s: (x * 0.1).reshape(3, 4).T * 10,
    "one_over": lambda x, y, s: 1 / x,
    "root_of_reciprocal": lambda x, y, s: 1 / jnp.sqrt(jnp.abs(x)),
    "over_root": lambda x, y, s: y / jnp.sqrt(jnp.abs(x)),
    "sum_of_one": lambda x, y, s: x.reshape(12, 1).sum(1),
    "sum_of_repeated": lambda x, y, s: jnp.broadcast_to(x[:, None], (12, 3)).sum(1),
    "mean_of_three": lambda x, y, s: jnp.broadcast_to(x[:, None], (12, 3)).sum(1) / 3,
    "through_integers": lambda x, y, s: (
        jnp.where(jnp.abs(x) < 2, -jnp.floor(jnp.abs(x)), 0).astype(int).astype(x.dtype)
    ),
    "constants": lambda x, y, s: x * (jnp.float32(1e30) * jnp.float32(1e-30) + jnp.sqrt(jnp.float32(2)) / 3),
}


@pytest.mark.parametrize("level", [0, 1, 2])
@pytest.mark.parametrize("name", ARITHMETIC)
def test_exact_arithmetic_is_ieee_754(name: str, level: int) -> None:
    """Results have the interpreter's bits: no factor moves, no quotient becomes a product, no zero loses its sign."""
    text = str(jax.jit(ARITHMETIC[name], keep_unused=True).lower(X, Y, S).compiler_ir("stablehlo"))
    assert_same_bits(text, X, Y, S, numerics="exact", optimization_level=level)
