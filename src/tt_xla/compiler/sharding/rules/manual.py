"""Rules of code that says itself what each chip does: shard_map, and the collectives within."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from tt_xla.compiler.sharding import gspmd
from tt_xla.compiler.sharding.builder import COLLECTIVES, dense
from tt_xla.compiler.sharding.context import Hints, Localiser, localises, shape_of
from tt_xla.compiler.sharding.emitter import Shard
from tt_xla.compiler.sharding.round_trip import GLOBAL_TO_LOCAL, LOCAL_TO_GLOBAL
from tt_xla.compiler.sharding.shardings import per_value
from tt_xla.compiler.stablehlo.expand import IDENTITIES
from tt_xla.compiler.stablehlo.replica_groups import OVER_BOTH, groups_of
from tt_xla.errors import MalformedModuleError
from tt_xla.ir.mesh import Shape, Sharding, replicated

INSPECTION = "InspectSharding"
"""Target of the custom call in which JAX asks for the sharding of a value, while it compiles."""


@localises("sdy.manual_computation")
def manual_computation(context: Localiser, op: Any, operands: Sequence[Shard], hints: Hints) -> Sequence[Shard]:
    """Emits the ops of the region, whose tensors are parts along the manual axes already."""
    manual = context.manual_axes(op)
    (source,) = op.regions[0].blocks
    into = [context.sharding_of(attribute) for attribute in per_value(op.attributes["in_shardings"])]
    out = [context.sharding_of(attribute) for attribute in per_value(op.attributes["out_shardings"])]
    for argument, operand, sharding in zip(source.arguments, operands, into, strict=True):
        split = _as_region_splits(context, sharding, manual, operand.shape, shape_of(argument))
        context.values[argument] = enter(context, context.reshard(operand, split), manual, shape_of(argument))
    returned = context.block(source)
    results: list[Shard] = []
    for part, sharding, result in zip(returned, out, op.results, strict=True):
        split = _as_region_splits(context, sharding, manual, shape_of(result), part.shape)
        results.append(context.reshard(leave(context, part, manual, split, shape_of(result)), sharding))
    return results


def _as_region_splits(
    context: Localiser, sharding: Sharding, manual: frozenset[int], shape: Shape, part: Shape
) -> Sharding:
    """Returns a sharding without the manual axes by which a region does not split a tensor.

    Propagation adds manual axes to dimensions that are open, but the shapes in the region stay what they are.

    Args:
        context: the state of the localisation.
        sharding: sharding of the tensor outside of the region, after propagation.
        manual: manual axes of the region.
        shape: shape of the tensor outside.
        part: its shape in the region.
    """
    dims: list[tuple[int, ...]] = []
    for axes, size, length in zip(sharding.dims, shape, part, strict=True):
        count, kept = 1, list[int]()
        for axis in axes:
            if axis in manual:
                if -(-size // count) == length:
                    continue
                count *= context.mesh.shape[axis]
            kept.append(axis)
        dims.append(tuple(kept))
    return Sharding(tuple(dims), sharding.unreduced)


def enter(context: Localiser, shard: Shard, manual: frozenset[int], shape: Shape) -> Shard:
    """Returns a tensor as code sees it that says what chips do along the manual axes."""
    part = context.reshard(shard, _of_parts(context, shard.sharding, manual, shard.shape))
    return Shard(part.value, shape, _without(part.sharding, manual))


def leave(context: Localiser, part: Shard, manual: frozenset[int], sharding: Sharding, shape: Shape) -> Shard:
    """Returns the tensor whose parts along the manual axes are given."""
    sharding = _of_parts(context, sharding, manual, shape)
    return Shard(context.reshard(part, _without(sharding, manual)).value, shape, sharding)


def _of_parts(context: Localiser, sharding: Sharding, manual: frozenset[int], shape: Shape) -> Sharding:
    """Returns a sharding whose shards are shards of the parts along the manual axes.

    Where a dimension does not divide evenly, the padding of each part and that of the tensor lie in different places,
    so other axes leave it.
    """
    counts = sharding.counts(context.mesh)
    return Sharding(
        tuple(
            tuple(axis for axis in axes if axis in manual) if manual.intersection(axes) and size % count else axes
            for axes, size, count in zip(sharding.dims, shape, counts, strict=True)
        ),
        sharding.unreduced,
    )


def _without(sharding: Sharding, manual: frozenset[int]) -> Sharding:
    """Returns a sharding that neither splits dimensions nor has partial sums along the manual axes."""
    dims = tuple(tuple(axis for axis in axes if axis not in manual) for axes in sharding.dims)
    return Sharding(dims, tuple(axis for axis in sharding.unreduced if axis not in manual))


@localises(*(f"stablehlo.{name}" for name in COLLECTIVES))
def collective(context: Localiser, op: Any, operands: Sequence[Shard], hints: Hints) -> Sequence[Shard]:
    """Copies a collective; the dimensions that it joins or splits must not be split along other axes."""
    names = ("all_gather_dim", "scatter_dimension", "split_dimension", "concat_dimension")
    dims = [ir.IntegerAttr(op.attributes[key]).value for key in names if key in op.attributes]
    ready = [context.unsplit(operand, dims) for operand in operands]
    context.crossings += 1
    types = [context.local_type(r.type, part.sharding) for r, part in zip(op.results, ready, strict=True)]
    values = context.copy(op, [part.value for part in ready], types, _global_groups(context, op))
    return context.shards(op, values, [part.sharding for part in ready])


def _global_groups(context: Localiser, op: Any) -> dict[str, Any]:
    """Returns the attributes with which the groups of a collective are groups of positions."""
    attributes: dict[str, Any] = {"channel_handle": context.builder.channel()}
    if "replica_groups" in op.attributes and np.array(op.attributes["replica_groups"]).ravel().tolist() in ([0], []):
        # The id 0 may be the one replica, whose partitions are together or each by itself, or a partition.
        attributes["replica_groups"] = dense(np.array(groups_of(op, context.mesh.size, replicas=1)))
    if op.operation.name in OVER_BOTH:
        attributes["use_global_device_ids"] = ir.UnitAttr.get()
    return attributes


@localises("stablehlo.partition_id", "stablehlo.replica_id")
def own_number(context: Localiser, op: Any, operands: Sequence[Shard], hints: Hints) -> Sequence[Shard]:
    context.crossings += 1
    return context.replicated_copy(op, operands)


@localises("stablehlo.custom_call")
def custom_call(context: Localiser, op: Any, operands: Sequence[Shard], hints: Hints) -> Sequence[Shard]:
    """Enters or leaves code of GSPMD's shard_map; copies annotations; other calls get whole tensors."""
    target = gspmd.target(op)
    if target == gspmd.FULL_TO_SHARD:
        manual, shape = _manual_axes(context, op), shape_of(op.results[0])
        split = operands[0].sharding
        if operands[0].rank == len(shape):
            split = _as_region_splits(context, split, manual, operands[0].shape, shape)
        return [_enter_call(context, op, context.reshard(operands[0], split), manual, shape)]
    if target == gspmd.SHARD_TO_FULL:
        return [_shard_to_full(context, op, operands[0])]
    if target.endswith(GLOBAL_TO_LOCAL):
        shardings = _boundary_shardings(context, op, "in_shardings", op.operands)
        manual = context.manual_axes(op)
        return [
            _enter_call(context, op, context.reshard(operand, sharding), manual, shape_of(result))
            for operand, sharding, result in zip(operands, shardings, op.results, strict=True)
        ]
    if target.endswith(LOCAL_TO_GLOBAL):
        shardings = _boundary_shardings(context, op, "out_shardings", op.results)
        manual = context.manual_axes(op)
        return [
            _leave_call(context, op, part, manual, sharding, shape_of(result))
            for part, sharding, result in zip(operands, shardings, op.results, strict=True)
        ]
    is_unary = len(operands) == len(op.results) == 1
    if target == INSPECTION and is_unary:
        key = op.attributes["backend_config"] if "backend_config" in op.attributes else None  # noqa: SIM401
        if isinstance(key, ir.StringAttr):
            context.inspected[key.value_bytes] = operands[0].sharding
        return operands
    if target in IDENTITIES and is_unary:
        values = context.copy(op, [operands[0].value], [operands[0].value.type])
        return context.shards(op, values, [operands[0].sharding])
    results = context.replicated_copy(op, operands)
    return [shard if hint is None else context.reshard(shard, hint) for shard, hint in zip(results, hints, strict=True)]


