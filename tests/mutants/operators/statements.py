"""Operators on calls, statements and tables."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import pairwise

from tests.mutants.operators.registry import Edit, operator, replace, swap, wrapped
from tests.mutants.sources import Place, Source, called

# Calls and statements.

_COUNTERPARTS = [
    *("min max", "any all", "floor ceil", "minimum maximum", "amin amax", "argmin argmax", "startswith endswith"),
    *("lstrip rstrip", "removeprefix removesuffix", "zeros ones", "zeros_like ones_like", "issubset issuperset"),
    *("union intersection", "partition rpartition", "sin cos", "floor round", "nlargest nsmallest"),
]
_FUNCTIONS = {one: other for pair in _COUNTERPARTS for one, other in (pair.split(), pair.split()[::-1])}
_FUNCTIONS |= {"floor": "ceil", "popleft": "pop"}


@operator("counterpart called", ast.Call)
def _counterpart(place: Place, source: Source) -> Iterator[Edit]:
    node = place.node
    assert isinstance(node, ast.Call)
    name = called(node)
    if name in _FUNCTIONS and (isinstance(node.func, ast.Attribute) or name in ("min", "max", "any", "all")):
        yield Edit(source.end(node.func) - len(name), source.end(node.func), _FUNCTIONS[name])


@operator("call dropped", ast.Call)
def _call_dropped(place: Place, source: Source) -> Iterator[Edit]:
    node = place.node
    assert isinstance(node, ast.Call)
    start, end = source.start(node), source.end(node)
    if isinstance(node.func, ast.Name) and len(node.args) == 1 and not isinstance(node.args[0], ast.Starred):
        if node.func.id in ("sorted", "reversed"):
            yield Edit(start, end, f"list({source.of(node.args[0])})")
        elif node.func.id == "abs":
            yield Edit(start, end, wrapped(source, node.args[0]))
    elif isinstance(node.func, ast.Attribute) and node.func.attr in ("copy", "clone", "contiguous") and not node.args:
        yield Edit(start, end, wrapped(source, node.func.value))


_ORDERLESS = {
    "min",
    "max",
    "isinstance",
    "issubclass",
    "hasattr",
    "getattr",
    "setattr",
    "print",
    "super",
    "gcd",
    "map",
    "isclose",
}


@operator("arguments swapped", ast.Call)
def _arguments_swapped(place: Place, source: Source) -> Iterator[Edit]:
    node = place.node
    assert isinstance(node, ast.Call)
    if called(node) in _ORDERLESS:
        return
    for one, other in pairwise(node.args):
        if isinstance(one, ast.Name | ast.Attribute) and type(one) is type(other):
            yield swap(source, one, other)


@operator("statement deleted", ast.Expr, ast.AugAssign, ast.Assign, ast.Delete)
def _statement(place: Place, source: Source) -> Iterator[Edit]:
    node, function = place.node, place.function
    if function is None or (isinstance(node, ast.Expr) and not isinstance(node.value, ast.Call)):
        return
    if isinstance(node, ast.Assign):
        kept = isinstance(node.targets[0], ast.Attribute | ast.Subscript)
        if not kept or function.name in ("__init__", "__post_init__"):
            return
    yield replace(source, node, "pass")


def _removal(source: Source, spans: list[tuple[int, int]], index: int) -> Edit | None:
    """Returns the edit that removes an entry and its comma; None where a comment or a parenthesis is beside it."""
    separators = r"\s*,\s*"
    if index + 1 < len(spans):
        start, end = spans[index][0], spans[index + 1][0]
        gap = source.text[spans[index][1] : end]
    elif index:
        start, end = spans[index - 1][1], spans[index][1]
        gap = source.text[start : spans[index][0]]
    else:
        return Edit(*spans[0], "")
    return Edit(start, end, "") if re.fullmatch(separators, gap) else None


KEYWORD_DROPPED = "keyword argument dropped"


@operator(KEYWORD_DROPPED, ast.Call)
def _keyword(place: Place, source: Source) -> Iterator[Edit | None]:
    node = place.node
    assert isinstance(node, ast.Call)
    arguments = sorted([*node.args, *node.keywords], key=source.start)
    spans = [(source.start(argument), source.end(argument)) for argument in arguments]
    for index, argument in enumerate(arguments):
        if isinstance(argument, ast.keyword) and argument.arg not in (None, "strict", "stacklevel"):
            yield _removal(source, spans, index)


# Tables.


def _entries(node: ast.AST) -> list[tuple[ast.expr, ast.expr]]:
    """Returns the first and last expression of each entry of a table; nothing where an entry unpacks another table."""
    if isinstance(node, ast.Dict):
        return [(key, value) for key, value in zip(node.keys, node.values, strict=True) if key is not None]
    if isinstance(node, ast.Set | ast.List | ast.Tuple):
        return [(element, element) for element in node.elts]
    return []


def _is_table(place: Place) -> bool:
    """Returns whether a display is a table of a module or class, or what a test for membership looks through."""
    parent = place.parent
    if isinstance(parent, ast.Compare):
        return (
            any(isinstance(comparison, ast.In | ast.NotIn) for comparison in parent.ops)
            and parent.left is not place.node
        )
    if isinstance(parent, ast.ExceptHandler):
        return parent.type is place.node
    if isinstance(parent, ast.Call) and called(parent) in ("isinstance", "issubclass"):
        return True
    assigned = any(isinstance(outer, ast.Assign | ast.AnnAssign) for outer in place.parents)
    return place.function is None and assigned and isinstance(getattr(place.node, "ctx", ast.Load()), ast.Load)


@operator("entry dropped", ast.Dict, ast.Set, ast.List, ast.Tuple)
def _entry(place: Place, source: Source) -> Iterator[Edit | None]:
    entries = _entries(place.node)
    if len(entries) < 2 or not _is_table(place):
        return
    if isinstance(place.node, ast.Tuple) and len(entries) == 2 and not isinstance(place.parent, ast.Compare | ast.Call):
        return  # a pair, whose one half is no smaller table
    spans = [(source.start(first), source.end(last)) for first, last in entries]
    for index in range(len(entries)):
        if isinstance(place.node, ast.Tuple) and len(entries) == 2:
            yield Edit(spans[0][0], spans[1][1], f"{source.of(entries[1 - index][0])},")
        else:
            yield _removal(source, spans, index)


@operator("values swapped", ast.Dict)
def _values(place: Place, source: Source) -> Iterator[Edit]:
    node = place.node
    assert isinstance(node, ast.Dict)
    plain = ast.Name | ast.Attribute | ast.Constant
    values = [value for _, value in _entries(node)]
    for one, other in pairwise(values) if None not in node.keys else ():
        if isinstance(one, plain) and isinstance(other, plain) and source.of(one) != source.of(other):
            yield swap(source, one, other)
