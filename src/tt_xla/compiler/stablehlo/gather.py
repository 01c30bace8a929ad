"""gather: elements or whole slices by computed positions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jaxlib.mlir.dialects import stablehlo
from xdsl.dialects.builtin import bf16
from xdsl.ir import SSAValue

from tt_xla.compiler.analysis.ranges import bounds
from tt_xla.compiler.stablehlo.context import ImportContext, converts
from tt_xla.compiler.stablehlo.creation import full
from tt_xla.compiler.stablehlo.structure import crop, permute, reshape, take
from tt_xla.ir import ttir
from tt_xla.ir.base import shape, tensor, tensor_type
from tt_xla.ir.properties import si32, ui32
from tt_xla.ir.ttir.creation import ArangeOp
from tt_xla.ir.ttir.structure import BroadcastOp, ClampScalarOp, EmbeddingOp, GatherOp, TypecastOp


@converts("stablehlo.gather")
def gather(context: ImportContext, op: Any) -> SSAValue:
    """The indexed dimensions of the operand become the rows of a table, the others its columns; indices become row
    numbers, brought into range as StableHLO has it. A slice of several positions of an indexed dimension is that many
    rows. Single elements along one dimension are gathered as they lie."""
    result = context.result_type(op)
    numbers = stablehlo.GatherDimensionNumbers(op.attributes["dimension_numbers"])
    operand, indices = context.operands(op)
    sizes = tuple(op.attributes["slice_sizes"])
    batching = tuple(numbers.operand_batching_dims)
    indexed = (*batching, *numbers.start_index_map)
    others = tuple(dim for dim in range(len(sizes)) if dim not in indexed)
    for dim in others:
        operand = crop(context, operand, dim, 0, sizes[dim])
    whole = shape(operand)
    if not batching and sizes == whole and math.prod(whole) == math.prod(result.get_shape()):
        return reshape(context, operand, result.get_shape())  # one slice, which is all there is
    starts = _starts(context, numbers, indices, whole, sizes)
    if not others and len(numbers.start_index_map) == 1 and max(sizes) == 1:
        dim = numbers.start_index_map[0]
        axis = Axis.of(dim, batching, numbers.start_indices_batching_dims, numbers.index_vector_dim, starts[dim])
        index = axis.bring(context, starts[dim])
        found = context.emit(GatherOp, [operand, index], tensor(shape(index), result.element_type), dim=dim)
        found = axis.take_back(context, found, shape(starts[dim]))
        found = reshape(context, found, (*shape(found), *(1 for _ in numbers.offset_dims)))
        return _in_order(context, found, tuple(numbers.offset_dims))
    collapsed = (*numbers.collapsed_slice_dims, *batching)
    windows = tuple(dim for dim in sorted(indexed) if dim not in collapsed)
    rows = row_numbers(context, starts, whole, sizes, windows)
    table = permute(context, operand, (*indexed, *others))
    columns = math.prod(whole[dim] for dim in others)
    table = reshape(context, table, (math.prod(whole[dim] for dim in indexed), columns))
    found = rows_of(context, table, rows)
    found = reshape(context, found, (*shape(rows), *(whole[dim] for dim in others)))
    batch = len(shape(rows)) - len(windows)
    order = sorted(range(len(windows) + len(others)), key=(*windows, *others).__getitem__)
    found = permute(context, found, (*range(batch), *(batch + position for position in order)))
    slices = tuple(size for dim, size in enumerate(sizes) if dim not in collapsed)
    found = reshape(context, found, (*shape(rows)[:batch], *slices))
    return _in_order(context, found, tuple(numbers.offset_dims))


@dataclass(frozen=True)
class Axis:
    """Single elements along one dimension of an operand whose other dimensions the indices have too."""

    dim: int
    places: tuple[tuple[int, ...], ...]
    """For each dimension of the operand, those of the indices' batch that lie along it."""

    @classmethod
    def of(cls, dim: int, batching: Sequence[int], given: Sequence[int], vector: int, index: SSAValue) -> Axis:
        """
        Args:
            batching: the other dimensions of the operand.
            given: the dimensions of the indices that go with those.
            vector: the dimension of the indices that index vectors lie along.
            index: a component of the index vectors, [batch...].
        """
        shared = {mine: theirs - (theirs > vector) for mine, theirs in zip(batching, given, strict=True)}
        rest = tuple(place for place in range(len(shape(index))) if place not in shared.values())
        return cls(dim, tuple((shared[at],) if at in shared else rest for at in range(len(shared) + 1)))

    @property
    def order(self) -> tuple[int, ...]:
        return tuple(place for places in self.places for place in places)

    def bring(self, context: ImportContext, value: SSAValue) -> SSAValue:
        """A value of the batch's shape with the operand's dimensions."""
        batch = shape(value)
        sizes = tuple(math.prod(batch[place] for place in places) for places in self.places)
        return reshape(context, permute(context, value, self.order), sizes)

    def take_back(self, context: ImportContext, value: SSAValue, batch: tuple[int, ...]) -> SSAValue:
        """What :meth:`bring` undoes."""
        value = reshape(context, value, tuple(batch[place] for place in self.order))
        return permute(context, value, tuple(self.order.index(place) for place in range(len(batch))))


