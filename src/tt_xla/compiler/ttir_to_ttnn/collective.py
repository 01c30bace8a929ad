"""Lowerings of collectives. Number of links and topology are left to TT-NN."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.ir import SSAValue

from tt_xla.compiler.locations import describe
from tt_xla.compiler.meshes import axes_of, mesh_shape_of
from tt_xla.compiler.ttir_to_ttnn.lowering import Lowering, lowers
from tt_xla.errors import MalformedModuleError, UnsupportedOpError
from tt_xla.ir import shapes
from tt_xla.ir.base import TTOp
from tt_xla.ir.layout import TILE
from tt_xla.ir.mesh import Mesh
from tt_xla.ir.ttir import collective as source
from tt_xla.ir.ttnn import collective as target
from tt_xla.ir.ttnn.memory import AssignOp, FullOp


@lowers(source.AllGatherOp)
def all_gather(lowering: Lowering, op: source.AllGatherOp) -> SSAValue:
    """Lowers an all_gather."""
    values: dict[str, Any] = {"all_gather_dim": op.all_gather_dim, "cluster_axis": op.cluster_axis}
    return lowering.emit(target.AllGatherOp, [lowering.tiled(op.input)], *lowering.result(op), **values)


@lowers(source.AllReduceOp)
def all_reduce(lowering: Lowering, op: source.AllReduceOp) -> SSAValue:
    """Lowers an all_reduce."""
    values: dict[str, Any] = {"reduce_type": op.reduce_type, "cluster_axis": op.cluster_axis}
    return lowering.emit(target.AllReduceOp, [lowering.tiled(op.input)], *lowering.result(op), **values)


@lowers(source.ReduceScatterOp)
def reduce_scatter(lowering: Lowering, op: source.ReduceScatterOp) -> SSAValue:
    """Lowers a reduce_scatter."""
    values: dict[str, Any] = {
        "reduce_type": op.reduce_type,
        "scatter_dim": op.scatter_dim,
        "cluster_axis": op.cluster_axis,
    }
    return lowering.emit(target.ReduceScatterOp, [lowering.tiled(op.input)], *lowering.result(op), **values)


@lowers(source.AllToAllOp)
def all_to_all(lowering: Lowering, op: source.AllToAllOp) -> SSAValue:
    """Lowers an all_to_all along an axis of the mesh.

    Raises:
        UnsupportedOpError: the groups are not those of one axis, in its order.
    """
    sizes, groups = mesh_shape_of(op), _rows(op.replica_groups)
    axes = axes_of(Mesh(sizes, ()), groups)
    if axes is None or len(axes.axes) > 1 or axes.order is not None:
        raise UnsupportedOpError(
            f"'{op.name}' has replica_groups {groups}, expected those of an axis of the mesh {sizes}.",
            location=describe(op.location),
        )
    if not axes.axes:
        return lowering.values[op.input]
    values: dict[str, Any] = {"split_dim": op.split_dim, "concat_dim": op.concat_dim, "cluster_axis": axes.axes[0]}
    return lowering.emit(target.AllToAllOp, [lowering.tiled(op.input)], *lowering.result(op), **values)


@lowers(source.MeshPartitionOp)
def mesh_partition(lowering: Lowering, op: source.MeshPartitionOp) -> SSAValue:
    """Lowers a mesh_partition. TT-NN cuts tiles only between tiles, so other parts are cut from row-major tensors."""
    sizes, dtype = lowering.result(op)
    (dim,) = shapes.normalise_dims((op.dim,), len(sizes))
    tiled = dim < len(sizes) - 2 or sizes[dim] % TILE == 0
    operand = lowering.tiled(op.input) if tiled else lowering.row_major(op.input)
    values: dict[str, Any] = {"dim": op.dim, "cluster_axis": op.cluster_axis}
    part = lowering.emit(target.MeshPartitionOp, [operand], sizes, dtype, tiled=tiled, **values)
    return lowering.convert(part, tiled=True)


@lowers(source.CollectivePermuteOp)
def collective_permute(lowering: Lowering, op: source.CollectivePermuteOp) -> SSAValue:
    """Lowers a permute between chips to one ``point_to_point`` for each pair."""
    return _sent(lowering, op, [(row[0], row[1]) for row in _rows(op.source_target_pairs)])


@lowers(source.CollectiveBroadcastOp)
def collective_broadcast(lowering: Lowering, op: source.CollectiveBroadcastOp) -> SSAValue:
    """Lowers a broadcast in groups to one ``point_to_point`` for each chip that receives."""
    return _sent(lowering, op, [(group[0], member) for group in _rows(op.replica_groups) for member in group])


def _rows(dense: DenseIntOrFPElementsAttr) -> list[list[int]]:
    """Returns the rows of a matrix of integers."""
    return np.array(dense.get_values(), np.int64).reshape(dense.type.get_shape()).tolist()


def _sent(lowering: Lowering, op: TTOp, pairs: Sequence[tuple[int, int]]) -> SSAValue:
    """Sends the operand of an op from source to target chips; a chip that receives nothing has zeros.

    Each ``point_to_point`` writes to the output of the one before, which has the values of all other chips. The first
    output is a copy of the operand, unless every chip receives something. Zeros come from a neighbour, as in upstream.
    """
    sizes, dtype = lowering.result(op)
    mesh = Mesh(mesh_shape_of(op), ())
    operand = lowering.tiled(op.operands[0])
    if any(not 0 <= position < mesh.size for pair in pairs for position in pair):
        raise MalformedModuleError(f"'{op.name}' names chips {pairs}, expected positions in a mesh {mesh.shape}.")
    moves = [(operand, sender, receiver) for sender, receiver in pairs if sender != receiver]
    without = sorted(set(range(mesh.size)) - {receiver for _, receiver in pairs})
    if without:
        zeros = lowering.emit(
            FullOp, [lowering.device], sizes, dtype, shape=sizes, fill_value=0.0 if dtype.is_float else 0
        )
        if mesh.size == 1:
            return zeros
        moves += [(zeros, _neighbour(mesh, receiver), receiver) for receiver in without]
    output = None if len(moves) == mesh.size else lowering.emit(AssignOp, [operand], sizes, dtype)
    for value, sender, receiver in moves:
        places: dict[str, Any] = {
            "sender_coord": mesh.coordinates(sender),
            "receiver_coord": mesh.coordinates(receiver),
        }
        output = lowering.emit(target.PointToPointOp, [value, output], sizes, dtype, **places)
    assert output is not None
    return output


def _neighbour(mesh: Mesh, position: int) -> int:
    """Returns a chip beside a chip, along the last axis that has several chips."""
    axis = max(axis for axis, size in enumerate(mesh.shape) if size > 1)
    place = list(mesh.coordinates(position))
    place[axis] += -1 if place[axis] else 1
    return mesh.position(place)
