"""The registry of mutation operators, and the edits that they yield."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from tests.mutants.sources import Place, Source

ATOMS = ast.Name | ast.Attribute | ast.Call | ast.Subscript | ast.Constant
"""Expressions that need no parentheses as an operand."""


@dataclass(frozen=True, slots=True)
class Edit:
    """The replacement of a span of a source's text."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Mutation:
    """An edit that changes a program's meaning, with the place that it changes."""

    kind: str
    edit: Edit
    place: Place


Operator = Callable[[Place, Source], Iterable[Edit | None]]
"""Yields the edits of a place; None where a comment or a parenthesis is in the way."""
OPERATORS: dict[type[ast.AST], list[tuple[str, Operator]]] = defaultdict(list)
"""Operators with their kinds, by the type of the nodes that they change."""


def operator(kind: str, *types: type[ast.AST]) -> Callable[[Operator], Operator]:
    """Registers an operator for types of nodes."""

    def register(function: Operator) -> Operator:
        for node_type in types:
            OPERATORS[node_type].append((kind, function))
        return function

    return register


def replace(source: Source, node: ast.AST, text: str) -> Edit:
    return Edit(source.start(node), source.end(node), text)


def swap(source: Source, one: ast.AST, other: ast.AST) -> Edit:
    """Returns the edit that exchanges two nodes, the first of which stands before the second."""
    gap = source.text[source.end(one) : source.start(other)]
    return Edit(source.start(one), source.end(other), source.of(other) + gap + source.of(one))


def wrapped(source: Source, node: ast.AST) -> str:
    """Returns the text of an operand, in parentheses where it may need them."""
    return source.of(node) if isinstance(node, ATOMS) else f"({source.of(node)})"


def between(source: Source, left: ast.AST, right: ast.AST, pattern: re.Pattern[str] | str) -> tuple[int, int] | None:
    """Returns the span of an operator between two nodes, or None where a comment may hold it."""
    start = source.end(left)
    gap = source.text[start : source.start(right)]
    found = re.search(pattern, gap)
    return (start + found.start(), start + found.end()) if found and "#" not in gap else None


def binds(node: ast.AST) -> bool:
    """Returns whether an expression assigns a name, which later lines need."""
    return any(isinstance(child, ast.NamedExpr) for child in ast.walk(node))
