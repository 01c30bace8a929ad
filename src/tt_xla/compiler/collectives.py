"""Building blocks of collectives, for the importer and for passes: each emits TTIR ops through a function."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from xdsl.ir import SSAValue

from tt_xla.ir.base import Tensor, TTOp, shape, tensor, tensor_type
from tt_xla.ir.ttir.collective import AllGatherOp, MeshPartitionOp
from tt_xla.ir.ttir.structure import ConcatOp, SliceStaticOp


class Emit(Protocol):
    """A function that adds an op with one result and returns the result."""

    def __call__(self, op: type[TTOp], operands: Sequence[Any], result: Tensor, /, **properties: Any) -> SSAValue: ...


def with_size(value: SSAValue, dim: int, size: int) -> Tensor:
    """Returns the type of a tensor with another size along one dimension."""
    sizes = shape(value)
    return tensor((*sizes[:dim], size, *sizes[dim + 1 :]), tensor_type(value).element_type)


def gather(emit: Emit, value: SSAValue, dim: int, axis: int, chips: int) -> SSAValue:
    """Joins the shards of the chips along an axis of the mesh."""
    type_ = with_size(value, dim, shape(value)[dim] * chips)
    return emit(AllGatherOp, [value], type_, all_gather_dim=dim, cluster_axis=axis)


def partition(emit: Emit, value: SSAValue, dim: int, axis: int, chips: int) -> SSAValue:
    """Takes each chip's part of a tensor that all chips along an axis of the mesh have."""
    type_ = with_size(value, dim, shape(value)[dim] // chips)
    return emit(MeshPartitionOp, [value], type_, dim=dim, cluster_axis=axis)


def part(emit: Emit, value: SSAValue, dim: int, start: int, stop: int) -> SSAValue:
    """Takes the positions from ``start`` to before ``stop`` of a dimension."""
    sizes = shape(value)
    begins = tuple(start if place == dim else 0 for place in range(len(sizes)))
    ends = tuple(stop if place == dim else size for place, size in enumerate(sizes))
    values = {"begins": begins, "ends": ends, "step": (1,) * len(sizes)}
    return emit(SliceStaticOp, [value], with_size(value, dim, stop - start), **values)


def reorder(emit: Emit, value: SSAValue, dim: int, order: Sequence[int]) -> SSAValue:
    """Puts equal blocks of a dimension in another order: block ``i`` of the result is block ``order[i]``."""
    block = shape(value)[dim] // len(order)
    parts = [part(emit, value, dim, place * block, (place + 1) * block) for place in order]
    return emit(ConcatOp, [parts], tensor_type(value), dim=dim)


def reduce_rows(emit: Emit, value: SSAValue, kind: type[TTOp]) -> SSAValue:
    """Combines the rows of a tensor, which are along its first dimension, by a binary op; the upper half of them with
    the lower half each time. The result has one row."""
    while (rows := shape(value)[0]) > 1:
        half = rows // 2
        lower, upper = part(emit, value, 0, 0, half), part(emit, value, 0, half, 2 * half)
        combined = emit(kind, [lower, upper], with_size(value, 0, half))
        if rows % 2:
            rest = part(emit, value, 0, rows - 1, rows)
            combined = emit(ConcatOp, [[combined, rest]], with_size(value, 0, half + 1), dim=0)
        value = combined
    return value
