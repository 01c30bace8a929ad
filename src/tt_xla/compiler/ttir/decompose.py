"""Decomposition of TTIR ops that TT-NN lacks into ops that it has."""

from __future__ import annotations

import math
from typing import Any

from xdsl.dialects.builtin import ModuleOp, bf16
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from tt_xla.compiler.analysis.constness import is_constant
from tt_xla.compiler.rewriting import insert_before, pattern, replace_with, run_patterns
from tt_xla.compiler.ttir import decompose_collectives
from tt_xla.compiler.ttir.decompose_elementwise import ELEMENTWISE
from tt_xla.compiler.ttir.match import product_with_bias, reshaped, transposed
from tt_xla.ir import shapes
from tt_xla.ir.base import shape, tensor, tensor_type
from tt_xla.ir.layout import TILE, round_up
from tt_xla.ir.properties import si32
from tt_xla.ir.ttir.contraction import DotGeneralOp, MatmulOp
from tt_xla.ir.ttir.creation import ArangeOp
from tt_xla.ir.ttir.structure import BroadcastOp, EmbeddingOp, GatherOp, PadOp, ReverseOp
from tt_xla.ir.ttir.window import Conv2dOp, ConvTranspose2dOp


@pattern(DotGeneralOp)
def dot_general(op: DotGeneralOp, rewriter: PatternRewriter) -> None:
    """Rewrites a dot_general to permutes, reshapes and one matrix product.

    The left operand becomes (batch, free, contracted), the right one (batch, contracted, free). Without batch
    dimensions the free dimensions of the left operand stay apart, which a matrix product allows.
    """
    batch, batch_rhs = op.batch_dims_lhs, op.batch_dims_rhs
    inner, inner_rhs = op.contract_dims_lhs, op.contract_dims_rhs
    left, right = shape(op.lhs), shape(op.rhs)
    free = tuple(dim for dim in range(len(left)) if dim not in batch + inner)
    free_rhs = tuple(dim for dim in range(len(right)) if dim not in batch_rhs + inner_rhs)
    lhs = transposed(rewriter, op, op.lhs, batch + free + inner)
    rhs = transposed(rewriter, op, op.rhs, batch_rhs + inner_rhs + free_rhs)
    batches = tuple(left[dim] for dim in batch)
    depth = math.prod(left[dim] for dim in inner)
    columns = math.prod(right[dim] for dim in free_rhs)
    rows = tuple(left[dim] for dim in free)
    if batch or not rows:
        rows = (math.prod(rows),)
    lhs = reshaped(rewriter, op, lhs, (*batches, *rows, depth))
    rhs = reshaped(rewriter, op, rhs, (*batches, depth, columns))
    product_type = tensor((*batches, *rows, columns), tensor_type(op.result).element_type)
    product = insert_before(rewriter, op, MatmulOp, [lhs, rhs], product_type, transpose_a=False, transpose_b=False)
    rewriter.replace(op, [], [reshaped(rewriter, op, product, shape(op.result))])


@pattern(Conv2dOp, ConvTranspose2dOp)
def channels_last(op: Conv2dOp | ConvTranspose2dOp, rewriter: PatternRewriter) -> None:
    """Rewrites a convolution to one over [N, H, W, C], between two permutes."""
    order = op.dims
    if order == (0, 1, 2, 3):
        return
    activation = transposed(rewriter, op, op.input, order)
    result = tensor(shapes.permute(shape(op.result), order), tensor_type(op.result).element_type)
    values = op.values() | {"batch_dim": 0, "height_dim": 1, "width_dim": 2, "channel_dim": 3}
    convolution = insert_before(rewriter, op, type(op), [activation, op.weight, op.bias], result, **values)
    inverse = tuple(order.index(dim) for dim in range(4))
    rewriter.replace(op, [], [transposed(rewriter, op, convolution, inverse)])


@pattern(Conv2dOp)
def convolution_of_one_window(op: Conv2dOp, rewriter: PatternRewriter) -> None:
    """Rewrites a convolution whose kernel covers the whole image to a matrix product.

    Such convolutions occur in gradients of 1x1 kernels. TT-NN distributes a convolution over the result's positions, of
    which there is one here, and runs out of L1.
    """
    batch, height, width, channels = shape(op.result)
    depth = math.prod(shape(op.weight)[1:])
    window = (batch, *shape(op.weight)[2:], shape(op.weight)[1])
    is_one_window = op.dims == (0, 1, 2, 3) and op.groups == 1 and shape(op.input) == window
    if not is_one_window or (height, width) != (1, 1) or math.prod(window[1:3]) == 1 or any(shapes.borders(op.padding)):
        return
    rows = reshaped(rewriter, op, op.input, (batch, depth))
    columns = reshaped(rewriter, op, transposed(rewriter, op, op.weight, (2, 3, 1, 0)), (depth, channels))
    product = product_with_bias(rewriter, op, rows, columns, op.bias)
    rewriter.replace(op, [], [reshaped(rewriter, op, product, shape(op.result))])


