"""Lowers a program of ``torch.export`` to a StableHLO module that is complete in itself."""

from __future__ import annotations

import contextlib
import itertools
import json
import operator
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind, OutputKind

from tt_xla.errors import UnsupportedOpError
from tt_xla.frontends.torch import symbolic
from tt_xla.frontends.torch.aten.custom_calls import config_of
from tt_xla.frontends.torch.aten.decompositions import decompositions
from tt_xla.frontends.torch.aten.registry import LOWERINGS
from tt_xla.frontends.torch.lowering import NAME, Argument, lower_to_stablehlo
from tt_xla.frontends.torch.private.dispatcher import kernel_for_xla
from tt_xla.frontends.torch.private.fake import FakeTensor
from tt_xla.frontends.torch.private.ops import OpOverload
from tt_xla.frontends.torch.rng_state import describe_random_ops
from tt_xla.ir.program import Role

aten = torch.ops.aten

_METADATA = ("stack_trace", "nn_module_stack", "source_fn_stack", "torch_fn")
"""Keys of what PyTorch knows of a node."""

_ROLES = {
    InputKind.PARAMETER: Role.PARAMETER,
    InputKind.BUFFER: Role.PARAMETER,
    InputKind.CONSTANT_TENSOR: Role.CONSTANT,
}

_UPDATES = (OutputKind.BUFFER_MUTATION, OutputKind.PARAMETER_MUTATION, OutputKind.USER_INPUT_MUTATION)
"""Kinds of outputs that are new contents of a tensor."""


@dataclass(frozen=True)
class ExportedArgument:
    """An argument of the program that the user or the model has.

    Attributes:
        value: fake tensor with its shape and dtype.
        name: name of the parameter, buffer or constant; None for an input.
        position: position of an input among the user's flat inputs; -1 for others.
    """

    value: torch.Tensor
    name: str | None
    position: int = -1


@dataclass(frozen=True)
class LoweredExport:
    """A StableHLO module of an exported program.

    Attributes:
        module: the module. Its ``main`` takes ``arguments`` and then ``constants``, and returns the tensors among
            ``results``.
        arguments: arguments of ``main`` that the user or the model has.
        constants: values of the further arguments: large constants, and random numbers, which were drawn once.
        numbers: inputs of the user that are no tensors, by position. The program was made for these values.
        results: for each output of the user's program, a fake tensor, or None where it returns None.
        updates: what the results of ``main`` after those of the user replace: the name of a buffer or parameter, or the
            position of an input among the user's flat inputs. Empty unless updates were asked for.
        draws: whether ``constants`` has random numbers.
        is_named: whether operations have names that the user gave or asked for.
    """

    module: ir.Module
    arguments: list[ExportedArgument]
    constants: list[torch.Tensor]
    numbers: dict[int, Any]
    results: list[torch.Tensor | None]
    updates: list[str | int]
    draws: bool = False
    is_named: bool = False


def run_decompositions(program: ExportedProgram) -> ExportedProgram:
    """Returns the program with ops that have a lowering, or that PyTorch cannot decompose further."""
    table = {**torch.export.default_decompositions(), **decompositions()}
    for node in program.graph.nodes:
        if isinstance(node.target, OpOverload) and (kernel := kernel_for_xla(node.target)) is not None:
            table[node.target] = kernel
    return program.run_decompositions({op: rule for op, rule in table.items() if op not in LOWERINGS})