def _manual_axes(context: Localiser, op: Any) -> frozenset[int]:
    sharding = gspmd.parsed_one(op, context.mesh.size)
    if sharding.all_manual:
        return frozenset(range(len(context.mesh.shape)))
    return frozenset(context.axes_of(sharding.manual))


def _shard_to_full(context: Localiser, op: Any, part: Shard) -> Shard:
    """Leaves code of GSPMD's shard_map. The op says how its result is split along the manual axes."""
    target = gspmd.parsed_one(op, context.mesh.size)
    shape = shape_of(op.results[0])
    sharding = replicated(len(shape)) if target.dims is None else Sharding(tuple(map(context.axes_of, target.dims)))
    sharding = sharding.with_unreduced(context.axes_of(target.unreduced))
    if not part.rank == len(shape) == len(sharding.dims):
        raise _not_a_part(op, shape, sharding.counts(context.mesh), part.shape)
    manual = {
        axis
        for axes, size, part_size in zip(sharding.dims, shape, part.shape, strict=True)
        if size != part_size
        for axis in axes
    }
    return _leave_call(context, op, part, frozenset(manual.union(sharding.unreduced)), sharding, shape)


def _boundary_shardings(context: Localiser, op: Any, name: str, values: Sequence[Any]) -> list[Sharding]:
    """Returns the shardings of the global tensors that a custom call takes or returns, from an attribute of it."""
    attributes = per_value(op.attributes[name]) if name in op.attributes else []
    shardings = [context.sharding_of(attribute) for attribute in attributes]
    ranks = [len(shape_of(value)) for value in values]
    if [len(sharding.dims) for sharding in shardings] != ranks or len(op.operands) != len(op.results):
        raise MalformedModuleError(
            f"A custom call @{gspmd.target(op)} with {len(op.operands)} operands and {len(op.results)} results has "
            f"shardings of {[len(sharding.dims) for sharding in shardings]} dimensions in {name}, expected {ranks}.",
            location=str(op.location),
        )
    return shardings


