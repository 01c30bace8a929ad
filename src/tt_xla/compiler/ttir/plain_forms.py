"""Rewriting of TTIR ops that are short for other ops.

Our importer emits none of them; TTIR text from other compilers has them.
"""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import ModuleOp, bf16
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from tt_xla.compiler.analysis.constants import is_held
from tt_xla.compiler.rewriting import Pattern, insert_before, pattern, replace_with, run_patterns
from tt_xla.compiler.ttir.match import reshaped, splat_before
from tt_xla.ir import shapes, ttir
from tt_xla.ir.base import shape, tensor, tensor_type
from tt_xla.ir.ttir.creation import EmptyOp, OnesOp, ZerosOp
from tt_xla.ir.ttir.normalization import BatchNormInferenceOp
from tt_xla.ir.ttir.reduction import MaxOp, MeanOp, MinOp, ReduceAndOp, ReduceOrOp
from tt_xla.ir.ttir.structure import (
    BroadcastOp,
    IndexOp,
    IndexSelectOp,
    PadOp,
    PermuteOp,
    RepeatInterleaveOp,
    RepeatOp,
    ReshapeOp,
    SliceStaticOp,
    SqueezeOp,
    TransposeOp,
    TypecastOp,
    UnsqueezeOp,
)
from tt_xla.ir.ttir.window import GlobalAvgPool2dOp, Upsample2dOp


@pattern(ZerosOp, OnesOp, EmptyOp)
def filled(op: ZerosOp | OnesOp | EmptyOp, rewriter: PatternRewriter) -> None:
    """Rewrites zeros and ones to constants. A tensor whose elements are not set gets zeros."""
    type_ = tensor_type(op.result)
    if is_held(type_.element_type):
        rewriter.replace(op, [], [splat_before(rewriter, op, int(isinstance(op, OnesOp)), type_)])


@pattern(SqueezeOp, UnsqueezeOp)
def reshape(op: SqueezeOp | UnsqueezeOp, rewriter: PatternRewriter) -> None:
    """Rewrites a squeeze or unsqueeze to a reshape."""
    replace_with(rewriter, op, ReshapeOp, [op.input], shape=shape(op.result))


@pattern(TransposeOp)
def permute(op: TransposeOp, rewriter: PatternRewriter) -> None:
    """Rewrites an exchange of two dimensions to a permute."""
    order = list(range(len(shape(op.input))))
    ((first,), (second,)) = (shapes.normalise_dims((dim,), len(order)) for dim in (op.dim0, op.dim1))
    order[first], order[second] = second, first
    replace_with(rewriter, op, PermuteOp, [op.input], permutation=tuple(order))


@pattern(RepeatOp)
def repeat(op: RepeatOp, rewriter: PatternRewriter) -> None:
    """Rewrites a repeat to a broadcast of a dimension of size 1 before each repeated dimension."""
    _spread(rewriter, op, [((1, factor), (size, 1)) for size, factor in _repeats(op)])


@pattern(RepeatInterleaveOp, Upsample2dOp)
def repeat_in_a_row(op: RepeatInterleaveOp | Upsample2dOp, rewriter: PatternRewriter) -> None:
    """Rewrites repetitions of each element to a broadcast of a dimension of size 1 after each repeated dimension."""
    if isinstance(op, RepeatInterleaveOp) or op.mode == "nearest":
        _spread(rewriter, op, [((size, 1), (1, factor)) for size, factor in _repeats(op)])


@pattern(ReduceAndOp, ReduceOrOp)
def reduce_truth(op: ReduceAndOp | ReduceOrOp, rewriter: PatternRewriter) -> None:
    """Rewrites a reduction by and or by or to the least or greatest of truth values, which are 0 and 1."""
    type_ = tensor_type(op.input)
    truth = tensor(type_.get_shape(), bf16)
    zeros = splat_before(rewriter, op, 0, type_)
    values = insert_before(rewriter, op, ttir.BINARY_OPS["ne"], [op.input, zeros], truth)
    kind = MaxOp if isinstance(op, ReduceOrOp) else MinOp
    reduced = insert_before(rewriter, op, kind, [values], tensor(shape(op.result), bf16), **op.values())
    replace_with(rewriter, op, TypecastOp, [reduced])


@pattern(IndexOp)
def slice_of_one_dimension(op: IndexOp, rewriter: PatternRewriter) -> None:
    """Rewrites a slice along one dimension to one that names all of them."""
    (dim,) = shapes.normalise_dims((op.dim,), len(shape(op.input)))
    rewriter.replace(op, [], [_slice(rewriter, op, op.input, dim, op.begin, op.end, op.step)])


