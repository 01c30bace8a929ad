"""Links between the stages of a compilation: what an op became, and what it came from.

The compiler keeps the user's source line of each op. Two ops of different stages belong together if they are in the
same group, that is in the same module at the same line. Within a group, ops of the same name are matched in order, and
the others with each other, in as many parts as the line was run times. An op that is left over was fused: it belongs
where its operand belongs, or its user.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from tt_xla.ir.program import DEALLOCATE
from tt_xla.tools.explorer.namespaces import namespaces
from tt_xla.tools.explorer.nodes import ARGUMENT, RETURN, FunctionNodes, Node

Links = dict[str, list[str]]
"""Nodes of another stage by node."""


def links(sources: Sequence[FunctionNodes], goals: Sequence[FunctionNodes]) -> Links:
    """Returns for each node of a stage the nodes of another stage that it corresponds to; without any, no entry."""
    by_group = _groups(goals)
    by_line: defaultdict[str, list[str]] = defaultdict(list)
    for space, line in by_group:
        by_line[line].append(space)
    outgoing: Links = {}
    for (space, line), nodes in _groups(sources).items():
        others = by_group.get((space, line))
        if others is None:  # the module is known at one stage only, or modules were joined
            near = max(by_line[line], key=lambda other: _shared(space, other), default=None)
            others = by_group[near, line] if near is not None else []
        outgoing |= _matched(nodes, others)
    outgoing |= _ends(sources, goals)
    return _with_fused(sources, outgoing)


def _with_fused(sources: Sequence[FunctionNodes], outgoing: Links) -> Links:
    """Adds links for ops that have none: those of the first operand that has some, or of the first user."""
    complete = dict(outgoing)
    for function in sources:
        ops = [node for node in function.nodes if node.op not in (ARGUMENT, RETURN) and node.location]
        computed = {node.id for node in ops}
        for node in ops:
            operands = [producer for producer, _ in node.operands if producer in computed and producer in complete]
            if node.id not in complete and operands:
                complete[node.id] = complete[operands[0]]
        for node in reversed(ops):
            for producer, _ in node.operands if node.id in complete else ():
                if producer in computed and producer not in complete:
                    complete[producer] = complete[node.id]
    return complete


def reversed_links(outgoing: Mapping[str, Sequence[str]]) -> Links:
    """Returns links in the other direction."""
    incoming: defaultdict[str, list[str]] = defaultdict(list)
    for source, goals in outgoing.items():
        for goal in goals:
            incoming[goal].append(source)
    return dict(incoming)


def _shared(one: str, other: str) -> int:
    """Returns how many groups two namespaces have in common, from the outermost on."""
    pairs = zip(one.split("/"), other.split("/"), strict=False)
    return len(list(itertools.takewhile(lambda pair: pair[0] == pair[1], pairs)))


def _groups(functions: Sequence[FunctionNodes]) -> dict[tuple[str, str], list[Node]]:
    """Returns the ops by group and line."""
    groups: defaultdict[tuple[str, str], list[Node]] = defaultdict(list)
    for function in functions:
        spaces = namespaces(function.nodes, named_scopes=False)  # which later stages do not have
        for node in function.nodes:
            if node.op not in (ARGUMENT, RETURN, DEALLOCATE) and node.location and not node.scope:
                groups[spaces[node.id], node.location].append(node)
    return dict(groups)


def _matched(sources: Sequence[Node], goals: Sequence[Node]) -> Links:
    """Returns the links of the ops of one group."""
    waiting: defaultdict[str, list[Node]] = defaultdict(list)
    for goal in reversed(goals):
        waiting[goal.name].append(goal)
    outgoing: Links = {}
    single: list[Node] = []
    for source in sources:
        if waiting[source.name]:
            outgoing[source.id] = [waiting[source.name].pop().id]
        else:
            single.append(source)
    taken = {goal for matched in outgoing.values() for goal in matched}
    rest = [goal for goal in goals if goal.id not in taken]
    if not single or not rest:
        return outgoing
    rounds = math.gcd(*Counter(node.name for node in single).values(), *Counter(node.name for node in rest).values())
    length, size = len(single) // rounds, len(rest) // rounds
    for index, source in enumerate(single):
        start = index // length * size
        outgoing[source.id] = [goal.id for goal in rest[start : start + size]]
    return outgoing


def _ends(sources: Sequence[FunctionNodes], goals: Sequence[FunctionNodes]) -> Links:
    """Returns the links of the entry's arguments and results."""
    if not sources or not goals:
        return {}
    first, second = sources[0].nodes, goals[0].nodes
    others = [node.id for node in second if node.op == ARGUMENT]
    own = [node.id for node in first if node.op == ARGUMENT]
    outgoing = {one: [other] for one, other in zip(own, others, strict=False)}
    ends = [node.id for node in second if node.op == RETURN]
    return outgoing | {node.id: ends for node in first if node.op == RETURN and ends}
