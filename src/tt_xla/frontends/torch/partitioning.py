"""Modules and programs for several chips: shardings in the module, and calls with whole tensors."""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import sdy

from tt_xla.compiler.mlir_context import copy_of
from tt_xla.compiler.sharding.axes import digits_of, row_major, whole_axes
from tt_xla.errors import CompileError
from tt_xla.frontends.torch.custom_ops import (
    COLLECTIVE,
    FULL_TO_SHARD,
    MARK,
    SHARD_ALIKE,
    SHARD_TO_FULL,
    SHARDING_CONSTRAINT,
)
from tt_xla.frontends.torch.device.placements import ChipMesh, Placement
from tt_xla.ir.mesh import Mesh, Sharding, replicated
from tt_xla.runtime.mesh.handles import MeshHandle
from tt_xla.runtime.mesh.shards import global_shape_of, held_by_chips, join, sharding_of, split

if TYPE_CHECKING:
    from tt_xla.runtime.mesh.executable import MeshExecutable
    from tt_xla.runtime.ttnn.handles import Handle


@dataclass(frozen=True)
class _Meshes:
    """The meshes of a module: arrangements of the same chips, whose positions are those of the first mesh.

    Attributes:
        meshes: the meshes and their chips.
        groups: numbers of the groups of tensors that are split alike.
    """

    meshes: Sequence[ChipMesh]
    groups: Iterator[int] = field(default_factory=itertools.count)

    @property
    def first(self) -> Mesh:
        """The mesh that constraints and collectives are for."""
        return self.meshes[0][0]

    def define(self) -> None:
        """Creates the ops that define the meshes, at the current insertion point."""
        for index, (mesh, chips) in enumerate(self.meshes):
            axes = [sdy.MeshAxisAttr.get(*axis) for axis in zip(mesh.axes, mesh.shape, strict=True)]
            order = [self.meshes[0][1].index(chip) for chip in chips]
            ids = [] if order == sorted(order) else order
            sdy.MeshOp(self._name(index), sdy.MeshAttr.get(axes, ids))

    @staticmethod
    def _name(index: int) -> str:
        return f"mesh_{index}" if index else "mesh"

    def attribute(self, sharding: Sharding, mesh: ChipMesh | None = None) -> ir.Attribute:
        """Returns a sharding over a mesh, by default the first, as an attribute of Shardy."""
        index = 0 if mesh is None else list(self.meshes).index(mesh)
        names = self.meshes[index][0].axes
        dims = [
            sdy.DimensionShardingAttr.get([sdy.AxisRefAttr.get(names[axis]) for axis in axes], is_closed=True)
            for axes in sharding.dims
        ]
        return sdy.TensorShardingAttr.get(self._name(index), dims)


def partitioned(
    module: ir.Module,
    placements: Sequence[Placement | None],
    meshes: Sequence[ChipMesh],
    *,
    open_arguments: bool = False,
) -> ir.Module:
    """Returns a copy of a module with meshes, and with the shardings of its arguments and intermediate tensors.

    Args:
        module: StableHLO module. Its ``main`` takes the arguments of ``placements`` first.
        placements: placement of each argument; an argument without one is replicated.
        meshes: the meshes of the placements and marks, and their chips. Those of all meshes are the same.
        open_arguments: whether arguments without a placement have no sharding instead, which the compiler chooses.

    Raises:
        CompileError: a constraint names an axis that the mesh lacks, or there are several meshes.
    """
    copy = copy_of(module)
    known = _Meshes(meshes)
    with copy.context as context, ir.Location.unknown():
        sdy.register_dialect(context)
        copy.operation.attributes["mhlo.num_partitions"] = ir.IntegerAttr.get(
            ir.IntegerType.get_signless(32), known.first.size
        )
        with ir.InsertionPoint.at_block_begin(copy.body):
            known.define()
        main = next(op for op in copy.body.operations if op.attributes.get("sym_name") == ir.StringAttr.get("main"))
        attributes: list[ir.Attribute] = []
        for argument, existing, placement in itertools.zip_longest(main.arguments, main.arg_attrs, placements):
            named = {attribute.name: attribute.attr for attribute in existing}
            if placement is not None or not open_arguments:
                sharding = placement.sharding if placement is not None else replicated(len(argument.type.shape))
                own = None if placement is None else (placement.mesh, placement.chips)
                named["sdy.sharding"] = known.attribute(sharding, own)
            attributes.append(ir.DictAttr.get(named))
        main.arg_attrs = ir.ArrayAttr.get(attributes)
        _enclose_manual_regions(copy, known)
        for call in _custom_calls(copy):
            _REPLACEMENTS[call.attributes["call_target_name"].value](call, known)
    return copy


