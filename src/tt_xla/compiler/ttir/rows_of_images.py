"""Means over images and products with a value per image and channel, on rows as convolutions have them.

TT-NN's convolutions read and write [1, 1, N * H * W, C]. Squeeze and excitation, global means and embeddings of time
need to know where an image begins, and tiles of [N, H, W, C] would pad each row of an image to 32: two reshapes, which
copy every element. A matrix of zeros and ones sums the rows of each image, or repeats a row for each position;
const-eval computes it once. Sums of images whose positions fill tiles need no matrix, as [N, 1, H * W, C] has the tiles
of the rows. In a product with zeros, an infinity or NaN of one image makes the others NaN.
"""

from __future__ import annotations

import math

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from tt_xla.compiler.rewriting import insert_before, pattern, replace_with, run_patterns
from tt_xla.compiler.ttir.match import BINARY, is_float, reshaped, splat_before
from tt_xla.ir import abstract as shared
from tt_xla.ir import shapes
from tt_xla.ir.base import Tensor, TTOp, shape, tensor, tensor_type
from tt_xla.ir.layout import TILE
from tt_xla.ir.properties import si32
from tt_xla.ir.ttir.contraction import MatmulOp
from tt_xla.ir.ttir.creation import ArangeOp
from tt_xla.ir.ttir.reduction import MeanOp, SumOp
from tt_xla.ir.ttir.structure import BroadcastOp, ReshapeOp
from tt_xla.ir.ttir.window import AvgPool2dOp, Conv2dOp, ConvTranspose2dOp, MaxPool2dOp

_WINDOWS = Conv2dOp | ConvTranspose2dOp | MaxPool2dOp | AvgPool2dOp
"""Ops that TT-NN computes on rows."""
_MOST_IMAGES = TILE
"""Number of images up to which a matrix has as few tiles as 32 channels of the images."""
_FARTHEST = 6
"""Number of elementwise ops up to which the op that computed a value's rows is searched."""


@pattern(MeanOp, SumOp, approximate=True)
def reduction_of_images(op: MeanOp | SumOp, rewriter: PatternRewriter) -> None:
    """Rewrites a mean or sum over height and width of [N, H, W, C] to one over rows."""
    sizes = shape(op.input)
    dims = shapes.normalise_dims(op.dim_arg, len(sizes))
    if sorted(dims) != [1, 2] or not _has_images(op.input):
        return
    images, channels, positions = sizes[0], sizes[3], sizes[1] * sizes[2]
    if images == 1 or positions % TILE == 0:
        rows = reshaped(rewriter, op, op.input, (images, 1, positions, channels))
        replace_with(rewriter, op, type(op), [rows], dim_arg=op.dim_arg, keep_dim=op.keep_dim)
        return
    if images > _MOST_IMAGES:
        return
    rows = reshaped(rewriter, op, op.input, (images * positions, channels))
    ones = _ones(rewriter, op, images, positions, tensor_type(rows), by_row=False)
    total = _matmul(rewriter, op, ones, rows)
    if isinstance(op, MeanOp):
        count = splat_before(rewriter, op, float(positions), tensor((1, 1), tensor_type(total).element_type))
        total = insert_before(rewriter, op, BINARY["div"], [total, count], tensor_type(total))
    rewriter.replace(op, [], [reshaped(rewriter, op, total, shape(op.result))])


