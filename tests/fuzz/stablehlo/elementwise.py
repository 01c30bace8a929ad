"""Drawers of ops on elements: functions, arithmetic, comparisons, selections and conversions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tests.fuzz.stablehlo.builder import ANY, NONZERO, POSITIVE, UNIT, Builder, Elements
from tests.fuzz.stablehlo.drawers import draws
from tests.fuzz.stablehlo.types import (
    BOOL,
    COMPLEX,
    FLOATS,
    INTEGERS,
    NARROW_FLOATS,
    REAL,
    SIGNED,
    UNSIGNED,
    Value,
    bits,
    is_float,
    is_integer,
    longs,
    numpy_type,
)

Groups = tuple[Sequence[str], ...]

UNARY: dict[Groups, tuple[str, ...]] = {
    (SIGNED, FLOATS): ("stablehlo.sign",),
    (SIGNED, UNSIGNED, FLOATS, COMPLEX): ("stablehlo.negate",),
    (FLOATS,): (
        *("stablehlo.ceil", "stablehlo.floor", "stablehlo.round_nearest_afz", "stablehlo.round_nearest_even"),
        *("chlo.bessel_i1e", "chlo.digamma", "chlo.erf", "chlo.erf_inv", "chlo.erfc", "chlo.lgamma"),
    ),
    (FLOATS, COMPLEX): (
        *("stablehlo.cbrt", "stablehlo.cosine", "stablehlo.exponential", "stablehlo.exponential_minus_one"),
        *("stablehlo.log", "stablehlo.log_plus_one", "stablehlo.logistic", "stablehlo.rsqrt", "stablehlo.sine"),
        *("stablehlo.sqrt", "stablehlo.tan", "stablehlo.tanh", "chlo.acos", "chlo.acosh", "chlo.asin"),
        *("chlo.asinh", "chlo.atan", "chlo.atanh", "chlo.cosh", "chlo.sinh", "chlo.square"),
    ),
    (COMPLEX,): ("chlo.conj",),
    (BOOL, SIGNED, UNSIGNED): ("stablehlo.not",),
    (SIGNED, UNSIGNED): ("stablehlo.popcnt", "stablehlo.count_leading_zeros"),
}
"""Ops of one operand whose result has the operand's type, by the groups of types that StableHLO declares for them."""

PREDICATES = ("stablehlo.is_finite", "chlo.is_inf", "chlo.is_neg_inf", "chlo.is_pos_inf")

DOMAINS: dict[str, Elements] = {
    **dict.fromkeys(("stablehlo.log", "stablehlo.sqrt", "stablehlo.rsqrt", "chlo.digamma", "chlo.lgamma"), POSITIVE),
    **dict.fromkeys(("chlo.acos", "chlo.asin", "chlo.atanh", "chlo.erf_inv", "stablehlo.log_plus_one"), UNIT),
    "chlo.acosh": Elements(low=1, high=50),
}
"""Where functions of a part of the numbers are defined."""


@draws(*(name for names in UNARY.values() for name in names))
def unary(b: Builder, name: str) -> Value:
    groups = next(groups for groups, names in UNARY.items() if name in names)
    element = b.element(*groups)
    shape = b.shape()
    domain = DOMAINS.get(name, ANY) if b.chance(0.7) else ANY
    return b.one(name, [b.operand(shape, element, domain)], shape, element)


@draws("stablehlo.abs")
def absolute(b: Builder, name: str) -> Value:
    element, shape = b.element(SIGNED, FLOATS, COMPLEX), b.shape()
    result = element.removeprefix("complex<").removesuffix(">")
    return b.one(name, [b.operand(shape, element)], shape, result)


@draws(*PREDICATES)
def predicate(b: Builder, name: str) -> Value:
    element, shape = b.element(FLOATS), b.shape()
    return b.one(name, [b.operand(shape, element)], shape, "i1")


BINARY: dict[Groups, tuple[str, ...]] = {
    (BOOL, INTEGERS, FLOATS, COMPLEX): ("add", "multiply", "maximum", "minimum"),
    (INTEGERS, FLOATS, COMPLEX): ("divide", "power", "subtract"),
    (INTEGERS, FLOATS): ("remainder",),  # XLA's CPU client ends the process for complex numbers
    (FLOATS, COMPLEX): ("atan2",),
    (BOOL, INTEGERS): ("and", "or", "xor"),
    (INTEGERS,): ("shift_left", "shift_right_arithmetic", "shift_right_logical"),
    (FLOATS,): ("next_after", "polygamma", "zeta"),
}
"""Ops of two operands, by the groups of types that StableHLO declares for them."""

