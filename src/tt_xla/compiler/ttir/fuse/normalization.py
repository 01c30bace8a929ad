"""Fusion of layer and RMS normalisation over the last dimensions, starting at the reciprocal root that both have."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from tt_xla.compiler.analysis.constants import elements
from tt_xla.compiler.rewriting import both_ways, insert_before, pattern, producer, replace_with
from tt_xla.compiler.ttir.match import (
    BINARY,
    UNARY,
    Add,
    Multiply,
    Subtract,
    cast,
    equal_up_to_casts,
    is_float,
    is_square_of,
    last_dims,
    mean_over,
    plus_constant,
    reshaped,
    skip_casts,
    skip_casts_and_reshapes,
    skip_ops,
    unary,
)
from tt_xla.ir.base import only_user, shape, tensor, tensor_type
from tt_xla.ir.ttir.creation import ConstantOp, splat
from tt_xla.ir.ttir.normalization import DistributedRmsNormOp
from tt_xla.ir.ttir.reduction import LayerNormOp, MeanOp, RmsNormOp, SumOp
from tt_xla.ir.ttir.structure import BroadcastOp, TypecastOp

Dims = tuple[int, ...]
Norm = LayerNormOp | RmsNormOp | DistributedRmsNormOp


@pattern(Multiply, approximate=True)
def normalization(op: Operation, rewriter: PatternRewriter) -> None:
    """Fuses (x - mean(x)) * rsqrt(variance(x) + epsilon) and x * rsqrt(mean(x * x) + epsilon).

    The root may be multiplied by a weight first. The variance is a mean of squared differences, or the mean of squares
    minus the square of the mean, perhaps limited to 0 and more.
    """
    if not is_float(op.results[0]):
        return
    for value, other in both_ways(op):
        root = reciprocal_root(other)
        if root is None or shape(value) != shape(op.results[0]):
            continue
        matched = _layer(value, root) or _rms(value, root)
        if matched is None:
            continue
        kind, x, dims = matched
        replace_by_norm(rewriter, op, kind, x, root, normalized_shape=shape(x)[-len(dims) :])
        return


def replace_by_norm(
    rewriter: PatternRewriter, op: Operation, kind: type[Norm], x: SSAValue, root: Root, **values: Any
) -> None:
    """Replaces ``op`` by a normalisation of x, times the weight of the root if it has one."""
    source = cast(rewriter, op, x, op.results[0])
    operands = [source, None, None]
    normal = insert_before(rewriter, op, kind, operands, tensor_type(source), epsilon=root.epsilon, **values)
    if root.weight is None:
        rewriter.replace(op, [], [normal])
    else:
        replace_with(rewriter, op, Multiply, [normal, cast(rewriter, op, root.weight, normal)])


class Root(NamedTuple):
    """rsqrt(statistic + epsilon), perhaps times a weight."""

    statistic: SSAValue
    epsilon: float
    sizes: Dims
    """Shape in which the root meets the rows that it scales."""
    weight: SSAValue | None


def reciprocal_root(value: SSAValue) -> Root | None:
    """Returns the reciprocal root that a value is, perhaps times a weight, or None."""
    value = skip_ops(value, TypecastOp, BroadcastOp)
    root = _bare_reciprocal_root(value, None)
    product = producer(value, Multiply)
    if root is None and product is not None:
        for one, rest in both_ways(product):
            if splat(rest) is None and (root := _bare_reciprocal_root(skip_ops(one, TypecastOp, BroadcastOp), rest)):
                return root
    return root


def _bare_reciprocal_root(value: SSAValue, weight: SSAValue | None) -> Root | None:
    """Returns the reciprocal root that a value is, with the given weight, or None."""
    root = producer(skip_casts_and_reshapes(value), UNARY["rsqrt"])
    if root is None:
        return None
    statistic, epsilon = plus_constant(skip_casts_and_reshapes(root.operands[0])) or (root.operands[0], 0.0)
    return Root(statistic, epsilon, shape(value), weight)


def _layer(value: SSAValue, root: Root) -> tuple[type[LayerNormOp], SSAValue, Dims] | None:
    """Returns op class, x and dimensions where ``value`` times the root is a layer normalisation, else None."""
    difference = producer(skip_casts(value), Subtract)
    if difference is None:
        return None
    x, mean = skip_casts(difference.operands[0]), difference.operands[1]
    centre = mean_over(mean, x)
    if centre is None or not equal_up_to_casts(centre[0], x):
        return None
    variance = _behind_clamp(skip_casts_and_reshapes(root.statistic))
    if root.sizes != kept(x, centre[1]) or not _is_variance(variance, x, centre[1]):
        return None
    return LayerNormOp, x, centre[1]


def _behind_clamp(value: SSAValue) -> SSAValue:
    """Returns v when a value is max(v, 0), else the value itself."""
    relu = unary(value, "relu")
    if relu is not None:
        return skip_casts_and_reshapes(relu.operands[0])
    maximum = producer(value, BINARY["maximum"])
    for one, other in both_ways(maximum) if maximum is not None else ():
        if splat(other) == 0:
            return skip_casts_and_reshapes(one)
    return value


def _is_variance(variance: SSAValue, x: SSAValue, dims: Dims) -> bool:
    """Returns whether a value is the variance of x over dimensions."""
    mean = producer(variance, MeanOp)
    if mean is not None and last_dims(mean) == dims:
        product = producer(skip_casts(mean.input), Multiply)
        return product is not None and all(_is_centred(operand, x, dims) for operand in product.operands)
    difference = producer(variance, Subtract)
    if difference is None:
        return False
    squares = producer(skip_casts_and_reshapes(difference.operands[0]), MeanOp)
    square = producer(skip_casts_and_reshapes(difference.operands[1]), Multiply)
    if squares is None or square is None or last_dims(squares) != dims or not is_square_of(squares.input, x):
        return False
    return all(_is_mean(operand, x, dims) for operand in square.operands)


def _is_centred(value: SSAValue, x: SSAValue, dims: Dims) -> bool:
    """Returns whether a value is x - mean(x)."""
    difference = producer(skip_casts(value), Subtract)
    if difference is None or not equal_up_to_casts(difference.operands[0], x):
        return False
    mean = mean_over(difference.operands[1], x)
    return mean is not None and equal_up_to_casts(mean[0], x) and mean[1] == dims


def _is_mean(value: SSAValue, x: SSAValue, dims: Dims) -> bool:
    """Returns whether a value is mean(x)."""
    mean = producer(skip_casts_and_reshapes(value), MeanOp)
    return mean is not None and equal_up_to_casts(mean.input, x) and last_dims(mean) == dims


def _rms(value: SSAValue, root: Root) -> tuple[type[RmsNormOp], SSAValue, Dims] | None:
    """Returns op class, x and dimensions where ``value`` times the root is an RMS normalisation, else None."""
    x, mean = skip_casts(value), producer(skip_casts_and_reshapes(root.statistic), MeanOp)
    dims = last_dims(mean) if mean is not None else None
    if mean is None or dims is None or not is_square_of(mean.input, x) or root.sizes != kept(x, dims):
        return None
    return RmsNormOp, x, dims


def kept(x: SSAValue, dims: Dims) -> Dims:
    """Returns the shape of a value with one element per row of x. Earlier ops keep the order, so comparing shapes
    suffices."""
    return tuple(1 if dim in dims else size for dim, size in enumerate(shape(x)))


@pattern(Multiply, approximate=True)
def weight(op: Operation, rewriter: PatternRewriter) -> None:
    """Fuses a normalisation times a vector over the normalised dimensions."""
    for value, other in both_ways(op):
        norm = _open_norm(op, value)
        if norm is None or norm.weight is not None or _shift(norm) is not None:
            continue
        vector = _vector(rewriter, op, other, norm)
        if vector is not None:
            _extend(rewriter, op, norm, vector, None)
            return


@pattern(Add, approximate=True)
def bias(op: Operation, rewriter: PatternRewriter) -> None:
    """Fuses a normalisation plus a vector over the normalised dimensions."""
    for value, other in both_ways(op):
        norm = _open_norm(op, value)
        if norm is None or isinstance(norm, DistributedRmsNormOp) or norm.bias is not None:
            continue
        vector = _vector(rewriter, op, other, norm)
        if vector is not None:
            _extend(rewriter, op, norm, norm.weight, vector)
            return


def _open_norm(op: Operation, value: SSAValue) -> Norm | None:
    """Returns the normalisation that produced an operand for ``op`` alone, in the type of the result, or None."""
    norm = value.op if isinstance(value, OpResult) else None
    if not isinstance(norm, Norm) or value.type != op.results[0].type:
        return None
    return norm if only_user(value) is op else None


def _shift(norm: Norm) -> SSAValue | None:
    """Returns the bias of a normalisation, or None."""
    return None if isinstance(norm, DistributedRmsNormOp) else norm.bias


def _vector(rewriter: PatternRewriter, op: Operation, value: SSAValue, norm: Norm) -> SSAValue | None:
    """Returns a value as a vector over the normalised dimensions, or None where it is none."""
    sizes: Dims = shape(norm.input)[-1:] if isinstance(norm, DistributedRmsNormOp) else norm.normalized_shape
    source = skip_ops(value, BroadcastOp)
    source_sizes = shape(source)
    leading = len(source_sizes) - len(sizes)
    if leading < 0 or source_sizes[leading:] != sizes or any(size != 1 for size in source_sizes[:leading]):
        return None
    return reshaped(rewriter, op, cast(rewriter, op, source, op.results[0]), sizes)


def _extend(
    rewriter: PatternRewriter,
    op: Operation,
    norm: Norm,
    scale: SSAValue | None,
    shift: SSAValue | None,
) -> None:
    """Replaces ``op`` by the normalisation with a scale and a shift."""
    operands = [norm.input, scale, norm.residual if isinstance(norm, DistributedRmsNormOp) else shift]
    replace_with(rewriter, op, type(norm), operands, **norm.values())


@pattern(Multiply, approximate=True)
def unit_length(op: Operation, rewriter: PatternRewriter) -> None:
    """Rewrites x * rsqrt(sum(x * x) + epsilon) over n elements to RMS normalisation by epsilon / n, times 1 /
    sqrt(n)."""
    if not is_float(op.results[0]) or not shape(op.results[0]):
        return
    for value, other in both_ways(op):
        root = reciprocal_root(other)
        if root is None or root.weight is not None or shape(value) != shape(op.results[0]):
            continue
        total, x = producer(skip_casts_and_reshapes(root.statistic), SumOp), skip_casts(value)
        dims, count = (len(shape(x)) - 1,), shape(x)[-1]
        if total is None or total.dim_arg != dims or not is_square_of(total.input, x):
            continue
        if root.sizes != kept(x, dims):
            continue
        source = cast(rewriter, op, x, op.results[0])
        vector_type = tensor((count,), tensor_type(source).element_type)
        scale = insert_before(
            rewriter, op, ConstantOp, [], vector_type, value=elements(np.asarray(count**-0.5), vector_type)
        )
        epsilon = root.epsilon / count
        replace_with(rewriter, op, RmsNormOp, [source, scale, None], normalized_shape=(count,), epsilon=epsilon)
        return


PATTERNS = (normalization, weight, bias, unit_length)
