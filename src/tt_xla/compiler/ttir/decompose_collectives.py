"""Decomposition of the collectives that TT-NN lacks.

TT-NN's reductions between chips add floats, whatever ``reduce_type`` says (tt-mlir's runtime drops it). Every other
reduction gathers the shards and combines them on each chip, which is exact.
"""

from __future__ import annotations

import functools

import numpy as np
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from tt_xla.compiler import collectives
from tt_xla.compiler.meshes import axes_of, axis_size, mesh_shape_of
from tt_xla.compiler.rewriting import insert_before, pattern
from tt_xla.compiler.ttir.match import is_float, reshaped
from tt_xla.errors import UnsupportedOpError
from tt_xla.ir import shapes, ttir
from tt_xla.ir.base import TTOp, shape
from tt_xla.ir.mesh import Mesh
from tt_xla.ir.ttcore import ReduceType
from tt_xla.ir.ttir.collective import AllReduceOp, AllToAllOp, ReduceScatterOp

_COMBINE: dict[ReduceType, type[TTOp]] = {
    ReduceType.SUM: ttir.BINARY_OPS["add"],
    ReduceType.MAX: ttir.BINARY_OPS["maximum"],
    ReduceType.MIN: ttir.BINARY_OPS["minimum"],
    ReduceType.PROD: ttir.BINARY_OPS["multiply"],
}


def _is_native(op: AllReduceOp | ReduceScatterOp) -> bool:
    """Whether TT-NN reduces as the op says: it adds floats."""
    return op.reduce_type is ReduceType.SUM and is_float(op.input)


def _stacked(op: AllReduceOp | ReduceScatterOp, rewriter: PatternRewriter) -> SSAValue:
    """Returns the shards of all chips of the op's axis, stacked along a new first dimension."""
    emit = functools.partial(insert_before, rewriter, op)
    row = reshaped(rewriter, op, op.input, (1, *shape(op.input)))
    return collectives.gather(emit, row, 0, op.cluster_axis, axis_size(op, op.cluster_axis))


def _replace_by_rows(op: AllReduceOp | ReduceScatterOp, rows: SSAValue, rewriter: PatternRewriter) -> None:
    """Replaces a reduction by the combination of the rows of a tensor."""
    kind = _COMBINE.get(op.reduce_type)
    if kind is None:
        raise UnsupportedOpError(
            f"'{op.name}' has reduce_type {op.reduce_type}, expected one of {', '.join(_COMBINE)}."
        )
    combined = collectives.fold_rows(functools.partial(insert_before, rewriter, op), rows, kind)
    rewriter.replace(op, [], [reshaped(rewriter, op, combined, shape(op.result))])


@pattern(AllReduceOp)
def all_reduce(op: AllReduceOp, rewriter: PatternRewriter) -> None:
    """Rewrites an all_reduce that TT-NN lacks to all_gather and a combination of the shards on each chip."""
    if not _is_native(op):
        _replace_by_rows(op, _stacked(op, rewriter), rewriter)


@pattern(ReduceScatterOp)
def reduce_scatter(op: ReduceScatterOp, rewriter: PatternRewriter) -> None:
    """Rewrites a reduce_scatter that TT-NN lacks to all_gather, and a combination of each chip's part of the shards."""
    if _is_native(op):
        return
    emit = functools.partial(insert_before, rewriter, op)
    (dim,) = shapes.normalise_dims((op.scatter_dim,), len(shape(op.input)))
    rows = _stacked(op, rewriter)
    rows = collectives.partition(emit, rows, dim + 1, op.cluster_axis, axis_size(op, op.cluster_axis))
    _replace_by_rows(op, rows, rewriter)


@pattern(AllToAllOp)
def all_to_all(op: AllToAllOp, rewriter: PatternRewriter) -> None:
    """Rewrites an all_to_all to all_gather along ``concat_dim``, of which each chip takes its part along ``split_dim``.

    The other form that TT-NN has is a ``point_to_point`` for each pair of chips, one after the other: as many bytes in
    all, and the square of the number of chips in kernels.
    """
    sizes = mesh_shape_of(op)
    rank = len(shape(op.input))
    (split,) = shapes.normalise_dims((op.split_dim,), rank)
    (concat,) = shapes.normalise_dims((op.concat_dim,), rank)
    rows = np.array(op.replica_groups.get_values()).reshape(op.replica_groups.type.get_shape()).tolist()
    axes = axes_of(Mesh(sizes, ("",) * len(sizes)), rows)
    if axes is None or len(axes.axes) > 1 or axes.order is not None:
        raise UnsupportedOpError(
            f"'{op.name}' has replica_groups {rows}, expected those of an axis of the mesh {sizes}."
        )
    value: SSAValue = op.input
    emit = functools.partial(insert_before, rewriter, op)
    for axis in axes.axes:
        value = collectives.gather(emit, value, concat, axis, sizes[axis])
        value = collectives.partition(emit, value, split, axis, sizes[axis])
    rewriter.replace(op, [], [value])


PATTERNS = (all_reduce, reduce_scatter, all_to_all)
