"""Integers that are known while importing: loop counters, and what is computed from them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

from jaxlib.mlir.dialects import stablehlo


def _divide(a: int, b: int) -> int | None:
    """Towards zero."""
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1) if b else None


def _remainder(a: int, b: int) -> int | None:
    """With the sign of ``a``."""
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


def is_integer_scalar(type_: Any) -> bool:
    return getattr(type_, "rank", -1) == 0 and str(type_.element_type).startswith(("i", "ui"))


def compute(op: Any, operands: list[int]) -> int | None:
    """The result of an op on known integers, in the range of its type; None where the op is of another kind."""
    name = op.operation.name
    if name == "stablehlo.compare":
        direction = stablehlo.ComparisonDirectionAttr(op.attributes["comparison_direction"]).value
        return int(_COMPARISONS[direction](*operands))
    if name == "stablehlo.not":
        (value,) = operands
        return wrap(~value, str(op.results[0].type.element_type))
    function = _OPS.get(name)
    found = None if function is None else function(*operands)
    return None if found is None else wrap(found, str(op.results[0].type.element_type))


def wrap(value: int, element: str) -> int:
    """An integer as its StableHLO type holds it."""
    if element == "i1":
        return value & 1
    bits = int(element.lstrip("ui"))
    value &= (1 << bits) - 1
    return value - (1 << bits) if not element.startswith("u") and value >> (bits - 1) else value


def evaluate(value: Any, known: Mapping[Any, int], memo: dict[Any, int | None]) -> int | None:
    """A scalar of a block as a number, from the known arguments of the block; None when it depends on anything else."""
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
        return int(op.attributes["value"].get_splat_value().value)
    if len(op.operation.regions) or not all(is_integer_scalar(operand.type) for operand in op.operands):
        return None
    operands: list[int] = []
    for operand in op.operands:
        found = evaluate(operand, known, memo)
        if found is None:
            return None
        operands.append(found)
    return compute(op, operands)
