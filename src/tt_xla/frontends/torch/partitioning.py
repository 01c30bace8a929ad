"""Modules and programs for several chips: shardings in the module, and calls with whole tensors."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Container, Sequence
from typing import Any

import torch
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import sdy

from tt_xla.compiler.mlir_context import copy_of
from tt_xla.errors import CompileError
from tt_xla.frontends.torch.custom_ops import COLLECTIVE, MARK, SHARDING_CONSTRAINT
from tt_xla.frontends.torch.device.placements import Placement
from tt_xla.ir.mesh import Mesh, Sharding, replicated
from tt_xla.ir.program import Program
from tt_xla.runtime.mesh.shards import join, split

MESH = "mesh"
"""Name of the mesh in a module."""


def partitioned(
    module: ir.Module, placements: Sequence[Placement | None], mesh: Mesh, *, open_arguments: bool = False
) -> ir.Module:
    """Returns a copy of a module with a mesh, and with the shardings of its arguments and intermediate tensors.

    Args:
        module: StableHLO module. Its ``main`` takes the arguments of ``placements`` first.
        placements: placement of each argument; an argument without one is replicated.
        mesh: the mesh.
        open_arguments: whether arguments without a placement have no sharding instead, which the compiler chooses.

    Raises:
        CompileError: a constraint names an axis that the mesh lacks.
    """
    copy = copy_of(module)
    with copy.context as context, ir.Location.unknown():
        sdy.register_dialect(context)
        axes = [sdy.MeshAxisAttr.get(*axis) for axis in zip(mesh.axes, mesh.shape, strict=True)]
        copy.operation.attributes["mhlo.num_partitions"] = ir.IntegerAttr.get(
            ir.IntegerType.get_signless(32), mesh.size
        )
        with ir.InsertionPoint.at_block_begin(copy.body):
            sdy.MeshOp(MESH, sdy.MeshAttr.get(axes))
        main = next(op for op in copy.body.operations if op.attributes.get("sym_name") == ir.StringAttr.get("main"))
        attributes: list[ir.Attribute] = []
        for argument, existing, placement in itertools.zip_longest(main.arguments, main.arg_attrs, placements):
            named = {attribute.name: attribute.attr for attribute in existing}
            if placement is not None or not open_arguments:
                sharding = placement.sharding if placement is not None else replicated(len(argument.type.shape))
                named["sdy.sharding"] = _attribute(mesh, sharding)
            attributes.append(ir.DictAttr.get(named))
        main.arg_attrs = ir.ArrayAttr.get(attributes)
        for call in _custom_calls(copy):
            _REPLACEMENTS[call.attributes["call_target_name"].value](call, mesh)
    return copy


def marked_meshes(module: ir.Module) -> list[tuple[Mesh, tuple[int, ...]]]:
    """Returns the meshes over which a module splits intermediate tensors, and the chips of each by position."""
    marks = [_config(call) for call in _custom_calls(module) if call.attributes["call_target_name"].value == MARK]
    meshes = [(Mesh(tuple(mark["shape"]), tuple(mark["axes"])), tuple(mark["chips"])) for mark in marks]
    return list(dict.fromkeys(meshes))


def _config(call: Any) -> dict[str, Any]:
    return json.loads(call.attributes["backend_config"].value)


def _attribute(mesh: Mesh, sharding: Sharding) -> ir.Attribute:
    """Returns a sharding as an attribute of Shardy."""
    dims = [[sdy.AxisRefAttr.get(mesh.axes[axis]) for axis in axes] for axes in sharding.dims]
    return sdy.TensorShardingAttr.get(MESH, [sdy.DimensionShardingAttr.get(axes, is_closed=True) for axes in dims])


def _custom_calls(module: ir.Module) -> list[Any]:
    """Returns the custom calls of marks, sharding constraints and collectives."""
    calls: list[Any] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name == "stablehlo.custom_call" and op.attributes["call_target_name"].value in _REPLACEMENTS:
            calls.append(op)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    return calls


_AXIS = re.compile(r'"mesh_idx_\d+"')
"""An axis in the text of a constraint, by its index."""


def _constrain(call: Any, mesh: Mesh) -> None:
    """Replaces the custom call of a constraint by ``sdy.sharding_constraint``.

    Raises:
        CompileError: the constraint names an axis that the mesh lacks, or does not fit the tensor.
    """
    text = call.attributes["backend_config"].value
    names = {f'"mesh_idx_{index}"': str(ir.StringAttr.get(name)) for index, name in enumerate(mesh.axes)}
    text = _AXIS.sub(lambda axis: names.get(axis[0], axis[0]), text)
    try:
        sharding = ir.Attribute.parse(text.replace("#sdy.sharding_per_value<[<", "#sdy.sharding<").replace(">]>", ">"))
        with ir.InsertionPoint(call), call.location:
            constrained = sdy.ShardingConstraintOp(call.operands[0], sharding)
        constrained.operation.verify()
    except (ir.MLIRError, ValueError) as error:
        raise CompileError(
            f"The sharding constraint {text} does not fit a tensor of type {call.operands[0].type}: {error}.",
            hint=f"The mesh has the axes {', '.join(mesh.axes)}; a spec has an entry for each dimension.",
            location=str(call.location),
        ) from error
    call.results[0].replace_all_uses_with(constrained.results[0])
    call.erase()


def _mark(call: Any, mesh: Mesh) -> None:
    """Replaces the custom call of ``mark_sharding`` by ``sdy.sharding_constraint``."""
    sharding = Sharding(tuple(map(tuple, _config(call)["dims"])))
    with ir.InsertionPoint(call), call.location:
        constrained = sdy.ShardingConstraintOp(call.operands[0], _attribute(mesh, sharding))
    call.results[0].replace_all_uses_with(constrained.results[0])
    call.erase()


def _collect(call: Any, mesh: Mesh) -> None:
    """Replaces the custom call of a collective by the StableHLO op on every chip's copy of the operand.

    The operand is replicated, as a tensor of the device is one tensor for the user.
    """
    config = _config(call)
    operand, result = call.operands[0], call.results[0]
    operand_sharding, result_sharding = (
        sdy.TensorShardingPerValueAttr.get([_attribute(mesh, replicated(len(value.type.shape)))])
        for value in (operand, result)
    )
    with ir.InsertionPoint(call), call.location:
        manual = ir.Operation.create(
            "sdy.manual_computation",
            results=[result.type],
            operands=[operand],
            attributes={
                "in_shardings": operand_sharding,
                "out_shardings": result_sharding,
                "manual_axes": sdy.ManualAxesAttr.get([ir.StringAttr.get(name) for name in mesh.axes]),
            },
            regions=1,
        )
        block = manual.regions[0].blocks.append(operand.type)
        with ir.InsertionPoint(block):
            collective = _collective(config, block.arguments[0], result.type, mesh.size)
            ir.Operation.create("sdy.return", operands=[collective.results[0]])
    result.replace_all_uses_with(manual.results[0])
    call.erase()


_REPLACEMENTS: dict[str, Callable[[Any, Mesh], None]] = {
    SHARDING_CONSTRAINT: _constrain,
    MARK: _mark,
    COLLECTIVE: _collect,
}
"""Functions that replace a custom call in a module with a mesh, by the call's target."""

