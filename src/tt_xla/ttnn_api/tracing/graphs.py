"""The graph of traced tensors, with modules or flattened to what they call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import networkx

from tt_xla.ttnn_api.tracing.nodes import Node, TorchModule, TorchModuleInput
from tt_xla.ttnn_api.tracing.recording import tensors_in

if TYPE_CHECKING:
    from tt_xla.ttnn_api.tracing.nodes import Graph

Place = tuple[Node, int]


def get_graph(value: Any, flatten: bool = False) -> Graph:
    """Returns the graph of the trace in which calls returned tensors.

    Args:
        value: traced tensors, in sequences, mappings or dataclasses, or a graph.
        flatten: whether modules are replaced by the nodes of their own graphs.

    Raises:
        ValueError: no tensor was traced.
    """
    if isinstance(value, networkx.MultiDiGraph):
        graphs = {id(value): value}
    else:
        places = (getattr(tensor, "graph", None) for tensor in tensors_in(value))
        graphs = {id(each): each for each in places if each is not None}
    if not graphs:
        raise ValueError(
            f"No traced tensor in a {type(value).__name__}: tensors that a call returned inside of "
            "`with ttnn.tracer.trace()` are traced."
        )
    first, *others = graphs.values()
    graph = networkx.compose_all([first, *others]) if others else first
    return flatten_graph(graph) if flatten else graph


def inputs_of(graph: Graph, node: Node) -> list[Place]:
    """Returns the places of a node's inputs, in the order of the inputs."""
    edges = sorted(graph.in_edges(node, data=True), key=lambda edge: edge[2]["sink_input_index"])
    return [(source, data["source_output_index"]) for source, _, data in edges]


def flatten_graph(graph: Graph) -> Graph:
    """Returns a graph without modules: their nodes, and edges past the inputs and outputs of modules."""
    flat: Graph = networkx.MultiDiGraph()
    _flatten(graph, flat, {})
    return flat


def _flatten(graph: Graph, flat: Graph, sources: dict[Place, Place]) -> None:
    """Adds the nodes of a graph to a flat one.

    Args:
        sources: places in the flat graph of module inputs and outputs that were met; the function adds to them.
    """
    for node in networkx.topological_sort(graph):
        attributes = graph.nodes[node]
        operation = attributes["operation"]
        inputs = [sources.get(place, place) for place in inputs_of(graph, node)]
        if isinstance(operation, TorchModuleInput):
            continue
        if isinstance(operation, TorchModule):
            sources.update({(each.node, 0): place for each, place in zip(operation.inputs, inputs, strict=True)})
            _flatten(operation.graph, flat, sources)
            for index, each in enumerate(operation.outputs):
                inner = each.node, each.output_index
                sources[node, index] = sources.get(inner, inner)
            continue
        flat.add_node(node, **attributes)
        for index, (source, output_index) in enumerate(inputs):
            flat.add_edge(source, node, source_output_index=output_index, sink_input_index=index)
