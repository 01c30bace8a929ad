"""Finding marked groups in an aten graph (see ``marks.py``)."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from torch.fx import Node

from tt_xla.frontends.torch.graph.marks import mark_tensor
from tt_xla.log import logger

MARK = mark_tensor._opoverload


@dataclass
class Region:
    """A group of ops that becomes one composite.

    Attributes:
        inputs: marks of its inputs, in order.
        outputs: marks of its outputs, in order.
        body: what lies between, in the graph's order; without the marks of this group.
        captured: values from outside that no mark names, in order; they become further operands.
    """

    name: str
    attributes: dict[str, Any]
    inputs: list[Node]
    outputs: list[Node]
    order: dict[Node, int]
    """The place of each node in the graph."""
    body: list[Node] = field(default_factory=list)
    captured: list[Node] = field(default_factory=list)

    @property
    def last(self) -> Node:
        """The output mark that stands last in the graph, where the composite is made."""
        return max(self.outputs, key=lambda mark: self.order[mark])

    def complete(self, known: Collection[Node], given: Collection[Node]) -> str | None:
        """Finds body and captured values; why the group cannot be a composite, or None."""
        inside: set[Node] = set()
        captured: set[Node] = set()
        pending: list[Any] = [mark.args[0] for mark in self.outputs]
        own = set(self.inputs)
        while pending:
            node = pending.pop()
            if node in own or node in inside or node in known:
                continue
            if node in given:
                captured.add(node)
                continue
            inside.add(node)
            pending.extend(node.all_input_nodes)
        self.body = sorted(inside, key=self.order.__getitem__)
        self.captured = sorted(captured, key=self.order.__getitem__)
        ends = set(self.outputs)
        for node in self.body:
            if any(user not in inside and user not in ends for user in node.users):
                return f"{node.name} is used outside of it"
        for mark in self.outputs:
            if any(self.order[user] < self.order[self.last] for user in mark.users):
                return f"{mark.name} is used before the last output is there"
        return None


def find_regions(nodes: Sequence[Node], known: Collection[Node], given: Collection[Node]) -> list[Region]:
    """The marked groups of a graph that can be composites; others are left as plain ops.

    Args:
        known: nodes whose values are constants, which need not be operands.
        given: nodes whose values come from outside: inputs, large constants, random numbers.
    """
    groups: dict[str, list[Node]] = defaultdict(list)
    for node in nodes:
        if node.op == "call_function" and node.target is MARK:
            groups[str(node.args[3])].append(node)
    order = {node: position for position, node in enumerate(nodes)}
    found: list[Region] = []
    for marks in groups.values():
        region = _region(marks, order)
        reason = "an input or output was lost" if region is None else region.complete(known, given)
        if region is None or reason:
            logger().debug("composite %s stays plain ops: %s", marks[0].args[1], reason)
        else:
            found.append(region)
    return found


def outermost(regions: Sequence[Region]) -> list[Region]:
    """The regions that lie in no other."""
    return [region for region in regions if not any(region.last in other.body for other in regions)]


def _region(marks: Sequence[Node], order: dict[Node, int]) -> Region | None:
    """The region of one group's marks; None when positions are missing, or there twice."""
    inputs = sorted((mark for mark in marks if mark.args[4]), key=lambda mark: int(str(mark.args[2])))
    outputs = sorted((mark for mark in marks if not mark.args[4]), key=lambda mark: int(str(mark.args[2])))
    for side in (inputs, outputs):
        if [mark.args[2] for mark in side] != list(range(len(side))):
            return None
    if not outputs:
        return None
    attributes = json.loads(str(outputs[0].args[5]))
    return Region(str(outputs[0].args[1]), attributes, inputs, outputs, order)