def lower_exported(
    program: ExportedProgram,
    *,
    inline_numbers: bool = True,
    custom_calls: Collection[str] = (),
    with_metadata: bool = False,
    with_updates: bool = False,
) -> LoweredExport:
    """Lowers a program of ``torch.export``. The program stays as it is.

    Args:
        program: the program. Its symbolic sizes stay symbolic.
        inline_numbers: whether numbers in the user's code become constants of the module. Otherwise those that are
            neither 0 nor 1 become 0-dim arguments.
        custom_calls: namespaces of ops that become calls of functions of their names.
        with_metadata: whether names of operations are what PyTorch knows of their nodes, as JSON.
        with_updates: whether ``main`` also returns new contents of the buffers, parameters and inputs that the model
            writes to. Otherwise they are left out.

    Raises:
        UnsupportedOpError: an op has no lowering, or none for its symbolic sizes; or an input is a symbolic number.
    """
    program = run_decompositions(program)  # which traces it anew, so the graph may be changed
    graph_module = program.graph_module
    _call_by_name(graph_module.graph, custom_calls)
    if with_metadata:
        for node in graph_module.graph.nodes:
            node.meta[NAME] = json.dumps({key: str(node.meta[key]) for key in _METADATA if node.meta.get(key)})
    is_named = _take_names(graph_module.graph) or with_metadata
    nodes = graph_module.graph.find_nodes(op="placeholder")
    describe_random_ops(graph_module)
    results, updates = _return_user_outputs(graph_module, program, with_updates=with_updates)
    values = [] if inline_numbers else _numbers_as_inputs(graph_module)
    positions = itertools.count()
    arguments: list[ExportedArgument] = []
    described: list[Argument] = []
    numbers: dict[int, Any] = {}
    for spec, node in zip(program.graph_signature.input_specs, nodes, strict=True):
        is_input = spec.kind is InputKind.USER_INPUT
        position = next(positions) if is_input else -1
        value = node.meta.get("val")
        role = Role.INPUT if spec.target in updates else _ROLES.get(spec.kind, Role.INPUT)
        described.append(Argument(spec.target or node.name, role))
        if isinstance(value, torch.Tensor):
            arguments.append(ExportedArgument(value, None if is_input else spec.target, position))
            with value.fake_mode if isinstance(value, FakeTensor) else contextlib.nullcontext():
                node.meta["val"] = value.contiguous()  # the layout of the example is no part of the program
        else:
            numbers[position] = value
    described += [Argument(f"number_{index}", Role.CONSTANT) for index in range(len(values))]
    with symbolic.symbols(_symbolic_sizes(nodes), program.range_constraints):
        lowered = lower_to_stablehlo(graph_module, described)
    constants = [*values, *(make() for make in lowered.extras)]
    _fold_broadcasts(lowered.module)
    draws = not all(lowered.constant)
    return LoweredExport(lowered.module, arguments, constants, numbers, results, updates, draws, is_named)


def _take_names(graph: torch.fx.Graph) -> bool:
    """Gives nodes the names that ``torch.ops.xla.write_mlir_debuginfo`` writes, and removes that op.

    Returns:
        Whether there was one.
    """
    writers = [node for node in graph.nodes if isinstance(node.target, OpOverload) and _writes_name(node.target)]
    for node in writers:
        named, name = node.args
        named.meta[NAME] = name
        node.replace_all_uses_with(named)
        graph.erase_node(node)
    return bool(writers)


def _writes_name(op: OpOverload) -> bool:
    return op._schema.name == "xla::write_mlir_debuginfo"


def _fold_broadcasts(module: ir.Module) -> None:
    """Makes each broadcast of a constant number a constant of the whole shape, as XLA writes it."""
    found: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name == "stablehlo.broadcast_in_dim" and ir.ShapedType(op.results[0].type).has_static_shape:
            found.append(op)
        return ir.WalkResult.ADVANCE

    with module.context:
        module.operation.walk(visit)
        for op in found:
            source = op.operands[0].owner
            if isinstance(source, ir.Block) or source.operation.name != "stablehlo.constant":
                continue
            value = ir.DenseElementsAttr(source.attributes["value"])
            if not value.is_splat:
                continue
            whole = ir.DenseElementsAttr.get_splat(op.results[0].type, value.get_splat_value())
            with ir.InsertionPoint(op), op.location:
                op.results[0].replace_all_uses_with(stablehlo.ConstantOp(whole).result)
            op.erase()
            if not any(True for _ in source.results[0].uses):
                source.operation.erase()


def _call_by_name(graph: torch.fx.Graph, namespaces: Collection[str]) -> None:
    """Replaces ops of some namespaces by custom calls of their names.

    Raises:
        UnsupportedOpError: an argument or a result of an op is no tensor.
    """
    for node in list(graph.nodes):
        if not isinstance(node.target, OpOverload) or node.target.namespace not in namespaces:
            continue
        values = node.meta["val"]
        results = [values] if isinstance(values, torch.Tensor) else list(values)
        operands = [argument for argument in node.args if isinstance(argument, torch.fx.Node)]
        if len(operands) != len(node.args) + len(node.kwargs) or not all(isinstance(x, torch.Tensor) for x in results):
            raise UnsupportedOpError(
                f"{node.target} has arguments or results other than tensors, and is to become a custom call.",
                hint="Give the other arguments as tensors.",
            )
        config = config_of([value.shape for value in results], [value.dtype for value in results])
        with graph.inserting_before(node):
            call = graph.call_function(torch.ops.tt.custom_call.default, (operands, str(node.target), config))
            call.meta = {**node.meta, "val": results}
            if values is results[0]:
                result = graph.call_function(operator.getitem, (call, 0))
                result.meta = dict(node.meta)
        node.replace_all_uses_with(result if values is results[0] else call)
        graph.erase_node(node)


