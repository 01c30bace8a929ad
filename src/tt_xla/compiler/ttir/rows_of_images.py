"""Pointwise convolutions, means and sums of images, and products by channel, on rows as convolutions have them.

TT-NN's convolutions read and write [1, 1, N * H * W, C]. A mean over height and width needs to know where an image
begins, and tiles of [N, H, W, C] would pad each row of an image to 32: a reshape that copies every element. Where the
positions of an image fill tiles, or there is one image, [N, 1, H * W, C] has the tiles of the rows.

Squeeze-and-excitation multiplies each image by one number for each channel. As a broadcast it would need images that
begin with a tile. Each row looks up the numbers of its image instead, which mixes no images either.

A convolution of single positions is a product of the rows by a matrix, and TT-NN also runs it as one. As a product it
has every program config of products, and its weights need no preparation.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from xdsl.dialects.builtin import BFloat16Type, ModuleOp
from xdsl.ir import OpResult, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from tt_xla.compiler.analysis.constants import elements
from tt_xla.compiler.analysis.constness import is_constant
from tt_xla.compiler.rewriting import both_ways, insert_before, pattern, replace_with, run_patterns
from tt_xla.compiler.ttir.match import Add, Multiply, is_float, product_with_bias, reshaped, transposed
from tt_xla.ir import abstract as shared
from tt_xla.ir import shapes
from tt_xla.ir.base import TTOp, shape, tensor, tensor_type, users
from tt_xla.ir.layout import TILE
from tt_xla.ir.properties import si32
from tt_xla.ir.ttir.creation import ConstantOp
from tt_xla.ir.ttir.reduction import MeanOp, SumOp
from tt_xla.ir.ttir.structure import EmbeddingOp, ReshapeOp
from tt_xla.ir.ttir.window import AvgPool2dOp, Conv2dOp, ConvTranspose2dOp, MaxPool2dOp

_WINDOWS = Conv2dOp | ConvTranspose2dOp | MaxPool2dOp | AvgPool2dOp
"""Ops that TT-NN computes on rows."""
_LARGEST_WINDOW = 1024
"""Number of positions up to which a mean is a pooling. On Tenstorrent's functional simulator, means of 49, 196 and 784
values of bfloat16 have the same error, below the spacing of bfloat16."""
_LARGEST_WINDOW_OF_FLOAT32 = 64
"""The same where pooling in bfloat16 costs accuracy: positions that TT-NN reduces in two passes."""
_FARTHEST = 6
"""Number of elementwise ops up to which the op that computed a value's rows, or reads them, is searched."""


@pattern(MeanOp, SumOp, approximate=True)
def reduction_of_images(op: MeanOp | SumOp, rewriter: PatternRewriter) -> None:
    """Rewrites a mean or sum over height and width of [N, H, W, C] to one over rows, or a mean of few to a pooling."""
    sizes = shape(op.input)
    dims = shapes.normalise_dims(op.dim_arg, len(sizes))
    if sorted(dims) != [1, 2] or not _has_images(op.input):
        return
    images, channels, positions = sizes[0], sizes[3], sizes[1] * sizes[2]
    if images == 1 or positions % TILE == 0:
        rows = reshaped(rewriter, op, op.input, (images, 1, positions, channels))
        replace_with(rewriter, op, type(op), [rows], dim_arg=op.dim_arg, keep_dim=op.keep_dim)
    elif isinstance(op, MeanOp) and positions <= (
        _LARGEST_WINDOW if _is_bf16(op.input) else _LARGEST_WINDOW_OF_FLOAT32
    ):
        type_ = tensor((images, 1, 1, channels), tensor_type(op.result).element_type)
        values: dict[str, Any] = {"kernel": sizes[1:3], "stride": (1, 1), "padding": (0, 0, 0, 0), "dilation": (1, 1)}
        pooled = insert_before(rewriter, op, AvgPool2dOp, [op.input], type_, ceil_mode=False, **values)
        rewriter.replace(op, [], [reshaped(rewriter, op, pooled, shape(op.result))])