_BODIES = {"sum": "add", "mul": "multiply", "min": "minimum", "max": "maximum", "and": "and", "or": "or"}
"""Ops of StableHLO by reduction type of ``xm.all_reduce``."""


def _collective(config: dict[str, Any], operand: Any, result_type: Any, chips: int) -> Any:
    """Creates a collective op.

    Args:
        config: ``op``, a name of StableHLO's; ``groups`` of positions, empty for one group of all chips; ``reduction``;
            integer attributes by their names.
        chips: number of chips.
    """
    groups = config["groups"] or [list(range(chips))]
    width = len(groups[0])
    numbers = ", ".join(str(group) for group in groups)
    i64 = ir.IntegerType.get_signless(64)
    attributes = {name: ir.IntegerAttr.get(i64, value) for name, value in config.get("integers", {}).items()}
    key = "source_target_pairs" if config["op"] == "collective_permute" else "replica_groups"
    attributes[key] = ir.Attribute.parse(f"dense<[{numbers}]> : tensor<{len(groups)}x{width}xi64>")
    attributes["channel_handle"] = ir.Attribute.parse("#stablehlo.channel_handle<handle = 1, type = 1>")
    reduction = config.get("reduction")
    if key == "replica_groups" and config["op"] != "all_to_all":
        attributes["use_global_device_ids"] = ir.UnitAttr.get()
    op = ir.Operation.create(
        f"stablehlo.{config['op']}",
        results=[result_type],
        operands=[operand],
        attributes=attributes,
        regions=1 if reduction else 0,
    )
    if reduction:
        scalar = ir.RankedTensorType.get([], operand.type.element_type)
        body = op.regions[0].blocks.append(scalar, scalar)
        with ir.InsertionPoint(body):
            combined = ir.Operation.create(
                f"stablehlo.{_BODIES[reduction]}", results=[scalar], operands=[*body.arguments]
            )
            ir.Operation.create("stablehlo.return", operands=[combined.results[0]])
    return op


