"""Lays out source as ``ruff format`` does, so that generated source needs no formatter."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tt_xla.codegen.expressions import Call, Data, Device, Expression, Name, Value, shortest

WIDTH = 120
"""Maximum width of a line."""

INDENT = "    "
"""One level of indentation."""


@dataclass(frozen=True)
class Group:
    """Items between brackets."""

    opening: str
    """Text up to and including the opening bracket."""
    items: tuple[Node, ...]
    closing: str
    fill: bool = False
    """Whether items that do not fit on the line of the opening bracket may share the next line."""
    prefixes: tuple[str, ...] = ()
    """Text before each item, ``name=`` or ``"key": ``; empty for none."""

    def texts(self) -> list[str]:
        """Returns each item on one line, with its prefix."""
        prefixes = self.prefixes or ("",) * len(self.items)
        return [prefix + flat(item) for prefix, item in zip(prefixes, self.items, strict=True)]


Node = str | Group
"""Source of an expression."""


def flat(node: Node) -> str:
    """Returns a node on one line."""
    if isinstance(node, str):
        return node
    return node.opening + ", ".join(node.texts()) + node.closing


def lay_out(before: str, node: Node, after: str = "", indent: int = 0, trailing: str = ",") -> list[str]:
    """Returns the lines of ``before node after``, broken at brackets so that they are no wider than :data:`WIDTH`.

    Args:
        before: text before the node.
        node: the node.
        after: text after the node.
        indent: level of indentation.
        trailing: text after the last item when each item has its own line.
    """
    margin = INDENT * indent
    line = margin + before + flat(node) + after
    if isinstance(node, str) or len(line) <= WIDTH or not node.items:
        return [line]
    inner = INDENT * (indent + 1) + ", ".join(node.texts())
    if node.fill and len(inner) <= WIDTH:
        return [margin + before + node.opening, inner, margin + node.closing + after]
    lines = [margin + before + node.opening]
    ends = [","] * (len(node.items) - 1) + [trailing]
    for prefix, item, end in zip(node.prefixes or ("",) * len(node.items), node.items, ends, strict=True):
        lines += lay_out(prefix, item, end, indent + 1, trailing)
    return [*lines, margin + node.closing + after]


def call(function: str, arguments: Sequence[Node]) -> Group:
    """Returns a call of a function."""
    return Group(f"{function}(", tuple(arguments), ")", fill=True)


def node_of(expression: Expression, value: Callable[[int], str], data: Callable[[Data], Expression]) -> Node:
    """Returns the Python source of an expression as a node.

    Args:
        expression: the expression.
        value: returns the name of a tensor.
        data: returns the expression that creates a constant.
    """

    def node(inner: Expression) -> Node:
        return node_of(inner, value, data)

    match expression:
        case Value(number):
            return value(number)
        case Name(text):
            return text
        case Device():
            return "device"
        case Data():
            return node(data(expression))
        case Call("dict", (), keywords):
            prefixes = tuple(f"{quoted(name)}: " for name in keywords)
            return Group("{", tuple(map(node, keywords.values())), "}", prefixes=prefixes)
        case Call(function, arguments, keywords):
            items = [node(item) for item in (*arguments, *keywords.values())]
            prefixes = ("",) * len(arguments) + tuple("**" if name == "**" else f"{name}=" for name in keywords)
            return Group(f"{function}(", tuple(items), ")", fill=True, prefixes=prefixes)
        case tuple():
            return Group("[", tuple(node(item) for item in expression), "]")
        case set():
            return Group("{", tuple(sorted((node(item) for item in expression), key=flat)), "}")
        case str():
            return quoted(expression)
        case float():
            return (
                repr(shortest(expression)).replace("e+", "e") if math.isfinite(expression) else f'float("{expression}")'
            )
        case _:
            return repr(expression)


def quoted(text: str) -> str:
    """Returns a Python string literal in double quotes, or in single quotes if that saves a backslash."""
    literal = repr(text)
    if literal.startswith('"') or '"' in text:
        return literal
    return '"' + literal[1:-1] + '"'