def marked_meshes(module: ir.Module) -> list[ChipMesh]:
    """Returns the meshes over which a module splits intermediate tensors, and the chips of each by position."""
    marks = [_config(call) for call in _custom_calls(module, {MARK, FULL_TO_SHARD, SHARD_TO_FULL})]
    return list(dict.fromkeys(map(_marked_mesh, marks)))


def _marked_mesh(mark: dict[str, Any]) -> ChipMesh:
    return Mesh(tuple(mark["shape"]), tuple(mark["axes"])), tuple(mark["chips"])


def _config(call: Any) -> dict[str, Any]:
    return json.loads(call.attributes["backend_config"].value)


def _custom_calls(module: ir.Module, targets: Container[str] | None = None) -> list[Any]:
    """Returns the custom calls of some targets, by default marks, sharding constraints and collectives."""
    calls: list[Any] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if _target(op) in (_REPLACEMENTS if targets is None else targets):
            calls.append(op)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    return calls


def _target(op: Any) -> str:
    """Returns the target of a custom call; an empty string for any other op."""
    return op.attributes["call_target_name"].value if op.name == "stablehlo.custom_call" else ""


_AXIS = re.compile(r'"mesh_idx_\d+"')
"""An axis in the text of a constraint, by its index."""


def _constrain(call: Any, meshes: _Meshes) -> None:
    """Replaces the custom call of a constraint by ``sdy.sharding_constraint``.

    Raises:
        CompileError: the constraint names an axis that the mesh lacks, or does not fit the tensor; or there are several
            meshes, and it does not say which one it is for.
    """
    text, mesh = call.attributes["backend_config"].value, meshes.first
    if len(meshes.meshes) > 1:
        raise CompileError(
            f"The sharding constraint {text} names axes of the program's mesh, but tensors of the program are on "
            f"{len(meshes.meshes)} meshes.",
            hint="Mark the tensor with xs.mark_sharding, which takes the mesh, or mark all tensors on one mesh.",
            location=str(call.location),
        )
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


def _mark(call: Any, meshes: _Meshes) -> None:
    """Replaces the custom call of ``mark_sharding`` by ``sdy.sharding_constraint``."""
    mark = _config(call)
    attribute = meshes.attribute(Sharding(tuple(map(tuple, mark["dims"]))), _marked_mesh(mark))
    with ir.InsertionPoint(call), call.location:
        constrained = sdy.ShardingConstraintOp(call.operands[0], attribute)
    call.results[0].replace_all_uses_with(constrained.results[0])
    call.erase()


def _group(call: Any, meshes: _Meshes) -> None:
    """Replaces the custom call of ``shard_as`` by ``sdy.sharding_group``, whose tensors propagation splits alike."""
    group = next(meshes.groups)
    with ir.InsertionPoint(call), call.location:
        for operand, result in zip(call.operands, call.results, strict=True):
            sdy.ShardingGroupOp(operand, group)
            result.replace_all_uses_with(operand)
    call.erase()


