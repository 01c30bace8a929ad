"""Sizes that are symbols of an exported program: while such a program is lowered, they are symbols of JAX."""

from __future__ import annotations

import contextlib
import functools
import operator
from collections.abc import Iterable, Iterator, Mapping
from contextvars import ContextVar
from typing import Any

import torch

from tt_xla.errors import TTXLAError, UnsupportedOpError

_DIMENSIONS: ContextVar[Mapping[str, Any] | None] = ContextVar("_DIMENSIONS", default=None)
"""JAX's symbols by the names of PyTorch's, while a program with symbolic sizes is lowered."""

_FUNCTIONS: dict[str, Any] = {"FloorDiv": operator.floordiv, "Mod": operator.mod}
"""Operators by the names of PyTorch's functions of sizes."""


def is_active() -> bool:
    """Returns whether a program with symbolic sizes is being lowered."""
    return _DIMENSIONS.get() is not None


class DifferentFormsError(TTXLAError):
    """A lowering rule returned a size that JAX cannot tell to be the one that PyTorch inferred.

    Attributes:
        sizes: JAX's size, and PyTorch's, both as expressions of JAX's symbols.
    """

    def __init__(self, message: str, sizes: tuple[Any, Any]) -> None:
        super().__init__(message)
        self.sizes = sizes


@contextlib.contextmanager
def symbols(sizes: Iterable[torch.SymInt], ranges: Mapping[Any, Any], equations: Iterable[str] = ()) -> Iterator[None]:
    """Context manager in which symbolic sizes stay symbolic.

    Args:
        sizes: sizes of inputs, each a symbol or an expression of symbols.
        ranges: for symbols, their least and greatest values (``ExportedProgram.range_constraints``).
        equations: further equations between expressions, in JAX's syntax.
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
    constraints += equations
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
    operands = [_translated(operand, dims) for operand in expression.args]
    if expression.is_Add:
        return functools.reduce(operator.add, operands)
    if expression.is_Mul:
        return functools.reduce(operator.mul, operands)
    if expression.is_Pow:
        return operands[0] ** operands[1]
    if (function := _FUNCTIONS.get(expression.func.__name__)) is not None:
        return function(*operands)
    raise UnsupportedOpError(
        f"The size {expression} of the exported program is no sum, product or quotient of the sizes of its inputs.",
        hint="Call torch.export.export without dynamic_shapes, once for each size that you need.",
    )
