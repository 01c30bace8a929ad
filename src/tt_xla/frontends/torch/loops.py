"""Loops over graphs of PyTorch as one program: ``scan`` and ``while_loop``, without gradients."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import torch

from tt_xla.frontends.torch import session
from tt_xla.frontends.torch.device.chips import DEVICE_TYPE
from tt_xla.frontends.torch.private.functions import without_dispatch_modes
from tt_xla.frontends.torch.private.tracing import traced, with_unknown_sizes

Tensors = Sequence[torch.Tensor]
_SCAN, _WHILE_LOOP = torch.ops.higher_order.scan, torch.ops.higher_order.while_loop
Body = Callable[..., Any]
"""A function from tensors to a sequence of tensors."""


class Scan:
    """A loop over the rows of tensors, which is traced and compiled once.

    Args:
        body: takes the carried tensors and one row of each further tensor, and returns the carried tensors and those
            to stack.
        start: carried tensors at the start.
        rows: the further tensors. The sizes and dtypes of both are those of all calls.
    """

    def __init__(self, body: Body, start: Tensors, rows: Tensors) -> None:
        graph, self._captured = _graph_of(body, [*start, *(row[0] for row in rows)])
        self._counts = len(start), len(rows)
        self._module = _called(_SCAN, [graph], [*self._counts, len(self._captured)])
        self._compiled: Callable[..., Any] | None = None

    def __call__(self, start: Tensors, rows: Tensors) -> tuple[torch.Tensor, ...]:
        """Returns the carried tensors after the last row, and the stacks of what each row gave."""
        inputs = [*(value.detach().contiguous() for value in (*start, *rows)), *self._captured]
        if self._compiled is None:
            self._compiled = _compiled(self._module, inputs)
        with torch.no_grad(), session.current.mode.allowing_runs():
            return tuple(self._compiled(*inputs))


def while_loop(condition: Body, body: Body, start: Tensors, more: Tensors = ()) -> tuple[torch.Tensor, ...]:
    """Repeats a function while a condition holds.

    Args:
        condition: takes the tensors and returns a tensor with one truth value.
        body: takes the tensors and returns new values for those of ``start``.
        start: the tensors at the start.
        more: further tensors, which stay as they are.

    Returns:
        The tensors after the last iteration.
    """
    example = [*start, *more]
    test, used_by_test = _graph_of(lambda *values: [condition(*values)], example)
    step, used_by_step = _graph_of(body, example, unused=len(used_by_test))
    _take_more_inputs(test, len(used_by_step))
    _return_one(test)
    captured = [*more, *used_by_test, *used_by_step]
    module = _called(_WHILE_LOOP, [test, step], [len(start), len(captured)])
    inputs = [*(value.detach().contiguous() for value in start), *captured]
    with torch.no_grad(), session.current.mode.allowing_runs():
        return tuple(_compiled(module, inputs)(*inputs))


def _graph_of(body: Body, example: Tensors, *, unused: int = 0) -> tuple[torch.fx.GraphModule, list[torch.Tensor]]:
    """Traces the body of a loop.

    Args:
        body: the function.
        example: tensors like its inputs.
        unused: number of inputs that the graph has after those and before the captured tensors.

    Returns:
        The graph, whose results are new and contiguous tensors as loops want them, and the tensors that the function
        uses beside its inputs. These are further inputs of the graph.
    """

    def fresh(*values: torch.Tensor) -> list[torch.Tensor]:
        return [torch.clone(value, memory_format=torch.contiguous_format) for value in body(*values)]

    graph = traced(fresh, [value.detach() for value in example])
    _take_more_inputs(graph, unused)
    captured: list[torch.Tensor] = []
    for node in list(graph.graph.nodes):
        value = getattr(graph, str(node.target), None) if node.op == "get_attr" else None
        if isinstance(value, torch.Tensor):
            captured.append(value.detach())
            (taken,) = _take_more_inputs(graph, 1)
            taken.meta.update(node.meta)
            node.replace_all_uses_with(taken)
            graph.graph.erase_node(node)
    graph.recompile()
    return graph, captured


def _take_more_inputs(graph: torch.fx.GraphModule, count: int) -> list[torch.fx.Node]:
    """Adds inputs behind those that a graph has, and returns them."""
    added: list[torch.fx.Node] = []
    for _ in range(count):
        inputs = graph.graph.find_nodes(op="placeholder")
        with graph.graph.inserting_after(inputs[-1]):
            added.append(graph.graph.placeholder(f"more_{len(inputs)}"))
    graph.recompile()
    return added


def _return_one(graph: torch.fx.GraphModule) -> None:
    """Makes a graph return its only result itself instead of a list of it."""
    (output,) = graph.graph.find_nodes(op="output")
    output.args = tuple(output.args[0])
    graph.recompile()


def _called(op: Any, graphs: list[torch.fx.GraphModule], counts: list[int]) -> torch.fx.GraphModule:
    """Returns a graph that calls a higher order op with graphs and lists of its own inputs, of the given lengths."""
    outer = torch.fx.Graph()
    inputs = [
        [outer.placeholder(f"input{part}_{index}") for index in range(count)] for part, count in enumerate(counts)
    ]
    bodies = [outer.get_attr(f"body{index}") for index in range(len(graphs))]
    lists = [
        tuple(nodes) if op is _WHILE_LOOP or part == len(inputs) - 1 else nodes for part, nodes in enumerate(inputs)
    ]
    result = outer.call_function(op, (*bodies, *lists))  # type: ignore[arg-type]
    (output,) = graphs[-1].graph.find_nodes(op="output")
    count = len(output.args[0])  # type: ignore[arg-type]
    outer.output(tuple(outer.call_function(operator.getitem, (result, index)) for index in range(count)))
    return torch.fx.GraphModule({f"body{index}": graph for index, graph in enumerate(graphs)}, outer)


def _compiled(module: torch.fx.GraphModule, inputs: Tensors) -> Callable[..., Any]:
    """Returns a graph compiled for the device.

    It stays as it is for inputs on the CPU, and with random ops, since each iteration draws other numbers on the host.
    The ops of all iterations are recorded then.
    """
    if all(value.device.type != DEVICE_TYPE for value in inputs) or _is_random(module):
        return module
    from tt_xla.frontends.torch.backend import tt
    from tt_xla.frontends.torch.private.dynamo import compile_lock

    with compile_lock, without_dispatch_modes(), with_unknown_sizes(), torch.no_grad():
        return tt(module, inputs)


def _is_random(module: torch.fx.GraphModule) -> bool:
    """Returns whether a graph, or one within it, has random ops."""
    graphs = [inner for inner in module.modules() if isinstance(inner, torch.fx.GraphModule)]
    return any(
        torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ()) for g in graphs for node in g.graph.nodes
    )


__all__ = ["Scan", "while_loop"]
