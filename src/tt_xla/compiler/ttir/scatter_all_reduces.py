"""Sums over several axes of the mesh, in which only parts of the tensor cross all axes but one.

After a reduce_scatter over one axis, each chip sums its part alone over the other axes, and an all_gather joins the
parts. That is one exchange more, of fewer bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from tt_xla.compiler import collectives
from tt_xla.compiler.meshes import mesh_of
from tt_xla.compiler.rewriting import body, functions
from tt_xla.compiler.ttir.all_reduces import Prices, Sum, emitter, sum_from
from tt_xla.ir.base import shape
from tt_xla.ir.ttcore import ReduceType
from tt_xla.ir.ttir.collective import AllReduceOp, ReduceScatterOp
from tt_xla.target import Target


@dataclass(frozen=True)
class _Scatter:
    """The axis and the dimension of a tensor that chips scatter first."""

    axis: int
    dim: int


def run(module: ModuleOp, target: Target) -> None:
    """Rewrites sums over several axes where the cost model says that it saves time."""
    mesh = mesh_of(module)
    if mesh is None or sum(size > 1 for size in mesh.shape) < 2:
        return
    prices = Prices(target, mesh)
    for function in functions(module):
        sums = [sum_ for op in body(function).ops if (sum_ := sum_from(op)) is not None]
        for sum_ in sums:
            if len({*sum_.axes}) == len(sum_.axes) > 1:
                _rewrite(sum_, prices)


def _rewrite(sum_: Sum, prices: Prices) -> None:
    sizes = shape(sum_.first.input)
    best = min(_candidates(sum_, prices), key=lambda scatter: _time(sum_, scatter, prices), default=None)
    if best is None or _time(sum_, best, prices) >= prices.all_reduce(sizes, sum_.dtype, sum_.axes):
        return
    last, chips = sum_.last, prices.mesh.shape[best.axis]
    emit = emitter(last)
    part_type = collectives.with_size(sum_.first.input, best.dim, sizes[best.dim] // chips)
    scatter = {"reduce_type": ReduceType.SUM, "scatter_dim": best.dim, "cluster_axis": best.axis}
    part = emit(ReduceScatterOp, [sum_.first.input], part_type, **scatter)
    for axis in sum_.axes:
        if axis != best.axis:
            part = emit(AllReduceOp, [part], part_type, reduce_type=ReduceType.SUM, cluster_axis=axis)
    last.result.replace_all_uses_with(collectives.gather(emit, part, best.dim, best.axis, chips))
    sum_.erase()


def _candidates(sum_: Sum, prices: Prices) -> Iterator[_Scatter]:
    for axis in sum_.axes:
        for dim, size in enumerate(shape(sum_.first.input)):
            if size % prices.mesh.shape[axis] == 0:
                yield _Scatter(axis, dim)


def _time(sum_: Sum, scatter: _Scatter, prices: Prices) -> float:
    """Returns the predicted time of a sum whose parts are scattered first, in microseconds."""
    sizes, dtype, dim = shape(sum_.first.input), sum_.dtype, scatter.dim
    part = (*sizes[:dim], sizes[dim] // prices.mesh.shape[scatter.axis], *sizes[dim + 1 :])
    others = [axis for axis in sum_.axes if axis != scatter.axis]
    total = prices.cost("reduce_scatter", [sizes], part, dtype, cluster_axis=scatter.axis, scatter_dim=dim)
    total += prices.all_reduce(part, dtype, others)
    return total + prices.cost("all_gather", [part], sizes, dtype, cluster_axis=scatter.axis, all_gather_dim=dim)
