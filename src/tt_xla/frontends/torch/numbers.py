"""Symbolic numbers of a graph on which no size depends: they become 0-dim inputs of the program.

PyTorch makes a number symbolic once it was seen to change, such as the position in a cache. A program has fixed sizes,
so a number that decides a size is fixed, and another value compiles another program. All other numbers are inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx import Node
from torch.fx.experimental.symbolic_shapes import free_symbols

from tt_xla.frontends.torch.device.scalars import SCALARS
from tt_xla.frontends.torch.private.ops import HigherOrderOperator, OpOverload
from tt_xla.frontends.torch.symbolic import size

aten = torch.ops.aten

_ACCEPTS_ARRAYS: dict[OpOverload, frozenset[int | str]] = {
    aten.arange.start: frozenset([0, 1]),
    aten.arange.start_step: frozenset([0, 1]),
    torch.ops.prims.iota.default: frozenset(["start"]),
    aten.select.int: frozenset([2]),
    aten.select_scatter.default: frozenset([3]),
} | {op: scalars.positions - {"alpha", "value"} for op, scalars in SCALARS.items()}
"""Arguments for which lowering rules accept a 0-dim array instead of a number, by position or name.

Factors named ``alpha`` and ``value`` are not among them, because they are decomposed before."""


def open_numbers(nodes: Iterable[Node]) -> set[Node]:
    """Returns the nodes that are symbolic integers and need not be fixed."""
    nodes = list(nodes)
    fixed: set[Any] = set()
    numbers = [node for node in nodes if isinstance(node.meta.get("val"), torch.SymInt)]
    for node in nodes:
        for value in _tensors(node.meta.get("val")):
            fixed |= free_symbols([*value.shape, *value.stride()])
            if any(user.op == "output" for user in node.users):  # the output may be a view
                fixed |= free_symbols(value.storage_offset())
    for node in numbers:
        computed = node.op == "call_function"
        if (computed and not _is_arithmetic(node)) or not all(_is_plain_use(node, user) for user in node.users):
            fixed |= free_symbols(node.meta["val"])
    return {node for node in numbers if not free_symbols(node.meta["val"]) & fixed and free_symbols(node.meta["val"])}


def number(value: Any) -> Any:
    """Returns the value of a symbolic number, and guards the compiled graph on it. Other values stay as they are.

    While a program with symbolic sizes is lowered, an integer is an expression of them.
    """
    if isinstance(value, torch.SymInt):
        return size(value)
    if isinstance(value, torch.SymFloat):
        return float(value)
    return bool(value) if isinstance(value, torch.SymBool) else value


def reader(node: Node, placeholders: Sequence[Node]) -> Callable[[Sequence[Any]], int]:
    """Returns a function that computes an open number from the inputs of the graph."""
    if node.op == "placeholder":
        return InputNumber(placeholders.index(node))
    target: Any = node.target
    operands = [reader(arg, placeholders) if isinstance(arg, Node) else arg for arg in node.args]
    return ComputedNumber(target, operands)


@dataclass(frozen=True)
class InputNumber:
    """Reads a number from the inputs of a graph.

    Attributes:
        index: position of the number among the inputs.
    """

    index: int

    def __call__(self, args: Sequence[Any]) -> int:
        return args[self.index]


@dataclass(frozen=True)
class ComputedNumber:
    """Computes a number from the inputs of a graph.

    Attributes:
        function: Python function of integers.
        operands: its arguments: integers, and functions of the inputs.
    """

    function: Callable[..., int]
    operands: Sequence[Any]

    def __call__(self, args: Sequence[Any]) -> int:
        return self.function(*(operand(args) if callable(operand) else operand for operand in self.operands))


def _tensors(value: Any) -> list[torch.Tensor]:
    if isinstance(value, list | tuple):
        return [tensor for item in value for tensor in _tensors(item)]
    return [value] if isinstance(value, torch.Tensor) else []


def _is_arithmetic(node: Node) -> bool:
    """Returns whether a node calls a Python function on integers alone."""
    plain = not isinstance(node.target, OpOverload | HigherOrderOperator) and not node.kwargs
    return plain and all(isinstance(arg, int) or _is_integer(arg) for arg in node.args)


def _is_integer(arg: Any) -> bool:
    return isinstance(arg, Node) and isinstance(arg.meta.get("val"), torch.SymInt)


def _is_plain_use(number: Node, user: Node) -> bool:
    """Returns whether a node uses a number only in arguments for which its rule accepts a 0-dim array."""
    if user.op == "output" or (_is_integer(user) and _is_arithmetic(user)):
        return True
    positions = _ACCEPTS_ARRAYS.get(user.target, frozenset())  # type: ignore[arg-type]
    arguments = [*enumerate(user.args), *user.kwargs.items()]
    return all(position in positions for position, arg in arguments if number in _nodes_of(arg))


def _nodes_of(arg: Any) -> list[Node]:
    if isinstance(arg, list | tuple):
        return [node for item in arg for node in _nodes_of(item)]
    return [arg] if isinstance(arg, Node) else []


__all__ = ["ComputedNumber", "InputNumber", "number", "open_numbers", "reader"]
