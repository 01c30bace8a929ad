"""Recorded ops that run again on other tensors: their graphs are kept by name, without the bytes that they read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from tt_xla.frontends.torch import session
from tt_xla.frontends.torch.device.buffers import Buffer, buffer_of, pending_buffers
from tt_xla.frontends.torch.device.programs import program_of, synchronize
from tt_xla.frontends.torch.device.recording import new_tensor, read
from tt_xla.frontends.torch.device.traces import Trace, collect
from tt_xla.frontends.torch.device.values import Kind, Node, Value

_MAX_GRAPHS = 4096
"""Number of graphs that are kept."""


@dataclass
class _Graph:
    """Recorded ops without values.

    Attributes:
        inputs: shapes and dtypes of the tensors that the ops read, in the order of :func:`inputs_of`.
        steps: for each op its kind, and its operands: the number of an input, or the number of a step and of a result.
        scalars: scalars of each op.
        outputs: numbers of a step and of a result.
    """

    inputs: list[tuple[tuple[int, ...], torch.dtype]]
    steps: list[tuple[Kind, list[int | tuple[int, int]]]]
    scalars: list[tuple[float, ...]]
    outputs: list[tuple[int, int]]


class _Graphs(dict[bytes, _Graph]):
    """The session's kept graphs by name."""


def inputs_of(tensors: Sequence[torch.Tensor]) -> list[Value]:
    """Returns what the recorded ops on which tensors depend read, in XLA's order: that of the last operand goes first.

    Tensors without recorded ops are inputs themselves.
    """
    found: dict[Value, None] = {}
    seen: set[Node] = set()
    for tensor in tensors:
        stack = [read(tensor)]
        while stack:
            value = stack.pop()
            if value.is_computed or value.node is None:
                found[value] = None
            elif value.node not in seen:
                seen.add(value.node)
                stack += value.node.inputs
    return list(found)


def keep(tensors: Sequence[torch.Tensor], name: bytes) -> None:
    """Compiles the recorded ops on which tensors depend, without running them, and keeps their graph under a name.

    Tensors without recorded ops are no results of the graph, and several that share memory are one.

    Raises:
        CompileError: an op cannot be compiled.
    """
    with session.current.running:
        inputs, trace = inputs_of(tensors), _trace(tensors)
        if trace is None:
            return
        program_of(trace)
    numbers = {node: number for number, node in enumerate(trace.nodes)}
    positions = {leaf: number for number, leaf in enumerate(inputs)}

    def reference(value: Value) -> int | tuple[int, int]:
        return positions[value] if value.node is None else (numbers[value.node], value.index)

    graphs = session.current.part(_Graphs)
    if len(graphs) >= _MAX_GRAPHS:
        graphs.clear()
    graphs[name] = _Graph(
        [(leaf.shape, leaf.dtype) for leaf in inputs],
        [(node.kind, [*map(reference, node.inputs)]) for node in trace.nodes],
        [node.scalars for node in trace.nodes],
        [(numbers[value.node], value.index) for value in trace.outputs if value.node is not None],
    )


def _trace(tensors: Sequence[torch.Tensor]) -> Trace | None:
    """Returns the recorded ops that compute tensors, in the order of these; None if all have been computed."""
    values = {value: None for tensor in tensors if (value := read(tensor)).node is not None}
    return collect(list(values), buffer_of(tensors[0]).chip) if values else None


def run(name: bytes, inputs: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """Runs a kept graph.

    Args:
        name: name of the graph.
        inputs: tensors of the device, in the order of :func:`inputs_of`.

    Returns:
        New tensors of the results, in the order of the tensors that were given to :func:`keep`.

    Raises:
        KeyError: no graph has this name.
        ValueError: the inputs are not like those of the graph.
    """
    if (graph := session.current.part(_Graphs).get(name)) is None:
        raise KeyError(f"No graph is kept for the hash {name.hex()}: compile it first by _xla_warm_up_cache.")
    found = [(tuple(tensor.shape), tensor.dtype) for tensor in inputs]
    if found != graph.inputs:
        raise ValueError(f"A kept graph takes tensors of shapes and dtypes {graph.inputs}, and got {found}.")
    values = [read(tensor) for tensor in inputs]
    nodes: list[Node] = []

    def result(step: int, index: int) -> Value:
        output = nodes[step].kind.outputs[index]
        return Value(output.shape, output.dtype, nodes[step], index, buffer_of(inputs[0]).chip)

    for (kind, operands), scalars in zip(graph.steps, graph.scalars, strict=True):
        read_values = [values[each] if isinstance(each, int) else result(*each) for each in operands]
        nodes.append(Node(kind, tuple(read_values), scalars, None))
    results = [new_tensor(result(*each)) for each in graph.outputs]
    synchronize(only=results)
    return results


def drop_pending(chip: int) -> None:
    """Forgets the recorded ops of a chip: tensors that wait for them have no bytes afterwards."""
    with session.current.running:
        for buffer in pending_buffers():
            if buffer.chip == chip:
                _drop(buffer)


def _drop(buffer: Buffer) -> None:
    value = buffer.value
    buffer.set_value(Value(value.shape, value.dtype, chip=buffer.chip))
    session.current.pending.pop(id(buffer), None)


__all__ = ["drop_pending", "inputs_of", "keep", "run"]