def _collect(call: Any, meshes: _Meshes) -> None:
    """Replaces the custom call of a collective by the StableHLO op on every chip's copy of the operand.

    The operand is replicated, as a tensor of the device is one tensor for the user.
    """
    config, mesh = _config(call), meshes.first
    operand, result = call.operands[0], call.results[0]
    operand_sharding, result_sharding = (
        sdy.TensorShardingPerValueAttr.get([meshes.attribute(replicated(len(value.type.shape)))])
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


def _enclose_manual_regions(module: ir.Module, meshes: _Meshes) -> None:
    """Replaces ops on every chip's part of tensors by ``sdy.manual_computation``, one for each tensor made up of parts.

    Raises:
        CompileError: a tensor that is made up of parts is none, or a part is a result of the program.
    """
    while calls := _custom_calls(module, {SHARD_TO_FULL}):
        _enclose(calls[0], meshes)
    for call in reversed(_custom_calls(module, {FULL_TO_SHARD})):
        if list(call.results[0].uses):
            raise CompileError(
                "A tensor of enable_manual_sharding, or a result of ops on it, is read outside manual sharding: each "
                "chip has its own part.",
                hint="Pass it to xs.disable_manual_sharding, and read the result.",
                location=str(call.location),
            )
        call.erase()


def _enclose(call: Any, meshes: _Meshes) -> None:
    """Replaces the custom call that makes up a tensor of parts by a region with the ops that compute the parts."""
    mark, parts = _config(call), _ops_on_parts(call)
    chip_mesh = _marked_mesh(mark)
    entering = _entering(parts, chip_mesh)
    shardings = [
        sdy.TensorShardingPerValueAttr.get([meshes.attribute(sharding, chip_mesh) for sharding in listed])
        for listed in ([sharding for _, sharding in entering.values()], [Sharding(tuple(map(tuple, mark["dims"])))])
    ]
    with ir.InsertionPoint(call), call.location:
        region = ir.Operation.create(
            "sdy.manual_computation",
            results=[call.results[0].type],
            operands=[operand for operand, _ in entering.values()],
            attributes={
                "in_shardings": shardings[0],
                "out_shardings": shardings[1],
                "manual_axes": sdy.ManualAxesAttr.get([ir.StringAttr.get(name) for name in chip_mesh[0].axes]),
            },
            regions=1,
        )
        block = region.regions[0].blocks.append(*(value.type for value in entering))
        inside: dict[Any, Any] = dict(zip(entering, block.arguments, strict=True))
        with ir.InsertionPoint(block):
            for op in parts:
                if _target(op) != FULL_TO_SHARD:
                    _copy_inside(op, inside, chip_mesh[0].size)
            ir.Operation.create("sdy.return", operands=[inside[call.operands[0]]])
    call.results[0].replace_all_uses_with(region.results[0])
    call.erase()
    for op in reversed(parts):
        if not any(list(value.uses) for value in op.results):
            op.erase()


def _entering(parts: Sequence[Any], chip_mesh: ChipMesh) -> dict[Any, tuple[Any, Sharding]]:
    """Returns the values that ops on parts take from outside, each with the whole tensor and how it is split.

    A part is that of its tensor. Any other value, such as a constant, is the same on every chip.

    Raises:
        CompileError: a tensor is split over another mesh.
    """
    entering: dict[Any, tuple[Any, Sharding]] = {}
    for op in parts:
        if _target(op) == FULL_TO_SHARD:
            mark = _config(op)
            if _marked_mesh(mark) != chip_mesh:
                raise CompileError(
                    f"xs.disable_manual_sharding makes a tensor on a mesh of shape {chip_mesh[0].shape} of parts on "
                    f"one of shape {tuple(mark['shape'])}.",
                    hint="Give both functions of manual sharding the same mesh.",
                    location=str(op.location),
                )
            entering[op.results[0]] = op.operands[0], Sharding(tuple(map(tuple, mark["dims"])))
    own = {result for op in parts for result in op.results}
    for op in parts:
        if _target(op) != FULL_TO_SHARD:
            for value in op.operands:
                if value not in own:
                    entering.setdefault(value, (value, replicated(len(value.type.shape))))
    return entering


def _ops_on_parts(call: Any) -> list[Any]:
    """Returns the ops that compute the operand of a call from every chip's part of tensors, in their order.

    Raises:
        CompileError: the operand is no result of such ops.
    """
    parts: set[Any] = set()
    on_parts: list[Any] = []
    for op in (op.operation for op in call.block.operations):
        is_on_part = _target(op) != SHARD_TO_FULL and not parts.isdisjoint(op.operands)
        if is_on_part or _target(op) == FULL_TO_SHARD:
            on_parts.append(op)
            parts.update(op.results)
    needed = {call.operands[0]}
    found: list[Any] = []
    for op in reversed(on_parts):
        if not needed.isdisjoint(op.results):
            found.append(op)
            needed.update(() if _target(op) == FULL_TO_SHARD else op.operands)
    if not found:
        raise CompileError(
            "xs.disable_manual_sharding takes a result of ops on tensors of xs.enable_manual_sharding; this is none.",
            location=str(call.location),
        )
    return found[::-1]


def _copy_inside(op: Any, inside: dict[Any, Any], chips: int) -> None:
    """Copies an op to the insertion point, and enters its results into the values inside a region by those outside."""
    if _target(op) == COLLECTIVE:
        copied = _collective(_config(op), inside[op.operands[0]], op.results[0].type, chips)
    else:
        copied = op.clone()
        for position, value in enumerate(op.operands):
            copied.operands[position] = inside[value]
    inside.update(zip(op.results, copied.results, strict=True))


_REPLACEMENTS: dict[str, Callable[[Any, _Meshes], None]] = {
    SHARDING_CONSTRAINT: _constrain,
    MARK: _mark,
    SHARD_ALIKE: _group,
    COLLECTIVE: _collect,
}
"""Functions that replace a custom call in a module with meshes, by the call's target."""

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
    sharding: Sharding, mesh: Mesh, users_meshes: Sequence[ChipMesh], shape: tuple[int, ...]
) -> Placement | None:
    """Returns the placement of a result on the first of the user's meshes that expresses how it is split.

    Where none of several does, it is on the program's own mesh, of which each of theirs is made up. None for partial
    sums, which the host adds, and for a result that is split over a part of an axis of the only mesh.
    """
    if sharding.unreduced:
        return None
    for users_mesh, chips in users_meshes:
        order = [users_meshes[0][1].index(chip) for chip in chips]
        parts = _parts(users_mesh, order, mesh)
        dims = [_composed([axis for axis in dim if mesh.shape[axis] > 1], parts) for dim in sharding.dims]
        if None not in dims:
            return Placement(users_mesh, chips, Sharding(tuple(dim for dim in dims if dim is not None)), shape)
    if len(users_meshes) == 1:
        return None
    return Placement(Mesh(mesh.shape, mesh.axes), users_meshes[0][1], sharding, shape)


