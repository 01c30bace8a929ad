"""Runs what was recorded: all live pending buffers become the results of one program, compiled once per structure."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch

from tt_xla.collector import collector_paused
from tt_xla.frontends.torch import settings
from tt_xla.frontends.torch.device import metrics
from tt_xla.frontends.torch.device.buffers import LOCK, PENDING, Buffer, set_synchronize
from tt_xla.frontends.torch.device.kinds import fake, graph_with_inputs, scalar_dtype
from tt_xla.frontends.torch.device.recording import Pressure
from tt_xla.frontends.torch.device.values import Node, Value, new_version
from tt_xla.frontends.torch.errors import as_torch_error
from tt_xla.frontends.torch.private.dispatcher import outside_dynamo, storage_identity
from tt_xla.frontends.torch.private.fake import unset_fake_temporarily
from tt_xla.log import logger

if TYPE_CHECKING:
    from tt_xla.frontends.torch.index_checks import IndexCheck

_MAX_STRUCTURES = 4096
_MAX_ATTEMPTS = 24
_WORTH_KEEPING = 4096
"""Bytes of an input, the same in two runs, from which on what depends on it alone is worth a program that keeps it."""

Callee = Callable[[list[torch.Tensor], list[int | None]], list[torch.Tensor]]


@dataclass
class Trace:
    """Recorded nodes that give some values.

    Attributes:
        nodes: in the order they were recorded.
        leaves: values with bytes that they read, each once.
        outputs: the values wanted.
        key: equal for traces that differ in bytes and scalars alone.
        scalars: of all nodes, in order.
    """

    nodes: list[Node]
    leaves: list[Value]
    outputs: list[Value]
    key: tuple[int, ...]
    scalars: tuple[float, ...]


@dataclass
class _Structure:
    """The programs of one structure of trace.

    Attributes:
        inputs: numbers of the scalars that were seen to change; they are 0-dim inputs.
        versions: of the leaves in the last run, until some are found constant.
        constant: numbers of the leaves that were the same in two runs, such as parameters in inference. What depends
            on them alone is computed again only when they change.
        programs: by the numbers of the scalars that are inputs.
    """

    inputs: frozenset[int]
    first: tuple[float, ...]
    settings: settings.Settings
    versions: list[int] = field(default_factory=list)
    constant: frozenset[int] = frozenset()
    programs: dict[Any, _Program] = field(default_factory=dict)


@dataclass
class _Program:
    call: Callee
    extras: list[tuple[Callable[[], torch.Tensor], int | None]]
    """Makers of further arguments, with the version of those that never change."""
    tensors: list[int]
    outputs: list[int]
    """For each output of the trace, the number of the result."""
    checks: list[IndexCheck]


_STRUCTURES: dict[tuple[int, ...], _Structure] = {}


def synchronize() -> None:
    """Runs everything pending. Nothing is pending afterwards, but for what an error left.

    Raises:
        CompileError, ExecutionError, ResourceExhaustedError: as torch's kinds of errors, after everything that does not
            depend on the cause was run; tensors that do raise it again when they are read.
    """
    with LOCK:
        live = [
            buffer for reference in list(PENDING.values()) if (buffer := reference()) is not None and buffer.pending
        ]
        PENDING.clear()
        Pressure.nodes = 0
        outputs = sorted({buffer.value for buffer in live}, key=_recorded_at)
        try:
            failure = _run_or_split(outputs) if outputs else None
        finally:
            for buffer in live:
                if not buffer.pending:
                    buffer.claim_bytes()
        if failure is not None:
            raise failure


def _recorded_at(value: Value) -> tuple[int, int]:
    """Where a pending value stands in the order of recording, which decides the order of a program's results."""
    assert value.node is not None
    return value.node.serial, value.index


def _synchronize_for(buffer: Buffer) -> None:
    """Runs everything; an error matters only if this buffer's contents depend on it."""
    with LOCK:
        try:
            synchronize()
        except Exception as error:
            if buffer.pending:
                raise
            logger().warning("recorded ops failed beside those that were asked for: %s", error)
        if buffer.pending:  # it failed before
            failure = _run_or_split([buffer.value])
            if failure is not None:
                raise failure


def _run_or_split(outputs: list[Value]) -> Exception | None:
    """Runs what gives some values; after an error, halves of it, so that what can be had is there. Gives the error.

    Each attempt is a program of its own, so there are at most :data:`_MAX_ATTEMPTS`: they find one cause among many
    values. What is left then stays pending, and runs when it is read.
    """
    failed: list[tuple[int, Exception]] = []
    parts = [outputs]
    for _ in range(_MAX_ATTEMPTS):
        if not parts:
            break
        part = parts.pop()
        try:
            _run(part)
        except Exception as error:
            failed.append((len(part), error))
            if len(part) > 1:
                middle = len(part) // 2
                parts += [part[middle:], part[:middle]]
    if not failed:
        return None
    return as_torch_error(min(failed, key=lambda each: each[0])[1])  # the fewer values, the closer to the cause


