"""Sinking of permutes past ops that take dimensions in any order, until they meet their inverse and both disappear.

A convolution or pooling permutes to channels last and back; ops between two of them rarely depend on the order of
dimensions. tt-mlir's counterpart is the erase-inverse-ops pass. An op whose permuted operand has other users is
rebuilt only if the permute after it is absorbed: all ways from it lead to other permutes or to reductions. Otherwise
the program would have one permute more.
"""

from __future__ import annotations

import math
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from tt_xla.compiler.rewriting import insert_before, pattern, producer, run_patterns
from tt_xla.compiler.ttir.fold import drop_identity, join_permutes, permute_as_reshape
from tt_xla.compiler.ttir.fold_views import shorten_moves
from tt_xla.ir import abstract as shared
from tt_xla.ir import shapes
from tt_xla.ir.base import TTOp, only_user, property_kinds, shape, tensor, tensor_type, users
from tt_xla.ir.ttir.reduction import ArgmaxOp
from tt_xla.ir.ttir.structure import ConcatOp, PadOp, PermuteOp, ReshapeOp, SliceStaticOp

Permutation = tuple[int, ...]

_ELEMENTWISE = (shared.ElementwiseUnary, shared.ElementwiseBinary, shared.Where, shared.ClampTensor)
"""Classes of ops whose operands broadcast."""

_FARTHEST = 6
"""Number of ops up to which a permute is followed to find out whether it is absorbed."""


@pattern(*_ELEMENTWISE)
def sink_past_elementwise(op: TTOp, rewriter: PatternRewriter) -> None:
    """Rewrites f(permute(x), y) to permute(f(x, y')), where y is another such permute, or small."""
    permutations = _permutations(op)
    if permutations is None or len(permutations) != 1:
        return
    permutation = permutations.pop()
    if _is_shared(op) and not _is_absorbed(op.results[0], permutation):
        return
    operands = [_unpermuted(rewriter, op, value, permutation) for value in op.operands]
    _rebuild(rewriter, op, operands, permutation)


@pattern(ConcatOp)
def sink_past_concat(op: ConcatOp, rewriter: PatternRewriter) -> None:
    """Rewrites concat(permute(x), permute(y)) to permute(concat(x, y))."""
    permutes = [producer(value, PermuteOp) for value in op.operands]
    permutations: set[Permutation] = {permute.permutation for permute in permutes if permute}
    operands = [permute.input for permute in permutes if permute]
    if len(permutations) != 1 or len(operands) != len(permutes):
        return
    permutation = permutations.pop()
    _rebuild(rewriter, op, operands, permutation, dim=permutation[op.dim])


@pattern(PadOp)
def sink_past_pad(op: PadOp, rewriter: PatternRewriter) -> None:
    """Rewrites pad(permute(x)) to permute(pad(x)) where the permute is absorbed later."""
    permute = producer(op.input, PermuteOp)
    if permute is None or not _is_absorbed(op.result, permute.permutation):
        return
    inverse = _inverse(permute.permutation)
    padding = tuple(amount for dim in inverse for amount in op.padding[2 * dim : 2 * dim + 2])
    _rebuild(rewriter, op, [permute.input], permute.permutation, padding=padding)


@pattern(SliceStaticOp)
def sink_past_slice(op: SliceStaticOp, rewriter: PatternRewriter) -> None:
    """Rewrites slice(permute(x)) to permute(slice(x)) where the permute is absorbed later."""
    permute = producer(op.input, PermuteOp)
    if permute is None or not _is_absorbed(op.result, permute.permutation):
        return
    inverse = _inverse(permute.permutation)
    values = {name: tuple(op.value(name)[dim] for dim in inverse) for name in ("begins", "ends", "step")}
    _rebuild(rewriter, op, [permute.input], permute.permutation, **values)


@pattern(shared.Reduction)
def sink_past_reduction(op: shared.Reduction, rewriter: PatternRewriter) -> None:
    """Rewrites reduce(permute(x), dims) to a reduction over x's own dimensions, permuted if any remain."""
    permute = producer(op.input, PermuteOp)
    if permute is None:
        return
    if isinstance(op, ArgmaxOp) and op.dim_arg is None:
        return  # A position among all elements depends on their order.
    permutation: Permutation = permute.permutation
    if only_user(op.input) is not op and not _is_absorbed(op.input, permutation):
        return
    dims = shapes.normalise_dims(op.dim_arg, len(permutation))
    mapped = tuple(sorted(permutation[dim] for dim in dims))
    keep = op.keep_dim
    type_ = tensor(shapes.reduce(shape(permute.input), mapped, keep), tensor_type(op.result).element_type)
    reduced = insert_before(rewriter, op, type(op), [permute.input], type_, dim_arg=mapped, keep_dim=keep)
    if not keep:
        remaining = [dim for dim in permutation if dim not in mapped]
        permutation = tuple(sorted(remaining).index(dim) for dim in remaining)
    rewriter.replace(op, PermuteOp.make([reduced], [op.result.type], op.location, permutation=permutation))


