"""Rules of code that says itself what each chip does: shard_map, and the collectives within."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from tt_xla.compiler.sharding import gspmd
from tt_xla.compiler.sharding.builder import COLLECTIVES, dense
from tt_xla.compiler.sharding.context import Hints, Localizer, localizes, shape_of
from tt_xla.compiler.sharding.emitter import Shard
from tt_xla.compiler.sharding.round_trip import GLOBAL_TO_LOCAL, LOCAL_TO_GLOBAL
from tt_xla.compiler.sharding.shardings import per_value
from tt_xla.compiler.stablehlo.expand import IDENTITIES
from tt_xla.errors import CompileError
from tt_xla.ir.mesh import Shape, Sharding, replicated


@localizes("sdy.manual_computation")
def manual_computation(context: Localizer, op: Any, operands: Sequence[Shard], hints: Hints) -> Sequence[Shard]:
    """Emits the ops of the region, whose tensors are parts along the manual axes already."""
    manual = context.manual_axes(op)
    (source,) = op.regions[0].blocks
    into = [context.sharding_of(attribute) for attribute in per_value(op.attributes["in_shardings"])]
    out = [context.sharding_of(attribute) for attribute in per_value(op.attributes["out_shardings"])]
    for argument, operand, sharding in zip(source.arguments, operands, into, strict=True):
        part = enter(context.reshard(operand, sharding), manual, shape_of(argument))
        context.values[argument] = part
    returned = context.block(source)
    return [
        leave(context, part, manual, sharding, shape_of(result))
        for part, sharding, result in zip(returned, out, op.results, strict=True)
    ]


def enter(shard: Shard, manual: frozenset[int], shape: Shape) -> Shard:
    """Returns a tensor as code sees it that says what chips do along the manual axes."""
    free = Sharding(tuple(tuple(axis for axis in axes if axis not in manual) for axes in shard.sharding.dims))
    return Shard(shard.value, shape, free)


def leave(context: Localizer, part: Shard, manual: frozenset[int], sharding: Sharding, shape: Shape) -> Shard:
    """Returns the tensor whose parts along the manual axes are given."""
    free = Sharding(tuple(tuple(axis for axis in axes if axis not in manual) for axes in sharding.dims))
    return Shard(context.reshard(part, free).value, shape, sharding)


@localizes(*(f"stablehlo.{name}" for name in COLLECTIVES))
def collective(context: Localizer, op: Any, operands: Sequence[Shard], hints: Hints) -> Sequence[Shard]:
    """Copies a collective; the dimensions that it joins or splits must not be split along other axes."""
    name = op.operation.name.removeprefix("stablehlo.")
    names = ("all_gather_dim", "scatter_dimension", "split_dimension", "concat_dimension")
    dims = [ir.IntegerAttr(op.attributes[key]).value for key in names if key in op.attributes]
    ready = [context.unsplit(operand, dims) for operand in operands]
    context.crossings += 1
    types = [context.local_type(r.type, part.sharding) for r, part in zip(op.results, ready, strict=True)]
    values = context.copy(op, [part.value for part in ready], types, _global_groups(context, op, name))
    return context.shards(op, values, [part.sharding for part in ready])


def _global_groups(context: Localizer, op: Any, name: str) -> dict[str, Any]:
    """Returns the attributes with which the groups of a collective are groups of positions."""
    attributes: dict[str, Any] = {"channel_handle": context.builder.channel()}
    if "replica_groups" in op.attributes and np.array(op.attributes["replica_groups"]).tolist() == [[0]]:
        # Groups of the one replica: every chip by itself.
        attributes["replica_groups"] = dense(np.arange(context.mesh.size)[:, None])
    if name in ("all_gather", "all_reduce", "reduce_scatter"):
        attributes["use_global_device_ids"] = ir.UnitAttr.get()
    return attributes


@localizes("stablehlo.partition_id", "stablehlo.replica_id")
def own_number(context: Localizer, op: Any, operands: Sequence[Shard], hints: Hints) -> Sequence[Shard]:
    context.crossings += 1
    return context.replicated_copy(op, operands)


@localizes("stablehlo.custom_call")
def custom_call(context: Localizer, op: Any, operands: Sequence[Shard], hints: Hints) -> Sequence[Shard]:
    """Enters or leaves code of GSPMD's shard_map; copies annotations; other calls get whole tensors."""
    target = gspmd.target(op)
    if target == gspmd.FULL_TO_SHARD:
        manual = _manual_axes(context, op)
        part = enter(operands[0], manual, shape_of(op.results[0]))
        _check_part(context, op, operands[0], part)
        return [part]
    if target == gspmd.SHARD_TO_FULL:
        return [_shard_to_full(context, op, operands[0])]
    if target.endswith(GLOBAL_TO_LOCAL):
        shardings = map(context.sharding_of, per_value(op.attributes["in_shardings"]))
        manual = context.manual_axes(op)
        return [
            enter(context.reshard(operand, sharding), manual, shape_of(result))
            for operand, sharding, result in zip(operands, shardings, op.results, strict=True)
        ]
    if target.endswith(LOCAL_TO_GLOBAL):
        shardings = map(context.sharding_of, per_value(op.attributes["out_shardings"]))
        manual = context.manual_axes(op)
        return [
            leave(context, part, manual, sharding, shape_of(result))
            for part, sharding, result in zip(operands, shardings, op.results, strict=True)
        ]
    if target in IDENTITIES and len(operands) == len(op.results) == 1:
        values = context.copy(op, [operands[0].value], [operands[0].value.type])
        return context.shards(op, values, [operands[0].sharding])
    results = context.replicated_copy(op, operands)
    return [shard if hint is None else context.reshard(shard, hint) for shard, hint in zip(results, hints, strict=True)]


def _manual_axes(context: Localizer, op: Any) -> frozenset[int]:
    (sharding,) = gspmd.parsed(op.attributes, context.mesh.size)
    if sharding.all_manual:
        return frozenset(range(len(context.mesh.shape)))
    return frozenset(context.axes_of(sharding.manual))


def _shard_to_full(context: Localizer, op: Any, part: Shard) -> Shard:
    """Leaves code of GSPMD's shard_map. The op says how its result is split along the manual axes."""
    (target,) = gspmd.parsed(op.attributes, context.mesh.size)
    shape = shape_of(op.results[0])
    wanted = replicated(len(shape)) if target.dims is None else Sharding(tuple(map(context.axes_of, target.dims)))
    counts = wanted.counts(context.mesh)
    manual: set[int] = set()
    for dim, (whole, count) in enumerate(zip(shape, counts, strict=True)):
        if whole != part.shape[dim]:
            if whole != part.shape[dim] * count:
                raise CompileError(f"A tensor of shape {list(part.shape)} is no part of {list(shape)} as {op} says.")
            manual.update(wanted.dims[dim])
    return leave(context, part, frozenset(manual), wanted, shape)


def _check_part(context: Localizer, op: Any, operand: Shard, part: Shard) -> None:
    expected = part.sharding.local_shape(context.mesh, part.shape)
    found = operand.sharding.local_shape(context.mesh, operand.shape)
    if expected != found:
        raise CompileError(
            f"A custom call @{gspmd.FULL_TO_SHARD} has a result of shape {list(part.shape)}, but its operand of shape "
            f"{list(operand.shape)} is split into parts of {list(found)}.",
            location=str(op.location),
        )