def _placement(
    sharding: Sharding, mesh: Mesh, user_mesh: Mesh, chips: tuple[int, ...], shape: tuple[int, ...]
) -> Placement | None:
    """Returns the placement of a result on the user's mesh.

    None for partial sums, which the host adds, and for a result that is split over a part of an axis: no placement
    expresses that.
    """
    sizes = dict(zip(user_mesh.axes, user_mesh.shape, strict=True))
    axes = [axis for axis in sorted(sharding.axes) if mesh.shape[axis] > 1]
    if sharding.unreduced or any(sizes.get(mesh.axes[axis]) != mesh.shape[axis] for axis in axes):
        return None
    index = {axis: user_mesh.axes.index(mesh.axes[axis]) for axis in axes}
    dims = tuple(tuple(index[axis] for axis in dim if axis in index) for dim in sharding.dims)
    return Placement(user_mesh, chips, Sharding(dims), shape)


class PartitionedRun:
    """Runs a program for several chips on whole tensors: splits arguments, joins results.

    Args:
        program: the program.
        run: runs it on the shards of all chips, as :meth:`MeshExecutable.run` does.
        mesh: the user's mesh. That of the program may have further axes of size 1, or parts of the user's axes.
        chips: number of the chip at each position of the mesh.
    """

    def __init__(
        self, program: Program, run: Callable[..., list[list[torch.Tensor]]], mesh: Mesh, chips: tuple[int, ...]
    ) -> None:
        self._run = run
        assert program.mesh is not None
        self._mesh = program.mesh
        self._shardings = [argument.sharding or replicated(len(argument.shape)) for argument in program.arguments]
        self._split: list[tuple[int | None, list[torch.Tensor]]] = [(None, [])] * len(program.arguments)
        """Version and shards of each argument of the last run that had a version."""
        self._joined = [
            (result.sharding or replicated(len(result.shape)), result.global_shape or result.shape)
            for result in program.results
        ]
        self.placements: list[Placement | None] = [
            _placement(sharding, program.mesh, mesh, chips, tuple(shape)) for sharding, shape in self._joined
        ]
        """Placement of each result; None where no placement expresses how it is split."""
        shapes = [argument.global_shape or argument.shape for argument in program.arguments]
        self.argument_placements: list[Placement | None] = [
            None if sharding.is_replicated else _placement(sharding, program.mesh, mesh, chips, tuple(shape))
            for sharding, shape in zip(self._shardings, shapes, strict=True)
        ]
        """Placement of each argument that is split."""

    def __call__(
        self, tensors: Sequence[torch.Tensor], versions: Sequence[int | None], donated: Container[int] = ()
    ) -> list[torch.Tensor]:
        """Runs the program.

        Args:
            tensors: whole arguments on the host.
            versions: content version of each, or None.
            donated: accepted for its place among the arguments of other runs; shards are copies where it matters.
        """
        shards = [self._shards(position, *pair) for position, pair in enumerate(zip(tensors, versions, strict=True))]
        results = self._run(shards, versions)
        return [
            join(parts, sharding, self._mesh, shape)
            for parts, (sharding, shape) in zip(results, self._joined, strict=True)
        ]

    def _shards(self, position: int, tensor: torch.Tensor, version: int | None) -> list[torch.Tensor]:
        last_version, shards = self._split[position]
        if version is None or version != last_version:
            shards = split(tensor, self._shardings[position], self._mesh)
            self._split[position] = (version, shards if version is not None else [])
        return shards