def _permutations(op: Operation, without: SSAValue | None = None) -> set[Permutation] | None:
    """Returns the permutations of an op's operands of the result's size.

    Args:
        op: an elementwise op.
        without: operand that does not count.

    Returns:
        None if a large operand is not permuted.
    """
    permutations: set[Permutation] = set()
    full = shape(op.results[0])
    for value in op.operands:
        permute = producer(value, PermuteOp)
        if permute is not None and shape(value) == full:
            permutations.add(permute.permutation)
        elif value is not without and math.prod(shape(value)) * 32 > math.prod(full):
            return None
    return permutations


def _is_shared(op: Operation) -> bool:
    """Returns whether other ops than ``op`` read one of its permuted operands of the result's size."""
    permuted = (value for value in op.operands if producer(value, PermuteOp) and shape(value) == shape(op.results[0]))
    return any(use.operation is not op for value in permuted for use in value.uses)


def _is_absorbed(value: SSAValue, permutation: Permutation, limit: int = _FARTHEST) -> bool:
    """Returns whether a permute that produced ``value`` would join another, or end in a reduction, on every way."""
    return value.first_use is not None and all(_absorbs(user, value, permutation, limit) for user in users(value))


def _absorbs(op: Operation, value: SSAValue, permutation: Permutation, limit: int) -> bool:
    """Returns whether a permute that produced an operand of ``op`` would disappear there or behind it."""
    if isinstance(op, PermuteOp | shared.Reduction):
        return True
    if not limit or not isinstance(op, TTOp):
        return False
    if isinstance(op, ConcatOp):
        permutes = [producer(other, PermuteOp) for other in op.operands if other is not value]
        is_permuted = all(permute is not None and permute.permutation == permutation for permute in permutes)
    elif isinstance(op, _ELEMENTWISE):
        permutations = _permutations(op, without=value)
        is_permuted = (
            shape(value) == shape(op.results[0]) and permutations is not None and permutations <= {permutation}
        )
    else:
        is_permuted = isinstance(op, PadOp | SliceStaticOp)
    return is_permuted and _is_absorbed(op.results[0], permutation, limit - 1)


def _inverse(permutation: Permutation) -> Permutation:
    """Returns the permutation that undoes another one."""
    return tuple(permutation.index(dim) for dim in range(len(permutation)))


def _unpermuted(rewriter: PatternRewriter, op: Operation, value: SSAValue, permutation: Permutation) -> SSAValue:
    """Returns ``value`` in the order of dimensions before the permutation."""
    permute = producer(value, PermuteOp)
    if permute is not None and permute.permutation == permutation:
        return permute.input
    element, rank = tensor_type(value).element_type, len(permutation)
    if len(shape(value)) < rank:
        full = (1,) * (rank - len(shape(value))) + shape(value)
        value = insert_before(rewriter, op, ReshapeOp, [value], tensor(full, element), shape=full)
    inverse = _inverse(permutation)
    type_ = tensor(shapes.permute(shape(value), inverse), element)
    return insert_before(rewriter, op, PermuteOp, [value], type_, permutation=inverse)


def _rebuild(
    rewriter: PatternRewriter, op: TTOp, operands: list[SSAValue], permutation: Permutation, **changed: Any
) -> None:
    """Replaces ``op`` by the same op on permuted operands, with some properties changed, followed by the permute."""
    type_ = tensor_type(op.results[0])
    before = tensor(shapes.permute(type_.get_shape(), _inverse(permutation)), type_.element_type)
    kinds = property_kinds(type(op))
    properties = op.properties | {name: kinds[name].encode(value) for name, value in changed.items()}
    rebuilt = type(op).create(operands=operands, result_types=[before], properties=properties, location=op.location)
    after = PermuteOp.make([rebuilt.results[0]], [type_], op.location, permutation=permutation)
    rewriter.replace(op, [rebuilt, after])


def run(module: ModuleOp) -> None:
    """Sinks permutes until nothing moves any more."""
    run_patterns(
        module,
        sink_past_elementwise,
        sink_past_concat,
        sink_past_pad,
        sink_past_slice,
        sink_past_reduction,
        join_permutes,
        permute_as_reshape,
        shorten_moves,
        drop_identity,
    )