def _run(outputs: list[Value]) -> None:
    trace = collect(outputs)
    structure, program = _program(trace)
    tensors = [leaf.data for leaf in trace.leaves]
    versions: list[int | None] = [leaf.version for leaf in trace.leaves]
    for number in sorted(structure.inputs):
        tensors.append(torch.tensor(trace.scalars[number], dtype=_scalar_type(trace, number), device="cpu"))
        versions.append(None)
    arguments = [tensors[position] for position in program.tensors] + [make() for make, _ in program.extras]
    given = [versions[position] for position in program.tensors] + [version for _, version in program.extras]
    with metrics.timed(metrics.EXECUTE_TIME), outside_dynamo():
        for check in program.checks:
            check(arguments, given)
        results = program.call(arguments, given)  # type: ignore[arg-type]
    for value, position in zip(outputs, program.outputs, strict=True):
        # Sizes of 1 may stand elsewhere in what the program gives; the elements lie in the same order.
        value.set_computed(results[position].reshape(value.shape))
    taken: set[int] = set()
    for value in outputs:
        assert value.data is not None
        address = storage_identity(value.data)
        if address in taken:
            value.data = value.data.clone()
        taken.add(address)


def collect(outputs: list[Value]) -> Trace:
    """The nodes behind some values, and the key of their structure."""
    nodes: dict[Node, int] = {}
    stack = [value.node for value in outputs if value.node is not None]
    while stack:
        node = stack.pop()
        if node not in nodes:
            nodes[node] = 0
            stack += [value.node for value in node.inputs if value.data is None and value.node is not None]
    order = sorted(nodes, key=lambda node: node.serial)
    leaves: dict[Value, int] = {}
    key: list[int] = []
    scalars: list[float] = []
    for number, node in enumerate(order):
        nodes[node] = number
        key.append(node.kind.serial)
        for value in node.inputs:
            if value.data is None and value.node is not None:
                key += (nodes[value.node], value.index)
            else:
                key.append(-1 - leaves.setdefault(value, len(leaves)))
        for scalar in node.scalars:
            key.append(-1 if type(scalar) is int else -2)
            scalars.append(scalar)
    for value in outputs:
        assert value.node is not None
        key += (nodes[value.node], value.index)
    return Trace(order, list(leaves), outputs, tuple(key), tuple(scalars))


def _program(trace: Trace) -> tuple[_Structure, _Program]:
    """The program of a trace, from the cache if its structure ran before with the same embedded scalars.

    Scalars that differ from those of the first run become inputs of a second program. If others differ later, all
    become inputs: a structure compiles three times at most.
    """
    current = settings.current()
    structure = _STRUCTURES.get(trace.key)
    if structure is None or structure.settings is not current:
        if len(_STRUCTURES) >= _MAX_STRUCTURES:
            _STRUCTURES.clear()
        structure = _STRUCTURES[trace.key] = _Structure(frozenset(), trace.scalars, current)
    elif trace.scalars != structure.first:
        changed = {
            number
            for number, (one, other) in enumerate(zip(trace.scalars, structure.first, strict=True))
            if one != other and number not in structure.inputs
        }
        if changed:
            everything = frozenset(range(len(trace.scalars)))
            structure.inputs = everything if structure.inputs else frozenset(changed)
    _find_constants(structure, trace.leaves)
    key = structure.inputs
    if key not in structure.programs:
        metrics.count(metrics.COMPILED)
        with metrics.timed(metrics.COMPILE_TIME):
            structure.programs[key] = _compile(trace, structure.inputs, structure.constant)
    else:
        metrics.count(metrics.REUSED)
    return structure, structure.programs[key]


def _find_constants(structure: _Structure, leaves: Sequence[Value]) -> None:
    """Compares the leaves with those of the last run, until some are the same: that costs one more program."""
    if structure.constant:
        return
    versions = [leaf.version for leaf in leaves]
    pairs = zip(leaves, versions, structure.versions, strict=False)
    same = (
        number for number, (leaf, now, before) in enumerate(pairs) if now == before and _bytes(leaf) >= _WORTH_KEEPING
    )
    structure.constant = frozenset(same)
    structure.versions = versions
    if structure.constant:
        structure.programs.clear()


def _bytes(value: Value) -> int:
    return math.prod(value.shape) * value.dtype.itemsize


