"""Converter of ``stablehlo.gather``: reads elements or slices at computed positions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jaxlib.mlir.dialects import stablehlo
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
    """Converts to rows of a table by number, or to a gather of single elements along one dimension.

    The indexed dimensions of the operand become the rows of the table, the others its columns. Indices become row
    numbers, clamped as StableHLO requires. A slice with several positions along an indexed dimension is that many rows.
    """
    result = context.result_type(op)
    numbers = stablehlo.GatherDimensionNumbers(op.attributes["dimension_numbers"])
    operand, indices = context.operands(op)
    sizes = tuple(op.attributes["slice_sizes"])
    batching = tuple(numbers.operand_batching_dims)
    indexed = (*batching, *numbers.start_index_map)
    others = tuple(dim for dim in range(len(sizes)) if dim not in indexed)
    for dim in others:
        operand = crop(context, operand, dim, 0, sizes[dim])
    operand_shape = shape(operand)
    if not batching and sizes == operand_shape and math.prod(operand_shape) == math.prod(result.get_shape()):
        return reshape(context, operand, result.get_shape())  # one slice, of the whole operand
    starts = _starts(context, numbers, indices, operand_shape, sizes)
    if not others and len(numbers.start_index_map) == 1 and max(sizes) == 1:
        dim = numbers.start_index_map[0]
        axis = Axis.of(dim, batching, numbers.start_indices_batching_dims, numbers.index_vector_dim, starts[dim])
        index = axis.to_operand_dims(context, starts[dim])
        gathered = context.emit(GatherOp, [operand, index], tensor(shape(index), result.element_type), dim=dim)
        gathered = axis.to_batch_dims(context, gathered, shape(starts[dim]))
        gathered = reshape(context, gathered, (*shape(gathered), *(1 for _ in numbers.offset_dims)))
        return _in_order(context, gathered, tuple(numbers.offset_dims))
    collapsed = (*numbers.collapsed_slice_dims, *batching)
    windows = tuple(dim for dim in sorted(indexed) if dim not in collapsed)
    rows = row_numbers(context, starts, operand_shape, sizes, windows)
    table = permute(context, operand, (*indexed, *others))
    columns = math.prod(operand_shape[dim] for dim in others)
    table = reshape(context, table, (math.prod(operand_shape[dim] for dim in indexed), columns))
    gathered = rows_of(context, table, rows)
    gathered = reshape(context, gathered, (*shape(rows), *(operand_shape[dim] for dim in others)))
    batch = len(shape(rows)) - len(windows)
    order = sorted(range(len(windows) + len(others)), key=(*windows, *others).__getitem__)
    gathered = permute(context, gathered, (*range(batch), *(batch + position for position in order)))
    slices = tuple(size for dim, size in enumerate(sizes) if dim not in collapsed)
    gathered = reshape(context, gathered, (*shape(rows)[:batch], *slices))
    return _in_order(context, gathered, tuple(numbers.offset_dims))


@dataclass(frozen=True)
class Axis:
    """An indexed dimension of an operand whose other dimensions are batching dimensions, which the indices share."""

    dim: int
    """The indexed dimension of the operand."""
    batch_dims: tuple[tuple[int, ...], ...]
    """For each dimension of the operand, the dimensions of the indices' batch that lie along it."""

    @classmethod
    def of(
        cls, dim: int, operand_batching: Sequence[int], index_batching: Sequence[int], vector: int, index: SSAValue
    ) -> Axis:
        """Creates an axis from the dimension numbers of a gather or scatter.

        Args:
            dim: the indexed dimension of the operand.
            operand_batching: the other dimensions of the operand.
            index_batching: dimensions of the indices that correspond to those.
            vector: dimension of the indices along which index vectors lie.
            index: a component of the index vectors, [batch...].
        """
        pairs = zip(operand_batching, index_batching, strict=True)
        shared = {operand_dim: index_dim - (index_dim > vector) for operand_dim, index_dim in pairs}
        others = tuple(batch_dim for batch_dim in range(len(shape(index))) if batch_dim not in shared.values())
        return cls(dim, tuple((shared[d],) if d in shared else others for d in range(len(shared) + 1)))

    @property
    def order(self) -> tuple[int, ...]:
        """The dimensions of the indices' batch in the order of the operand's."""
        return tuple(dim for dims in self.batch_dims for dim in dims)

    def to_operand_dims(self, context: ImportContext, value: SSAValue) -> SSAValue:
        """Rearranges a value of the batch's shape to the dimensions of the operand."""
        batch = shape(value)
        sizes = tuple(math.prod(batch[dim] for dim in dims) for dims in self.batch_dims)
        return reshape(context, permute(context, value, self.order), sizes)

    def to_batch_dims(self, context: ImportContext, value: SSAValue, batch: tuple[int, ...]) -> SSAValue:
        """Rearranges a value back to the batch's shape; the inverse of :meth:`to_operand_dims`."""
        value = reshape(context, value, tuple(batch[dim] for dim in self.order))
        return permute(context, value, tuple(self.order.index(dim) for dim in range(len(batch))))


def _starts(
    context: ImportContext, numbers: Any, indices: SSAValue, operand_shape: tuple[int, ...], sizes: tuple[int, ...]
) -> dict[int, SSAValue]:
    """Returns where each slice begins along each indexed dimension, clamped to the operand."""
    parts = index_parts(context, indices, numbers.index_vector_dim)
    lines = batch_lines(context, shape(parts[0]), numbers.start_indices_batching_dims, numbers.index_vector_dim)
    starts = dict(zip(numbers.operand_batching_dims, lines, strict=True))
    for dim, part in zip(numbers.start_index_map, parts, strict=True):
        size = operand_shape[dim] - sizes[dim] + 1
        starts[dim] = as_si32(context, within(context, wide(context, part), size, f"stablehlo.gather, dimension {dim}"))
    return starts


