"""Draws a traced graph with Graphviz."""

from __future__ import annotations

import html
import logging
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tt_xla.ttnn_api.tracing.graphs import flatten_graph, get_graph, inputs_of
from tt_xla.ttnn_api.tracing.nodes import Node, TorchModule

if TYPE_CHECKING:
    import graphviz

    from tt_xla.ttnn_api.tracing.nodes import Graph

_log = logging.getLogger(__name__)

LEVEL_COLORS = ("#0000ff80", "#ee00ee80", "#ff000080", "#eeee0080", "#00ff0080", "#00eeee80")
"""Colors of modules, by how many modules they are in."""

_FORMATS = (".svg", ".png", ".pdf")
_GRAPH = {"ordering": "in", "rankdir": "TB"}
_NODE = {"style": "filled", "shape": "box", "margin": "0", "height": "0.2", "fontsize": "10"}
_EDGE = {"fontsize": "10"}


def duration_to_string(duration: float) -> str:
    """Returns a duration in seconds as text, with a unit that suits it."""
    for unit, factor in (("ns", 1e9), ("µs", 1e6), ("ms", 1e3)):
        if duration * factor < 1000:
            return f"{duration * factor:.1f} {unit}"
    return f"{duration:.1f} s"


def visualize_node(
    graphviz_graph: graphviz.Digraph,
    graph: Graph,
    node: Node,
    max_depth: int | None,
    visualize_node: Callable[..., None],
    visualize_edge: Callable[..., None],
    level: int,
    verbose: bool,
) -> None:
    """Draws a node: a table of its inputs and outputs, or a box around the calls of a module.

    Args:
        max_depth: levels of modules that are drawn; None for all.
        level: how many modules the node is in.
        verbose: whether labels list arguments.
    """
    operation = graph.nodes[node]["operation"]
    is_module = isinstance(operation, TorchModule)
    color = LEVEL_COLORS[level % len(LEVEL_COLORS)] if is_module else "#DCDCDC"
    if not is_module or (max_depth is not None and level + 1 >= max_depth):
        graphviz_graph.node(node.name, label=_table(graph, node, verbose), fillcolor=color)
        return
    cluster = type(graphviz_graph)(name=f"cluster_{node.name}")
    cluster.attr(label=_title(graph, node, verbose), bgcolor=color)
    _draw(cluster, operation.graph, max_depth, visualize_node, visualize_edge, level + 1, verbose)
    graphviz_graph.subgraph(cluster)


def _title(graph: Graph, node: Node, verbose: bool) -> str:
    """Returns the label of a node and how long its call took."""
    attributes = graph.nodes[node]
    title = attributes["operation"].to_string(verbose=verbose)
    duration = attributes.get("duration")
    return title if duration is None else f"{title}\nduration: {duration_to_string(duration)}"


def _table(graph: Graph, node: Node, verbose: bool) -> str:
    """Returns the table of a node in Graphviz's form of HTML: its label, a row of inputs and a row of outputs."""
    inputs = [_described(graph, *place) for place in inputs_of(graph, node)]
    outputs = [_described(graph, node, index) for index in range(len(graph.nodes[node]["shapes"]))]
    rows = [(name, sign, each) for name, sign, each in (("Input", "$", inputs), ("Output", "#", outputs)) if each]
    title = _lines(_title(graph, node, verbose))
    columns = max(len(inputs), len(outputs), 1)
    text = '<<TABLE BORDER="0" CELLBORDER="1" CELLSPACING="1" CELLPADDING="1">'
    for place, (name, sign, tensors) in enumerate(rows):
        span = columns // len(tensors)
        cells = "".join(
            f'<TD PORT="{sign}{index}" COLSPAN="{span if index + 1 < len(tensors) else columns - span * index}">'
            f"{name} {index}<BR/>{_lines(each)}</TD>"
            for index, each in enumerate(tensors)
        )
        text += f"<TR>{f'<TD ROWSPAN={chr(34)}{len(rows)}{chr(34)}>{title}</TD>' if place == 0 else ''}{cells}</TR>"
    return f"{text}</TABLE>>" if rows else f"<{title}>"


def _lines(text: str) -> str:
    return html.escape(text).replace("\n", "<BR/>")


def _described(graph: Graph, node: Node, index: int) -> str:
    """Returns shape and type of a tensor, and layout and memory of a tensor of TT-NN."""
    attributes = graph.nodes[node]
    lines = [f"{attributes['shapes'][index]}", f"{attributes['dtypes'][index]}"]
    layout, memory = attributes["layouts"][index], attributes["memory_configs"][index]
    if layout is not None:
        lines.append(f"Layout: {layout.name}")
    if memory is not None:
        lines.append(f"Memory: {memory.buffer_type.name}, {memory.memory_layout.name}")
        if (shards := memory.shard_spec) is not None:
            lines += [f"Shard Grid: {shards.grid}", f"Shard Shape: {shards.shape}"]
            lines.append(f"Shard Orientation: {shards.orientation.name}")
    return "\n".join(lines)