@pattern(Conv2dOp)
def patch_convolution(op: Conv2dOp, rewriter: PatternRewriter) -> None:
    """Rewrites a convolution of patches that touch but do not overlap to a matrix product of the patches.

    Vision transformers embed images in this way. An image has few channels, and tiles pad channels that come last to
    32, so the product reads a fraction of what the convolution would read. Narrow patches stay convolutions, because
    rows of few elements take long to move.
    """
    if not _has_separate_patches(op) or not shape(op.weight)[1] < TILE or shape(op.weight)[3] < _NARROWEST_PATCH:
        return
    batch, high, wide, deep = op.dims
    sizes, (outputs, channels, *kernel) = shape(op.input), shape(op.weight)
    counts = (sizes[high] // kernel[0], sizes[wide] // kernel[1])
    split = {batch: (sizes[batch],), high: (counts[0], kernel[0]), wide: (counts[1], kernel[1]), deep: (channels,)}
    pieces = reshaped(rewriter, op, op.input, tuple(size for dim in range(4) for size in split[dim]))
    first = {dim: sum(len(split[before]) for before in range(dim)) for dim in range(4)}
    within = {first[deep]: 1, first[high] + 1: 2, first[wide] + 1: 3}
    order = (first[batch], first[high], first[wide], *sorted(within))
    depth = channels * math.prod(kernel)
    rows = transposed(rewriter, op, pieces, order)
    rows = reshaped(rewriter, op, rows, (sizes[batch], math.prod(counts), depth))
    weight = transposed(rewriter, op, op.weight, (*(within[dim] for dim in sorted(within)), 0))
    product = product_with_bias(rewriter, op, rows, reshaped(rewriter, op, weight, (depth, outputs)), op.bias)
    product = reshaped(rewriter, op, product, (sizes[batch], *counts, outputs))
    inverse = tuple(op.dims.index(dim) for dim in range(4))
    rewriter.replace(op, [], [transposed(rewriter, op, product, inverse)])


@pattern(Conv2dOp)
def rows_as_channels(op: Conv2dOp, rewriter: PatternRewriter) -> None:
    """Folds as many rows of an image as the stride has into its channels (space to depth along the height).

    The first convolution of a network has few channels, which TT-NN pads to 8. So folding costs nothing, windows have
    fewer rows, and moving the channels last moves fewer and longer sticks. Const-eval folds the weights, which get rows
    of zeros where windows begin within a group of rows.
    """
    sizes, (outputs, channels, *kernel) = shape(op.input), shape(op.weight)
    steps, gaps = shapes.pair(op.stride, "stride"), shapes.pair(op.dilation, "dilation")
    step, (top, left, _, right) = steps[0], shapes.borders(op.padding)
    if op.dims != (0, 2, 3, 1) or op.groups != 1 or gaps != (1, 1) or step == 1 or sizes[2] % step:
        return
    before = -(-top // step)
    prefix = before * step - top
    count = -(-(prefix + kernel[0]) // step)
    after = shape(op.result)[2] - 1 + count - sizes[2] // step - before
    is_smaller = count * round_up(channels * step, _ALIGNMENT) < kernel[0] * round_up(channels, _ALIGNMENT)
    if after < 0 or not is_smaller or not is_constant(op.weight):
        return
    padding = (0, 0, 0, 0, prefix, count * step - prefix - kernel[0], 0, 0)
    padded = tensor((outputs, channels, count * step, kernel[1]), tensor_type(op.weight).element_type)
    weight = insert_before(rewriter, op, PadOp, [op.weight], padded, padding=padding, value=0.0)
    operands = [_folded(rewriter, op, value, step) for value in (op.input, weight)]
    values: dict[str, Any] = op.values() | {"stride": (1, steps[1]), "padding": (before, left, after, right)}
    replace_with(rewriter, op, Conv2dOp, [*operands, op.bias], **values)


def _folded(rewriter: PatternRewriter, op: Conv2dOp, value: SSAValue, step: int) -> SSAValue:
    """Returns [N, C, H, W] as [N, C * step, H / step, W]."""
    images, channels, high, wide = shape(value)
    groups = reshaped(rewriter, op, value, (images, channels, high // step, step, wide))
    rows = transposed(rewriter, op, groups, (0, 1, 3, 2, 4))
    return reshaped(rewriter, op, rows, (images, channels * step, high // step, wide))


_ALIGNMENT = 8
"""Number to whose multiples TT-NN pads the input channels of a convolution."""

_NARROWEST_PATCH = 16
"""Width of a patch from which on a product is predicted to be faster, in elements of an aligned row in DRAM."""


def _has_separate_patches(op: Conv2dOp) -> bool:
    """Returns whether a convolution's windows touch, do not overlap, and cover its input."""
    kernel = shape(op.weight)[2:]
    steps_and_gaps = shapes.pair(op.stride, "stride"), shapes.pair(op.dilation, "dilation")
    if op.groups != 1 or any(shapes.borders(op.padding)) or steps_and_gaps != (kernel, (1, 1)):
        return False
    return all(shape(op.input)[dim] % size == 0 for dim, size in zip(op.dims[1:3], kernel, strict=True))


@pattern(ArangeOp)
def arange(op: ArangeOp, rewriter: PatternRewriter) -> None:
    """Rewrites an arange of higher rank to one of rank 1 that is broadcast over the other dimensions."""
    sizes, dim = shape(op.result), op.arange_dimension
    if len(sizes) == 1:
        return
    values = op.values() | {"arange_dimension": 0}
    line = insert_before(
        rewriter, op, ArangeOp, [], tensor((sizes[dim],), tensor_type(op.result).element_type), **values
    )
    flat = tuple(size if position == dim else 1 for position, size in enumerate(sizes))
    repeats = tuple(1 if position == dim else size for position, size in enumerate(sizes))
    line = reshaped(rewriter, op, line, flat)
    replace_with(rewriter, op, BroadcastOp, [line], broadcast_dimensions=repeats)


@pattern(ReverseOp)
def reverse(op: ReverseOp, rewriter: PatternRewriter) -> None:
    """Rewrites a reverse to a table look-up by falling indices.

    The table has a row for each position in the reversed dimensions.
    """
    sizes = shape(op.input)
    dims = tuple(dim for dim in shapes.normalise_dims(op.dimensions, len(sizes)) if sizes[dim] != 1)
    count = math.prod(sizes[dim] for dim in dims)
    if count <= 1 or not math.prod(sizes):
        rewriter.replace(op, [], [op.input])
        return
    order = (*dims, *(dim for dim in range(len(sizes)) if dim not in dims))
    columns = math.prod(sizes) // count
    table = reshaped(rewriter, op, transposed(rewriter, op, op.input, order), (count, columns))
    falling = {"start": count - 1, "end": -1, "step": -1, "arange_dimension": 0}
    rows = insert_before(rewriter, op, ArangeOp, [], tensor((count,), si32), **falling)
    reversed_rows = insert_before(rewriter, op, EmbeddingOp, [rows, table], tensor_type(table))
    reversed_rows = reshaped(rewriter, op, reversed_rows, tuple(sizes[dim] for dim in order))
    inverse = tuple(order.index(dim) for dim in range(len(sizes)))
    rewriter.replace(op, [], [transposed(rewriter, op, reversed_rows, inverse)])


@pattern(EmbeddingOp)
def rows_of_other_types(op: EmbeddingOp, rewriter: PatternRewriter) -> None:
    """Rewrites a look-up in a table that is not bfloat16, the only type of TT-NN's embedding, to a gather of elements.

    The gather is exact, and has an index for each element.
    """
    element, index_type = tensor_type(op.weight).element_type, tensor_type(op.input).element_type
    if element == bf16:
        return
    count, columns = math.prod(shape(op.input)), shape(op.weight)[1]
    index = reshaped(rewriter, op, op.input, (count, 1))
    if columns != 1:
        spread = tensor((count, columns), index_type)
        index = insert_before(rewriter, op, BroadcastOp, [index], spread, broadcast_dimensions=(1, columns))
    gathered = insert_before(rewriter, op, GatherOp, [op.weight, index], tensor((count, columns), element), dim=0)
    rewriter.replace(op, [], [reshaped(rewriter, op, gathered, shape(op.result))])


def run(module: ModuleOp, *, patches: bool = False) -> None:
    """Decomposes until TT-NN has every op of the module.

    Args:
        module: TTIR module that is changed in place.
        patches: Makes convolutions of separate patches matrix products, and folds rows of images into channels. That is
            faster only if moves of inputs stay row-major, as they do from level 1 on.
    """
    of_patches = (patch_convolution, rows_as_channels) if patches else ()
    products = (dot_general, *of_patches, channels_last, convolution_of_one_window)
    run_patterns(module, *products, arange, reverse, rows_of_other_types, ELEMENTWISE, *decompose_collectives.PATTERNS)
