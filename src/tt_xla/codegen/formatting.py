"""Python source laid out as ``ruff format`` lays it out, so that what is generated needs no formatter."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tt_xla.codegen.expressions import Call, Data, Device, Expression, Name, Value, shortest

WIDTH = 120
INDENT = "    "


@dataclass(frozen=True)
class Group:
    """Items between brackets. ``fill``: when they do not fit beside the opening bracket they may share a line below."""

    opening: str
    items: tuple[Node, ...]
    closing: str
    fill: bool = False
    prefixes: tuple[str, ...] = ()
    """What stands before each item, ``name=`` or ``"key": ``."""

    def texts(self) -> list[str]:
        prefixes = self.prefixes or ("",) * len(self.items)
        return [prefix + flat(item) for prefix, item in zip(prefixes, self.items, strict=True)]


Node = str | Group


def flat(node: Node) -> str:
    """A node on one line."""
    if isinstance(node, str):
        return node
    return node.opening + ", ".join(node.texts()) + node.closing


def lay_out(before: str, node: Node, after: str = "", indent: int = 0, trailing: str = ",") -> list[str]:
    """Lines of ``before node after``, no wider than :data:`WIDTH` where there is a bracket to break at.

    Args:
        trailing: what follows the last of items that have a line each.
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
    return Group(f"{function}(", tuple(arguments), ")", fill=True)


def node_of(expression: Expression, value: Callable[[int], str], data: Callable[[Data], Expression]) -> Node:
    """An expression as something to lay out.

    Args:
        value: how a tensor is named.
        data: what stands for elements given with the program.
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
    """A string literal in double quotes, unless single ones save a backslash."""
    found = repr(text)
    if found.startswith('"') or '"' in text:
        return found
    return '"' + found[1:-1] + '"'
