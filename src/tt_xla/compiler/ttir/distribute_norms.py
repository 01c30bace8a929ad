"""RMS normalisation of a dimension that is split over chips becomes one op, whose chips exchange sums of squares.

The op exchanges a tile for each 32 rows of a chip where an all_reduce sums one number a row. It is made where the cost
model says that it saves time.
"""

from __future__ import annotations

from typing import NamedTuple

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from tt_xla.compiler.meshes import mesh_of
from tt_xla.compiler.rewriting import Pattern, both_ways, producer, run_patterns
from tt_xla.compiler.ttir.all_reduces import Prices, interleaved
from tt_xla.compiler.ttir.fuse.normalization import Root, kept, reciprocal_root, replace_by_norm
from tt_xla.compiler.ttir.match import (
    Multiply,
    is_close,
    is_float,
    is_square_of,
    scaled,
    skip_casts,
    skip_casts_and_reshapes,
)
from tt_xla.ir.base import DATA_TYPES, only_user, shape, tensor_type
from tt_xla.ir.layout import TILE, DataType
from tt_xla.ir.shapes import normalise_dims
from tt_xla.ir.ttcore import ReduceType
from tt_xla.ir.ttir.collective import AllReduceOp
from tt_xla.ir.ttir.normalization import DistributedRmsNormOp
from tt_xla.ir.ttir.reduction import SumOp
from tt_xla.target import Target


class _Norm(NamedTuple):
    """x * rsqrt(all_reduce(sum(x * x)) / n + epsilon), where n counts the last dimension of all chips."""

    op: Operation
    """The last product."""
    x: SSAValue
    """The rows, before a cast to the type in which they are squared."""
    root: Root
    reduced: AllReduceOp


def run(module: ModuleOp, target: Target) -> None:
    """Fuses the normalisations of dimensions that are split over chips where that saves predicted time.

    Args:
        module: TTIR module that is changed in place.
        target: System whose times are predicted.
    """
    mesh = mesh_of(module)
    if mesh is None:
        return
    prices = Prices(target, mesh)

    def rewrite(op: Operation, rewriter: PatternRewriter) -> None:
        norm = _matched(op, prices)
        if norm is not None and _fused_us(norm, prices) < _apart_us(norm, prices):
            axis = norm.reduced.cluster_axis
            replace_by_norm(rewriter, op, DistributedRmsNormOp, norm.x, norm.root, cluster_axis=axis)

    run_patterns(module, Pattern((Multiply,), rewrite, approximate=True))


def _matched(op: Operation, prices: Prices) -> _Norm | None:
    """Returns the normalisation that ends at a product; None if none does.

    Each chip has whole tiles of the dimension, as TT-NN's op for its sums counts the elements of tiles.
    """
    if not is_float(op.results[0]):
        return None
    for value, other in both_ways(op):
        root = reciprocal_root(other)
        if root is None or shape(value) != shape(op.results[0]):
            continue
        x = skip_casts(value)
        reduced = _reduced(x, root, prices)
        if reduced is not None:
            return _Norm(op, x, root, reduced)
    return None


def _reduced(x: SSAValue, root: Root, prices: Prices) -> AllReduceOp | None:
    """Returns the sum over chips whose mean of the squares of x is a root's statistic; None if it is no such."""
    dims, mean = (len(shape(x)) - 1,), scaled(skip_casts_and_reshapes(root.statistic))
    reduced = producer(skip_casts_and_reshapes(mean[0]), AllReduceOp) if mean is not None else None
    if mean is None or reduced is None or reduced.reduce_type is not ReduceType.SUM or root.sizes != kept(x, dims):
        return None
    total, width = producer(skip_casts_and_reshapes(reduced.input), SumOp), shape(x)[-1]
    if total is None or width % TILE or not is_square_of(total.input, x):
        return None
    if normalise_dims(total.dim_arg or (), len(shape(x))) != dims:
        return None
    count = width * prices.mesh.shape[reduced.cluster_axis]
    return reduced if is_close(mean[1] * count, 1.0, root.statistic) else None


def _fused_us(norm: _Norm, prices: Prices) -> float:
    """Returns the predicted time of the op in microseconds.

    An argument of the program arrives row by row, which elementwise ops take and the op's statistics do not.
    """
    sizes, axis = shape(norm.x), norm.reduced.cluster_axis
    rows = interleaved(sizes, _dtype(norm.x))
    own, chips = (*sizes[:-1], TILE), prices.mesh.shape[axis]
    gathered = (*sizes[:-1], chips * TILE)
    weights = [interleaved(sizes[-1:], DataType.F32)] * _is_weighted(norm)
    time = prices.of("rms_norm_pre_all_gather", [rows], interleaved(own, DataType.F32))
    time += prices.cost("all_gather", [own], gathered, DataType.F32, cluster_axis=axis, all_gather_dim=len(sizes) - 1)
    time += prices.of("rms_norm_post_all_gather", [rows, interleaved(gathered, DataType.F32), *weights], rows)
    if isinstance(norm.x, BlockArgument):
        time += prices.of("to_layout", [interleaved(sizes, _dtype(norm.x), tiled=False)], rows)
    return time


def _apart_us(norm: _Norm, prices: Prices) -> float:
    """Returns the predicted time of the ops that the op replaces, in microseconds."""
    sizes, dtype = shape(norm.x), _dtype(norm.reduced.input)
    scale, sums = norm.root.sizes, shape(norm.reduced.input)
    time = prices.cost("multiply", [sizes, sizes], sizes, dtype) + prices.cost("sum", [sizes], sums, dtype)
    time += prices.all_reduce(sums, dtype, [norm.reduced.cluster_axis])
    time += prices.cost("rsqrt", [sums], sums, dtype) + prices.cost("multiply", [sizes, scale], sizes, dtype)
    if sums != scale:
        time += prices.cost("reshape", [sums], scale, dtype)
    if _is_weighted(norm):
        time += prices.cost("multiply", [sizes, sizes[-1:]], sizes, dtype)
    if _dtype(norm.x) is not dtype:  # There and back.
        narrow, wide = interleaved(sizes, _dtype(norm.x)), interleaved(sizes, dtype)
        time += prices.of("typecast", [narrow], wide) + prices.of("typecast", [wide], narrow)
    return time


def _is_weighted(norm: _Norm) -> bool:
    return norm.root.weight is not None or isinstance(only_user(norm.op.results[0]), Multiply)


def _dtype(value: SSAValue) -> DataType:
    return DATA_TYPES[tensor_type(value).element_type]
