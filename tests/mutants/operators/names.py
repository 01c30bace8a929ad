"""Operators on names: a counterpart, or a variable of the same type."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cache

from tests.mutants.operators.registry import Edit, operator, replace
from tests.mutants.sources import Function, Place, Source

_PAIRS = """
rows columns|row column|height width|lhs rhs|left right|first last|first second|start stop|start end|begin end|low high
lower upper|lowest highest|input output|inputs outputs|operand result|operands results|source target|before after
key value|keys values|min max|smallest largest|least greatest|x y|m n|top bottom|old new|inner outer|parent child
read write|reads writes|sent received|send receive|compute dram|dram l1|bytes elements|shape strides|padding stride
padding dilation|heads dims|query key|q k|src dst|dim axis|rank size|shards chips|tiles pages|forward backward
"""
_NEIGHBOURS: dict[str, set[str]] = defaultdict(set)
for _pair in _PAIRS.replace("\n", "|").strip("|").split("|"):
    _one, _other = _pair.split()
    _NEIGHBOURS[_one].add(_other)
    _NEIGHBOURS[_other].add(_one)


def neighbours(name: str, known: Iterable[str]) -> list[str]:
    """Returns known names that differ from a name in one word, which is replaced by its counterpart."""
    words = name.split("_")
    spellings = {
        "_".join([*words[:index], other, *words[index + 1 :]])
        for index, word in enumerate(words)
        for other in _NEIGHBOURS.get(word, ())
    }
    return sorted(spellings & set(known))


def _is_callee(place: Place) -> bool:
    return isinstance(place.parent, ast.Call) and place.parent.func is place.node


@operator("wrong attribute", ast.Attribute)
def _attribute(place: Place, source: Source) -> Iterator[Edit]:
    node = place.node
    assert isinstance(node, ast.Attribute)
    if isinstance(node.ctx, ast.Load):
        for name in neighbours(node.attr, source.attributes):
            yield Edit(source.end(node) - len(node.attr), source.end(node), name)


@operator("wrong variable", ast.Name)
def _variable(place: Place, source: Source) -> Iterator[Edit]:
    node, function = place.node, place.function
    assert isinstance(node, ast.Name)
    if function is None or not isinstance(node.ctx, ast.Load) or _is_callee(place):
        return
    local, types = _variables(function)
    same_type = [name for name, kind in types.items() if name != node.id and kind == types.get(node.id)]
    for name in dict.fromkeys([*same_type, *neighbours(node.id, local)]):
        yield replace(source, node, name)


@cache
def _variables(function: Function) -> tuple[frozenset[str], Mapping[str, str]]:
    """Returns the names that a function uses, and the annotations of its parameters."""
    parameters = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    names = [child.id for child in ast.walk(function) if isinstance(child, ast.Name)]
    types = {each.arg: ast.unparse(each.annotation) for each in parameters if each.annotation is not None}
    return frozenset([*names, *(each.arg for each in parameters)]), types