def visualize_edge(
    graphviz_graph: graphviz.Digraph,
    graph: Graph,
    edge: Sequence[Any],
    max_depth: int | None,
    level: int,
) -> None:
    """Draws an edge, from and to the nodes inside of modules that are drawn as boxes around their calls."""
    source, sink, _, data = edge
    source, output_index = _inner_source(graph, source, data["source_output_index"], max_depth, level)
    target = f"{sink.name}:${data['sink_input_index']}"
    operation, depth, index = graph.nodes[sink]["operation"], level, data["sink_input_index"]
    while isinstance(operation, TorchModule) and (max_depth is None or depth + 1 < max_depth):
        entry = operation.inputs[index]
        target, operation, depth, index = entry.name, entry.graph.nodes[entry.node]["operation"], depth + 1, 0
    graphviz_graph.edge(f"{source.name}:#{output_index}", target)


def _inner_source(graph: Graph, node: Node, index: int, max_depth: int | None, level: int) -> tuple[Node, int]:
    operation = graph.nodes[node]["operation"]
    if not isinstance(operation, TorchModule) or (max_depth is not None and level + 1 >= max_depth):
        return node, index
    output = operation.outputs[index]
    return _inner_source(output.graph, output.node, output.output_index, max_depth, level + 1)


def _draw(
    graphviz_graph: graphviz.Digraph,
    graph: Graph,
    max_depth: int | None,
    draw_node: Callable[..., None],
    draw_edge: Callable[..., None],
    level: int,
    verbose: bool,
) -> None:
    """Draws the nodes and edges of a graph."""
    for node in sorted(graph):
        draw_node(graphviz_graph, graph, node, max_depth, draw_node, draw_edge, level, verbose=verbose)
    for node in sorted(graph):
        for edge in graph.in_edges(node, data=True, keys=True):
            draw_edge(graphviz_graph, graph, edge, max_depth, level)


def visualize(
    output: Any,
    *,
    show_modules: bool = True,
    max_depth: int | None = None,
    file_name: str | Path | None = None,
    graph_attr: Mapping[str, str] | None = None,
    node_attr: Mapping[str, str] | None = None,
    edge_attr: Mapping[str, str] | None = None,
    visualize_node: Callable[..., None] = visualize_node,
    visualize_edge: Callable[..., None] = visualize_edge,
    verbose: bool = False,
) -> graphviz.Digraph:
    """Draws the graph of the trace in which calls returned tensors. A notebook shows the picture that it returns.

    Args:
        output: traced tensors, in sequences, mappings or dataclasses, or a graph.
        show_modules: whether modules are boxes around their calls; otherwise the calls alone are drawn.
        max_depth: levels of modules that are drawn; None for all.
        file_name: file to write, ``.svg``, ``.png`` or ``.pdf``. Where Graphviz's program ``dot`` is absent, its text
            is written to a ``.gv`` file of the same name instead.
        graph_attr: attributes of Graphviz for the picture.
        node_attr: attributes of Graphviz for nodes.
        edge_attr: attributes of Graphviz for edges.
        visualize_node: draws a node; takes the arguments of :func:`visualize_node`.
        visualize_edge: draws an edge; takes the arguments of :func:`visualize_edge`.
        verbose: whether labels list arguments.

    Raises:
        ValueError: no tensor was traced, ``max_depth`` is below 1 or given without modules, or the file has another
            ending.
    """
    if max_depth is not None and (max_depth < 1 or not show_modules):
        raise ValueError(
            f"max_depth counts levels of modules that are drawn, from 1 on, got {max_depth} with {show_modules=}"
        )
    path = None if file_name is None else Path(file_name)
    if path is not None and path.suffix not in _FORMATS:
        raise ValueError(f"file_name ends in {', '.join(_FORMATS)}, got {path.name!r}")
    import graphviz

    graph = get_graph(output)
    drawn = graphviz.Digraph(
        graph_attr=dict(graph_attr or _GRAPH), node_attr=dict(node_attr or _NODE), edge_attr=dict(edge_attr or _EDGE)
    )
    graph = graph if show_modules else flatten_graph(graph)
    _draw(drawn, graph, max_depth, visualize_node, visualize_edge, 0, verbose)
    if path is not None:
        _write(drawn, path)
    return drawn


def _write(drawn: graphviz.Digraph, path: Path) -> None:
    """Writes a picture, or its text where Graphviz is absent."""
    if shutil.which("dot") is None:
        text = path.with_suffix(".gv")
        text.write_text(drawn.source)
        _log.warning(
            "Graphviz is not installed, so the graph was written as text to %s. Install Graphviz (its program is "
            "`dot`) and run `dot -T%s %s -o %s`.",
            *(text, path.suffix[1:], text, path),
        )
        return
    drawn.render(outfile=path, cleanup=True)
