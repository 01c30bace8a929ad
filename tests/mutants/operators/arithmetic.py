"""Operators on arithmetic, constants and slices."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping

from tests.mutants.operators.registry import ATOMS, Edit, between, operator, replace, wrapped
from tests.mutants.sources import Place, Source, called

_ARITHMETIC: Mapping[type[ast.operator], tuple[str, ...]] = {
    ast.Add: ("-",),
    ast.Sub: ("+",),
    ast.Mult: ("//",),
    ast.Div: ("//", "*"),
    ast.FloorDiv: ("*", "/"),
    ast.Mod: ("//",),
    ast.Pow: ("*",),
    ast.LShift: (">>",),
    ast.RShift: ("<<",),
    ast.BitAnd: ("|",),
    ast.BitXor: ("|",),
    ast.BitOr: ("&",),
}
_SYMBOLS = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.BitAnd: "&",
    ast.BitXor: "^",
    ast.BitOr: "|",
    ast.MatMult: "@",
}
_COLLECTIONS = ast.JoinedStr | ast.List | ast.Tuple | ast.ListComp | ast.Set | ast.SetComp


def _is_collection(node: ast.AST) -> bool:
    """Returns whether an operand is visibly a string, a list or a set, for which few operators have a meaning."""
    if isinstance(node, ast.BinOp):
        return _is_collection(node.left) or _is_collection(node.right)
    return isinstance(node, _COLLECTIONS) or (isinstance(node, ast.Constant) and isinstance(node.value, str | bytes))


def _is_type(node: ast.AST) -> bool:
    """Returns whether an operand of ``|`` is visibly a class, or None."""
    if isinstance(node, ast.BinOp):
        return _is_type(node.left) and _is_type(node.right)
    name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
    builtin = name in ("int", "float", "str", "bool", "bytes", "list", "tuple", "dict", "set", "complex")
    return builtin or (name[:1].isupper() and not name.isupper()) or (isinstance(node, ast.Constant) and not node.value)


@operator("arithmetic operator", ast.BinOp)
def _arithmetic(place: Place, source: Source) -> Iterator[Edit | None]:
    node = place.node
    assert isinstance(node, ast.BinOp)
    if _is_collection(node) or (isinstance(node.op, ast.BitOr) and _is_type(node)):
        return
    span = between(source, node.left, node.right, re.escape(_SYMBOLS[type(node.op)]))
    for new in _ARITHMETIC.get(type(node.op), ()):
        yield Edit(*span, new) if span else None
    if isinstance(node.op, ast.FloorDiv):
        rounded_up = f"-(-{wrapped(source, node.left)} // {wrapped(source, node.right)})"
        yield replace(source, node, rounded_up)


@operator("operands swapped", ast.BinOp)
def _operands_swapped(place: Place, source: Source) -> Iterator[Edit]:
    node = place.node
    assert isinstance(node, ast.BinOp)
    ordered = isinstance(node.op, ast.Sub | ast.Div | ast.FloorDiv | ast.MatMult)
    if (ordered and not _is_collection(node)) or (isinstance(node.op, ast.Add) and _is_collection(node)):
        left, right = wrapped(source, node.left), wrapped(source, node.right)
        if isinstance(node.left, ATOMS) and isinstance(node.right, ATOMS):
            yield replace(source, node, f"{right} {_SYMBOLS[type(node.op)]} {left}")


@operator("operand dropped", ast.BinOp)
def _operand_dropped(place: Place, source: Source) -> Iterator[Edit]:
    node = place.node
    assert isinstance(node, ast.BinOp)
    kept = isinstance(node.op, ast.Add | ast.BitOr) and not any(map(_is_text, (node.left, node.right)))
    isinstance_call = any(isinstance(outer, ast.Call) and called(outer) == "isinstance" for outer in place.parents)
    if kept and (isinstance_call or not _is_type(node)):
        for operand in (node.left, node.right):
            yield replace(source, node, wrapped(source, operand))


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


@operator("arithmetic operator", ast.AugAssign)
def _augmented(place: Place, source: Source) -> Iterator[Edit | None]:
    node = place.node
    assert isinstance(node, ast.AugAssign)
    if not _is_collection(node.value):
        span = between(source, node.target, node.value, re.escape(_SYMBOLS[type(node.op)]) + "=")
        for new in _ARITHMETIC.get(type(node.op), ()):
            yield Edit(*span, f"{new}=") if span else None


@operator("constant", ast.Constant)
def _constant(place: Place, source: Source) -> Iterator[Edit]:
    node = place.node
    assert isinstance(node, ast.Constant)
    start, end, value = source.start(node), source.end(node), node.value
    if isinstance(value, int) and not isinstance(value, bool):
        yield Edit(start, end, str(value + 1))
        negative_index = value == 0 and isinstance(place.parent, ast.Subscript)
        if value > 0 or negative_index:
            yield Edit(start, end, str(value - 1))
    elif isinstance(value, float):
        yield Edit(start, end, repr(value * 2) if value else "1.0")


def _bound(source: Source, node: ast.expr, change: str) -> Edit | None:
    """Returns the edit of a bound that is no constant, which has a rule of its own."""
    if isinstance(node, ast.Constant | ast.UnaryOp):
        return None
    return replace(source, node, f"{wrapped(source, node)} {change} 1")


@operator("slice bound", ast.Slice)
def _slice(place: Place, source: Source) -> Iterator[Edit | None]:
    node = place.node
    assert isinstance(node, ast.Slice)
    if node.lower is not None:
        yield _bound(source, node.lower, "+")
    if node.upper is not None:
        yield _bound(source, node.upper, "-")
        if node.lower is None and node.step is None:
            yield Edit(source.start(node), source.start(node), "1")