def batch_lines(context: ImportContext, batch: tuple[int, ...], batching: Sequence[int], vector: int) -> list[SSAValue]:
    """Returns positions along the batching dimensions of indices.

    Args:
        batch: the shape of the indices without the dimension ``vector``, along which index vectors lie.
        batching: batching dimensions of the indices.
    """
    return [line(context, batch, dim - (dim > vector), si32) for dim in batching]


def row_numbers(
    context: ImportContext,
    starts: Mapping[int, SSAValue],
    operand_shape: tuple[int, ...],
    sizes: tuple[int, ...],
    windows: tuple[int, ...],
) -> SSAValue:
    """Returns the row numbers of each slice in a table whose rows are the indexed dimensions: [batch..., windows...].

    Args:
        starts: where each slice begins along each indexed dimension, [batch...], in row-major order of the table.
        operand_shape: shape of the operand.
        sizes: size of a slice along each dimension.
        windows: indexed dimensions along which a slice has several positions.
    """
    batch = shape(next(iter(starts.values())))
    result_shape = (*batch, *(sizes[dim] for dim in windows))
    type_ = tensor(result_shape, si32)
    total: SSAValue | None = None
    for dim, start in starts.items():
        rows = _spread(context, start, result_shape)
        if sizes[dim] > 1:
            offset = line(context, result_shape, len(batch) + windows.index(dim), si32)
            rows = context.emit(ttir.BINARY_OPS["add"], [rows, offset], type_)
        if total is not None:
            scaled = context.emit(ttir.BINARY_OPS["multiply"], [total, full(context, operand_shape[dim], type_)], type_)
            rows = context.emit(ttir.BINARY_OPS["add"], [scaled, rows], type_)
        total = rows
    assert total is not None
    return total


def _spread(context: ImportContext, value: SSAValue, result_shape: tuple[int, ...]) -> SSAValue:
    """Repeats a value of the batch's shape over the windows, which come last."""
    sizes = shape(value)
    extra = len(result_shape) - len(sizes)
    value = reshape(context, value, (*sizes, *(1,) * extra))
    factors = (*(1,) * len(sizes), *result_shape[len(sizes) :])
    if all(factor == 1 for factor in factors):
        return value
    type_ = tensor(result_shape, tensor_type(value).element_type)
    return context.emit(BroadcastOp, [value], type_, broadcast_dimensions=factors)


def index_parts(context: ImportContext, indices: SSAValue, vector: int) -> list[SSAValue]:
    """Returns the components of the index vectors, each of the shape of the batch.

    Args:
        vector: the dimension of the indices along which index vectors lie.
    """
    index_shape = shape(indices)
    if vector == len(index_shape):
        return [indices]
    batch = (*index_shape[:vector], *index_shape[vector + 1 :])
    if index_shape[vector] == 1:
        return [reshape(context, indices, batch)]
    return [
        reshape(context, take(context, indices, vector, component), batch) for component in range(index_shape[vector])
    ]


def as_si32(context: ImportContext, indices: SSAValue) -> SSAValue:
    """Converts indices to signed 32-bit integers, which hold row numbers."""
    if tensor_type(indices).element_type == si32:
        return indices
    return context.emit(TypecastOp, [indices], tensor(shape(indices), si32))


def wide(context: ImportContext, indices: SSAValue) -> SSAValue:
    """Converts indices to 32-bit integers, which can be compared with every bound."""
    return indices if tensor_type(indices).element_type == ui32 else as_si32(context, indices)


def line(context: ImportContext, batch: tuple[int, ...], dim: int, element: Any) -> SSAValue:
    """Emits a tensor of positions 0, 1, ... along one of its dimensions."""
    return context.emit(ArangeOp, [], tensor(batch, element), start=0, end=batch[dim], step=1, arange_dimension=dim)


def within(context: ImportContext, indices: SSAValue, size: int, indexes: str = "") -> SSAValue:
    """Clamps indices to [0, size). Emits nothing if range analysis shows that they are in range.

    Args:
        indices: the indices.
        size: first index that is too large.
        indexes: op and dimension whose indices the program gives; empty for positions that the compiler computes.
    """
    index_bounds = bounds(indices)
    if index_bounds.low >= 0 and index_bounds.high < size:
        return indices
    marks = {"indexes": indexes} if indexes and context.module.checks_indices else {}
    return context.emit(ClampScalarOp, [indices], tensor_type(indices), min=0, max=size - 1, **marks)


def rows_of(context: ImportContext, table: SSAValue, rows: SSAValue) -> SSAValue:
    """Looks up rows of a table by number."""
    type_ = tensor((*shape(rows), shape(table)[1]), tensor_type(table).element_type)
    return context.emit(EmbeddingOp, [rows, table], type_)


def _in_order(context: ImportContext, gathered: SSAValue, offsets: tuple[int, ...]) -> SSAValue:
    """Moves the slice dimensions, which come last, to their positions in the result."""
    rank = len(shape(gathered))
    batch = [dim for dim in range(rank) if dim not in offsets]
    order = [0] * rank
    for position, dim in enumerate((*batch, *offsets)):
        order[dim] = position
    return permute(context, gathered, tuple(order))