_CHLO_ONLY = ("next_after", "polygamma", "zeta")
_NAMES = [name for names in BINARY.values() for name in names]


def operands_of(b: Builder, name: str, element: str, shapes: Sequence[Sequence[int]]) -> list[Value]:
    """Returns two drawn operands for which an op of two operands is mostly defined."""
    first, second = ANY, ANY
    if name in ("divide", "remainder") and b.chance(0.7):
        second = NONZERO
    if name == "power":
        first = POSITIVE if is_float(element) and b.chance(0.7) else ANY
        second = Elements(low=0, high=4) if is_integer(element) and b.chance(0.8) else ANY
    if name.startswith("shift") and b.chance(0.7):
        second = Elements(low=0, high=bits(element) - 1)
    if name == "polygamma":
        first, second = Elements(low=0, high=3), POSITIVE
    if name == "zeta":
        first, second = Elements(low=1.125, high=8), POSITIVE
    same = shapes[0] == shapes[1] and first == second and b.chance(0.1)
    one = b.operand(shapes[0], element, first)
    return [one, one if same else b.operand(shapes[1], element, second)]


def binary_element(b: Builder, name: str) -> str:
    return b.element(*next(groups for groups, names in BINARY.items() if name in names))


@draws(*(f"{'chlo' if name in _CHLO_ONLY else 'stablehlo'}.{name}" for name in _NAMES))
def binary(b: Builder, name: str) -> Value:
    kind = name.partition(".")[2]
    element, shape = binary_element(b, kind), b.shape()
    return b.one(name, operands_of(b, kind, element, [shape, shape]), shape, element)


def broadcast_shapes(b: Builder) -> tuple[list[tuple[int, ...]], tuple[int, ...], str]:
    """Returns the shapes of two operands that CHLO broadcasts, the result's, and the attribute that says how."""
    shape = b.shape()
    rank = len(shape)
    if b.chance(0.3) and rank > 1:
        first = b.random.randint(1, rank)  # XLA takes no other dimensions than the last ones
        dims = list(range(first, rank))
        small = tuple(shape[dim] for dim in dims)
        shapes = [shape, small] if b.chance(0.5) else [small, shape]
        return shapes, shape, f"broadcast_dimensions = {longs(dims)}"
    shapes: list[tuple[int, ...]] = []
    for _ in range(2):
        sizes = [1 if b.chance(0.25) else size for size in shape]
        shapes.append(tuple(sizes[b.random.randint(0, rank) if b.chance(0.25) else 0 :]))
    if b.chance(0.5):
        shapes[1] = shape
    ranks = max(map(len, shapes))
    padded = [(1,) * (ranks - len(one)) + one for one in shapes]
    result = tuple(second if first == 1 else first for first, second in zip(*padded, strict=True))
    return shapes, result, ""


@draws(*(f"chlo.broadcast_{name}" for name in _NAMES))
def broadcasting(b: Builder, name: str) -> Value:
    kind = name.removeprefix("chlo.broadcast_")
    element = binary_element(b, kind)
    if kind == "add" and element in BOOL:
        element = "f32"  # XLA may take the low bit of a sum of booleans
    shapes, result, attributes = broadcast_shapes(b)
    return b.one(name, operands_of(b, kind, element, shapes), result, element, attributes)


DIRECTIONS = ("EQ", "NE", "LT", "LE", "GT", "GE")


def _comparison(b: Builder, dialect: str, element: str) -> str:
    """Returns the attributes of a comparison."""
    directions = DIRECTIONS[:2] if element in COMPLEX else DIRECTIONS
    text = f"comparison_direction = #{dialect}<comparison_direction {b.random.choice(directions)}>"
    if b.chance(0.5):
        return text
    signed = "UNSIGNED" if element in UNSIGNED + BOOL else "SIGNED"
    kind = "FLOAT" if element in COMPLEX else signed
    if is_float(element):
        kind = b.random.choice(("FLOAT", "FLOAT", "TOTALORDER"))
    return f"{text}, compare_type = #{dialect}<comparison_type {kind}>"


