"""Cuts a graph at ops without a lowering: programs for the device, and ops on the host between them."""

from __future__ import annotations

import contextlib
import weakref
from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx import Graph, GraphModule, Node

from tt_xla.frontends.torch import host_ops
from tt_xla.frontends.torch.aten.registry import DTYPES, describe
from tt_xla.frontends.torch.device import DEVICE_TYPE, buffer_of, lift
from tt_xla.frontends.torch.graph.regions import MARK
from tt_xla.frontends.torch.graph_chips import chip_of, chips_of, is_transfer
from tt_xla.frontends.torch.lowering import is_lowered, source_line
from tt_xla.frontends.torch.numbers import number
from tt_xla.frontends.torch.private.functions import without_dispatch_modes
from tt_xla.frontends.torch.private.ops import OpOverload
from tt_xla.frontends.torch.trees import tree_leaves
from tt_xla.runtime.process_groups import exchanging_for_device


@dataclass(eq=False)
class DeviceStage:
    """A part of the graph that becomes one program.

    Attributes:
        graph: the part as a graph module of its own.
        inputs: nodes of the whole graph that the part takes, in the order of its placeholders.
        outputs: nodes of the whole graph that the part computes for others.
    """

    graph: GraphModule
    inputs: list[Node]
    outputs: list[Node]


Stage = DeviceStage | Node
"""One step of a staged graph: a program, or one op on the host."""


def host_nodes(graph_module: GraphModule, refused: Collection[str] = ()) -> set[Node]:
    """Returns the nodes that run on the host: their op has no lowering, a size depends on computed values, or they copy
    a tensor from one chip to another.

    Args:
        graph_module: the graph.
        refused: names of nodes whose lowering rule does not cover this use of the op.
    """
    nodes_on_host: set[Node] = set()
    has_several_chips = len(chips_of(graph_module.graph.nodes)) > 1
    for node in graph_module.graph.nodes:
        if node.op != "call_function":
            continue
        if has_several_chips and is_transfer(node):
            nodes_on_host.add(node)
        follows = not isinstance(node.target, OpOverload) and any(n in nodes_on_host for n in node.all_input_nodes)
        if follows or node.name in refused or _only_on_host(node) or not is_lowered(node):
            nodes_on_host.add(node)
    return nodes_on_host


_COLLECTIVES = ("_c10d_functional::", "_dtensor::shard_dim_alltoall")


def is_collective(node: Node) -> bool:
    """Returns whether a node is a functional collective of ``torch.distributed``.

    The other ranks wait for it, so all collectives of a graph run in the order of the graph, whatever else each rank
    computes on the host.
    """
    return isinstance(node.target, OpOverload) and node.target._schema.name.startswith(_COLLECTIVES)


def _only_on_host(node: Node) -> bool:
    """Returns whether a size depends on values that a program computes, StableHLO lacks a dtype, or ranks exchange
    tensors without elements, which no program computes."""
    if is_collective(node) and any(0 in value.shape for value in _tensors(node.meta.get("val"))):
        return True
    pending = [node.meta.get("val"), *(operand.meta.get("val") for operand in node.all_input_nodes)]
    while pending:
        value = pending.pop()
        if isinstance(value, list | tuple):
            pending += value
        elif isinstance(value, torch.Tensor):
            pending += value.shape
            if value.dtype not in DTYPES:
                return True
        elif _is_unbacked(value):
            return True
    return False


def _tensors(value: Any) -> list[torch.Tensor]:
    values = value if isinstance(value, list | tuple) else [value]
    return [each for each in values if isinstance(each, torch.Tensor)]


def _is_unbacked(value: Any) -> bool:
    return isinstance(value, torch.SymInt | torch.SymFloat | torch.SymBool) and not value.node.has_hint()


def cut(graph_module: GraphModule, host: set[Node]) -> list[Stage]:
    """Returns the stages of a graph in the order in which they run, with as few programs as possible.

    Args:
        graph_module: the graph.
        host: nodes that run on the host.
    """
    level: dict[Node, int] = {}
    last_collective: list[Node] = []
    for node in graph_module.graph.nodes:
        if node.op == "call_function":
            follows = [*node.all_input_nodes, *(last_collective if is_collective(node) else ())]
            before = [level[n] + (n in host and node not in host) for n in follows if n in level]
            level[node] = max(before, default=0)
            if is_collective(node):
                last_collective = [node]
    _postpone(level, host)
    _drop_split_marks(level)
    (output,) = graph_module.graph.find_nodes(op="output")
    stages: list[Stage] = []
    for step in range(max(level.values(), default=0) + 1):
        step_nodes = [node for node in level if level[node] == step]
        device = [node for node in step_nodes if node not in host and not _is_number(node)]
        for chip in sorted({chip_of(node) for node in device}):
            stages.append(_device_stage(graph_module, [n for n in device if chip_of(n) == chip], host, output))
        stages += [node for node in step_nodes if node in host]
    return stages


