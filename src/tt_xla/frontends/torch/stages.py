"""A graph with ops that have no lowering is cut at them: programs for the device, and between them ops on the host."""

from __future__ import annotations

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
from tt_xla.frontends.torch.lowering import is_lowered, number, source_line
from tt_xla.frontends.torch.private.fake import unset_fake_temporarily
from tt_xla.frontends.torch.private.ops import OpOverload


@dataclass(eq=False)
class DeviceStage:
    """A part of the graph that becomes one program.

    Attributes:
        graph: a graph module of its own.
        inputs: the nodes of the whole graph that it takes, in the order of its placeholders.
        outputs: those that it gives.
    """

    graph: GraphModule
    inputs: list[Node]
    outputs: list[Node]


Stage = DeviceStage | Node
"""A program, or one op on the host."""


def host_nodes(graph_module: GraphModule, refused: Collection[str] = ()) -> set[Node]:
    """The nodes that have to run on the host: their op has no lowering, or sizes are known only when they run.

    Args:
        refused: names of nodes whose rule does not cover this use of the op.
    """
    found: set[Node] = set()
    for node in graph_module.graph.nodes:
        if node.op != "call_function":
            continue
        follows = not isinstance(node.target, OpOverload) and any(n in found for n in node.all_input_nodes)
        if follows or node.name in refused or _only_on_host(node) or not is_lowered(node):
            found.add(node)
    return found


def _only_on_host(node: Node) -> bool:
    """Whether sizes depend on values that a program computes, or a dtype is one that StableHLO lacks."""
    pending = [node.meta.get("val"), *(given.meta.get("val") for given in node.all_input_nodes)]
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


def _is_unbacked(value: Any) -> bool:
    return isinstance(value, torch.SymInt | torch.SymFloat | torch.SymBool) and not value.node.has_hint()


def cut(graph_module: GraphModule, host: set[Node]) -> list[Stage]:
    """The graph as stages in the order in which they run, with as few programs as possible."""
    level: dict[Node, int] = {}
    for node in graph_module.graph.nodes:
        if node.op == "call_function":
            before = [level[n] + (n in host and node not in host) for n in node.all_input_nodes if n in level]
            level[node] = max(before, default=0)
    _postpone(level, host)
    _drop_split_marks(level)
    (output,) = graph_module.graph.find_nodes(op="output")
    stages: list[Stage] = []
    for step in range(max(level.values(), default=0) + 1):
        here = [node for node in level if level[node] == step]
        device = [node for node in here if node not in host and not _is_number(node)]
        if device:
            stages.append(_device_stage(graph_module, device, host, output))
        stages += [node for node in here if node in host]
    return stages


def _postpone(level: dict[Node, int], host: set[Node]) -> None:
    """What depends on inputs of the graph alone, as a transposed weight does, belongs to what first needs it.

    Random numbers stay where they are drawn.
    """
    early: set[Node] = set()
    for node in level:
        drawn = torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ())
        given = node.all_input_nodes
        if node not in host and given and not drawn and all(n not in level or n in early for n in given):
            early.add(node)
    for node in reversed(level):
        if node in early and node.users and all(user in level for user in node.users):
            level[node] = min(level[user] for user in node.users)


def _drop_split_marks(level: dict[Node, int]) -> None:
    """A group of ops that a host op falls into is no composite: its marks only pass tensors on."""
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
    graph, own, copies, inputs = Graph(), set(nodes), dict[Node, Any](), list[Node]()
    for node in nodes:
        for given in node.all_input_nodes:
            if given in own or given in copies:
                continue
            if _is_number(given):
                copies[given] = number(given.meta["val"])
            elif given.op != "get_attr":
                copies[given] = graph.placeholder(given.name)
                copies[given].meta = dict(given.meta)
                inputs.append(given)
    constants = {given for node in nodes for given in node.all_input_nodes if given.op == "get_attr"}
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


