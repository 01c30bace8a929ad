"""Finds parts of a graph that occur several times in a row, such as the layers of a decoder.

AOTAutograd traces one occurrence, and the others become copies of it (``private/stamping.py``).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from torch.fx import Graph, Node
from torch.fx.node import map_arg

_WINDOW = 6
"""Number of equal nodes in a row that make two places worth a comparison."""

_CANDIDATES = 32
"""Number of later places with which a place is compared."""

_OPS = ("call_function", "call_method")


@dataclass(frozen=True)
class Repeat:
    """A part of a graph that occurs several times in a row.

    Attributes:
        instances: nodes of each occurrence, in order. Those at the same position do the same to other values.
        externals: for each occurrence, the nodes outside it that it reads, in the order of their first use.
        outputs: positions of the nodes that are read outside their occurrence.
    """

    instances: tuple[tuple[Node, ...], ...]
    externals: tuple[tuple[Node, ...], ...]
    outputs: tuple[int, ...]


def find_repeats(graph: Graph) -> list[Repeat]:
    """Returns the parts of a graph that repeat. No node is in two of them."""
    nodes = [*graph.nodes]
    tokens = _tokens(nodes)
    places: dict[tuple[int, ...], list[int]] = defaultdict(list)
    for index in range(len(nodes) - _WINDOW + 1):
        places[tuple(tokens[index : index + _WINDOW])].append(index)
    crossing = _crossing(nodes)
    repeats: list[Repeat] = []
    index = 0
    while index + _WINDOW <= len(nodes):
        later = [place for place in places[tuple(tokens[index : index + _WINDOW])] if place > index]
        period, length = _longest(tokens, index, later[:_CANDIDATES])
        repeat = None
        if period:
            # The run may begin at any of several nodes; between layers, few values are in use.
            starts = range(index, index + length % period + 1)
            start = min(starts, key=lambda place: crossing[place + period])
            repeat = _repeat(nodes[start : start + period * (length // period + 1)], period)
        if repeat is None:
            index += 1
        else:
            repeats.append(repeat)
            index = start + period * len(repeat.instances)
    return repeats


def _tokens(nodes: Sequence[Node]) -> list[int]:
    """Returns a number for each node. Two are equal if the nodes do the same to the values that they read."""
    numbers: dict[object, int] = {}
    tokens: list[int] = []
    for position, node in enumerate(nodes):
        key: object = position
        if node.op in _OPS:
            key = (node.op, node.target, repr(map_arg((node.args, node.kwargs), _placeholder)))
        tokens.append(numbers.setdefault(key, len(numbers)))
    return tokens


def _placeholder(_: Node) -> Any:
    """Returns the placeholder of a node that an op reads."""
    return ...


def _crossing(nodes: Sequence[Node]) -> list[int]:
    """Returns, for each position, the number of results that are computed before it and read there or later."""
    order = {node: position for position, node in enumerate(nodes)}
    changes = [0] * (len(nodes) + 2)
    for position, node in enumerate(nodes):
        if node.op in _OPS and node.users:
            changes[position + 1] += 1
            changes[max(order[user] for user in node.users) + 1] -= 1
    for position in range(1, len(changes)):
        changes[position] += changes[position - 1]
    return changes


def _longest(tokens: Sequence[int], index: int, later: Sequence[int]) -> tuple[int, int]:
    """Returns period and length of the longest run of repetitions from a place, without the first; zeros for none."""
    best, result = 0, (0, 0)
    for place in later:
        period = place - index
        length = 0
        while place + length < len(tokens) and tokens[index + length] == tokens[place + length]:
            length += 1
        covered = length - length % period
        if period >= _WINDOW and covered > best:
            best, result = covered, (period, length)
    return result


def _repeat(nodes: Sequence[Node], period: int) -> Repeat | None:
    """Returns the repeat of nodes with equal tokens, as far as their values are wired alike; None for a single one."""
    first = None
    instances: list[tuple[Node, ...]] = []
    externals: list[tuple[Node, ...]] = []
    for start in range(0, len(nodes), period):
        instance = tuple(nodes[start : start + period])
        wiring, outside = _wiring(instance)
        if first is None:
            first = wiring
        if wiring != first:
            break
        instances.append(instance)
        externals.append(outside)
    if len(instances) < 2:
        return None
    outputs = {position for instance in instances for position in _read_outside(instance)}
    return Repeat(tuple(instances), tuple(externals), tuple(sorted(outputs)))


def _wiring(instance: Sequence[Node]) -> tuple[list[int], tuple[Node, ...]]:
    """Returns where each argument comes from: a position, or a negative number of a node outside, and those nodes."""
    inside = {node: position for position, node in enumerate(instance)}
    outside: dict[Node, int] = {}
    wiring: list[int] = []

    def visit(argument: Node) -> Node:
        position = inside.get(argument)
        wiring.append(outside.setdefault(argument, -1 - len(outside)) if position is None else position)
        return argument

    for node in instance:
        map_arg((node.args, node.kwargs), visit)
    return wiring, tuple(outside)


def _read_outside(instance: Sequence[Node]) -> Iterator[int]:
    inside = {*instance}
    for position, node in enumerate(instance):
        if any(user not in inside for user in node.users):
            yield position


__all__ = ["Repeat", "find_repeats"]
