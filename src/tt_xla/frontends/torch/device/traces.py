"""Traces of recorded ops: the ops on which some values depend, and their FX graph."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from tt_xla.frontends.torch.device import analysis, kinds
from tt_xla.frontends.torch.device.kinds import graph_with_inputs, new_fakes, scalar_dtype
from tt_xla.frontends.torch.device.placements import Placement, in_use, placement_of_value
from tt_xla.frontends.torch.device.values import Kind, Node, Value

_SERIAL = operator.attrgetter("serial")


@dataclass
class Trace:
    """The recorded nodes that compute some values.

    Attributes:
        nodes: the nodes in the order of recording.
        leaves: values with bytes that the nodes read, each once.
        outputs: the values to compute.
        key: identifies the structure; traces that differ in bytes and scalars alone have equal keys.
        scalars: scalars of all nodes, in order.
        placements: placements of the leaves on a mesh; empty where none has one.
        chip: number of the chip that computes the values.
    """

    nodes: list[Node]
    leaves: list[Value]
    outputs: list[Value]
    key: tuple[int, ...]
    scalars: tuple[float, ...]
    placements: tuple[Placement | None, ...] = ()
    chip: int = 0

    def graph(self) -> analysis.Graph:
        """Returns what reports say about the trace."""
        return analysis.Graph(
            repr((self.key, self.placements, self.chip)),
            len(self.leaves) + len(self.scalars),
            len(self.outputs),
            self.chip,
        )


@dataclass(frozen=True)
class Sample:
    """Describes one run of a trace, for the comparison with the next one.

    Attributes:
        kinds: kinds of its ops, in the order of recording.
        shapes: shapes of its leaves.
        scalars: numbers of its ops that may vary.
        versions: content versions of its leaves.
    """

    kinds: list[Kind]
    shapes: list[tuple[int, ...]]
    scalars: tuple[float, ...]
    versions: list[int]

    @staticmethod
    def of(trace: Trace) -> Sample:
        """Returns the sample of a trace."""
        return Sample(
            [node.kind for node in trace.nodes],
            [leaf.shape for leaf in trace.leaves],
            trace.scalars,
            [leaf.version for leaf in trace.leaves],
        )


def _nodes_of(outputs: Sequence[Value]) -> list[Node]:
    """Returns the nodes that compute the values without bytes among ``outputs``, in the order of recording."""
    nodes: dict[Node, None] = {}
    stack = [value.node for value in outputs if value.node is not None]
    while stack:
        node = stack.pop()
        if node not in nodes:
            nodes[node] = None
            stack += [value.node for value in node.inputs if value.node is not None]
    return sorted(nodes, key=_SERIAL)


def collect(outputs: list[Value], chip: int = 0) -> Trace:
    """Returns the nodes on which some values depend, and the key of their structure."""
    order = _nodes_of(outputs)
    nodes: dict[Node, int] = {}
    leaves: dict[Value, int] = {}
    key: list[int] = []
    scalars: list[float] = []
    for number, node in enumerate(order):
        nodes[node] = number
        key.append(node.kind.serial)
        for value in node.inputs:
            if value.node is not None:
                key += (nodes[value.node], value.index)
            else:
                key.append(-1 - leaves.setdefault(value, len(leaves)))
        for scalar in node.scalars:
            key.append(-1 if type(scalar) is int else -2)
            scalars.append(scalar)
    for value in outputs:
        assert value.node is not None
        key += (nodes[value.node], value.index)
    placed = tuple(map(placement_of_value, leaves)) if in_use() else ()
    return Trace(order, list(leaves), outputs, tuple(key), tuple(scalars), placed if any(placed) else (), chip)


def graph_module_of(trace: Trace, inputs: frozenset[int], sample: Sample | None = None) -> torch.fx.GraphModule:
    """Returns the trace as an FX graph: placeholders of leaves and scalars, then the graphs of the nodes' kinds.

    Args:
        trace: the trace.
        inputs: indices of the scalars that are inputs.
        sample: an earlier run of the same ops, whose sizes and scalars the graph has; None for those of the trace.
    """
    graph = torch.fx.Graph()
    owner = torch.nn.Module()
    sample = sample or Sample.of(trace)
    leaves = {
        leaf: _placeholder(graph, f"input_{n}", shape, leaf.dtype)
        for n, (leaf, shape) in enumerate(zip(trace.leaves, sample.shapes, strict=True))
    }
    types = scalar_types(trace, inputs)
    scalars = {number: _placeholder(graph, f"scalar_{number}", (), types[number]) for number in sorted(inputs)}
    results: dict[tuple[Node, int], torch.fx.Node] = {}
    first = 0
    for node, kind in zip(trace.nodes, sample.kinds, strict=True):
        own_scalars = sample.scalars[first : first + len(node.scalars)]
        input_numbers = [number for number in range(first, first + len(node.scalars)) if number in inputs]
        variant = graph_with_inputs(kind, frozenset(number - first for number in input_numbers), own_scalars)
        operands = [
            results[value.node, value.index] if value.node is not None else leaves[value] for value in node.inputs
        ]
        scalar_inputs = [scalars[number] for number in input_numbers]
        for index, result in enumerate(_inline(graph, owner, variant, [*operands, *scalar_inputs], node.location)):
            results[node, index] = result
        first += len(node.scalars)
    graph.output(tuple(results[value.node, value.index] for value in trace.outputs if value.node is not None))
    graph.eliminate_dead_code()
    return torch.fx.GraphModule(owner, graph)


def _placeholder(graph: torch.fx.Graph, name: str, shape: Sequence[int], dtype: torch.dtype) -> torch.fx.Node:
    node = graph.placeholder(name)
    node.meta["val"] = kinds.fake(shape, dtype)
    return node


def _inline(
    graph: torch.fx.Graph, owner: torch.nn.Module, part: torch.fx.Graph, operands: Iterable[torch.fx.Node], where: str
) -> list[torch.fx.Node]:
    """Copies the graph of a kind into the graph of a program, and returns the nodes of its results.

    Args:
        graph: graph of the program.
        owner: module that holds the program's constants.
        part: graph of the kind.
        operands: nodes that replace the placeholders of ``part``.
        where: ``file:line`` of the user's code.
    """
    values: dict[torch.fx.Node, torch.fx.Node] = {}
    remaining_operands = iter(operands)
    for node in part.nodes:
        if node.op == "placeholder":
            values[node] = next(remaining_operands)
        elif node.op == "output":
            return [values[result] for result in node.args[0]]  # type: ignore[index,union-attr]
        elif node.op == "get_attr":
            name = f"constant_{len(list(owner.buffers()))}"
            constant: Any = part.owning_module
            for step in str(node.target).split("."):
                constant = getattr(constant, step)
            owner.register_buffer(name, constant)
            values[node] = graph.get_attr(name)
            values[node].meta = dict(node.meta)
        else:
            copied = values[node] = graph.node_copy(node, values.__getitem__)
            copied.meta = {"val": new_fakes(node.meta.get("val")), "stack_trace": _stack_trace(where)}
    raise AssertionError("the graph of a kind has no output node")


def _stack_trace(where: str) -> str:
    """Returns ``file:line`` in the form of a Python stack trace, from which the lowering reads source lines."""
    file, _, line = where.rpartition(":")
    return f'  File "{file}", line {line}, in recorded' if file else ""


def scalar_types(trace: Trace, inputs: frozenset[int]) -> dict[int, torch.dtype]:
    """Returns the dtypes of those scalars of a trace that are inputs, by number."""
    if not inputs:
        return {}
    numbered = enumerate((node, scalar) for node in trace.nodes for scalar in node.scalars)
    return {number: scalar_dtype(node.kind, scalar) for number, (node, scalar) in numbered if number in inputs}


__all__ = ["Sample", "Trace", "collect", "graph_module_of", "scalar_types"]
