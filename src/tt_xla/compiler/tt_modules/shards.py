"""Programs of TTIR text for several chips: what their arguments and results are parts of.

The text has the tensors of one chip. It says whether a chip gets a tensor of its own (``ttcore.shard_status``), and not
how the tensors of the chips make up a larger one. Here they lie one after another along the first dimension.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import TypeVar

import msgspec
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tt_xla.compiler.analysis.variation import varying_axes
from tt_xla.compiler.locations import describe
from tt_xla.compiler.rewriting import body
from tt_xla.errors import MalformedModuleError
from tt_xla.ir.base import shape, tensor, tensor_type
from tt_xla.ir.mesh import Mesh, Shape, Sharding
from tt_xla.ir.program import SHARDED_AXES, Argument, Result
from tt_xla.ir.properties import I64S
from tt_xla.ir.ttcore import MeshShardDirection, MeshShardType, ShardStatus, ShardStatusAttr
from tt_xla.ir.ttir.collective import AllGatherOp, MeshPartitionOp, MeshShardOp, ReduceScatterOp

Declared = TypeVar("Declared", Argument, Result)


def sharded(
    entry: FuncOp, arguments: tuple[Argument, ...], results: tuple[Result, ...], mesh: Mesh
) -> tuple[tuple[Argument, ...], tuple[Result, ...]]:
    """Returns arguments and results with their shardings, and notes in the function along which axes chips differ.

    Chips have tensors of their own of an argument whose status is ``presharded``, along the axes in
    ``tt.sharded_axes`` or else along all. Of other arguments every chip has the same tensor.
    """
    everywhere = tuple(range(len(mesh.shape)))
    noted: list[dict[str, Attribute]] = []
    axes_of: list[tuple[int, ...]] = []
    for index in range(len(arguments)):
        attributes = {} if entry.arg_attrs is None else dict(entry.arg_attrs.data[index].data)
        known = attributes.get(SHARDED_AXES)
        axes = everywhere if attributes.get(ShardStatusAttr.name) == ShardStatusAttr(ShardStatus.PRESHARDED) else ()
        axes_of.append(axes if known is None else tuple(I64S.decode(known)))
        noted.append({**attributes, SHARDED_AXES: I64S.encode(axes_of[-1])})
    entry.properties["arg_attrs"] = ArrayAttr([DictionaryAttr(attributes) for attributes in noted])
    varying, returned = varying_axes(entry), body(entry).last_op
    assert isinstance(returned, ReturnOp)
    return (
        tuple(_with_axes(argument, axes, mesh) for argument, axes in zip(arguments, axes_of, strict=True)),
        tuple(
            _with_axes(result, sorted(varying[value]), mesh)
            for result, value in zip(results, returned.operands, strict=True)
        ),
    )


def _with_axes(declared: Declared, axes: Collection[int], mesh: Mesh) -> Declared:
    """Returns an argument or result that the chips along some axes have parts of; they share a scalar."""
    local = declared.shape
    sharding, whole = Sharding(((),) * len(local)), local
    if local:
        sharding = sharding.with_dim(0, tuple(axes))
        whole = (local[0] * math.prod(mesh.shape[axis] for axis in axes), *local[1:])
    return msgspec.structs.replace(declared, sharding=sharding, global_shape=whole)


def check_collectives(module: ModuleOp, mesh: Mesh) -> None:
    """Checks that each op between chips works along an axis of the mesh, on parts of the axis's number.

    Raises:
        MalformedModuleError: the mesh has no such axis, or the axis has another number of chips.
    """
    for op in module.walk():
        axis: int | None = getattr(op, "cluster_axis", None)
        if axis is None:
            continue
        expected = f"expected one that fits the mesh {'x'.join(map(str, mesh.shape))}."
        if axis >= len(mesh.shape):
            raise MalformedModuleError(
                f"'{op.name}' has cluster_axis {axis}; {expected}", location=describe(op.location)
            )
        if isinstance(op, AllGatherOp | ReduceScatterOp | MeshPartitionOp):
            ends = math.prod(shape(op.input)), math.prod(shape(op.result))
            parts = max(ends) // max(1, min(ends))
            if parts not in (1, mesh.shape[axis]):
                raise MalformedModuleError(
                    f"'{op.name}' makes or joins {parts} parts along cluster_axis {axis}; {expected}",
                    location=describe(op.location),
                )


def replace_mesh_shards(module: ModuleOp, mesh: Mesh) -> None:
    """Replaces each ``ttir.mesh_shard`` by the partitions or gathers that it stands for.

    Raises:
        MalformedModuleError: the numbers of shards are not those of the mesh axes.
    """
    for op in list(module.walk()):
        if isinstance(op, MeshShardOp):
            value = op.input if op.shard_type is not MeshShardType.DEVICES else _resharded(op, mesh)
            op.result.replace_all_uses_with(value)
            op.detach()
            op.erase()


def _resharded(op: MeshShardOp, mesh: Mesh) -> SSAValue:
    """Inserts the ops that split a tensor over the mesh, or join its shards, and returns their result."""
    pairs = [(axis, dim) for axis, dim in enumerate(op.shard_dims) if dim >= 0]
    counts = [1] * len(shape(op.input))
    for axis, dim in pairs if all(_fits(axis, dim, op, mesh) for axis, dim in pairs) else ():
        counts[dim] *= mesh.shape[axis]
    if len(op.shard_dims) != len(mesh.shape) or tuple(counts) != tuple(op.shard_shape):
        raise MalformedModuleError(
            f"'ttir.mesh_shard' has shard_shape {list(op.shard_shape)} and shard_dims {list(op.shard_dims)}; expected "
            f"a dimension or -1 for each axis of the mesh {'x'.join(map(str, mesh.shape))}, and their products.",
            location=describe(op.location),
        )
    value = op.input
    splits = op.shard_direction is MeshShardDirection.FULL_TO_SHARD
    for axis, dim in pairs if splits else reversed(pairs):
        sizes = list(shape(value))
        sizes[dim] = sizes[dim] // mesh.shape[axis] if splits else sizes[dim] * mesh.shape[axis]
        value = _inserted(op, value, tuple(sizes), axis, dim, splits)
    return value


def _fits(axis: int, dim: int, op: MeshShardOp, mesh: Mesh) -> bool:
    return axis < len(mesh.shape) and dim < len(shape(op.input))


def _inserted(op: MeshShardOp, value: SSAValue, sizes: Shape, axis: int, dim: int, splits: bool) -> SSAValue:
    type_ = tensor(sizes, tensor_type(value).element_type)
    created: Operation
    if splits:
        created = MeshPartitionOp.make([value], [type_], op.location, dim=dim, cluster_axis=axis)
    else:
        created = AllGatherOp.make([value], [type_], op.location, all_gather_dim=dim, cluster_axis=axis)
    Rewriter.insert_op(created, InsertPoint.before(op))
    return created.results[0]