def _postpone(level: dict[Node, int], host: set[Node]) -> None:
    """Moves nodes that depend on the graph's inputs alone, such as a transposed weight, to the stage that first uses
    them.

    Random numbers stay in the stage that draws them, and collectives in their order.
    """
    early: set[Node] = set()
    for node in level:
        stays = torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ()) or is_collective(node)
        operands = node.all_input_nodes
        if node not in host and operands and not stays and all(n not in level or n in early for n in operands):
            early.add(node)
    for node in reversed(level):
        if node in early and node.users and all(user in level for user in node.users):
            level[node] = min(level[user] for user in node.users)


def _drop_split_marks(level: dict[Node, int]) -> None:
    """Turns the marks of a group that a host op splits into aliases, because such a group is no composite."""
    groups: dict[str, list[Node]] = defaultdict(list)
    for node in level:
        if node.target is MARK:
            groups[str(node.args[3])].append(node)
    for marks in groups.values():
        if len({level[mark] for mark in marks}) > 1:
            for mark in marks:
                mark.target = torch.ops.aten.alias.default
                mark.args = mark.args[:1]


def _is_number(node: Node) -> bool:
    return isinstance(
        node.meta.get("val"), bool | int | float | torch.SymInt | torch.SymFloat | torch.SymBool
    ) and not _is_unbacked(node.meta["val"])


def _device_stage(graph_module: GraphModule, nodes: list[Node], host: set[Node], output: Node) -> DeviceStage:
    """Copies nodes into a graph of their own.

    Args:
        graph_module: the whole graph.
        nodes: nodes of the stage.
        host: nodes that run on the host.
        output: output node of the whole graph.
    """
    graph, own, copies, inputs = Graph(), set(nodes), dict[Node, Any](), list[Node]()
    for node in nodes:
        for operand in node.all_input_nodes:
            if operand in own or operand in copies:
                continue
            if _is_number(operand):
                copies[operand] = number(operand.meta["val"])
            elif operand.op != "get_attr":
                copies[operand] = graph.placeholder(operand.name)
                copies[operand].meta = dict(operand.meta)
                inputs.append(operand)
    constants = {operand for node in nodes for operand in node.all_input_nodes if operand.op == "get_attr"}
    for node in graph_module.graph.nodes:
        if node in own or node in constants:
            copies[node] = graph.node_copy(node, copies.__getitem__)
    outputs = [
        node
        for node in nodes
        if isinstance(node.meta.get("val"), torch.Tensor)
        and any(user is output or user in host or (user not in own) for user in node.users)
    ]
    graph.output(tuple(copies[node] for node in outputs))
    return DeviceStage(GraphModule(graph_module, graph), inputs, outputs)


class Inputs:
    """The memory of a graph's inputs, which neither lives longer because of this nor is restored.

    Args:
        values: the inputs.
    """

    def __init__(self, values: Sequence[Any]) -> None:
        tensors = [value for value in values if isinstance(value, torch.Tensor)]
        self._buffers = [weakref.ref(buffer_of(tensor)) for tensor in tensors if tensor.device.type == DEVICE_TYPE]
        self._addresses = {_address(tensor) for tensor in tensors if tensor.device.type != DEVICE_TYPE}

    def own(self, value: torch.Tensor) -> bool:
        """Returns whether a CPU tensor lies in the memory of an input. Bytes that are elsewhere cannot have been given
        to an op on the host."""
        buffers = [reference() for reference in self._buffers]
        own = {buffer.address for buffer in buffers if buffer is not None}
        return _address(value) in self._addresses | own


