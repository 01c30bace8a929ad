"""Operators on conditions: comparisons, truth, guards and branches."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise

from tests.mutants.operators.registry import Edit, between, binds, operator, replace
from tests.mutants.sources import Place, Source

# Comparisons and truth.

_BOUNDARY = {ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">"}
_NEGATION = {
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.Lt: ">=",
    ast.LtE: ">",
    ast.Gt: "<=",
    ast.GtE: "<",
    ast.Is: "is not",
    ast.IsNot: "is",
    ast.In: "not in",
    ast.NotIn: "in",
}
_COMPARISON = re.compile(r"<=|>=|==|!=|<|>|\bis\s+not\b|\bnot\s+in\b|\bin\b|\bis\b")


def _compared(place: Place, source: Source, texts: Mapping[type[ast.cmpop], str]) -> Iterator[Edit]:
    node = place.node
    assert isinstance(node, ast.Compare)
    for left, comparison, right in zip([node.left, *node.comparators], node.ops, node.comparators, strict=False):
        span = between(source, left, right, _COMPARISON)
        if span and type(comparison) in texts:
            yield Edit(*span, texts[type(comparison)])


@operator("comparison boundary", ast.Compare)
def _boundary(place: Place, source: Source) -> Iterator[Edit]:
    return _compared(place, source, _BOUNDARY)


@operator("comparison negated", ast.Compare)
def _negation(place: Place, source: Source) -> Iterator[Edit]:
    return _compared(place, source, _NEGATION)


@operator("and/or", ast.BoolOp)
def _and_or(place: Place, source: Source) -> Iterator[Edit | None]:
    node = place.node
    assert isinstance(node, ast.BoolOp)
    old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
    for left, right in pairwise(node.values):
        span = between(source, left, right, rf"\b{old}\b")
        yield Edit(*span, new) if span else None


@operator("condition dropped", ast.BoolOp)
def _condition_dropped(place: Place, source: Source) -> Iterator[Edit]:
    node = place.node
    assert isinstance(node, ast.BoolOp)
    neutral = "True" if isinstance(node.op, ast.And) else "False"
    for value in node.values:
        if not binds(value):
            yield replace(source, value, neutral)


@operator("not dropped", ast.UnaryOp)
def _not(place: Place, source: Source) -> Iterator[Edit]:
    node = place.node
    assert isinstance(node, ast.UnaryOp)
    if isinstance(node.op, ast.Not):
        start = source.start(node)
        length = len("not") + len(source.text[start + 3 :]) - len(source.text[start + 3 :].lstrip(" "))
        yield Edit(start, start + length, "")


@operator("sign dropped", ast.UnaryOp)
def _sign(place: Place, source: Source) -> Iterator[Edit]:
    node = place.node
    assert isinstance(node, ast.UnaryOp)
    if isinstance(node.op, ast.USub):
        yield Edit(source.start(node), source.start(node) + 1, "")


@operator("True/False", ast.Constant)
def _truth(place: Place, source: Source) -> Iterator[Edit]:
    node = place.node
    if isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield replace(source, node, str(not node.value))


# Guards and branches.

_JUMPS = ast.Return | ast.Continue | ast.Break | ast.Raise


def _test(place: Place, source: Source, value: str) -> Iterator[Edit]:
    node = place.node
    assert isinstance(node, ast.If | ast.IfExp)
    if not binds(node.test) and not isinstance(node.test, ast.Constant):
        yield replace(source, node.test, value)


def _is_guard(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and not node.orelse and isinstance(node.body[-1], _JUMPS)


@operator("guard removed", ast.If)
def _guard_removed(place: Place, source: Source) -> Iterable[Edit]:
    return _test(place, source, "False") if _is_guard(place.node) else ()


@operator("guard forced", ast.If)
def _guard_forced(place: Place, source: Source) -> Iterable[Edit]:
    node = place.node
    refuses = isinstance(node, ast.If) and isinstance(node.body[-1], ast.Raise)
    return _test(place, source, "True") if _is_guard(node) and not refuses else ()


@operator("branch forced", ast.If, ast.IfExp)
def _branch(place: Place, source: Source) -> Iterator[Edit]:
    if not _is_guard(place.node):
        yield from _test(place, source, "True")
        yield from _test(place, source, "False")


@operator("filter dropped", ast.comprehension)
def _filter(place: Place, source: Source) -> Iterator[Edit]:
    node = place.node
    assert isinstance(node, ast.comprehension)
    for condition in node.ifs:
        if not binds(condition):
            yield replace(source, condition, "True")


@operator("break/continue", ast.Break, ast.Continue)
def _loop(place: Place, source: Source) -> Iterator[Edit]:
    new = "continue" if isinstance(place.node, ast.Break) else "break"
    yield replace(source, place.node, new)
