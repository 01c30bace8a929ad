"""Sizes that are symbols of an exported program: while such a program is lowered, they are symbols of JAX."""

from __future__ import annotations

import ast
import contextlib
import functools
import itertools
import math
import operator
import re
from collections.abc import Iterable, Iterator, Mapping
from contextvars import ContextVar
from fractions import Fraction
from typing import Any

import torch
from torch.fx.experimental.symbolic_shapes import statically_known_true

from tt_xla.errors import TTXLAError, UnsupportedOpError

_DIMENSIONS: ContextVar[Mapping[str, Any] | None] = ContextVar("_DIMENSIONS", default=None)
"""JAX's symbols by the names of PyTorch's, while a program with symbolic sizes is lowered."""


def _extreme(name: str) -> Any:
    def function(*operands: Any) -> Any:
        import jax

        return functools.reduce(getattr(jax.core, name), operands)

    return function


_FUNCTIONS: dict[str, Any] = {
    "FloorDiv": operator.floordiv,
    "CleanDiv": operator.floordiv,
    "CeilDiv": lambda dividend, divisor: -(-dividend // divisor),
    "Mod": operator.mod,
    "PythonMod": operator.mod,
    "Max": _extreme("max_dim"),
    "Min": _extreme("min_dim"),
}
"""Operators by the names of PyTorch's functions of sizes."""

_COMPARISONS = {"==": operator.eq, ">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt}

_OF_SYMBOLS: dict[str, Any] = {
    "floordiv": operator.floordiv,
    "mod": operator.mod,
    "max": torch.sym_max,
    "min": torch.sym_min,
    "non_negative": lambda size: torch.sym_max(size, 0),
}
"""JAX's functions of sizes for sizes of PyTorch."""

_MAX_FACTOR = 4096
"""Numerator and denominator of factors by which a float multiplies a size without rounding, up to sizes of 2**40."""

_MAX_FACTS = 64
"""Number of facts about the sizes of a graph, for each of which it is traced anew."""


def is_active() -> bool:
    """Returns whether a program with symbolic sizes is being lowered."""
    return _DIMENSIONS.get() is not None


class UndecidedError(TTXLAError):
    """Something about symbolic sizes that JAX cannot tell decides how a graph is lowered.

    Attributes:
        left: a size, as an expression of JAX's symbols or its text.
        comparison: ``==``, ``>=``, ``<=``, ``>``, ``<``; or ``number``, if the size has to be a number.
        right: the size to compare with; None for ``number``.
    """

    def __init__(self, message: str, left: Any, comparison: str, right: Any = None) -> None:
        super().__init__(message)
        self.left = left
        self.comparison = comparison
        self.right = right


_UNDECIDED = re.compile(r"Symbolic dimension comparison '(.+)' (>=|<=|>|<|==) '(.+)' is inconclusive")
_SHAPE = re.compile(r"\((?:[^()]|\([^()]*\))*,(?:[^()]|\([^()]*\))*\)")
_DIVISOR = re.compile(r"Possible division by 0 in division by (.+)")
_NO_NUMBER = re.compile(r"Symbolic dimension '(.+)' used in a context that requires a constant")


def undecided(error: Exception) -> UndecidedError | None:
    """Returns what JAX could not tell about sizes, by the message of its error; None for another error."""
    message = str(error).split("\n")[0]
    if found := _UNDECIDED.search(message):
        return UndecidedError(message, *found.groups())
    if found := _DIVISOR.search(message):
        return UndecidedError(message, found[1], ">=", 1)
    if found := _NO_NUMBER.search(message):
        return UndecidedError(message, found[1], "number")
    for first, second in itertools.pairwise(_shapes_in(message)):
        for left, right in zip(first, second, strict=False):
            if left != right and len(first) == len(second):
                return UndecidedError(message, left, "==", right)
    return None


def _shapes_in(message: str) -> list[tuple[str, ...]]:
    """Returns the shapes in a message, as in ``select cases must have the same shapes, got [(s, 3), (t, 3)]``."""
    found = []
    for text in _SHAPE.findall(message):
        with contextlib.suppress(SyntaxError):
            match ast.parse(text.replace("^", "**"), mode="eval").body:
                case ast.Tuple(elts=sizes):
                    found.append(tuple(ast.unparse(size) for size in sizes))
    return found


class Facts:
    """Collects what JAX is told about the sizes of a graph beyond the range of each.

    A fact holds for all sizes, or PyTorch calls the graph only with sizes for which it holds; where nothing else says
    so, a guard is added for it.

    Args:
        sizes: the sizes of the graph's inputs.

    Attributes:
        constraints: equations and inequalities in JAX's syntax.
    """

    def __init__(self, sizes: Iterable[torch.SymInt]) -> None:
        self._symbols = {str(size.node.expr): size for size in sizes if size.node.expr.is_Symbol}
        self._count = 0
        self.constraints: list[str] = []

    def settle(self, question: UndecidedError) -> bool:
        """Returns whether the next trace may find the answer to a question, which it has for the traced sizes."""
        from tt_xla.frontends.capacity.sizes import always_equal, equation, symbols_of, value_of

        self._count += 1
        if self._count > _MAX_FACTS:
            return False
        left, comparison, right = question.left, question.comparison, question.right
        names = symbols_of(left) | (set() if right is None else symbols_of(right))
        if not names <= self._symbols.keys():
            return False
        if comparison == "number":
            return all(self._holds(self._symbols[name] == hint(self._symbols[name])) for name in names)
        if comparison != "==" or not always_equal(left, right):
            values = [value_of(size, self._symbols, _OF_SYMBOLS) for size in (left, right)]
            if not self._holds(_COMPARISONS[comparison](*values)):
                return False
        text = equation(left, right) if comparison == "==" else _inequality(left, comparison, right)
        if text is None:  # unless the guard made a number of a symbol
            return not all(self._symbols[name].node.expr.is_Symbol for name in names)
        if text in self.constraints:
            return False
        self.constraints.append(text)
        return True

    def _holds(self, condition: Any) -> bool:
        """Returns whether a condition holds for all sizes with which PyTorch will call the graph."""
        if isinstance(condition, bool) or statically_known_true(condition):
            return bool(condition)
        return bool(condition.node.hint) and not condition.node.shape_env.frozen and bool(condition)


def _inequality(left: Any, comparison: str, right: Any) -> str:
    if comparison in ("<", "<="):
        left, right = right, left
    return f"{left} >= {right}" + (" + 1" if comparison in ("<", ">") else "")


@contextlib.contextmanager
def symbols(sizes: Iterable[torch.SymInt], ranges: Mapping[Any, Any], facts: Iterable[str] = ()) -> Iterator[None]:
    """Context manager in which symbolic sizes stay symbolic.

    Args:
        sizes: sizes of inputs, each a symbol or an expression of symbols.
        ranges: for symbols, their least and greatest values (``ExportedProgram.range_constraints``).
        facts: equations and inequalities between expressions, in JAX's syntax.
    """
    found = sorted({symbol for size in sizes for symbol in size.node.expr.free_symbols}, key=str)
    if not found:
        yield
        return
    import jax.export

    constraints: list[str] = []
    for symbol in found:
        bounds = ranges.get(symbol)
        if bounds is not None and bounds.lower.is_Integer and bounds.lower > 1:  # JAX assumes that sizes are not 0
            constraints.append(f"{symbol} >= {bounds.lower}")
        if bounds is not None and bounds.upper.is_Integer:
            constraints.append(f"{symbol} <= {int(bounds.upper)}")
    constraints += facts
    dims = jax.export.symbolic_shape(", ".join(map(str, found)), constraints=constraints)
    token = _DIMENSIONS.set({str(symbol): dim for symbol, dim in zip(found, dims, strict=True)})
    try:
        yield
    finally:
        _DIMENSIONS.reset(token)


def size(value: Any) -> Any:
    """Returns a size as an int, or as an expression of JAX's symbols while a program with symbolic sizes is lowered.

    Otherwise a symbolic size becomes its example's, which adds a guard to the graph.

    Raises:
        UnsupportedOpError: the size is no sum, product or quotient of symbols.
    """
    if not isinstance(value, torch.SymInt):
        return int(value)
    dims = _DIMENSIONS.get()
    return int(value) if dims is None else _translated(value.node.expr, dims)


def hint(value: Any) -> int:
    """Returns the value that a size or stride has in the traced call, without a guard on it."""
    return int(value.node.hint) if isinstance(value, torch.SymInt) else int(value)


def _translated(expression: Any, dims: Mapping[str, Any]) -> Any:
    if expression.is_Integer:
        return int(expression)
    if expression.is_Symbol and str(expression) in dims:
        return dims[str(expression)]
    if expression.func.__name__ in ("TruncToInt", "FloorToInt") and (product := _exact_product(expression.args[0])):
        factor, size = product
        return _translated(size, dims) * factor.numerator // factor.denominator
    operands = [_translated(operand, dims) for operand in expression.args]
    if expression.is_Add:
        return functools.reduce(operator.add, operands)
    if expression.is_Mul:
        return functools.reduce(operator.mul, operands)
    if expression.is_Pow:
        return operands[0] ** operands[1]
    if (count := _parts(expression)) is not None:
        return _part(operands[0], count)
    if (function := _FUNCTIONS.get(expression.func.__name__)) is not None:
        return function(*operands)
    raise UnsupportedOpError(
        f"The size {expression} of the exported program is no sum, product or quotient of the sizes of its inputs.",
        hint="Call torch.export.export without dynamic_shapes, once for each size that you need.",
    )


def _parts(expression: Any) -> int | None:
    """Returns ``k`` of ``FloorDiv(s, FloorDiv(s, k))``, as which PyTorch infers a size of a view; None for others."""
    if expression.func.__name__ != "FloorDiv" or (divisor := expression.args[1]).func.__name__ != "FloorDiv":
        return None
    return int(divisor.args[1]) if divisor.args[0] == expression.args[0] and divisor.args[1].is_Integer else None


def _part(size: Any, count: int) -> int:
    """Returns the quotient of a size and one of ``count`` equal parts of it.

    Raises:
        UndecidedError: JAX cannot tell whether the parts have equal sizes.
    """
    if not (isinstance(rest := size % count, int) and rest == 0):
        raise UndecidedError(f"JAX cannot tell whether {size} is a multiple of {count}.", rest, "==", 0)
    return count


def _exact_product(expression: Any) -> tuple[Fraction, Any] | None:
    """Returns factor and size of a float that is their product without rounding, as ``0.5 * ToFloat(s)``."""
    numbers = [operand for operand in expression.args if operand.is_Float or operand.is_Integer]
    sizes = [operand.args[0] for operand in expression.args if operand.func.__name__ == "ToFloat"]
    if not expression.is_Mul or len(sizes) != 1 or len(numbers) + 1 != len(expression.args):
        return None
    factor = math.prod(Fraction(float(number)) for number in numbers)
    is_exact = factor > 0 and max(factor.numerator, factor.denominator) <= _MAX_FACTOR
    return (Fraction(factor), sizes[0]) if is_exact else None