class StagedExecutor:
    """Runs the stages of a graph, one after another.

    Args:
        compile_stage: makes a program's callable, which takes a list of tensors and gives host tensors.

    Attributes:
        placeholders: the graph's inputs.
        results: nodes, and what else the graph returns.
        known: values that no stage computes: constants on the host, and numbers.
    """

    _boxed_call = True  # the list of arguments is ours to empty

    def __init__(
        self,
        graph_module: GraphModule,
        stages: Sequence[Stage],
        compile_stage: Callable[[DeviceStage], Callable[[list[Any]], Sequence[Any]]],
    ) -> None:
        self.placeholders = graph_module.graph.find_nodes(op="placeholder")
        (output,) = graph_module.graph.find_nodes(op="output")
        self.results = list(output.args[0])
        with unset_fake_temporarily():  # constants are real, where everything else is traced
            self.known = {
                node: _attribute_on_host(graph_module, node) for node in graph_module.graph.find_nodes(op="get_attr")
            }
        for node in graph_module.graph.nodes:
            if _is_number(node):
                self.known[node] = number(node.meta["val"])
        self._steps = [(stage, compile_stage(stage) if isinstance(stage, DeviceStage) else None) for stage in stages]
        self._dead = self._last_uses()

    def _last_uses(self) -> list[list[Node]]:
        """For each step, what no later one needs."""
        seen = {node for node in self.results if isinstance(node, Node)} | set(self.known)
        dead: list[list[Node]] = []
        for stage, _ in reversed(self._steps):
            used = (
                [*stage.inputs, *stage.outputs] if isinstance(stage, DeviceStage) else [stage, *stage.all_input_nodes]
            )
            dead.append(list({node for node in used if node not in seen}))
            seen.update(used)
        return dead[::-1]

    def __call__(self, args: list[Any]) -> Sequence[Any]:
        values: dict[Node, Any] = self.known | dict(zip(self.placeholders, args, strict=True))
        given = {_address(value) for value in args if isinstance(value, torch.Tensor)}
        args.clear()
        for (stage, call), dead in zip(self._steps, self._dead, strict=True):
            if isinstance(stage, DeviceStage):
                assert call is not None
                values.update(zip(stage.outputs, call([values[node] for node in stage.inputs]), strict=True))
            else:
                values[stage] = _run_on_host(stage, values)
            for node in dead:
                del values[node]
        return [self._result(node, values, given) for node in self.results]

    def _result(self, node: Any, values: dict[Node, Any], given: set[int]) -> Any:
        if not isinstance(node, Node):
            return node
        value, fake = values[node], node.meta.get("val")
        if node.op == "placeholder" or not isinstance(value, torch.Tensor) or value.device.type == DEVICE_TYPE:
            return value
        if _address(value) in given:
            value = value.clone()  # a host op may return a view of what it was given
        return lift(value) if isinstance(fake, torch.Tensor) and fake.device.type == DEVICE_TYPE else value


def _run_on_host(node: Node, values: dict[Node, Any]) -> Any:
    args, kwargs = torch.fx.node.map_arg((node.args, node.kwargs), lambda given: on_host(values[given]))
    kwargs = {name: torch.device("cpu") if isinstance(value, torch.device) else value for name, value in kwargs.items()}
    target: Any = node.target
    if isinstance(target, OpOverload):
        if "device" in kwargs or any(argument.name == "device" for argument in target._schema.arguments):
            kwargs["device"] = torch.device("cpu")
        host_ops.record(str(target), location=source_line(node))
    try:
        with torch.no_grad():
            return target(*args, **kwargs)
    except Exception as error:
        error.add_note(f"in {describe(node)}, which runs on the host, at {source_line(node) or 'an unknown line'}")
        raise


def on_host(value: Any) -> Any:
    if isinstance(value, torch.Tensor) and value.device.type == DEVICE_TYPE:
        return buffer_of(value).alias(value)
    return value.detach() if isinstance(value, torch.Tensor) else value


def _attribute_on_host(graph_module: GraphModule, node: Node) -> Any:
    value: Any = graph_module
    for name in str(node.target).split("."):
        value = getattr(value, name)
    return on_host(value)


def _address(value: torch.Tensor) -> int:
    return on_host(value).untyped_storage().data_ptr()


__all__ = ["DeviceStage", "Stage", "StagedExecutor", "cut", "host_nodes", "on_host"]