def _parts(users_mesh: Mesh, order: list[int], mesh: Mesh) -> list[tuple[int, ...]]:
    """Returns, for each axis of a user's mesh, the axes of a program's mesh that make it up, major first.

    Args:
        users_mesh: the user's mesh.
        order: position in the program's mesh of the chip at each position of the user's.
        mesh: the mesh of the program.
    """
    digits = digits_of(np.array(order).reshape(users_mesh.shape)) or [()] * len(users_mesh.shape)
    own = row_major(mesh.shape)
    found = [tuple(part for part in whole_axes(axis, own) if mesh.shape[part] > 1) for axis in digits]
    sizes = [math.prod(mesh.shape[part] for part in axes) for axes in found]
    return [axes if size == whole else () for axes, size, whole in zip(found, sizes, users_mesh.shape, strict=True)]


def _composed(axes: list[int], parts: Sequence[tuple[int, ...]]) -> tuple[int, ...] | None:
    """Returns the axes whose parts, one after the other, are ``axes``; None if there are none."""
    composed: list[int] = []
    while axes:
        found = next((index for index, part in enumerate(parts) if part and tuple(axes[: len(part)]) == part), None)
        if found is None:
            return None
        composed.append(found)
        axes = axes[len(parts[found]) :]
    return tuple(composed)


