"""Permutes move down past elementwise ops and reductions until they meet their inverse and both disappear.

A convolution or pooling permutes to channels last and back; what lies between two of them rarely cares about the order
of dimensions. Upstream's counterpart is the erase-inverse-ops pass.
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
    """f(permute(x), y) is permute(f(x, inverse permute(y))), where y is another such permute, or small."""
    if isinstance(op, shared.Softmax | shared.Cumulative):
        return
    permutation = _common_permutation(op)
    if permutation is None:
        return
    operands = [_unpermuted(rewriter, op, value, permutation) for value in op.operands]
    _rebuild(rewriter, op, operands, permutation, op.properties)


@pattern(ConcatOp)
def sink_past_concat(op: ConcatOp, rewriter: PatternRewriter) -> None:
    """concat(permute(x), permute(y)) is permute(concat(x, y))."""
    found = [producer(value, PermuteOp) for value in op.operands]
    permutations: set[Permutation] = {permute.permutation for permute in found if permute}
    operands = [permute.input for permute in found if permute]
    if len(permutations) != 1 or len(operands) != len(found):
        return
    permutation = permutations.pop()
    dim = ConcatOp.make([operands], [], dim=permutation[op.dim]).properties
    _rebuild(rewriter, op, operands, permutation, dim)


@pattern(shared.Reduction)
def sink_past_reduction(op: shared.Reduction, rewriter: PatternRewriter) -> None:
    """reduce(permute(x), dims) is reduce(x, other dims), permuted where dimensions stay."""
    permute = producer(op.input, PermuteOp)
    if permute is None or only_user(op.input) is not op:
        return
    if isinstance(op, ArgmaxOp) and op.dim_arg is None:
        return  # a position among all elements depends on their order
    permutation: Permutation = permute.permutation
    dims = shapes.normalise_dims(op.dim_arg, len(permutation))
    mapped = tuple(sorted(permutation[dim] for dim in dims))
    keep = op.keep_dim
    type_ = tensor(shapes.reduce(shape(permute.input), mapped, keep), tensor_type(op.result).element_type)
    found = insert_before(rewriter, op, type(op), [permute.input], type_, dim_arg=mapped, keep_dim=keep)
    if not keep:
        kept = [dim for dim in permutation if dim not in mapped]
        permutation = tuple(sorted(kept).index(dim) for dim in kept)
    rewriter.replace(op, PermuteOp.make([found], [op.result.type], op.location, permutation=permutation))


def _common_permutation(op: Operation) -> Permutation | None:
    """The permutation of the operands of the result's size; the others must be broadcast to it."""
    found: set[Permutation] = set()
    whole = shape(op.results[0])
    for value in op.operands:
        permute = producer(value, PermuteOp)
        if permute is not None and shape(value) == whole:
            if only_user(value) is not op and any(use.operation is not op for use in value.uses):
                return None
            found.add(permute.permutation)
        elif math.prod(shape(value)) * 32 > math.prod(whole):
            return None
    return found.pop() if len(found) == 1 else None


def _unpermuted(rewriter: PatternRewriter, op: Operation, value: SSAValue, permutation: Permutation) -> SSAValue:
    """``value`` in the order of dimensions before the permutation."""
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
    inverse = tuple(permutation.index(dim) for dim in range(len(permutation)))
    type_ = tensor_type(op.results[0])
    before = tensor(shapes.permute(type_.get_shape(), inverse), type_.element_type)
    made = type(op).create(operands=operands, result_types=[before], properties=properties, location=op.location)
    after = PermuteOp.make([made.results[0]], [type_], op.location, permutation=permutation)
    rewriter.replace(op, [made, after])


def run(module: ModuleOp) -> None:
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