def _enter_call(context: Localiser, op: Any, operand: Shard, manual: frozenset[int], shape: Shape) -> Shard:
    """Enters a region at a custom call, whose result has a shape of its own that must be that of the parts."""
    part = Shard(None, shape, _without(operand.sharding, manual))
    _check_part(context, op, operand, part)
    return enter(context, operand, manual, shape)


def _leave_call(
    context: Localiser, op: Any, part: Shard, manual: frozenset[int], sharding: Sharding, shape: Shape
) -> Shard:
    """Leaves a region at a custom call, whose operand has a shape of its own that must be that of the parts."""
    _check_part(context, op, Shard(None, shape, sharding), Shard(None, part.shape, _without(sharding, manual)))
    return leave(context, part, manual, sharding, shape)


def _check_part(context: Localiser, op: Any, full: Shard, part: Shard) -> None:
    same_rank = full.rank == part.rank
    if not same_rank or full.sharding.local_shape(context.mesh, full.shape) != part.sharding.local_shape(
        context.mesh, part.shape
    ):
        raise _not_a_part(op, full.shape, full.sharding.counts(context.mesh), part.shape)


def _not_a_part(op: Any, full: Shape, counts: Shape, part: Shape) -> MalformedModuleError:
    return MalformedModuleError(
        f"A custom call @{gspmd.target(op)} is for a tensor of shape {list(full)} that is split {list(counts)} times "
        f"along its dimensions, and for a part of shape {list(part)}, which is not one of its parts.",
        location=str(op.location),
    )
