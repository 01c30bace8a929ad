"""Collectives that follow each other, or of whose result only a part is used, become fewer or smaller ones."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.pattern_rewriter import PatternRewriter

from tt_xla.compiler import collectives
from tt_xla.compiler.meshes import dense_groups, mesh_shape, mesh_shape_of
from tt_xla.compiler.rewriting import insert_before, pattern, producer, replace_with, run_patterns
from tt_xla.ir import shapes
from tt_xla.ir.base import only_user, same_type, shape, tensor_type
from tt_xla.ir.ttir.collective import AllGatherOp, AllReduceOp, AllToAllOp, MeshPartitionOp, ReduceScatterOp
from tt_xla.ir.ttir.structure import SliceStaticOp


def _dim(op: AllGatherOp | MeshPartitionOp | ReduceScatterOp) -> int:
    """Returns the dimension that a collective joins or splits, counted from the front."""
    if isinstance(op, AllGatherOp):
        dim = op.all_gather_dim
    else:
        dim = op.dim if isinstance(op, MeshPartitionOp) else op.scatter_dim
    return shapes.normalise_dims((dim,), len(shape(op.input)))[0]


@pattern(AllGatherOp, ReduceScatterOp, MeshPartitionOp, AllReduceOp)
def drop_for_one_chip(
    op: AllGatherOp | ReduceScatterOp | MeshPartitionOp | AllReduceOp, rewriter: PatternRewriter
) -> None:
    """Removes a collective along an axis of size 1."""
    axis, sizes = op.cluster_axis, mesh_shape_of(op)
    if axis is not None and axis < len(sizes) and sizes[axis] == 1 and same_type(op.result, op.input):
        rewriter.replace(op, [], [op.input])


@pattern(MeshPartitionOp, SliceStaticOp, approximate=True)
def part_of_sum(op: MeshPartitionOp | SliceStaticOp, rewriter: PatternRewriter) -> None:
    """Rewrites a part of an all_reduce, if only the part is used.

    A slice and a mesh_partition along another axis are taken before the sum. A mesh_partition along the axis of the sum
    becomes a reduce_scatter; one along all axes stays, because it contains the axis of the sum.
    """
    reduced = producer(op.input, AllReduceOp)
    if reduced is None or only_user(reduced.result) is None:
        return
    axis = reduced.cluster_axis
    if isinstance(op, MeshPartitionOp) and op.cluster_axis is None:
        return
    if isinstance(op, MeshPartitionOp) and op.cluster_axis == axis:
        values: dict[str, Any] = {"reduce_type": reduced.reduce_type, "scatter_dim": op.dim, "cluster_axis": axis}
        replace_with(rewriter, op, ReduceScatterOp, [reduced.input], **values)
        return
    smaller = insert_before(rewriter, op, type(op), [reduced.input], tensor_type(op.result), **op.values())
    replace_with(rewriter, op, AllReduceOp, [smaller], **reduced.values())


@pattern(AllGatherOp, approximate=True)
def gather_of_scattered(op: AllGatherOp, rewriter: PatternRewriter) -> None:
    """Rewrites all_gather(reduce_scatter(x)) to all_reduce(x), if only the gathered sum is used."""
    scattered = producer(op.input, ReduceScatterOp)
    if scattered is None or only_user(scattered.result) is None or scattered.cluster_axis != op.cluster_axis:
        return
    if _dim(scattered) == _dim(op) and same_type(scattered.input, op.result):
        values: dict[str, Any] = {"reduce_type": scattered.reduce_type, "cluster_axis": op.cluster_axis}
        replace_with(rewriter, op, AllReduceOp, [scattered.input], **values)


@pattern(MeshPartitionOp)
def part_of_gathered(op: MeshPartitionOp, rewriter: PatternRewriter) -> None:
    """Rewrites a mesh_partition of an all_gather.

    Along the same axis, it takes back what the gather joined, or is an all_to_all of two dimensions. Along another axis
    and dimension, each chip gathers its part only.
    """
    gathered = producer(op.input, AllGatherOp)
    if gathered is None or op.cluster_axis is None:
        return
    split, join, axis = _dim(op), _dim(gathered), gathered.cluster_axis
    if axis == op.cluster_axis and split == join:
        if same_type(gathered.input, op.result):
            rewriter.replace(op, [], [gathered.input])
    elif only_user(gathered.result) is None or split == join:
        return
    elif axis == op.cluster_axis:
        sizes = mesh_shape_of(op)
        values: dict[str, Any] = {"split_dim": split, "concat_dim": join, "split_count": sizes[axis]}
        replace_with(rewriter, op, AllToAllOp, [gathered.input], replica_groups=dense_groups(sizes, axis), **values)
    else:
        size = shape(op.result)[split]
        type_ = collectives.with_size(gathered.input, split, size)
        part = insert_before(rewriter, op, MeshPartitionOp, [gathered.input], type_, **op.values())
        replace_with(rewriter, op, AllGatherOp, [part], **gathered.values())


@pattern(SliceStaticOp)
def gather_of_slice(op: SliceStaticOp, rewriter: PatternRewriter) -> None:
    """Rewrites slice(all_gather(x)) to all_gather(slice(x)), if the slice leaves the gathered dimension whole."""
    gathered = producer(op.input, AllGatherOp)
    if gathered is None or only_user(gathered.result) is None:
        return
    dim, sizes = _dim(gathered), shape(gathered.input)
    if shape(op.result)[dim] != shape(gathered.result)[dim]:
        return
    values = op.values() | {"ends": (*op.ends[:dim], sizes[dim], *op.ends[dim + 1 :])}
    type_ = collectives.with_size(op.result, dim, sizes[dim])
    smaller = insert_before(rewriter, op, SliceStaticOp, [gathered.input], type_, **values)
    replace_with(rewriter, op, AllGatherOp, [smaller], **gathered.values())


PATTERNS = (
    drop_for_one_chip,
    part_of_sum,
    gather_of_scattered,
    part_of_gathered,
    gather_of_slice,
)


def run(module: ModuleOp, *, exact: bool = False) -> None:
    """Joins collectives until nothing is left to join.

    Args:
        module: TTIR module that is changed in place.
        exact: Leaves out what may change the order in which chips add.
    """
    if mesh_shape(module) is not None:
        run_patterns(module, *PATTERNS, exact=exact)
