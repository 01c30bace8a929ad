"""Elementwise ops on tensors that tiles hold badly compute on matrices of full tiles.

An optimiser updates the weights of convolutions, ``[512, 512, 3, 3]``, element by element. Tiles of the last two
dimensions would take 114 times the memory and the time, while a matrix with the same elements, ``[2304, 1024]``, fills
its tiles. Reshapes between the two run in rows (``tile_padding.py``), and those between ops cancel. Ops beside one that
needs the dimensions, such as a mean over some of them, stay as they are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from tt_xla.compiler.rewriting import is_pure, pattern, run_patterns
from tt_xla.compiler.tile_padding import MOVEMENT, matrix_of, overfills_tiles, takes_rows
from tt_xla.compiler.ttir.fold import MOVES, move_constant
from tt_xla.compiler.ttir.match import reshaped
from tt_xla.ir import abstract as shared
from tt_xla.ir.base import DATA_TYPES, TTOp, property_kinds, shape, tensor, tensor_type
from tt_xla.ir.shapes import Shape, normalise_dims
from tt_xla.ir.ttir.collective import AllReduceOp
from tt_xla.ir.ttir.creation import ConstantOp, FullOp
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


_REDUCTIONS = (SumOp, MeanOp, MaxOp, MinOp)
"""Reductions whose result over all dimensions is the same for all orders of elements."""

_ONE = (1, 1)
"""Shape of a matrix of one element."""


def run(module: ModuleOp) -> None:
    """Rewrites the elementwise ops, broadcasts of one element and reductions to one of a module."""
    run_patterns(module, fill_tiles, fill_tiles_of_broadcast, fill_tiles_of_reduction, *MOVES, move_constant)


@pattern(*_ELEMENTWISE)
def fill_tiles(op: TTOp, rewriter: PatternRewriter) -> None:
    """Computes on matrices where all operands have the result's shape or one element."""
    matrix = _matrix(op.results[0])
    if matrix is None or not (_has_any_form(op) and all(map(_comes_in_any_form, op.operands)) and _is_read(op)):
        return
    forms = [matrix if shape(value) == shape(op.results[0]) else _ONE for value in op.operands]
    operands = [reshaped(rewriter, op, value, form) for value, form in zip(op.operands, forms, strict=True)]
    _compute(rewriter, op, operands, matrix)


@pattern(BroadcastOp)
def fill_tiles_of_broadcast(op: BroadcastOp, rewriter: PatternRewriter) -> None:
    """Broadcasts one element to a matrix."""
    matrix = _matrix(op.result)
    if matrix is not None and _has_any_form(op) and _is_read(op):
        _compute(rewriter, op, [reshaped(rewriter, op, op.input, _ONE)], matrix, broadcast_dimensions=matrix)


@pattern(*_REDUCTIONS)
def fill_tiles_of_reduction(op: SumOp | MeanOp | MaxOp | MinOp, rewriter: PatternRewriter) -> None:
    """Reduces a matrix where all dimensions are reduced, as for the norm of gradients."""
    matrix = _matrix(op.input)
    if matrix is not None and _has_any_form(op) and _comes_in_any_form(op.input):
        operand = reshaped(rewriter, op, op.input, matrix)
        _compute(rewriter, op, [operand], _ONE, dim_arg=(0, 1), keep_dim=True)


def _matrix(value: SSAValue) -> Shape | None:
    """Returns the shape of a matrix that fills its tiles with a value's elements; None where the value's own shape is
    good enough, or no matrix is better."""
    sizes, dtype = shape(value), DATA_TYPES[tensor_type(value).element_type]
    if not overfills_tiles(sizes, dtype):
        return None
    matrix = matrix_of(sizes)
    return None if overfills_tiles(matrix, dtype) else matrix


def _has_any_form(op: Operation) -> bool:
    """Returns whether an op computes the same elements whatever shape its operands are given in."""
    if isinstance(op, _REDUCTIONS):
        rank = len(shape(op.input))
        return len(normalise_dims(op.dim_arg, rank)) == rank
    sizes = shape(op.results[0]) if isinstance(op, (*_ELEMENTWISE, BroadcastOp)) and is_pure(op) else None
    return sizes is not None and all(
        math.prod(shape(value)) == 1 or (shape(value) == sizes and "indexes" not in op.properties)
        for value in op.operands
    )


def _comes_in_any_form(value: SSAValue) -> bool:
    """Returns whether a value is there in rows or has one element; ops before, which were looked at, end in a move."""
    return isinstance(value.owner, (Block, *MOVEMENT, ConstantOp, FullOp)) or math.prod(shape(value)) == 1


def _is_read(op: TTOp) -> bool:
    """Returns whether an op's result, and what ops of any form make of it, is read in rows or reduced to one."""
    waiting, seen = list(op.results[0].uses), {op.results[0]}
    while waiting:
        use = waiting.pop()
        if takes_rows(use):
            continue
        if not _has_any_form(use.operation):
            return False
        result = use.operation.results[0]
        if not isinstance(use.operation, _REDUCTIONS) and result not in seen:
            seen.add(result)
            waiting += result.uses
    return True


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
