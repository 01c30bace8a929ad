"""Arithmetic of integer scalars that are known during the import: loop counters, and values computed from them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

from jaxlib.mlir.dialects import stablehlo


def _divide(a: int, b: int) -> int | None:
    """Divides towards zero; None for division by 0."""
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1) if b else None


def _remainder(a: int, b: int) -> int | None:
    """Returns the remainder with the sign of ``a``; None for division by 0."""
    quotient = _divide(a, b)
    return None if quotient is None else a - b * quotient


def _clamp(low: int, x: int, high: int) -> int:
    return min(max(x, low), high)


def _same(x: int) -> int:
    return x


def _select(predicate: int, chosen: int, other: int) -> int:
    return chosen if predicate else other


def _sign(x: int) -> int:
    return (x > 0) - (x < 0)


_COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "EQ": operator.eq,
    "NE": operator.ne,
    "LT": operator.lt,
    "LE": operator.le,
    "GT": operator.gt,
    "GE": operator.ge,
}

_OPS: dict[str, Callable[..., Any]] = {
    "stablehlo.add": operator.add,
    "stablehlo.and": operator.and_,
    "stablehlo.clamp": _clamp,
    "stablehlo.convert": _same,
    "stablehlo.divide": _divide,
    "stablehlo.maximum": max,
    "stablehlo.minimum": min,
    "stablehlo.multiply": operator.mul,
    "stablehlo.negate": operator.neg,
    "stablehlo.or": operator.or_,
    "stablehlo.remainder": _remainder,
    "stablehlo.reshape": _same,
    "stablehlo.select": _select,
    "stablehlo.sign": _sign,
    "stablehlo.subtract": operator.sub,
    "stablehlo.xor": operator.xor,
}


_BOOLEAN_OPS: dict[str, Callable[..., Any]] = _OPS | {"stablehlo.add": operator.or_, "stablehlo.convert": bool}
"""Functions of ops with a boolean result: their sum is their or, and every number but 0 converts to true."""


def is_integer_scalar(type_: Any) -> bool:
    """Whether a StableHLO type is a tensor of rank 0 with elements of an integer type or ``i1``."""
    return getattr(type_, "rank", -1) == 0 and str(type_.element_type).startswith(("i", "ui"))


def compute(op: Any, operands: list[int]) -> int | None:
    """Computes an op on known integers.

    Returns:
        The result in the range of its type, or None if the op is of another kind or divides by 0.
    """
    name, element = op.operation.name, str(op.results[0].type.element_type)
    if name == "stablehlo.compare":
        direction = stablehlo.ComparisonDirectionAttr(op.attributes["comparison_direction"]).value
        return int(_COMPARISONS[direction](*operands))
    if name == "stablehlo.not":
        (value,) = operands
        return wrap(~value, element)
    function = (_BOOLEAN_OPS if element == "i1" else _OPS).get(name)
    result = None if function is None else function(*operands)
    return None if result is None else wrap(result, element)


def wrap(value: int, element: str) -> int:
    """Returns an integer wrapped to the width and sign of a StableHLO element type."""
    if element == "i1":
        return value & 1
    bits = int(element.lstrip("ui"))
    value &= (1 << bits) - 1
    return value - (1 << bits) if not element.startswith("u") and value >> (bits - 1) else value


def limits(element: str) -> tuple[int, int]:
    """Returns the smallest and the largest integer of a StableHLO element type."""
    bits = int(element.lstrip("ui"))
    if element == "i1" or element.startswith("u"):
        return 0, (1 << bits) - 1
    return -(1 << bits - 1), (1 << bits - 1) - 1


def evaluate(value: Any, known: Mapping[Any, int], memo: dict[Any, int | None]) -> int | None:
    """Computes an integer scalar of a block.

    Args:
        value: the StableHLO value.
        known: integers by StableHLO value, such as arguments of the block.
        memo: results of earlier calls with the same ``known``; extended by this one.

    Returns:
        The integer, or None if it depends on anything that is not known.
    """
    if value in known:
        return known[value]
    if value not in memo:
        memo[value] = None
        memo[value] = _evaluate(value, known, memo)
    return memo[value]


def _evaluate(value: Any, known: Mapping[Any, int], memo: dict[Any, int | None]) -> int | None:
    op = value.owner
    if not hasattr(op, "operation") or not is_integer_scalar(value.type):
        return None
    if op.operation.name == "stablehlo.constant":
        return wrap(int(op.attributes["value"].get_splat_value().value), str(value.type.element_type))
    if len(op.operation.regions) or not all(is_integer_scalar(operand.type) for operand in op.operands):
        return None
    operands: list[int] = []
    for operand in op.operands:
        number = evaluate(operand, known, memo)
        if number is None:
            return None
        operands.append(number)
    return compute(op, operands)