class StagedExecutor:
    """Runs the stages of a graph one after another.

    Args:
        graph_module: the whole graph.
        stages: its stages in order.
        compile_stage: returns a function that runs a stage: it takes and returns tensors.

    Attributes:
        placeholders: inputs of the graph.
        results: outputs of the graph: nodes and other values.
        constants: values that no stage computes: constants on the host, and numbers.
    """

    _boxed_call = True  # tells AOTAutograd that the list of arguments may be emptied

    def __init__(
        self,
        graph_module: GraphModule,
        stages: Sequence[Stage],
        compile_stage: Callable[[DeviceStage], Callable[[list[Any]], Sequence[Any]]],
    ) -> None:
        self.placeholders = graph_module.graph.find_nodes(op="placeholder")
        (output,) = graph_module.graph.find_nodes(op="output")
        self.results = list(output.args[0])
        with without_dispatch_modes():  # AOTAutograd compiles under a fake mode, but constants are real
            self.constants = {
                node: _attribute_on_host(graph_module, node) for node in graph_module.graph.find_nodes(op="get_attr")
            }
        for node in graph_module.graph.nodes:
            if _is_number(node):
                self.constants[node] = number(node.meta["val"])
        self._steps = [(stage, compile_stage(stage) if isinstance(stage, DeviceStage) else None) for stage in stages]
        self._dead = self._last_uses()

    def _last_uses(self) -> list[list[Node]]:
        """Returns, for each stage, the nodes that no later stage needs."""
        seen = {node for node in self.results if isinstance(node, Node)} | set(self.constants)
        dead: list[list[Node]] = []
        for stage, _ in reversed(self._steps):
            used = (
                [*stage.inputs, *stage.outputs] if isinstance(stage, DeviceStage) else [stage, *stage.all_input_nodes]
            )
            dead.append(list({node for node in used if node not in seen}))
            seen.update(used)
        return dead[::-1]

    def __call__(self, args: list[Any]) -> Sequence[Any]:
        values: dict[Node, Any] = self.constants | dict(zip(self.placeholders, args, strict=True))
        inputs = Inputs(args)
        args.clear()
        for (stage, call), dead in zip(self._steps, self._dead, strict=True):
            if isinstance(stage, DeviceStage):
                assert call is not None
                values.update(zip(stage.outputs, call([values[node] for node in stage.inputs]), strict=True))
            else:
                values[stage] = _run_on_host(stage, values)
            for node in dead:
                del values[node]
        return [self._result(node, values, inputs) for node in self.results]

    def _result(self, node: Any, values: dict[Node, Any], inputs: Inputs) -> Any:
        """Returns an output of the graph on the device on which the graph returns it."""
        if not isinstance(node, Node):
            return node
        value, fake = values[node], node.meta.get("val")
        if node.op == "placeholder" or not isinstance(value, torch.Tensor) or value.device.type == DEVICE_TYPE:
            return value
        if inputs.own(value):
            value = value.clone()  # a host op may return a view of an input
        is_ours = isinstance(fake, torch.Tensor) and fake.device.type == DEVICE_TYPE
        return lift(value, chip_of(node)) if is_ours else value


def _run_on_host(node: Node, values: dict[Node, Any]) -> Any:
    """Runs one op on the host and counts it. An error gets a note with the op and the user's line."""
    args, kwargs = torch.fx.node.map_arg((node.args, node.kwargs), lambda operand: on_host(values[operand]))
    args = [torch.device("cpu") if isinstance(value, torch.device) else value for value in args]
    kwargs = {name: torch.device("cpu") if isinstance(value, torch.device) else value for name, value in kwargs.items()}
    target: Any = node.target
    if isinstance(target, OpOverload):
        if any(argument.name == "device" for argument in target._schema.arguments[len(args) :]):
            kwargs["device"] = torch.device("cpu")
        if not is_transfer(node):
            host_ops.record(str(target), location=source_line(node))
    results = tree_leaves(node.meta.get("val"))
    is_ours = any(isinstance(result, torch.Tensor) and result.device.type == DEVICE_TYPE for result in results)
    try:
        with torch.no_grad(), exchanging_for_device() if is_ours else contextlib.nullcontext():
            return target(*args, **kwargs)
    except Exception as error:
        error.add_note(
            f"This happened in {describe(node)}, which runs on the host, at {source_line(node) or 'an unknown line'}."
        )
        raise


def on_host(value: Any) -> Any:
    """Returns a tensor as a CPU tensor over the same memory, without autograd. Other values stay as they are."""
    if isinstance(value, torch.Tensor) and value.device.type == DEVICE_TYPE:
        return buffer_of(value).alias(value)
    return value.detach() if isinstance(value, torch.Tensor) else value


def _attribute_on_host(graph_module: GraphModule, node: Node) -> Any:
    value: Any = graph_module
    for name in str(node.target).split("."):
        value = getattr(value, name)
    return on_host(value)


def _address(value: torch.Tensor) -> int:
    """Returns the address of the memory of a CPU tensor."""
    return value.untyped_storage().data_ptr()


__all__ = ["DeviceStage", "Inputs", "Stage", "StagedExecutor", "cut", "host_nodes", "on_host"]
