"""Sizes that are expressions of symbols: their bounds, their capacities, and their values in a running program."""

from __future__ import annotations

import ast
import functools
import math
import operator
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from jax.export import is_symbolic_dim

from tt_xla.errors import UnsupportedOpError

Size = Any
"""An int, an expression of JAX's symbolic dimensions, or the text of one."""

_OPERATORS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Pow: operator.pow,
}


def step_capacity(size: int, least: int = 1, *, half_steps: bool = False) -> int:
    """Returns the capacity for a size: the least power of two that holds it.

    Args:
        size: the size.
        least: the smallest capacity.
        half_steps: whether 1.5 times a power of two is a capacity too.
    """
    power = max(1 << max(size - 1, 0).bit_length(), least)
    return power * 3 // 4 if half_steps and power > max(least, 2) and size <= power * 3 // 4 else power


@functools.lru_cache(maxsize=4096)
def _parsed(text: str) -> ast.expr:
    """Returns the syntax tree of an expression as JAX prints it, such as ``2*b + floordiv(s, 4) - 1``."""
    return ast.parse(text.replace("^", "**"), mode="eval").body


def symbols_of(size: Size) -> set[str]:
    """Returns the names of the symbols in a size."""
    if not _is_expression(size):
        return set()
    nodes = list(ast.walk(_parsed(str(size))))
    functions = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
    return {node.id for node in nodes if isinstance(node, ast.Name) and id(node) not in functions}


def value_of(size: Size, symbols: Mapping[str, Any], functions: Mapping[str, Callable[..., Any]]) -> Any:
    """Returns the value of a size.

    Args:
        size: the size.
        symbols: values of the symbols.
        functions: the functions ``floordiv``, ``mod``, ``max`` and ``min`` of such values.
    """
    return _evaluated(_parsed(str(size)), symbols, functions) if _is_expression(size) else int(size)


def _is_expression(size: Size) -> bool:
    return isinstance(size, str) or is_symbolic_dim(size)


def _evaluated(node: ast.expr, symbols: Mapping[str, Any], functions: Mapping[str, Callable[..., Any]]) -> Any:
    recurse = functools.partial(_evaluated, symbols=symbols, functions=functions)
    match node:
        case ast.Constant(value=int(value)):
            return value
        case ast.Name(id=name):
            return symbols[name]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return recurse(operand) * -1
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            return _OPERATORS[type(op)](recurse(left), recurse(right))
        case ast.Call(func=ast.Name(id=name), args=args) if name in functions:
            return functions[name](*map(recurse, args))
        case _:
            raise UnsupportedOpError(f"A size has the operation {ast.unparse(node)}, for which there is no rule.")


class _Interval(tuple[int, int]):
    """Least and greatest value of an integer."""

    def __new__(cls, low: int, high: int) -> _Interval:
        return super().__new__(cls, (low, high))

    def _combined(self, other: Any, function: Callable[[int, int], int]) -> _Interval:
        other = other if isinstance(other, _Interval) else _Interval(other, other)
        ends = [function(a, b) for a in self for b in other]
        return _Interval(min(ends), max(ends))

    def __add__(self, other: Any) -> _Interval:
        return self._combined(other, operator.add)

    def __sub__(self, other: Any) -> _Interval:
        return self._combined(other, operator.sub)

    def __mul__(self, other: Any) -> _Interval:
        return self._combined(other, operator.mul)

    def __pow__(self, exponent: int) -> _Interval:
        return self._combined(exponent, operator.pow)

    __radd__, __rmul__ = __add__, __mul__

    def __rsub__(self, other: int) -> _Interval:
        return _Interval(other, other) - self


def _divided(dividend: Any, divisor: Any) -> Any:
    if not isinstance(dividend, _Interval) and not isinstance(divisor, _Interval):
        return dividend // divisor
    dividend = dividend if isinstance(dividend, _Interval) else _Interval(dividend, dividend)
    low, high = divisor if isinstance(divisor, _Interval) else (divisor, divisor)
    if high <= 0:
        raise UnsupportedOpError("A size is divided by one that is not positive.")
    low = max(low, 1)  # no size is divided by 0
    return dividend._combined(_Interval(low, high), operator.floordiv)


def _remainder(dividend: Any, divisor: Any) -> Any:
    if not isinstance(dividend, _Interval) and not isinstance(divisor, _Interval):
        return dividend % divisor
    high = divisor[1] if isinstance(divisor, _Interval) else divisor
    return _Interval(0, max(high - 1, 0))


def _extreme(choose: Callable[..., int]) -> Callable[[Any, Any], Any]:
    def chosen(first: Any, second: Any) -> Any:
        if not isinstance(first, _Interval) and not isinstance(second, _Interval):
            return choose(first, second)
        first = first if isinstance(first, _Interval) else _Interval(first, first)
        return first._combined(second, choose)

    return chosen


_OF_INTERVALS: dict[str, Callable[..., Any]] = {
    "floordiv": _divided,
    "mod": _remainder,
    "max": _extreme(max),
    "min": _extreme(min),
    "non_negative": lambda value: _extreme(max)(value, 0),
}
_OF_INTEGERS: dict[str, Callable[..., Any]] = {
    "floordiv": operator.floordiv,
    "mod": operator.mod,
    "max": max,
    "min": min,
    "non_negative": lambda value: max(value, 0),
}
_OF_ARRAYS: dict[str, Callable[..., Any]] = {
    "floordiv": lambda dividend, divisor: dividend // np.maximum(divisor, 1),
    "mod": lambda dividend, divisor: dividend % np.maximum(divisor, 1),
    "max": np.maximum,
    "min": np.minimum,
    "non_negative": lambda value: np.maximum(value, 0),
}

