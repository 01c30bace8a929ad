"""Folding: ops without effect disappear, chains of moves become one move, constants are computed at compile time."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp, bf16, f32
from xdsl.pattern_rewriter import PatternRewriter

from tt_xla.compiler.analysis.constants import converted, is_held, makes_unordinary, splat_of
from tt_xla.compiler.analysis.ranges import TRUTH_OPS, bounds
from tt_xla.compiler.rewriting import pattern, producer, replace_with, run_patterns
from tt_xla.compiler.ttir import fold_arithmetic, fold_products, fold_ranges, fold_reductions, fold_views
from tt_xla.compiler.ttir.match import is_float
from tt_xla.ir import shapes
from tt_xla.ir.base import same_type, shape, tensor_type
from tt_xla.ir.ttir.creation import splat
from tt_xla.ir.ttir.structure import (
    BroadcastOp,
    ClampScalarOp,
    ClampTensorOp,
    PermuteOp,
    ReshapeOp,
    ReverseOp,
    TypecastOp,
    WhereOp,
)


@pattern(ReshapeOp, BroadcastOp, PermuteOp, TypecastOp)
def drop_identity(op: ReshapeOp | BroadcastOp | PermuteOp | TypecastOp, rewriter: PatternRewriter) -> None:
    """Removes a reshape, broadcast, permute or typecast that does not change its operand."""
    if not same_type(op.result, op.input):
        return
    if isinstance(op, PermuteOp) and op.permutation != tuple(range(len(shape(op.input)))):
        return
    rewriter.replace(op, [], [op.input])


@pattern(ReshapeOp, BroadcastOp, PermuteOp, TypecastOp)
def move_constant(op: ReshapeOp | BroadcastOp | PermuteOp | TypecastOp, rewriter: PatternRewriter) -> None:
    """Replaces a reshape, broadcast, permute or typecast of a splat constant by a splat constant."""
    value = splat(op.input)
    if value is None:
        return
    type_, source = tensor_type(op.result), tensor_type(op.input).element_type
    if not (is_held(source) and is_held(type_.element_type)):
        return
    number = converted(value, source, type_.element_type)
    if number is not None and not makes_unordinary(number, [value]):
        rewriter.replace(op, splat_of(number, type_, op.location))


@pattern(ReshapeOp)
def join_reshapes(op: ReshapeOp, rewriter: PatternRewriter) -> None:
    """Rewrites reshape(reshape(x)) to reshape(x)."""
    inner = producer(op.input, ReshapeOp)
    if inner is not None:
        replace_with(rewriter, op, ReshapeOp, [inner.input], shape=op.shape_)


@pattern(PermuteOp)
def join_permutes(op: PermuteOp, rewriter: PatternRewriter) -> None:
    """Rewrites permute(permute(x)) to one permute."""
    inner = producer(op.input, PermuteOp)
    if inner is None:
        return
    first, second = inner.permutation, op.permutation
    replace_with(rewriter, op, PermuteOp, [inner.input], permutation=tuple(first[dim] for dim in second))


@pattern(BroadcastOp)
def join_broadcasts(op: BroadcastOp, rewriter: PatternRewriter) -> None:
    """Rewrites broadcast(broadcast(x)) to one broadcast."""
    inner = producer(op.input, BroadcastOp)
    if inner is not None:
        pairs = zip(inner.broadcast_dimensions, op.broadcast_dimensions, strict=True)
        replace_with(rewriter, op, BroadcastOp, [inner.input], broadcast_dimensions=tuple(a * b for a, b in pairs))


@pattern(TypecastOp)
def join_casts(op: TypecastOp, rewriter: PatternRewriter) -> None:
    """Removes a cast of bf16 to f32 before another cast, since the cast to f32 loses nothing."""
    inner = producer(op.input, TypecastOp)
    if inner is None or tensor_type(inner.input).element_type != bf16 or tensor_type(inner.result).element_type != f32:
        return
    if inner.input.type == op.result.type:
        rewriter.replace(op, [], [inner.input])
    else:
        replace_with(rewriter, op, TypecastOp, [inner.input])


@pattern(ReverseOp)
def join_reverses(op: ReverseOp, rewriter: PatternRewriter) -> None:
    """Rewrites reverse(reverse(x)) to a reverse of the dimensions that one of the two reverses, or to x itself.

    The gradient of a convolution, as frontends write it, reverses weights that the import reverses again.
    """
    inner = producer(op.input, ReverseOp)
    if inner is None:
        return
    rank = len(shape(op.input))
    once = set(shapes.normalise_dims(op.dimensions, rank)) ^ set(shapes.normalise_dims(inner.dimensions, rank))
    if once:
        replace_with(rewriter, op, ReverseOp, [inner.input], dimensions=tuple(sorted(once)))
    else:
        rewriter.replace(op, [], [inner.input])


@pattern(PermuteOp)
def permute_as_reshape(op: PermuteOp, rewriter: PatternRewriter) -> None:
    """Rewrites a permute that moves only dimensions of size 1 to a reshape."""
    sizes = shape(op.input)
    moved = [dim for dim in op.permutation if sizes[dim] != 1]
    if moved == sorted(moved):
        replace_with(rewriter, op, ReshapeOp, [op.input], shape=shape(op.result))


@pattern(ClampTensorOp)
def clamp_by_constants(op: ClampTensorOp, rewriter: PatternRewriter) -> None:
    """Rewrites clamp_tensor with splat bounds to clamp_scalar, whose integers are i32."""
    low, high = splat(op.min), splat(op.max)
    if low is None or high is None or shape(op.input) != shape(op.result):
        return
    if is_float(op.input) or max(low, high, bounds(op.input).high) < 2**31:
        replace_with(rewriter, op, ClampScalarOp, [op.input], min=low, max=high)


@pattern(WhereOp)
def fold_where(op: WhereOp, rewriter: PatternRewriter) -> None:
    """Removes a where whose result is known.

    Either the predicate is constant, or both branches are the same value, or the branches are 1 and 0, so that the
    result is the predicate itself.
    """
    predicate = splat(op.first)
    if op.second is op.third or predicate is not None:
        chosen = op.third if predicate == 0 else op.second
    elif isinstance(op.first.owner, TRUTH_OPS) and (splat(op.second), splat(op.third)) == (1, 0):
        chosen = op.first
    else:
        return
    if chosen.type == op.result.type:
        rewriter.replace(op, [], [chosen])
    elif shape(chosen) == shape(op.result):
        replace_with(rewriter, op, TypecastOp, [chosen])


MOVES = (drop_identity, join_reshapes, join_permutes, join_casts)
PATTERNS = (
    *MOVES,
    move_constant,
    join_broadcasts,
    join_reverses,
    permute_as_reshape,
    fold_views.shorten_moves,
    clamp_by_constants,
    fold_where,
    *fold_arithmetic.PATTERNS,
    *fold_products.PATTERNS,
    *fold_reductions.PATTERNS,
    *fold_ranges.PATTERNS,
)


def run(module: ModuleOp, *, exact: bool = False) -> None:
    """Folds until nothing is left to fold.

    Args:
        module: TTIR module that is changed in place.
        exact: Leaves out what may change results.
    """
    run_patterns(module, *PATTERNS, exact=exact)
