"""Fusion of reversed and sliced sorts."""

from __future__ import annotations

from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import InsertPoint

from tt_xla.compiler.rewriting import pattern, producer
from tt_xla.ir.base import shape, tensor, tensor_type
from tt_xla.ir.ttir.indexing import SortOp, TopKOp
from tt_xla.ir.ttir.structure import ReverseOp, SliceStaticOp


@pattern(ReverseOp, approximate=True)
def reversed_sort(op: ReverseOp, rewriter: PatternRewriter) -> None:
    """Rewrites a reversed sort to a sort in the other direction, unless positions of equal values are used."""
    sort = producer(op.input, SortOp)
    if sort is None or op.input is not sort.values_ or sort.indices.first_use is not None:
        return
    rank = len(shape(op.input))
    if [dim % rank for dim in op.dimensions] != [sort.dim % rank]:
        return
    values = sort.values() | {"descending": not sort.descending}
    types = [tensor_type(result) for result in sort.results]
    resorted = SortOp.make([sort.input], types, op.location, **values)
    rewriter.insert(resorted, InsertPoint.before(op))
    rewriter.replace(op, [], [resorted.values_])


@pattern(SliceStaticOp, approximate=True)
def first_of_sort(op: SliceStaticOp, rewriter: PatternRewriter) -> None:
    """Rewrites the first k of sorted values to top-k, unless positions, which differ for equal values, are used."""
    sort = producer(op.input, SortOp)
    if sort is None or op.input is not sort.values_ or sort.indices.first_use is not None:
        return
    full, result = shape(op.input), shape(op.result)
    dim = sort.dim % len(full)
    count = result[dim]
    if any(op.begins) or any(step != 1 for step in op.step):
        return
    if dim != len(full) - 1 or not 0 < count < full[dim] or result[:dim] != full[:dim]:
        return
    types = [tensor(result, tensor_type(value).element_type) for value in sort.results]
    flags = {"largest": sort.descending, "sorted": True}
    top = TopKOp.make([sort.input], types, op.location, k=count, dim=dim, **flags)
    rewriter.insert(top, InsertPoint.before(op))
    rewriter.replace(op, [], [top.values_])


PATTERNS = (reversed_sort, first_of_sort)