@draws("stablehlo.compare")
def compare(b: Builder, name: str) -> Value:
    element, shape = b.element(REAL, COMPLEX, NARROW_FLOATS[:2]), b.shape()
    operands = operands_of(b, "compare", element, [shape, shape])
    return b.one(name, operands, shape, "i1", _comparison(b, "stablehlo", element))


@draws("chlo.broadcast_compare")
def broadcast_compare(b: Builder, name: str) -> Value:
    element = b.element(REAL, COMPLEX)
    shapes, result, attributes = broadcast_shapes(b)
    operands = operands_of(b, "compare", element, shapes)
    return b.one(name, operands, result, "i1", ", ".join(filter(None, [attributes, _comparison(b, "chlo", element)])))


@draws("stablehlo.select")
def select(b: Builder, name: str) -> Value:
    element, shape = b.element(REAL, COMPLEX, NARROW_FLOATS), b.shape()
    mask = b.operand(() if b.chance(0.2) else shape, "i1")
    return b.one(name, [mask, b.operand(shape, element), b.operand(shape, element)], shape, element)


@draws("chlo.broadcast_select")
def broadcast_select(b: Builder, name: str) -> Value:
    element = b.element(REAL, COMPLEX)
    shapes, result, _ = broadcast_shapes(b)
    sizes = [1 if b.chance(0.3) else size for size in result]
    mask = b.operand(() if b.chance(0.2) else tuple(sizes), "i1")
    whole = [b.operand(result, element), b.operand(result, element)]
    if b.chance(0.5) and any(shape == result for shape in shapes):
        whole = [b.operand(shape, element) for shape in shapes]
    return b.one(name, [mask, *whole], result, element)


@draws("stablehlo.clamp")
def clamp(b: Builder, name: str) -> Value:
    element, shape = b.element(INTEGERS, FLOATS), b.shape()
    bounds = [b.operand(() if b.chance(0.5) else shape, element) for _ in range(2)]
    return b.one(name, [bounds[0], b.operand(shape, element), bounds[1]], shape, element)


@draws("stablehlo.convert")
def convert(b: Builder, name: str) -> Value:
    element, shape = b.element(REAL, COMPLEX, NARROW_FLOATS), b.shape()
    result = b.element(COMPLEX) if element in COMPLEX else b.element(REAL, COMPLEX, NARROW_FLOATS)
    return b.one(name, [b.operand(shape, element)], shape, result)


@draws("stablehlo.reduce_precision")
def reduce_precision(b: Builder, name: str) -> Value:
    element, shape = b.element(FLOATS), b.shape()
    exponent, mantissa = b.random.choice(((5, 10), (8, 7), (8, 23), (4, 3), (5, 2), (11, 52), (2, 1), (8, 0)))
    attributes = f"exponent_bits = {exponent} : i32, mantissa_bits = {mantissa} : i32"
    return b.one(name, [b.operand(shape, element)], shape, element, attributes)


@draws("stablehlo.bitcast_convert")
def bitcast_convert(b: Builder, name: str) -> Value:
    """Draws types of as many bits, or of more or fewer ones: then a dimension appears or goes."""
    element, shape = b.element(INTEGERS, FLOATS, NARROW_FLOATS), b.shape()
    result = b.element(INTEGERS, FLOATS, NARROW_FLOATS)
    if b.chance(0.6):
        result = b.element([one for one in (*INTEGERS, *FLOATS, *NARROW_FLOATS) if bits(one) == bits(element)])
    width, new = bits(element), bits(result)
    before, after = shape, shape
    if width > new:
        before, after = shape[:3], (*shape[:3], width // new)
    elif width < new:
        before, after = (*shape[:3], new // width), shape[:3]
    if is_float(result) and width >= 8 and new >= 8:
        # The bits of ordinary floats: where XLA computes with denormals, it takes them for zeros.
        array = b.array(after, result)
        array = array.view(numpy_type(element)) if width == new else _regrouped(array, numpy_type(element), before)
        return b.one(name, [b.given(array, element)], after, result)
    return b.one(name, [b.operand(before, element)], after, result)


def _regrouped(array: np.ndarray, dtype: np.dtype, shape: Sequence[int]) -> np.ndarray:
    """Returns the bytes of an array as elements of another type."""
    return np.frombuffer(np.ascontiguousarray(array).tobytes(), dtype).reshape(shape).copy()