@pattern(Conv2dOp)
def pointwise_convolution(op: Conv2dOp, rewriter: PatternRewriter) -> None:
    """Rewrites a convolution of single positions, whose weights are constant, to a product of rows."""
    (outputs, inputs, *kernel), steps = shape(op.weight), shapes.pair(op.stride, "stride")
    is_pointwise = math.prod(kernel) == math.prod(steps) == op.groups == 1 and not any(shapes.borders(op.padding))
    if not is_pointwise or op.dims != (0, 1, 2, 3) or not is_constant(op.weight):
        return
    rows = reshaped(rewriter, op, op.input, (1, 1, math.prod(shape(op.input)[:3]), inputs))
    columns = transposed(rewriter, op, reshaped(rewriter, op, op.weight, (outputs, inputs)), (1, 0))
    product = product_with_bias(rewriter, op, rows, columns, op.bias)
    rewriter.replace(op, [], [reshaped(rewriter, op, product, shape(op.result))])


@pattern(Multiply, Add, approximate=True)
def product_by_channel(op: TTOp, rewriter: PatternRewriter) -> None:
    """Rewrites a product or sum of images and one number for each image and channel to one of rows."""
    for images, channels in both_ways(op):
        sizes = shape(op.results[0])
        if len(sizes) == 4 and shape(images) == sizes and shape(channels) == (sizes[0], 1, 1, sizes[3]):
            of_rows = _has_images(images) and _goes_to_rows(op.results[0], _FARTHEST)
            if sizes[0] > 1 and of_rows and _is_bf16(images) and _is_bf16(channels):
                _by_channel(op, images, channels, rewriter)
            return


def _by_channel(op: TTOp, images: SSAValue, channels: SSAValue, rewriter: PatternRewriter) -> None:
    """Computes an op of images [N, H, W, C] and channels [N, 1, 1, C] on rows that look up the channels."""
    count, high, wide, depth = shape(images)
    positions = high * wide
    rows = (1, 1, count * positions, depth)
    numbers = tensor((count * positions,), si32)
    value = elements(np.repeat(np.arange(count, dtype=np.int32), positions), numbers)
    of_row = insert_before(rewriter, op, ConstantOp, [], numbers, value=value)
    table = reshaped(rewriter, op, channels, (count, depth))
    looked_up = tensor(rows[2:], tensor_type(channels).element_type)
    channels = insert_before(rewriter, op, EmbeddingOp, [of_row, table], looked_up)
    operands = [reshaped(rewriter, op, each, rows) for each in (images, channels)]
    result = insert_before(rewriter, op, type(op), operands, tensor(rows, tensor_type(op.results[0]).element_type))
    rewriter.replace(op, [], [reshaped(rewriter, op, result, shape(op.results[0]))])


def _is_bf16(value: SSAValue) -> bool:
    """Returns whether a value's element type is bf16."""
    return isinstance(tensor_type(value).element_type, BFloat16Type)


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


def _goes_to_rows(value: SSAValue, limit: int) -> bool:
    """Returns whether an op on rows reads a value [N, H, W, C], itself or behind elementwise ops."""
    sizes = shape(value)
    for op in users(value):
        if isinstance(op, _WINDOWS):
            return True
        if isinstance(op, ReshapeOp) and shape(op.result)[-2:] == (math.prod(sizes[:3]), sizes[3]):
            return True
        elementwise = isinstance(op, shared.ElementwiseUnary | shared.ElementwiseBinary)
        if limit and elementwise and shape(op.results[0]) == sizes and _goes_to_rows(op.results[0], limit - 1):
            return True
    return False


def _regroups_rows(op: ReshapeOp) -> bool:
    """Returns whether a reshape makes [N, H, W, C] from rows [..., N * H * W, C]."""
    images, high, wide, channels = shape(op.result)
    rows = (images * high * wide, channels)
    return shape(op.input)[-2:] == rows and math.prod(shape(op.input)) == math.prod(rows)


def run(module: ModuleOp) -> None:
    """Rewrites pointwise convolutions, means and sums over images, and products by channel, until none matches."""
    run_patterns(module, pointwise_convolution, reduction_of_images, product_by_channel)
