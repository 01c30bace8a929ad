"""Finds groups of marked ops in an aten graph (see ``marks.py``)."""

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
        name: name of the composite.
        attributes: attributes of the composite.
        inputs: marks of the inputs, by position.
        outputs: marks of the outputs, by position.
        order: position of each node in the graph.
        body: nodes between inputs and outputs, in the graph's order, without the marks of this group.
        captured: values from outside that no mark names, in the graph's order. They become further operands.
    """

    name: str
    attributes: dict[str, Any]
    inputs: list[Node]
    outputs: list[Node]
    order: dict[Node, int]
    body: list[Node] = field(default_factory=list)
    captured: list[Node] = field(default_factory=list)

    @property
    def last(self) -> Node:
        """Output mark that comes last in the graph. The composite is created there."""
        return max(self.outputs, key=lambda mark: self.order[mark])

    def complete(self, constants: Collection[Node], external: Collection[Node]) -> str | None:
        """Finds the body and the captured values.

        Args:
            constants: nodes whose values are constants.
            external: nodes whose values come from outside the graph.

        Returns:
            None, or the reason why the group cannot be a composite.
        """
        inside: set[Node] = set()
        captured: set[Node] = set()
        pending: list[Any] = [mark.args[0] for mark in self.outputs]
        own = set(self.inputs)
        while pending:
            node = pending.pop()
            if node in own or node in inside or node in constants:
                continue
            if node in external:
                captured.add(node)
                continue
            inside.add(node)
            pending.extend(node.all_input_nodes)
        self.body = sorted(inside, key=self.order.__getitem__)
        self.captured = sorted(captured, key=self.order.__getitem__)
        ends = set(self.outputs)
        for node in self.body:
            if any(user not in inside and user not in ends for user in node.users):
                return f"{node.name} is used outside the group"
        for mark in self.outputs:
            if any(self.order[user] < self.order[self.last] for user in mark.users):
                return f"{mark.name} is used before the last output of the group is computed"
        return None


def find_regions(nodes: Sequence[Node], constants: Collection[Node], external: Collection[Node]) -> list[Region]:
    """Returns the marked groups of a graph that can become composites. All others stay plain ops.

    Args:
        nodes: all nodes of the graph, in order.
        constants: nodes whose values are constants, which need not be operands.
        external: nodes whose values come from outside the graph: inputs, large constants, random numbers.
    """
    groups: dict[str, list[Node]] = defaultdict(list)
    for node in nodes:
        if node.op == "call_function" and node.target is MARK:
            groups[str(node.args[3])].append(node)
    order = {node: position for position, node in enumerate(nodes)}
    regions: list[Region] = []
    for marks in groups.values():
        region = _region(marks, order)
        reason = "a mark of an input or output is missing" if region is None else region.complete(constants, external)
        if region is None or reason:
            logger().debug("Composite %s stays plain ops: %s.", marks[0].args[1], reason)
        else:
            regions.append(region)
    return regions


def outermost(regions: Sequence[Region]) -> list[Region]:
    """Returns the regions that are inside no other region."""
    return [region for region in regions if not any(region.last in other.body for other in regions)]


def _region(marks: Sequence[Node], order: dict[Node, int]) -> Region | None:
    """Returns the region of one group's marks, or None when a position is missing or occurs twice."""
    inputs = sorted((mark for mark in marks if mark.args[4]), key=lambda mark: int(str(mark.args[2])))
    outputs = sorted((mark for mark in marks if not mark.args[4]), key=lambda mark: int(str(mark.args[2])))
    for side in (inputs, outputs):
        if [mark.args[2] for mark in side] != list(range(len(side))):
            return None
    if not outputs:
        return None
    attributes = json.loads(str(outputs[0].args[5]))
    return Region(str(outputs[0].args[1]), attributes, inputs, outputs, order)
