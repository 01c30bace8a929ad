"""Sinking of permutes past elementwise ops and reductions until they meet their inverse and both disappear.

A convolution or pooling permutes to channels last and back; ops between two of them rarely depend on the order of
dimensions. tt-mlir's counterpart is the erase-inverse-ops pass.
"""

from __future__ import annotations

import math

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from tt_xla.compiler.rewriting import insert_before, pattern, producer, run_patterns
from tt_xla.compiler.ttir.fold import drop_identity, join_permutes, permute_as_reshape
from tt_xla.compiler.ttir.fold_views import shorten_moves
from tt_xla.ir import abstract as shared
from tt_xla.ir import shapes
from tt_xla.ir.base import TTOp, only_user, shape, tensor, tensor_type
from tt_xla.ir.ttir.reduction import ArgmaxOp
from tt_xla.ir.ttir.structure import ConcatOp, PermuteOp, ReshapeOp

Permutation = tuple[int, ...]


@pattern(shared.ElementwiseUnary, shared.ElementwiseBinary, shared.Where, shared.ClampTensor)
def sink_past_elementwise(op: TTOp, rewriter: PatternRewriter) -> None:
    """Rewrites f(permute(x), y) to permute(f(x, y')), where y is another such permute, or small."""
    if isinstance(op, shared.Softmax | shared.Cumulative):
        return
    permutation = _common_permutation(op)
    if permutation is None:
        return
    operands = [_unpermuted(rewriter, op, value, permutation) for value in op.operands]
    _rebuild(rewriter, op, operands, permutation, op.properties)


@pattern(ConcatOp)
def sink_past_concat(op: ConcatOp, rewriter: PatternRewriter) -> None:
    """Rewrites concat(permute(x), permute(y)) to permute(concat(x, y))."""
    permutes = [producer(value, PermuteOp) for value in op.operands]
    permutations: set[Permutation] = {permute.permutation for permute in permutes if permute}
    operands = [permute.input for permute in permutes if permute]
    if len(permutations) != 1 or len(operands) != len(permutes):
        return
    permutation = permutations.pop()
    dim = ConcatOp.make([operands], [], dim=permutation[op.dim]).properties
    _rebuild(rewriter, op, operands, permutation, dim)


@pattern(shared.Reduction)
def sink_past_reduction(op: shared.Reduction, rewriter: PatternRewriter) -> None:
    """Rewrites reduce(permute(x), dims) to a reduction over x's own dimensions, permuted if any remain."""
    permute = producer(op.input, PermuteOp)
    if permute is None or only_user(op.input) is not op:
        return
    if isinstance(op, ArgmaxOp) and op.dim_arg is None:
        return  # A position among all elements depends on their order.
    permutation: Permutation = permute.permutation
    dims = shapes.normalise_dims(op.dim_arg, len(permutation))
    mapped = tuple(sorted(permutation[dim] for dim in dims))
    keep = op.keep_dim
    type_ = tensor(shapes.reduce(shape(permute.input), mapped, keep), tensor_type(op.result).element_type)
    reduced = insert_before(rewriter, op, type(op), [permute.input], type_, dim_arg=mapped, keep_dim=keep)
    if not keep:
        remaining = [dim for dim in permutation if dim not in mapped]
        permutation = tuple(sorted(remaining).index(dim) for dim in remaining)
    rewriter.replace(op, PermuteOp.make([reduced], [op.result.type], op.location, permutation=permutation))


def _common_permutation(op: Operation) -> Permutation | None:
    """Returns the permutation that all operands of the result's size share; the others must be broadcast."""
    permutations: set[Permutation] = set()
    full = shape(op.results[0])
    for value in op.operands:
        permute = producer(value, PermuteOp)
        if permute is not None and shape(value) == full:
            if only_user(value) is not op and any(use.operation is not op for use in value.uses):
                return None
            permutations.add(permute.permutation)
        elif math.prod(shape(value)) * 32 > math.prod(full):
            return None
    return permutations.pop() if len(permutations) == 1 else None


def _unpermuted(rewriter: PatternRewriter, op: Operation, value: SSAValue, permutation: Permutation) -> SSAValue:
    """Returns ``value`` in the order of dimensions before the permutation."""
    permute = producer(value, PermuteOp)
    if permute is not None and permute.permutation == permutation:
        return permute.input
    element, rank = tensor_type(value).element_type, len(permutation)
    if len(shape(value)) < rank:
        full = (1,) * (rank - len(shape(value))) + shape(value)
        value = insert_before(rewriter, op, ReshapeOp, [value], tensor(full, element), shape=full)
    inverse = tuple(permutation.index(dim) for dim in range(rank))
    type_ = tensor(shapes.permute(shape(value), inverse), element)
    return insert_before(rewriter, op, PermuteOp, [value], type_, permutation=inverse)


def _rebuild(
    rewriter: PatternRewriter,
    op: TTOp,
    operands: list[SSAValue],
    permutation: Permutation,
    properties: dict[str, Attribute],
) -> None:
    """Replaces ``op`` by the same op on permuted operands, followed by the permute."""
    inverse = tuple(permutation.index(dim) for dim in range(len(permutation)))
    type_ = tensor_type(op.results[0])
    before = tensor(shapes.permute(type_.get_shape(), inverse), type_.element_type)
    rebuilt = type(op).create(operands=operands, result_types=[before], properties=properties, location=op.location)
    after = PermuteOp.make([rebuilt.results[0]], [type_], op.location, permutation=permutation)
    rewriter.replace(op, [rebuilt, after])


def run(module: ModuleOp) -> None:
    """Sinks permutes until nothing moves any more."""
    run_patterns(
        module,
        sink_past_elementwise,
        sink_past_concat,
        sink_past_reduction,
        join_permutes,
        permute_as_reshape,
        shorten_moves,
        drop_identity,
    )