_MAX_POINTS = 1 << 20
"""Number of values of symbols for which a size is computed to find its greatest value."""


def _divides_by_symbols(size: Size) -> bool:
    """Returns whether a size has a divisor that is no number, for which the bounds of intervals are far too wide."""
    return any(
        node.func.id == "floordiv" and not isinstance(node.args[1], ast.Constant)
        for node in ast.walk(_parsed(str(size)))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    )


def integer_value(size: Size, symbols: Mapping[str, int]) -> int:
    """Returns a size for some values of the symbols."""
    return value_of(size, symbols, _OF_INTEGERS)


def always_equal(first: Size, second: Size) -> bool:
    """Returns whether two sizes are equal for many values of the symbols, and so, as sums and quotients, for all."""
    names = sorted(symbols_of(first) | symbols_of(second))
    for sample in range(2, 130):
        values = {name: sample * (5 * number + 1) + 7 * number for number, name in enumerate(names)}
        if integer_value(first, values) != integer_value(second, values):
            return False
    return True


def equation(first: Size, second: Size) -> str | None:
    """Returns an equation by which JAX takes one size for another, as ``floordiv(s, 8) == floordiv(s + 8, 8) - 1``.

    JAX replaces a single term, so one of the sizes must have a quotient, remainder or extreme that is multiplied by
    nothing, or be a multiple of a quotient that is the other one.

    Returns:
        The equation; None if there is no such term.
    """
    for size, other in ((first, second), (second, first)):
        match _parsed(str(size)):
            case ast.BinOp(
                left=ast.Constant(value=factor),
                op=ast.Mult(),
                right=ast.Call(func=ast.Name(id="floordiv"), args=[dividend, ast.Constant(value=divisor)]),
            ) if factor == divisor and ast.unparse(dividend) == ast.unparse(_parsed(str(other))):
                return f"mod({ast.unparse(dividend)}, {divisor}) == 0"
        terms = _terms(_parsed(str(size)))
        for index, (sign, term) in enumerate(terms):
            if isinstance(term, ast.Call):
                rest = [(-sign * each, node) for each, node in terms[:index] + terms[index + 1 :]]
                rest = [(sign * each, node) for each, node in _terms(_parsed(str(other)))] + rest
                text = " ".join(f"{'+' if each > 0 else '-'} {ast.unparse(node)}" for each, node in rest)
                return f"{ast.unparse(term)} == {text.removeprefix('+ ')}".replace("**", "^")
    return None


def _terms(node: ast.expr, sign: int = 1) -> list[tuple[int, ast.expr]]:
    """Returns the terms of a sum with their signs."""
    match node:
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _terms(left, sign) + _terms(right, sign)
        case ast.BinOp(left=left, op=ast.Sub(), right=right):
            return _terms(left, sign) + _terms(right, -sign)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return _terms(operand, -sign)
        case _:
            return [(sign, node)]


def offsets(sizes: Iterable[Size]) -> dict[str, int]:
    """Returns by which positive numbers sizes exceed each symbol: 1 for ``s`` if ``s + 1`` is among them."""
    found: dict[str, int] = {}
    for size in sizes:
        match _parsed(str(size)) if is_symbolic_dim(size) else None:
            case ast.BinOp(left=ast.Name(id=name), op=ast.Add(), right=ast.Constant(value=int(value))):
                found[name] = max(found.get(name, 0), value)
    return found


class Capacities:
    """Capacities of all sizes of a program.

    Args:
        symbols: capacity of each symbol. A symbol, and each sum of it and a number of ``offsets``, is at most that.
        offsets: greatest number that a size of the program adds to a symbol (:func:`offsets`).
    """

    def __init__(self, symbols: Mapping[str, int], offsets: Mapping[str, int]) -> None:
        self.symbols = dict(symbols)
        self._offsets = dict(offsets)
        self._known: dict[str, int] = {}

    def __getitem__(self, size: Size) -> int:
        """Returns how many elements a dimension of a size takes. A size of numbers alone is its own capacity."""
        if not is_symbolic_dim(size):
            return int(size)
        text = str(size)
        if text not in self._known:
            self._known[text] = self._of(size)
        return self._known[text]

    def _of(self, size: Size) -> int:
        match _parsed(str(size)):
            case ast.BinOp(left=ast.Name(id=name), op=ast.Add(), right=ast.Constant()):
                return self.symbols[name]
        names = symbols_of(size)
        if _divides_by_symbols(size) and math.prod(self.symbols[name] for name in names) <= _MAX_POINTS:
            axes = np.meshgrid(*(np.arange(1, self.symbols[name] + 1) for name in names), indexing="ij", sparse=True)
            return max(int(np.max(value_of(size, dict(zip(names, axes, strict=True)), _OF_ARRAYS))), 1)
        intervals = {name: _Interval(0, self.symbols[name]) for name in names}
        found = value_of(size, intervals, _OF_INTERVALS)
        return max(found[1] if isinstance(found, _Interval) else found, 1)


__all__ = [
    "Capacities",
    "Size",
    "always_equal",
    "equation",
    "integer_value",
    "offsets",
    "step_capacity",
    "symbols_of",
    "value_of",
]