class PartitionedRun:
    """Runs a program for several chips on whole tensors: splits arguments, joins results.

    Args:
        executable: the loaded program.
        run: runs it on the shards of all chips, as :meth:`MeshExecutable.run` does.
        meshes: the user's meshes. That of the program may have further axes of size 1, or parts of the user's axes.
    """

    def __init__(
        self,
        executable: MeshExecutable,
        run: Callable[..., list[list[torch.Tensor]]],
        meshes: Sequence[ChipMesh],
    ) -> None:
        program = executable.program
        assert program.mesh is not None
        self._executable, self._run = executable, run
        self._mesh = program.mesh
        self._shardings = [sharding_of(argument) for argument in program.arguments]
        self._split: list[tuple[int | None, list[torch.Tensor]]] = [(None, [])] * len(program.arguments)
        """Version and shards of each argument of the last run that had a version."""
        self._held = [held_by_chips(argument, self._mesh) for argument in program.arguments]
        """The part of each argument that each chip holds."""
        self._results = [(result, held_by_chips(result, self._mesh)) for result in program.results]
        self.placements: list[Placement | None] = [
            _placement(sharding_of(result), self._mesh, meshes, global_shape_of(result)) for result in program.results
        ]
        """Placement of each result; None where no placement expresses how it is split."""
        self.argument_placements: list[Placement | None] = [
            None if sharding.is_replicated else _placement(sharding, self._mesh, meshes, global_shape_of(argument))
            for sharding, argument in zip(self._shardings, program.arguments, strict=True)
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
        results = self._run(self._all_shards(tensors, versions), versions)
        return [
            join(parts, sharding_of(result), self._mesh, global_shape_of(result))
            for parts, (result, _) in zip(results, self._results, strict=True)
        ]

    def run_keeping(
        self, tensors: Sequence[Any], versions: Sequence[int | None], donated: Container[int] = ()
    ) -> list[Handle | MeshHandle]:
        """Runs the program, and leaves the results in the memory of a card.

        Args:
            tensors: whole arguments on the host, or handles that :meth:`takes` accepts.
            versions: content version of each, or None.
            donated: positions of arguments whose memory the program may overwrite and return as a result.

        Returns:
            A handle for each result: that of the one tensor that all chips hold, or of all their shards.
        """
        results = self._executable.run_keeping(self._all_shards(tensors, versions), versions, donated)
        return [
            shards[0] if sharding_of(result).is_replicated else MeshHandle(shards, result, held, self._mesh)
            for shards, (result, held) in zip(results, self._results, strict=True)
        ]

    def takes(self, position: int, tensor: object) -> bool:
        """Returns whether a handle can be passed for an argument: each chip has what it reads, or all the same."""
        if isinstance(tensor, MeshHandle):
            is_split_alike = tensor.held == self._held[position]
            pairs = enumerate(tensor.shards)
            return is_split_alike and all(self._executable.takes(position, chip, shard) for chip, shard in pairs)
        return self._shardings[position].is_replicated and self._executable.takes(position, 0, tensor)

    def _all_shards(self, tensors: Sequence[Any], versions: Sequence[int | None]) -> list[Sequence[Any]]:
        return [self._shards(position, *pair) for position, pair in enumerate(zip(tensors, versions, strict=True))]

    def _shards(self, position: int, tensor: Any, version: int | None) -> Sequence[Any]:
        """Returns what every chip has of an argument."""
        if isinstance(tensor, MeshHandle):
            return tensor.shards
        if not isinstance(tensor, torch.Tensor):
            return [tensor] * self._mesh.size
        last_version, shards = self._split[position]
        if version is None or version != last_version:
            shards = split(tensor, self._shardings[position], self._mesh)
            self._split[position] = (version, shards if version is not None else [])
        return shards
