"""Kinds of arguments, as the table of signatures names them: ``Sequence[int] | None``.

nanobind takes an argument of another kind where it can convert it: an integer for a float, or a list of sizes for a
shape. It tries all overloads without conversions first.
"""

from __future__ import annotations

import ast
import functools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Test = Callable[[Any], bool]
"""Tells whether a value has a kind."""

_CONVERTED = {
    "CoreCoord": "tuple[int, int]",
    "EltwiseUnaryWithParam": "UnaryWithParam | UnaryOpType | tuple[UnaryOpType, float]",
    "QueueId": "int",
    "Shape": "Sequence[int]",
    "UnaryWithParam": "UnaryOpType | tuple[UnaryOpType, float]",
}
"""Kind of a value that nanobind converts, by the kind that it makes of it."""

_ANY = ("object", "Any", "Callable", "Mapping", "global_semaphore", "GlobalSemaphoreArg")
"""Kinds that are not judged: those of any value, and of values that mean nothing on the emulated card."""


_IN_PLANS = ("Operand", "TensorNumbers")
"""Classes that stand for tensors in the plan of a call."""


@functools.cache
def test_of(kind: str, *, converts: bool) -> Test:
    """Returns the test of a kind.

    Args:
        kind: its text, with the names of classes.
        converts: whether values count that nanobind converts.
    """
    return _test(ast.parse(kind, mode="eval").body, converts)


def _test(kind: ast.expr, converts: bool) -> Test:
    match kind:
        case ast.BinOp(left=left, right=right):
            one, other = _test(left, converts), _test(right, converts)
            return lambda value: one(value) or other(value)
        case ast.Constant():
            return lambda value: value is None
        case ast.Subscript(value=ast.Name(id="Sequence" | "list"), slice=item):
            of_item = _test(item, converts)
            return lambda value: _is_sequence(value) and all(map(of_item, value))
        case ast.Subscript(value=ast.Name(id="Set"), slice=item):
            of_item = _test(item, converts)
            return lambda value: isinstance(value, (set, frozenset)) and all(map(of_item, value))
        case ast.Subscript(value=ast.Name(id="tuple"), slice=ast.Tuple(elts=items)):
            tests = [_test(item, converts) for item in items]
            return lambda value: (
                _is_sequence(value)
                and len(value) == len(tests)
                and all(test(each) for test, each in zip(tests, value, strict=True))
            )
        case ast.Name(id=name):
            return _named(name, converts)
        case _:
            return lambda value: True


def _named(name: str, converts: bool) -> Test:
    """Returns the test of a kind without parameters."""
    if name in _ANY:
        return lambda value: True
    if name in _NUMBERS:
        return _NUMBERS[name][converts]
    classes = {name, *(_IN_PLANS if name == "Tensor" else ())}

    def is_of_class(value: Any) -> bool:
        return not is_array(value) and not classes.isdisjoint(each.__name__ for each in type(value).__mro__)

    if not converts or name not in _CONVERTED:
        return is_of_class
    other = test_of(_CONVERTED[name], converts=True)
    return lambda value: is_of_class(value) or other(value)


def is_array(value: Any) -> bool:
    """Whether a value is a number or an array of NumPy, or a tensor of PyTorch."""
    return type(value).__module__ in ("numpy", "torch") and hasattr(value, "tolist")


def _is_sequence(value: Any) -> bool:
    """Whether a value is a sequence other than a text, among them TT-NN's shapes and NumPy's arrays."""
    if is_array(value):
        return type(value).__module__ == "numpy" and value.ndim > 0
    return hasattr(value, "__getitem__") and hasattr(value, "__iter__") and not isinstance(value, (str, bytes, dict))


def _is_class(*kinds: type) -> Test:
    return lambda value: type(value) in kinds


def _becomes(kind: type) -> Test:
    """Returns the test of values of which nanobind makes a float or an integer.

    It makes a float of an array with one element, and an integer of one without dimensions or of a tensor of PyTorch.
    """

    def is_convertible(value: Any) -> bool:
        if not is_array(value):
            return hasattr(value, "__index__") or (kind is float and hasattr(value, "__float__"))
        listed = kind is int and type(value).__module__ == "numpy" and value.ndim
        return math.prod(value.shape) == 1 and not listed and isinstance(value.item(), (int, kind))

    return is_convertible


_NUMBERS: Mapping[str, Sequence[Test]] = {
    "bool": [_is_class(bool)] * 2,
    "float": [_is_class(float), _becomes(float)],
    "int": [_is_class(int), _becomes(int)],
    "str": [_is_class(str)] * 2,
    "tuple": [_is_class(tuple, list)] * 2,
}
"""Tests of plain values: without conversions, and with them."""
