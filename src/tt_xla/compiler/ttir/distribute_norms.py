"""RMS normalisation of a dimension that is split over chips becomes one op, whose chips exchange sums of squares."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from tt_xla.compiler.meshes import mesh_shape, mesh_shape_of
from tt_xla.compiler.rewriting import both_ways, pattern, producer, run_patterns
from tt_xla.compiler.ttir.fuse.normalization import Root, kept, reciprocal_root, replace_by_norm
from tt_xla.compiler.ttir.match import Multiply, is_close, is_float, is_square_of, scaled, uncast, unshaped
from tt_xla.ir.base import shape
from tt_xla.ir.layout import TILE
from tt_xla.ir.shapes import normalise_dims
from tt_xla.ir.ttcore import ReduceType
from tt_xla.ir.ttir.collective import AllReduceOp
from tt_xla.ir.ttir.normalization import DistributedRmsNormOp
from tt_xla.ir.ttir.reduction import SumOp


@pattern(Multiply, approximate=True)
def distributed_rms_norm(op: Operation, rewriter: PatternRewriter) -> None:
    """Fuses x * rsqrt(all_reduce(sum(x * x)) / n + epsilon), where n counts the last dimension of all chips.

    Each chip has whole tiles of the dimension, as TT-NN's op for its sums counts the elements of tiles.
    """
    if not is_float(op.results[0]):
        return
    for value, other in both_ways(op):
        root = reciprocal_root(other)
        if root is None or shape(value) != shape(op.results[0]):
            continue
        x = uncast(value)
        axis = _reduced_axis(x, root)
        if axis is not None:
            replace_by_norm(rewriter, op, DistributedRmsNormOp, x, root, cluster_axis=axis)
            return


def _reduced_axis(x: SSAValue, root: Root) -> int | None:
    """Returns the mesh axis over which a root's statistic is the mean of the squares of x; None if it is no such."""
    dims, mean = (len(shape(x)) - 1,), scaled(unshaped(root.statistic))
    reduced = producer(unshaped(mean[0]), AllReduceOp) if mean is not None else None
    if mean is None or reduced is None or reduced.reduce_type is not ReduceType.SUM or root.sizes != kept(x, dims):
        return None
    total, axis, width = producer(unshaped(reduced.input), SumOp), reduced.cluster_axis, shape(x)[-1]
    if total is None or width % TILE or not is_square_of(total.input, x):
        return None
    if normalise_dims(total.dim_arg or (), len(shape(x))) != dims:
        return None
    count = width * mesh_shape_of(reduced)[axis]
    return axis if is_close(mean[1] * count, 1.0, root.statistic) else None


PATTERNS = (distributed_rms_norm,)


def run(module: ModuleOp) -> None:
    """Fuses the normalisations of dimensions that are split over chips.

    Args:
        module: TTIR module that is changed in place.
    """
    if mesh_shape(module) is not None:
        run_patterns(module, *PATTERNS)