def _compile(trace: Trace, inputs: frozenset[int], constant: frozenset[int]) -> _Program:
    from tt_xla.frontends.torch import compilation
    from tt_xla.frontends.torch.lowering import Argument, lower_to_stablehlo
    from tt_xla.ir.program import Role

    with collector_paused(), outside_dynamo(), unset_fake_temporarily():
        module = _graph_module(trace, inputs)
        roles = [Role.CONSTANT if number in constant else Role.INPUT for number in range(len(trace.leaves))]
        arguments = [Argument(f"input_{number}", role) for number, role in enumerate(roles)]
        arguments += [Argument(f"scalar_{number}") for number in sorted(inputs)]
        lowered = lower_to_stablehlo(module, arguments)
        call = compilation.compile_and_load(lowered.module, settings.current().with_own({})).run
    assert all(kind == "result" for kind, _ in lowered.outputs)
    versions = [new_version() if fixed else None for fixed in lowered.constant]
    extras = list(zip(lowered.extras, versions, strict=True))
    return _Program(call, extras, lowered.tensors, [position for _, position in lowered.outputs], lowered.checks)


def _graph_module(trace: Trace, inputs: frozenset[int]) -> torch.fx.GraphModule:
    """The trace as an FX graph: leaves, then scalars that are inputs, then the graphs of the nodes' kinds."""
    graph = torch.fx.Graph()
    owner = torch.nn.Module()
    leaves = {leaf: _placeholder(graph, f"input_{n}", leaf.shape, leaf.dtype) for n, leaf in enumerate(trace.leaves)}
    scalars = {
        number: _placeholder(graph, f"scalar_{number}", (), _scalar_type(trace, number)) for number in sorted(inputs)
    }
    results: dict[tuple[Node, int], torch.fx.Node] = {}
    first = 0
    for node in trace.nodes:
        here = [number for number in range(first, first + len(node.scalars)) if number in inputs]
        variant = graph_with_inputs(node.kind, frozenset(number - first for number in here), node.scalars)
        operands = [
            results[value.node, value.index] if value.data is None and value.node is not None else leaves[value]
            for value in node.inputs
        ]
        made = _inline(graph, owner, variant, [*operands, *(scalars[number] for number in here)], node.location)
        for index, result in enumerate(made):
            results[node, index] = result
        first += len(node.scalars)
    graph.output(tuple(results[value.node, value.index] for value in trace.outputs if value.node is not None))
    graph.eliminate_dead_code()
    return torch.fx.GraphModule(owner, graph)


def _placeholder(graph: torch.fx.Graph, name: str, shape: Sequence[int], dtype: torch.dtype) -> torch.fx.Node:
    node = graph.placeholder(name)
    node.meta["val"] = fake(shape, dtype)
    return node


def _inline(
    graph: torch.fx.Graph, owner: torch.nn.Module, part: torch.fx.Graph, operands: Iterable[torch.fx.Node], where: str
) -> list[torch.fx.Node]:
    """Copies a kind's graph into the program's; gives the nodes of its results."""
    values: dict[torch.fx.Node, torch.fx.Node] = {}
    given = iter(operands)
    for node in part.nodes:
        if node.op == "placeholder":
            values[node] = next(given)
        elif node.op == "output":
            return [values[result] for result in node.args[0]]  # type: ignore[index,union-attr]
        elif node.op == "get_attr":
            name = f"constant_{len(list(owner.buffers()))}"
            held: Any = part.owning_module
            for step in str(node.target).split("."):
                held = getattr(held, step)
            owner.register_buffer(name, held)
            values[node] = graph.get_attr(name)
            values[node].meta = dict(node.meta)
        else:
            copied = values[node] = graph.node_copy(node, values.__getitem__)
            copied.meta = {"val": _afresh(node.meta.get("val")), "stack_trace": _stack_trace(where)}
    raise AssertionError("a graph has no output")


def _afresh(value: Any) -> Any:
    """Fake results of a node's own: those of a kind would look as if all nodes of the kind shared memory."""
    if isinstance(value, torch.Tensor):
        return fake(value.shape, value.dtype)
    return [_afresh(item) for item in value] if isinstance(value, list | tuple) else value


def _stack_trace(where: str) -> str:
    file, _, line = where.rpartition(":")
    return f'  File "{file}", line {line}, in recorded' if file else ""


def _scalar_type(trace: Trace, number: int) -> torch.dtype:
    position = 0
    for node in trace.nodes:
        if position <= number < position + len(node.scalars):
            return scalar_dtype(node.kind, node.scalars[number - position])
        position += len(node.scalars)
    raise IndexError(number)


def forget() -> None:
    """Drops every compiled program."""
    _STRUCTURES.clear()


set_synchronize(_synchronize_for)
