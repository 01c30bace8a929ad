"""Graphs of Model Explorer, from nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from model_explorer import graph_builder as builder

from tt_xla.tools.explorer.namespaces import namespaces, shown_source
from tt_xla.tools.explorer.nodes import ARGUMENT, RETURN, FunctionNodes, Node

HIDDEN = ("deallocate", "constant", "get_device", "full", "zeros", "ones", "arange", "iota")
"""Labels of nodes that a graph does not show until they are asked for: constants and releases of memory."""

_COLOURS = {ARGUMENT: "#eef5e9", RETURN: "#eef5e9", "moved": "#fdf3e1", "host": "#fbe4e6", "exchange": "#e7e9fb"}
_MOVES = ("to_memory_config", "to_layout", "to_device", "from_device", "typecast")
_EXCHANGES = ("all_gather", "all_reduce", "reduce_scatter", "mesh_shard", "point_to_point", "collective_permute")


def graph_of(
    function: FunctionNodes,
    graph_id: str,
    subgraphs: Mapping[str, str],
    *,
    constants: bool = False,
    errors: Mapping[str, str] | None = None,
) -> builder.Graph:
    """Returns the graph of a function.

    Args:
        function: nodes of the function.
        graph_id: name of the graph.
        subgraphs: names of the graphs of other functions, by function.
        constants: whether constants and deallocations are shown.
        errors: messages of errors, by the node where they happened.
    """
    spaces = namespaces(function.nodes)
    nodes = [_node(node, spaces[node.id], subgraphs) for node in function.nodes]
    for node in nodes:
        message = (errors or {}).get(node.id)
        if message is not None:
            node.style = builder.GraphNodeStyle(backgroundColor="#ffc9c9", borderColor="#c92a2a")
            node.attrs.insert(0, builder.KeyValue("error", message))
    return builder.Graph(
        id=graph_id,
        nodes=nodes,
        groupNodeAttributes=_group_attributes(function.nodes, spaces),
        nodeLabelsToHide=[] if constants else list(HIDDEN),
    )


def _node(node: Node, space: str, subgraphs: Mapping[str, str]) -> builder.GraphNode:
    label = {ARGUMENT: node.argument, RETURN: "results"}.get(node.op, node.name)
    attributes = {"op": node.op, "source": shown_source(node.location), **_cost(node), **node.attributes}
    return builder.GraphNode(
        id=node.id,
        label=label,
        namespace=space,
        subgraphIds=[subgraphs[name] for name in node.calls if name in subgraphs],
        attrs=[builder.KeyValue(name, value) for name, value in attributes.items() if value],
        incomingEdges=[
            builder.IncomingEdge(producer, str(output), str(index))
            for index, (producer, output) in enumerate(node.operands)
        ],
        outputsMetadata=[
            builder.MetadataItem(str(index), [builder.KeyValue(name, value) for name, value in words.items()])
            for index, words in enumerate(node.results)
        ],
        style=_style(node),
    )


def _cost(node: Node) -> dict[str, str]:
    """Returns the predicted cost of an op in words; nothing where none is known."""
    cost = node.instruction.cost if node.instruction is not None else None
    if cost is None or not cost.total_us:
        return {}
    return {"predicted us": f"{cost.total_us:.2f}", "bound by": cost.bound, "cores": str(cost.cores)}


def _style(node: Node) -> builder.GraphNodeStyle | None:
    kind = node.op
    if node.name in _MOVES:
        kind = "moved"
    elif node.name in _EXCHANGES:
        kind = "exchange"
    elif "host_call" in node.name:
        kind = "host"
    return builder.GraphNodeStyle(backgroundColor=_COLOURS[kind]) if kind in _COLOURS else None


def _group_attributes(nodes: Sequence[Node], spaces: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Returns number of ops of each group, and the sum of their predicted times."""
    counts: dict[str, int] = {}
    times: dict[str, float] = {}
    for node in nodes:
        if node.op in (ARGUMENT, RETURN):
            continue
        cost = node.instruction.cost.total_us if node.instruction is not None else 0.0
        parts = spaces[node.id].split("/") if spaces[node.id] else []
        for length in range(len(parts) + 1):
            space = "/".join(parts[:length])
            counts[space] = counts.get(space, 0) + 1
            times[space] = times.get(space, 0.0) + cost
    words = {space: {"ops": str(count)} for space, count in counts.items()}
    for space, time in times.items():
        if time:
            words[space]["predicted us, without gaps"] = f"{time:.2f}"
    return words
