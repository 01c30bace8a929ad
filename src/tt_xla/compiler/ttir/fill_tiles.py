"""Elementwise ops on tensors that tiles hold badly compute on matrices of full tiles.

An optimiser updates the weights of convolutions, ``[512, 512, 3, 3]``, element by element. Tiles of the last two
dimensions would take 114 times the memory and the time, while a matrix with the same elements, ``[2304, 1024]``, fills
its tiles. Reshapes between the two run in rows (``tile_padding.py``), and those between ops cancel.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from tt_xla.compiler.rewriting import is_pure, pattern, run_patterns
from tt_xla.compiler.tile_padding import matrix_of, overfills_tiles
from tt_xla.compiler.ttir.fold import MOVES, move_constant
from tt_xla.compiler.ttir.match import reshaped
from tt_xla.ir import abstract as shared
from tt_xla.ir.base import DATA_TYPES, TTOp, property_kinds, shape, tensor, tensor_type
from tt_xla.ir.shapes import Shape, normalise_dims
from tt_xla.ir.ttir.collective import AllReduceOp
from tt_xla.ir.ttir.reduction import MaxOp, MeanOp, MinOp, SumOp
from tt_xla.ir.ttir.structure import BroadcastOp, ReshapeOp

_ELEMENTWISE = (
    shared.ElementwiseUnary,
    shared.ElementwiseBinary,
    shared.Where,
    shared.ClampTensor,
    shared.GeluBackward,
    AllReduceOp,
)
"""Ops that compute each element of the result from one of each operand."""


def run(module: ModuleOp) -> None:
    """Rewrites the elementwise ops, broadcasts of one element and reductions to one of a module."""
    run_patterns(module, fill_tiles, fill_tiles_of_broadcast, fill_tiles_of_reduction, *MOVES, move_constant)


@pattern(*_ELEMENTWISE)
def fill_tiles(op: TTOp, rewriter: PatternRewriter) -> None:
    """Computes on matrices where all operands have the result's shape or one element."""
    result = op.results[0]
    matrix = _matrix(result)
    if matrix is None or not is_pure(op) or "indexes" in op.properties:
        return
    operands: list[SSAValue] = []
    for value in op.operands:
        sizes = shape(value)
        if sizes == shape(result):
            sizes = matrix
        elif math.prod(sizes) != 1:
            return
        elif len(sizes) > len(matrix):
            sizes = (1,) * len(matrix)
        operands.append(reshaped(rewriter, op, value, sizes))
    _compute(rewriter, op, operands, matrix)


@pattern(BroadcastOp)
def fill_tiles_of_broadcast(op: BroadcastOp, rewriter: PatternRewriter) -> None:
    """Broadcasts one element to a matrix."""
    matrix = _matrix(op.result)
    if matrix is None or math.prod(shape(op.input)) != 1:
        return
    number = reshaped(rewriter, op, op.input, (1,) * len(matrix))
    _compute(rewriter, op, [number], matrix, broadcast_dimensions=matrix)


@pattern(SumOp, MeanOp, MaxOp, MinOp)
def fill_tiles_of_reduction(op: SumOp, rewriter: PatternRewriter) -> None:
    """Reduces a matrix where all dimensions are reduced, as for the norm of gradients."""
    matrix, rank = _matrix(op.input), len(shape(op.input))
    if matrix is None or len(normalise_dims(op.dim_arg, rank)) < rank:
        return
    ones = (1,) * len(matrix)
    _compute(rewriter, op, [reshaped(rewriter, op, op.input, matrix)], ones, dim_arg=(0, 1), keep_dim=True)


def _matrix(value: SSAValue) -> Shape | None:
    """Returns the shape of a matrix that fills its tiles with a value's elements; None where the value's own shape is
    good enough, or no matrix is better."""
    sizes, dtype = shape(value), DATA_TYPES[tensor_type(value).element_type]
    if not overfills_tiles(sizes, dtype):
        return None
    matrix = matrix_of(sizes)
    return None if overfills_tiles(matrix, dtype) else matrix


def _compute(rewriter: PatternRewriter, op: TTOp, operands: Sequence[SSAValue], sizes: Shape, **values: Any) -> None:
    """Replaces an op by one of the same class whose result has the shape ``sizes``, and a reshape after it.

    Args:
        rewriter: Rewriter of the pattern.
        op: Op of one result.
        operands: Operands of the new op.
        sizes: Shape of its result.
        values: Properties in which it differs.
    """
    kinds = property_kinds(type(op))
    changed = {name: kinds[name].encode(value) for name, value in values.items()}
    type_ = tensor_type(op.results[0])
    computed = type(op).create(
        operands=operands,
        result_types=[tensor(sizes, type_.element_type)],
        properties=op.properties | changed,
        location=op.location,
    )
    reshape = ReshapeOp.make([computed.results[0]], [type_], op.location, shape=type_.get_shape())
    rewriter.replace(op, [computed, reshape])