def _starts(
    context: ImportContext, numbers: Any, indices: SSAValue, whole: tuple[int, ...], sizes: tuple[int, ...]
) -> dict[int, SSAValue]:
    """Where each slice begins along each indexed dimension, brought into range."""
    parts = index_parts(context, indices, numbers.index_vector_dim)
    lines = batch_lines(context, shape(parts[0]), numbers.start_indices_batching_dims, numbers.index_vector_dim)
    found = dict(zip(numbers.operand_batching_dims, lines, strict=True))
    for dim, part in zip(numbers.start_index_map, parts, strict=True):
        found[dim] = as_si32(context, within(context, wide(context, part), whole[dim] - sizes[dim] + 1))
    return found


def batch_lines(context: ImportContext, batch: tuple[int, ...], batching: Sequence[int], vector: int) -> list[SSAValue]:
    """Positions along batching dimensions of indices whose components lie along ``vector``."""
    return [line(context, batch, dim - (dim > vector), si32) for dim in batching]


def row_numbers(
    context: ImportContext,
    starts: Mapping[int, SSAValue],
    whole: tuple[int, ...],
    sizes: tuple[int, ...],
    windows: tuple[int, ...],
) -> SSAValue:
    """Row numbers of each slice in a table whose rows are the indexed dimensions: [batch..., windows...].

    Args:
        starts: where each slice begins along each indexed dimension, [batch...], in row-major order of the table.
        sizes: of a slice along each dimension.
        windows: indexed dimensions that a slice keeps.
    """
    batch = shape(next(iter(starts.values())))
    wanted = (*batch, *(sizes[dim] for dim in windows))
    type_ = tensor(wanted, si32)
    total: SSAValue | None = None
    for dim, start in starts.items():
        part = _spread(context, start, wanted)
        if sizes[dim] > 1:
            offset = line(context, wanted, len(batch) + windows.index(dim), si32)
            part = context.emit(ttir.BINARY_OPS["add"], [part, offset], type_)
        if total is not None:
            scaled = context.emit(ttir.BINARY_OPS["multiply"], [total, full(context, whole[dim], type_)], type_)
            part = context.emit(ttir.BINARY_OPS["add"], [scaled, part], type_)
        total = part
    assert total is not None
    return total


def _spread(context: ImportContext, value: SSAValue, wanted: tuple[int, ...]) -> SSAValue:
    """A value of the batch's shape over the windows, which come last."""
    sizes = shape(value)
    extra = len(wanted) - len(sizes)
    value = reshape(context, value, (*sizes, *(1,) * extra))
    factors = (*(1,) * len(sizes), *wanted[len(sizes) :])
    if all(factor == 1 for factor in factors):
        return value
    type_ = tensor(wanted, tensor_type(value).element_type)
    return context.emit(BroadcastOp, [value], type_, broadcast_dimensions=factors)


def index_parts(context: ImportContext, indices: SSAValue, vector: int) -> list[SSAValue]:
    """The components of the index vectors, each of the shape of the batch."""
    whole = shape(indices)
    if vector == len(whole):
        return [indices]
    batch = (*whole[:vector], *whole[vector + 1 :])
    if whole[vector] == 1:
        return [reshape(context, indices, batch)]
    return [reshape(context, take(context, indices, vector, at), batch) for at in range(whole[vector])]


def as_si32(context: ImportContext, indices: SSAValue) -> SSAValue:
    """Indices as 32-bit ones, whose products hold row numbers."""
    if tensor_type(indices).element_type == si32:
        return indices
    return context.emit(TypecastOp, [indices], tensor(shape(indices), si32))


def wide(context: ImportContext, indices: SSAValue) -> SSAValue:
    """Indices of 32 bits, in which every bound can be said."""
    return indices if tensor_type(indices).element_type == ui32 else as_si32(context, indices)


def line(context: ImportContext, batch: tuple[int, ...], dim: int, element: Any) -> SSAValue:
    """0, 1, ... along one dimension of the batch."""
    return context.emit(ArangeOp, [], tensor(batch, element), start=0, end=batch[dim], step=1, arange_dimension=dim)


def within(context: ImportContext, indices: SSAValue, size: int) -> SSAValue:
    """Indices brought into [0, size); nothing to do for those that lie there as far as their ops tell."""
    found = bounds(indices)
    if found.low >= 0 and found.high < size:
        return indices
    return context.emit(ClampScalarOp, [indices], tensor_type(indices), min=0, max=size - 1)


def rows_of(context: ImportContext, table: SSAValue, rows: SSAValue) -> SSAValue:
    """Rows of a table by number: an embedding for bfloat16, which is all it takes, else a gather."""
    columns, element = shape(table)[1], tensor_type(table).element_type
    if element == bf16:
        return context.emit(EmbeddingOp, [rows, table], tensor((*shape(rows), columns), element))
    count = math.prod(shape(rows))
    index = reshape(context, rows, (count, 1))
    if columns != 1:
        spread = tensor((count, columns), tensor_type(rows).element_type)
        index = context.emit(BroadcastOp, [index], spread, broadcast_dimensions=(1, columns))
    return context.emit(GatherOp, [table, index], tensor((count, columns), element), dim=0)


def _in_order(context: ImportContext, found: SSAValue, offsets: tuple[int, ...]) -> SSAValue:
    """Slice dimensions, which come last, moved to where the result has them."""
    rank = len(shape(found))
    batch = [dim for dim in range(rank) if dim not in offsets]
    order = [0] * rank
    for position, dim in enumerate((*batch, *offsets)):
        order[dim] = position
    return permute(context, found, tuple(order))