@pattern(shared.ElementwiseBinary, approximate=True)
def spread_over_images(op: TTOp, rewriter: PatternRewriter) -> None:
    """Rewrites f(x, y) with x [N, H, W, C] and y [N, 1, 1, C] to f of rows."""
    sizes, operands = shape(op.results[0]), list(op.operands)
    full = [place for place, value in enumerate(operands) if shape(value) == sizes]
    if len(full) != 1 or not _has_images(operands[full[0]]):
        return
    place = full[0]
    images, channels, positions = sizes[0], sizes[3], sizes[1] * sizes[2]
    other = operands[1 - place]
    if not 1 < images <= _MOST_IMAGES or shape(other) != (images, 1, 1, channels):
        return
    rows_shape = (images * positions, channels)
    operands[place] = reshaped(rewriter, op, operands[place], rows_shape)
    ones = _ones(rewriter, op, images, positions, tensor_type(other), by_row=True)
    operands[1 - place] = _matmul(rewriter, op, ones, reshaped(rewriter, op, other, (images, channels)))
    type_ = tensor(rows_shape, tensor_type(op.results[0]).element_type)
    rebuilt = type(op).create(operands=operands, result_types=[type_], properties=op.properties, location=op.location)
    after = ReshapeOp.make([rebuilt.results[0]], [tensor_type(op.results[0])], op.location, shape=sizes)
    rewriter.replace(op, [rebuilt, after])


def _has_images(value: SSAValue) -> bool:
    """Returns whether a value [N, H, W, C] has rows in TT-NN whose tiles would be padded by its own shape."""
    sizes = shape(value)
    is_padded = len(sizes) == 4 and sizes[1] > 1 and sizes[2] % TILE != 0
    return is_padded and is_float(value) and _is_of_rows(value, _FARTHEST)


def _is_of_rows(value: SSAValue, limit: int) -> bool:
    """Returns whether a value is computed on rows, by an op over windows or by elementwise ops after one."""
    op = value.op if isinstance(value, OpResult) else None
    if isinstance(op, _WINDOWS):
        return True
    if isinstance(op, ReshapeOp):
        return _regroups_rows(op)
    if not limit or not isinstance(op, shared.ElementwiseUnary | shared.ElementwiseBinary):
        return False
    return any(shape(operand) == shape(value) and _is_of_rows(operand, limit - 1) for operand in op.operands)


def _regroups_rows(op: ReshapeOp) -> bool:
    """Returns whether a reshape makes [N, H, W, C] from rows [N * H * W, C]."""
    images, high, wide, channels = shape(op.result)
    return shape(op.input) == (images * high * wide, channels)


def _ones(
    rewriter: PatternRewriter, op: Operation, images: int, positions: int, like: Tensor, *, by_row: bool
) -> SSAValue:
    """Returns the matrix [N, N * H * W] that is 1 where a row belongs to an image, else 0.

    Args:
        rewriter: the rewriter.
        op: op before which the matrix is computed.
        images: N.
        positions: H * W.
        like: type whose element type the matrix has.
        by_row: whether to return the transposed matrix.
    """
    count = tensor((images,), si32)
    numbers = insert_before(rewriter, op, ArangeOp, [], count, start=0, end=images, step=1, arange_dimension=0)
    pair = [reshaped(rewriter, op, numbers, sizes) for sizes in ((images, 1), (1, images))]
    equal = insert_before(rewriter, op, BINARY["eq"], pair, tensor((images, images), like.element_type))
    single, repeats = ((images, 1, images), (1, positions, 1)) if by_row else ((images, images, 1), (1, 1, positions))
    equal = reshaped(rewriter, op, equal, single)
    type_ = tensor(tuple(map(math.prod, zip(single, repeats, strict=True))), like.element_type)
    spread = insert_before(rewriter, op, BroadcastOp, [equal], type_, broadcast_dimensions=repeats)
    rows = images * positions
    return reshaped(rewriter, op, spread, (rows, images) if by_row else (images, rows))


def _matmul(rewriter: PatternRewriter, op: Operation, one: SSAValue, other: SSAValue) -> SSAValue:
    """Returns the product of two matrices, in the element type of the second."""
    type_ = tensor((shape(one)[0], shape(other)[1]), tensor_type(other).element_type)
    return insert_before(rewriter, op, MatmulOp, [one, other], type_, transpose_a=False, transpose_b=False)


def run(module: ModuleOp) -> None:
    """Rewrites ops over images until none matches."""
    run_patterns(module, reduction_of_images, spread_over_images)