@pattern(IndexSelectOp)
def slice_of_runs(op: IndexSelectOp, rewriter: PatternRewriter) -> None:
    """Rewrites a selection of runs to a slice of the first elements of each group of ``stride`` elements."""
    sizes = shape(op.input)
    (dim,) = shapes.normalise_dims((op.dim,), len(sizes))
    begin, length, stride = op.begin, op.length, op.stride or op.length
    runs = shape(op.result)[dim] // length
    if runs <= 1 or stride == length:
        rewriter.replace(op, [], [_slice(rewriter, op, op.input, dim, begin, begin + runs * length, 1)])
        return
    value, missing = op.input, begin + runs * stride - sizes[dim]
    if missing > 0:
        padding = [0] * (2 * len(sizes))
        padding[2 * dim + 1] = missing
        padded = tensor((*sizes[:dim], sizes[dim] + missing, *sizes[dim + 1 :]), tensor_type(value).element_type)
        value = insert_before(rewriter, op, PadOp, [value], padded, padding=tuple(padding), value=0.0)
    value = _slice(rewriter, op, value, dim, begin, begin + runs * stride, 1)
    value = reshaped(rewriter, op, value, (*sizes[:dim], runs, stride, *sizes[dim + 1 :]))
    value = _slice(rewriter, op, value, dim + 1, 0, length, 1)
    rewriter.replace(op, [], [reshaped(rewriter, op, value, shape(op.result))])


@pattern(GlobalAvgPool2dOp)
def mean_of_images(op: GlobalAvgPool2dOp, rewriter: PatternRewriter) -> None:
    """Rewrites the mean of whole images to a mean over height and width."""
    replace_with(rewriter, op, MeanOp, [op.input], dim_arg=(1, 2), keep_dim=True)


@pattern(BatchNormInferenceOp)
def batch_norm(op: BatchNormInferenceOp, rewriter: PatternRewriter) -> None:
    """Rewrites (x - mean) / sqrt(variance + epsilon) * scale + offset to elementwise ops."""
    type_ = tensor_type(op.operand)
    (dim,) = shapes.normalise_dims((op.dimension,), len(type_.get_shape()))
    line = tuple(size if place == dim else 1 for place, size in enumerate(type_.get_shape()))
    scale, offset, mean, variance = (
        reshaped(rewriter, op, value, line) for value in (op.scale, op.offset, op.mean, op.variance)
    )
    epsilon = splat_before(rewriter, op, op.epsilon, tensor_type(variance))
    variance = insert_before(rewriter, op, ttir.BINARY_OPS["add"], [variance, epsilon], tensor_type(variance))
    factor = insert_before(rewriter, op, ttir.UNARY_OPS["rsqrt"], [variance], tensor_type(variance))
    centred = insert_before(rewriter, op, ttir.BINARY_OPS["subtract"], [op.operand, mean], type_)
    normal = insert_before(rewriter, op, ttir.BINARY_OPS["multiply"], [centred, factor], type_)
    scaled = insert_before(rewriter, op, ttir.BINARY_OPS["multiply"], [normal, scale], type_)
    replace_with(rewriter, op, ttir.BINARY_OPS["add"], [scaled, offset])


def _repeats(op: RepeatOp | RepeatInterleaveOp | Upsample2dOp) -> list[tuple[int, int]]:
    """Returns size and number of repetitions of each dimension."""
    pairs = zip(shape(op.input), shape(op.result), strict=True)
    return [(size, new // size if size else 1) for size, new in pairs]


def _spread(
    rewriter: PatternRewriter,
    op: RepeatOp | RepeatInterleaveOp | Upsample2dOp,
    dimensions: list[tuple[tuple[int, int], tuple[int, int]]],
) -> None:
    """Replaces an op by a broadcast between two reshapes.

    Args:
        dimensions: two pairs of size and number of repetitions for each dimension of the operand. A pair (1, 1) needs
            no dimension.
    """
    split = [pair for pairs in dimensions for pair in pairs if pair != (1, 1)]
    value = reshaped(rewriter, op, op.input, tuple(size for size, _ in split))
    factors = tuple(factor for _, factor in split)
    type_ = tensor(tuple(size * factor for size, factor in split), tensor_type(value).element_type)
    value = insert_before(rewriter, op, BroadcastOp, [value], type_, broadcast_dimensions=factors)
    rewriter.replace(op, [], [reshaped(rewriter, op, value, shape(op.result))])


def _slice(
    rewriter: PatternRewriter, op: Operation, value: SSAValue, dim: int, begin: int, end: int, step: int
) -> SSAValue:
    """Inserts a slice of one dimension and returns its result."""
    sizes = shape(value)
    begins, ends, steps = [0] * len(sizes), list(sizes), [1] * len(sizes)
    begins[dim], ends[dim], steps[dim] = begin, end, step
    bounds = {"begins": tuple(begins), "ends": tuple(ends), "step": tuple(steps)}
    ends[dim] = -(-(end - begin) // step)
    return insert_before(
        rewriter, op, SliceStaticOp, [value], tensor(tuple(ends), tensor_type(value).element_type), **bounds
    )


_PATTERNS: tuple[Pattern[Any], ...] = (
    filled,
    reshape,
    permute,
    repeat,
    repeat_in_a_row,
    reduce_truth,
    slice_of_one_dimension,
    slice_of_runs,
    mean_of_images,
    batch_norm,
)
_ROOTS = tuple(root for one in _PATTERNS for root in one.roots)


def run(module: ModuleOp) -> None:
    """Rewrites these ops to ops that the later stages know. A module without them is not changed."""
    if any(isinstance(op, _ROOTS) for op in module.walk()):
        run_patterns(module, *_PATTERNS)