def _symbolic_sizes(nodes: list[torch.fx.Node]) -> Iterator[torch.SymInt]:
    """Yields the symbolic sizes of inputs.

    Raises:
        UnsupportedOpError: an input is a symbolic number.
    """
    for node in nodes:
        value = node.meta.get("val")
        if isinstance(value, torch.SymInt):
            raise UnsupportedOpError(
                f"The input '{node.name}' of the exported program is the symbolic number {value}; expected tensors and "
                "fixed numbers.",
                hint="Call torch.export.export without dynamic_shapes for this input.",
            )
        if isinstance(value, torch.Tensor):
            yield from (size for size in value.shape if isinstance(size, torch.SymInt))


def _return_user_outputs(
    graph_module: torch.fx.GraphModule, program: ExportedProgram, *, with_updates: bool
) -> tuple[list[torch.Tensor | None], list[str | int]]:
    """Makes the user's tensors, and then updates if they are wanted, the only outputs, each contiguous and its own.

    Returns:
        The user's outputs, fake tensors and None for None, and the targets of updates (:attr:`LoweredExport.updates`).

    Raises:
        UnsupportedOpError: an output is neither a tensor nor None.
    """
    output = graph_module.graph.output_node()
    (returned,) = output.args
    assert isinstance(returned, Sequence)
    described: list[torch.Tensor | None] = []
    results: list[torch.fx.Node] = []
    updated: list[torch.fx.Node] = []
    updates: list[str | int] = []
    for value, spec in zip(returned, program.graph_signature.output_specs, strict=True):
        fake = value.meta.get("val") if isinstance(value, torch.fx.Node) else value
        if spec.kind in _UPDATES:
            if with_updates:
                assert isinstance(value, torch.fx.Node)
                inputs = [*program.graph_signature.user_inputs]
                is_input = spec.kind is OutputKind.USER_INPUT_MUTATION
                updates.append(inputs.index(spec.target) if is_input else str(spec.target))
                updated.append(_contiguous(output, value))
        elif spec.kind is OutputKind.USER_OUTPUT:
            if isinstance(value, torch.fx.Node) and isinstance(fake, torch.Tensor):
                results.append(_contiguous(output, value))
                fake = results[-1].meta["val"]
            elif fake is not None:
                raise UnsupportedOpError(
                    f"Output {len(described)} of the exported program is {fake!r}; expected a tensor, as StableHLO "
                    "returns nothing else.",
                    hint="Return the tensors alone, and compute the number outside the exported model.",
                )
            described.append(fake)
    output.args = ((*results, *updated),)
    for check in graph_module.graph.find_nodes(op="call_function", target=aten._assert_tensor_metadata.default):
        graph_module.graph.erase_node(check)  # sizes and dtypes are fixed, so it held when the graph was traced
    graph_module.graph.eliminate_dead_code()
    graph_module.recompile()
    return described, updates


def _contiguous(output: torch.fx.Node, value: torch.fx.Node) -> torch.fx.Node:
    """Returns a new node before the output: a contiguous copy of a tensor."""
    fake = value.meta["val"]
    with output.graph.inserting_before(output):
        copy = output.graph.call_function(aten.clone.default, (value,), {"memory_format": torch.contiguous_format})
    with fake.fake_mode if isinstance(fake, FakeTensor) else contextlib.nullcontext():
        copy.meta = {**value.meta, "val": fake.clone(memory_format=torch.contiguous_format)}
    return copy


def _numbers_as_inputs(graph_module: torch.fx.GraphModule) -> list[torch.Tensor]:
    """Makes a 0-dim input of each number other than 0 and 1 that stands where an op takes a tensor.

    Returns:
        The numbers, in the order of their inputs, as 0-dim tensors.
    """
    graph = graph_module.graph
    numbers: list[torch.Tensor] = []
    (*_, last) = graph.find_nodes(op="placeholder")
    for node in list(graph.nodes):
        if not isinstance(node.target, OpOverload):
            continue
        for position, (value, argument) in enumerate(zip(node.args, node.target._schema.arguments, strict=False)):
            if type(value) not in (int, float) or value in (0, 1) or str(argument.type) != "Tensor":
                continue
            fakes = [operand.meta["val"] for operand in node.all_input_nodes]
            dtype = next((fake.dtype for fake in fakes if fake.dtype.is_floating_point), None)
            number = torch.tensor(value, dtype=dtype, device="cpu")
            with graph.inserting_after(last):
                last = graph.placeholder(f"number_{len(numbers)}")
            last.meta["val"] = number
            node.update_arg(position, last)
            numbers.append(number)
    return numbers


__all__ = ["ExportedArgument", "LoweredExport", "lower_exported", "run_decompositions"]
