"""Lowerings of normalisations over a dimension that is split over chips."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.ir import SSAValue

from tt_xla.compiler.meshes import mesh_shape_of
from tt_xla.compiler.ttir_to_ttnn.lowering import Lowering, lowers
from tt_xla.ir.base import TTOp
from tt_xla.ir.layout import TILE, DataType
from tt_xla.ir.shapes import Shape
from tt_xla.ir.ttir import normalization as source
from tt_xla.ir.ttnn import ELEMENTWISE_OPS
from tt_xla.ir.ttnn import normalization as target
from tt_xla.ir.ttnn.collective import AllGatherOp


@lowers(source.DistributedRmsNormOp)
def distributed_rms_norm(lowering: Lowering, op: source.DistributedRmsNormOp) -> SSAValue:
    """Lowers to the sums of squares of a chip's part, their exchange, and a normalisation by those of all chips."""
    ops = (target.RmsNormPreAllGatherOp, target.RmsNormPostAllGatherOp)
    return _normalised(lowering, op, ops, [op.weight, None], statistics=1)


@lowers(source.DistributedLayerNormOp)
def distributed_layer_norm(lowering: Lowering, op: source.DistributedLayerNormOp) -> SSAValue:
    """Lowers in the same way as RMS normalisation, with two statistics: the sums of squares, and the sums."""
    ops = (target.LayerNormPreAllGatherOp, target.LayerNormPostAllGatherOp)
    return _normalised(lowering, op, ops, [op.weight, op.bias], statistics=2)


def _normalised(
    lowering: Lowering,
    op: source.DistributedRmsNormOp | source.DistributedLayerNormOp,
    ops: tuple[type[TTOp], type[TTOp]],
    affine: Sequence[SSAValue | None],
    *,
    statistics: int,
) -> SSAValue:
    """Emits a normalisation over a dimension that is split along a mesh axis.

    TT-NN's statistics are tensors of rank 4. Each one fills a column of a tile, which is exchanged whole. Float32 keeps
    their digits, as TT-NN accumulates them in float32.

    Args:
        ops: The op that computes the statistics, and the op that normalises by those of all chips.
        affine: Weight and bias, or None.
        statistics: Number of statistics of a row.
    """
    sizes, dtype = lowering.result(op)
    flat = _of_rank_4(sizes)
    x = lowering.tiled(op.input)
    if op.residual is not None:
        x = lowering.emit(ELEMENTWISE_OPS["add"], [x, lowering.tiled(op.residual)], sizes, dtype)
    x = lowering.reshaped(x, flat)
    width = statistics * TILE
    before, after = ops
    own = lowering.emit(before, [x, *[None] * statistics], (*flat[:-1], width), DataType.F32)
    chips = mesh_shape_of(op)[op.cluster_axis]
    gathered = lowering.emit(
        AllGatherOp,
        [own],
        (*flat[:-1], chips * width),
        DataType.F32,
        all_gather_dim=len(flat) - 1,
        cluster_axis=op.cluster_axis,
    )
    vectors = [None if value is None else lowering.reshaped(lowering.tiled(value), sizes[-1:]) for value in affine]
    normal = lowering.emit(after, [x, gathered, *vectors], flat, dtype, epsilon=op.epsilon)
    return lowering.reshaped(normal, sizes)


def _of_rank_4(sizes: Shape) -> Shape:
    """Returns a shape of rank 4 that has the same rows: with dimensions of size 1, or leading dimensions as one."""
    missing = 4 - len(sizes)
    return (*[1] * missing, *sizes) if missing >= 0 else (math.prod(sizes[: 1 - missing]), *sizes[1 - missing :])
