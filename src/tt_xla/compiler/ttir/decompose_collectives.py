"""Decomposition of the collectives that TT-NN lacks.

TT-NN's reductions between chips add floats, whatever ``reduce_type`` says (tt-mlir's runtime drops it). Every other
reduction gathers the shards and combines them on each chip, which is exact.
"""

from __future__ import annotations

import functools
import math

from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from tt_xla.compiler import collectives
from tt_xla.compiler.meshes import axis_size
from tt_xla.compiler.rewriting import insert_before, pattern
from tt_xla.compiler.ttir.match import is_float, reshaped
from tt_xla.errors import UnsupportedOpError
from tt_xla.ir import shapes, ttir
from tt_xla.ir.base import TTOp, shape, tensor, tensor_type
from tt_xla.ir.ttcore import ReduceType
from tt_xla.ir.ttir.collective import AllReduceOp, ReduceScatterOp
from tt_xla.ir.ttir.reduction import MaxOp, MinOp

_COMBINE: dict[ReduceType, type[TTOp]] = {
    ReduceType.SUM: ttir.BINARY_OPS["add"],
    ReduceType.MAX: ttir.BINARY_OPS["maximum"],
    ReduceType.MIN: ttir.BINARY_OPS["minimum"],
    ReduceType.PROD: ttir.BINARY_OPS["multiply"],
}


_REDUCE: dict[ReduceType, type[TTOp]] = {ReduceType.MAX: MaxOp, ReduceType.MIN: MinOp}
"""Reductions over a dimension that round nothing."""

_SMALL = 1 << 15
"""Elements up to which a shard is reshaped to a row of a matrix, which one reduction combines: 32 tiles."""


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
    combined = collectives.reduce_rows(functools.partial(insert_before, rewriter, op), rows, kind)
    rewriter.replace(op, [], [reshaped(rewriter, op, combined, shape(op.result))])


@pattern(AllReduceOp)
def all_reduce(op: AllReduceOp, rewriter: PatternRewriter) -> None:
    """Rewrites an all_reduce that TT-NN lacks to all_gather and a combination of the shards on each chip."""
    if _is_native(op):
        return
    if op.reduce_type in _REDUCE and is_float(op.input) and math.prod(shape(op.input)) <= _SMALL:
        _reduce_rows(op, rewriter)
    else:
        _replace_by_rows(op, _stacked(op, rewriter), rewriter)


def _reduce_rows(op: AllReduceOp, rewriter: PatternRewriter) -> None:
    """Gathers the shards as rows of a matrix, and reduces its columns."""
    emit = functools.partial(insert_before, rewriter, op)
    count = math.prod(shape(op.input))
    row = reshaped(rewriter, op, op.input, (1, count))
    rows = collectives.gather(emit, row, 0, op.cluster_axis, axis_size(op, op.cluster_axis))
    type_ = tensor((count,), tensor_type(op.input).element_type)
    combined = emit(_REDUCE[op.reduce_type], [rows], type_, dim_arg=(0,), keep_dim=False)
    rewriter.replace(op, [], [reshaped(rewriter, op, combined, shape(op.result))])


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


PATTERNS = (all_reduce, reduce_scatter)
