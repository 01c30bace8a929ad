"""Converters of StableHLO collectives: groups of positions become axes of the mesh, one op per axis.

For groups that are no axes, the chips of axes of that size take part: they receive the operands and send back the
results.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from tt_xla.compiler import collectives, meshes
from tt_xla.compiler.stablehlo import replica_groups
from tt_xla.compiler.stablehlo.annotations import check_group_sizes
from tt_xla.compiler.stablehlo.by_chip import by_chip
from tt_xla.compiler.stablehlo.context import ImportContext, converts
from tt_xla.compiler.stablehlo.creation import full
from tt_xla.compiler.stablehlo.reduction import body_op
from tt_xla.ir import ttir
from tt_xla.ir.base import Tensor, TTOp, shape, tensor, tensor_type
from tt_xla.ir.properties import ui32
from tt_xla.ir.ttcore import ReduceType
from tt_xla.ir.ttir.collective import (
    AllReduceOp,
    AllToAllOp,
    CollectiveBroadcastOp,
    CollectivePermuteOp,
    ReduceScatterOp,
)
from tt_xla.ir.ttir.structure import ReshapeOp

_REDUCE_TYPES = {
    "stablehlo.add": ReduceType.SUM,
    "stablehlo.maximum": ReduceType.MAX,
    "stablehlo.minimum": ReduceType.MIN,
    "stablehlo.multiply": ReduceType.PROD,
}
_REDUCE_TYPES_OF_BOOLEANS = {
    "stablehlo.add": ReduceType.MAX,
    "stablehlo.maximum": ReduceType.MAX,
    "stablehlo.minimum": ReduceType.MIN,
    "stablehlo.multiply": ReduceType.MIN,
    "stablehlo.or": ReduceType.MAX,
    "stablehlo.and": ReduceType.MIN,
}
"""Reductions of booleans, which are 0 and 1."""

_BITWISE = {"stablehlo.and": "bitwise_and", "stablehlo.or": "bitwise_or", "stablehlo.xor": "bitwise_xor"}
"""Reductions that no reduce type stands for: the shards are gathered and combined on each chip."""


def _axes(context: ImportContext, op: Any) -> meshes.GroupAxes:
    """Returns the axes of the prepared mesh along which a collective works; none for groups of one chip.

    Raises:
        CompileError: the groups have several chips, and the module is for one chip.
    """
    if context.module.mesh is None:
        check_group_sizes(op)
        return meshes.GroupAxes(())
    mesh = context.module.mesh
    groups = replica_groups.covering_groups_of(op, mesh.size, context.module.replicas)
    axes = meshes.axes_of(mesh, groups) or meshes.axes_elsewhere(mesh, groups)
    assert axes is not None
    return axes


def _each(context: ImportContext, op: Any, axes: meshes.GroupAxes) -> list[tuple[SSAValue, Tensor]]:
    """Returns the operands of an op, on the chips that take part for their owners, each with the type of its result."""
    operands = [_sent(context, operand, axes.places) for operand in context.operands(op)]
    return [(operand, context.result_type(op, index)) for index, operand in enumerate(operands)]


def _sent(context: ImportContext, value: SSAValue, pairs: Sequence[tuple[int, int]] | None) -> SSAValue:
    """Sends a tensor from the first to the second chip of each pair, which name every chip; None sends nothing."""
    if pairs is None:
        return value
    return context.emit(CollectivePermuteOp, [value], tensor_type(value), source_target_pairs=meshes.dense(pairs))


def _returned(context: ImportContext, value: SSAValue, axes: meshes.GroupAxes) -> SSAValue:
    """Sends a result back to the chips for which others took part."""
    return _sent(context, value, axes.places and [(taker, owner) for owner, taker in axes.places])


def _reduce_type(context: ImportContext, op: Any) -> ReduceType:
    """Returns the reduction that the body of an op stands for.

    Raises:
        UnsupportedOpError: the body is not one op that TTIR can reduce by.
    """
    is_boolean = str(op.operands[0].type.element_type) == "i1"
    reduce_type = (_REDUCE_TYPES_OF_BOOLEANS if is_boolean else _REDUCE_TYPES).get(body_op(op))
    if reduce_type is None:
        raise context.reject(op, "its body is not one add, multiply, maximum, minimum, or boolean and or or")
    return reduce_type


@converts("stablehlo.all_reduce")
def all_reduce(context: ImportContext, op: Any) -> list[SSAValue]:
    groups = _axes(context, op)
    axes = groups.axes
    kind = _BITWISE.get(body_op(op))
    if kind is not None and str(op.operands[0].type.element_type) != "i1":
        combined = [
            _combined(context, operand, type_, axes, ttir.BINARY_OPS[kind])
            for operand, type_ in _each(context, op, groups)
        ]
        return [_returned(context, value, groups) for value in combined]
    reduce_type = _reduce_type(context, op)
    results: list[SSAValue] = []
    for value, type_ in _each(context, op, groups):
        for axis in axes:
            value = context.emit(AllReduceOp, [value], type_, reduce_type=reduce_type, cluster_axis=axis)
        results.append(_returned(context, value, groups))
    return results


def _combined(
    context: ImportContext, value: SSAValue, type_: Tensor, axes: tuple[int, ...], kind: type[TTOp]
) -> SSAValue:
    """Gathers a value of all chips of each group and combines the shards on every chip."""
    stacked = context.emit(
        ReshapeOp, [value], tensor((1, *type_.get_shape()), type_.element_type), shape=(1, *shape(value))
    )
    gathered = _gathered(context, stacked, 0, axes)
    combined = collectives.reduce_rows(context.emit, gathered, kind)
    return context.emit(ReshapeOp, [combined], type_, shape=type_.get_shape())


@converts("stablehlo.all_gather")
def all_gather(context: ImportContext, op: Any) -> list[SSAValue]:
    axes, dim = _axes(context, op), int(op.attributes["all_gather_dim"].value)
    results: list[SSAValue] = []
    for value, _ in _each(context, op, axes):
        gathered = _gathered(context, value, dim, axes.axes)
        results.append(_returned(context, _reordered(context, gathered, dim, axes.order), axes))
    return results


def _gathered(context: ImportContext, value: SSAValue, dim: int, axes: Sequence[int]) -> SSAValue:
    """Gathers a value along axes of the mesh, the minor one first, so that shards lie in the order of the groups."""
    for axis in reversed(axes):
        value = collectives.gather(context.emit, value, dim, axis, context.module.chips.shape[axis])
    return value


def _reordered(context: ImportContext, value: SSAValue, dim: int, order: Sequence[int] | None) -> SSAValue:
    """Puts equal blocks of a dimension in another order: block ``i`` of the result is block ``order[i]``."""
    return value if order is None else collectives.reorder(context.emit, value, dim, order)


def _inverse(order: tuple[int, ...] | None) -> tuple[int, ...] | None:
    return None if order is None else tuple(order.index(place) for place in range(len(order)))


@converts("stablehlo.reduce_scatter")
def reduce_scatter(context: ImportContext, op: Any) -> SSAValue:
    axes, dim = _axes(context, op), int(op.attributes["scatter_dimension"].value)
    reduce_type = _reduce_type(context, op)
    value = _reordered(context, _sent(context, context[op.operands[0]], axes.places), dim, _inverse(axes.order))
    for axis in axes.axes:
        type_ = collectives.with_size(value, dim, shape(value)[dim] // context.module.chips.shape[axis])
        values = {"reduce_type": reduce_type, "scatter_dim": dim, "cluster_axis": axis}
        value = context.emit(ReduceScatterOp, [value], type_, **values)
    return _returned(context, value, axes)


@converts("stablehlo.all_to_all")
def all_to_all(context: ImportContext, op: Any) -> list[SSAValue]:
    """Converts an all_to_all to one op per axis, the major one first.

    The shards then lie in the order of the axes from minor to major, so blocks change places at the end.
    """
    axes, mesh = _axes(context, op), context.module.chips
    split, concat = (int(op.attributes[name].value) for name in ("split_dimension", "concat_dimension"))
    counts = [mesh.shape[axis] for axis in axes.axes]
    blocks = np.arange(math.prod(counts)).reshape(counts[::-1]).transpose().reshape(-1)
    places = blocks if axes.order is None else blocks[list(axes.order)]
    order = None if bool((np.sort(places) == places).all()) else tuple(places.tolist())
    results: list[SSAValue] = []
    for value, type_ in _each(context, op, axes):
        joined = concat
        if split == concat and len(counts) > 1:  # an exchange splits what the one before did not join
            value, joined = _with_blocks_apart(context, value, split, math.prod(counts)), concat + 1
        value = _reordered(context, value, split, _inverse(axes.order))
        for axis in axes.axes:
            value = _exchanged(context, value, split, joined, axis)
        value = _returned(context, _reordered(context, value, joined, order), axes)
        results.append(context.emit(ReshapeOp, [value], type_, shape=type_.get_shape()) if joined > concat else value)
    return results


def _with_blocks_apart(context: ImportContext, value: SSAValue, dim: int, count: int) -> SSAValue:
    """Replaces a dimension by three: the blocks that it consists of, one of size 1, and the elements of a block."""
    sizes = shape(value)
    apart = (*sizes[:dim], count, 1, sizes[dim] // count, *sizes[dim + 1 :])
    return context.emit(ReshapeOp, [value], tensor(apart, tensor_type(value).element_type), shape=apart)


def _exchanged(context: ImportContext, value: SSAValue, split: int, concat: int, axis: int) -> SSAValue:
    """Emits an all_to_all along an axis of the mesh."""
    mesh = context.module.chips
    sizes, count = list(shape(value)), mesh.shape[axis]
    sizes[split] //= count
    sizes[concat] *= count
    type_ = tensor(tuple(sizes), tensor_type(value).element_type)
    values = {"split_dim": split, "concat_dim": concat, "split_count": count}
    return context.emit(AllToAllOp, [value], type_, replica_groups=meshes.dense_groups(mesh.shape, axis), **values)


@converts("stablehlo.collective_permute")
def collective_permute(context: ImportContext, op: Any) -> SSAValue:
    """Converts a permute between chips; a chip that receives nothing has zeros."""
    operand, mesh = context[op.operands[0]], context.module.chips
    if context.module.mesh is None:
        check_group_sizes(op)
    pairs = replica_groups.pairs_of(op, mesh.size, context.module.replicas)
    if not pairs:
        return full(context, 0, tensor_type(operand))
    if len(pairs) == mesh.size and all(source == target for source, target in pairs):
        return operand
    return context.emit(CollectivePermuteOp, [operand], tensor_type(operand), source_target_pairs=meshes.dense(pairs))


@converts("stablehlo.collective_broadcast")
def collective_broadcast(context: ImportContext, op: Any) -> SSAValue:
    """Converts a broadcast from the first chip of each group; a chip in no group has zeros."""
    operand, mesh = context[op.operands[0]], context.module.chips
    if context.module.mesh is None:
        check_group_sizes(op)
    groups = replica_groups.groups_of(op, mesh.size, context.module.replicas)
    if len(groups) == mesh.size:
        return operand
    return context.emit(CollectiveBroadcastOp, [operand], tensor_type(operand), replica_groups=meshes.dense(groups))


@converts(*replica_groups.POSITIONS)
def position(context: ImportContext, op: Any) -> SSAValue:
    """Converts the number of the chip itself."""
    mesh = context.module.chips
    numbers = replica_groups.numbers_of_chips(op.operation.name, mesh.size, context.module.replicas)
    return by_chip(context, tuple(numbers.tolist()), tensor((), ui32))
