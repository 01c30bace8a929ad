"""Sorts in the other direction, and the first few of what is sorted."""

from __future__ import annotations

from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import InsertPoint

from tt_xla.compiler.rewriting import pattern, producer
from tt_xla.ir.base import shape, tensor, tensor_type
from tt_xla.ir.ttir.indexing import SortOp, TopKOp
from tt_xla.ir.ttir.structure import ReverseOp, SliceStaticOp


@pattern(ReverseOp, approximate=True)
def reversed_sort(op: ReverseOp, rewriter: PatternRewriter) -> None:
    """Sorted values in reverse order are sorted in the other direction; positions of equal values would differ."""
    sort = producer(op.input, SortOp)
    if sort is None or op.input is not sort.values_ or sort.indices.first_use is not None:
        return
    rank = len(shape(op.input))
    if [dim % rank for dim in op.dimensions] != [sort.dim % rank]:
        return
    values = sort.values() | {"descending": not sort.descending}
    types = [tensor_type(result) for result in sort.results]
    made = SortOp.make([sort.input], types, op.location, **values)
    rewriter.insert(made, InsertPoint.before(op))
    rewriter.replace(op, [], [made.values_])


@pattern(SliceStaticOp, approximate=True)
def first_of_sort(op: SliceStaticOp, rewriter: PatternRewriter) -> None:
    """The first k of sorted values are the k greatest or least; of equal values any, so positions have no other use."""
    sort = producer(op.input, SortOp)
    if sort is None or op.input is not sort.values_ or sort.indices.first_use is not None:
        return
    whole, result = shape(op.input), shape(op.result)
    dim = sort.dim % len(whole)
    count = result[dim]
    if any(op.begins) or any(step != 1 for step in op.step):
        return
    if dim != len(whole) - 1 or not 0 < count < whole[dim] or result[:dim] != whole[:dim]:
        return
    types = [tensor(result, tensor_type(value).element_type) for value in sort.results]
    flags = {"largest": sort.descending, "sorted": True}
    made = TopKOp.make([sort.input], types, op.location, k=count, dim=dim, **flags)
    rewriter.insert(made, InsertPoint.before(op))
    rewriter.replace(op, [], [made.values_])


PATTERNS = (reversed_sort, first_of_sort)
