"""Converter of ``stablehlo.scatter``: writes updates at computed positions, or combines them with the old elements."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from jaxlib.mlir.dialects import stablehlo
from xdsl.dialects.builtin import bf16, f32
from xdsl.ir import SSAValue

from tt_xla.compiler.stablehlo.annotations import PART
from tt_xla.compiler.stablehlo.caches import scatter_slice
from tt_xla.compiler.stablehlo.context import ImportContext, converts
from tt_xla.compiler.stablehlo.creation import full
from tt_xla.compiler.stablehlo.elementwise import choose
from tt_xla.compiler.stablehlo.gather import Axis, as_si32, batch_lines, index_parts, line, row_numbers, wide, within
from tt_xla.compiler.stablehlo.reduction import body_op
from tt_xla.compiler.stablehlo.structure import crop, permute, reshape, scalar_constant
from tt_xla.ir import ttir
from tt_xla.ir.base import TTOp, shape, tensor, tensor_type
from tt_xla.ir.properties import si32
from tt_xla.ir.ttcore import ReduceType
from tt_xla.ir.ttir.contraction import MatmulOp
from tt_xla.ir.ttir.indexing import ScatterOp
from tt_xla.ir.ttir.reduction import MaxOp, MinOp
from tt_xla.ir.ttir.structure import BroadcastOp, GatherOp, PadOp, TypecastOp

_REDUCTIONS: dict[str, tuple[ReduceType, float]] = {
    "stablehlo.add": (ReduceType.SUM, 0),
    "stablehlo.multiply": (ReduceType.PROD, 1),
}
"""Scatter bodies that TT-NN's scatter has, each with the neutral update, which changes nothing."""

_JOINS = {
    "stablehlo.maximum": "maximum",
    "stablehlo.minimum": "minimum",
    "stablehlo.subtract": "subtract",
    "stablehlo.divide": "div",
}
"""Scatter bodies that combine old elements and updates in an op of their own before the scatter; only correct if no two
updates go to the same position."""


_EXTREMES: dict[str, tuple[type[TTOp], float]] = {
    "stablehlo.maximum": (MaxOp, float("-inf")),
    "stablehlo.minimum": (MinOp, float("inf")),
}
"""Scatter bodies for which updates of the same position can be combined first: the reduction that does it, and its
neutral element."""

_MOST_MATCHES = 1 << 20
"""Largest number of elements of the matrix that assigns updates to rows."""

_MOST_PAIRS = 1 << 22
"""Largest number of pairs of updates that are compared; in float32, 16 MiB of them."""


@dataclass(frozen=True)
class _Destinations:
    """Destinations of updates in a table, whose rows are the indexed dimensions and whose columns are the others."""

    indexed: tuple[int, ...]
    """Dimensions of the operand that are indexed."""
    others: tuple[int, ...]
    """The other dimensions of the operand."""
    rows: SSAValue
    """Row numbers [batch..., windows...]."""
    valid: SSAValue | None
    """1 where a whole window lies in the operand, else 0: [batch...]; None if all windows do."""
    updates: SSAValue
    """Updates [rows, columns]."""
    repeats: bool
    """Whether two updates may go to the same position."""
    unclamped_rows: SSAValue | None = None
    """Row numbers [batch...] before they are clamped to the operand; None if they are computed from several indices, or
    where the clamp is a check."""
    axis: Axis | None = None
    """The one dimension along which single elements are scattered, or None. If there is one, rows and updates have the
    dimensions of the operand."""


@converts("stablehlo.scatter")
def scatter(context: ImportContext, op: Any) -> SSAValue:
    """Converts to a write to a donated cache, or to a scatter to the rows of a table.

    The indexed dimensions of the operand become the rows of the table, as in gather. An update outside the operand has
    no effect: it is made neutral, or goes to a spare row that is cut off again.
    """
    result = context.result_type(op)
    if len(op.results) != 1:
        raise context.reject(op, "it updates several tensors at once")
    operand = context[op.operands[0]]
    body = _body(op)
    updated_cache = None if body else scatter_slice(context, op)
    if updated_cache is not None:
        return updated_cache
    destinations = _destinations(context, op)
    is_bool = str(op.operands[0].type.element_type) == "i1"
    if (is_bool and body) or body not in ("", *_REDUCTIONS, *_JOINS):
        raise context.reject(op, f"TT-NN scatters by assignment, sum or product; the body is {_described(op, body)}")
    if body in _JOINS and destinations.repeats and not _can_combine_first(op, body, destinations):
        raise context.reject(
            op, "several updates may go to one position, and TT-NN combines these only by sum or product"
        )
    operand_shape = shape(operand)
    order = (*destinations.indexed, *destinations.others)
    sizes = tuple(math.prod(operand_shape[dim] for dim in dims) for dims in (destinations.indexed, destinations.others))
    is_sum = body == "stablehlo.add" and context.module.approximate and _is_small_sum(destinations, sizes[0])
    if destinations.axis is not None and not (is_sum and len(operand_shape) == 1):
        return _scatter_updates(context, operand, destinations, body)
    table = reshape(context, permute(context, operand, order), sizes)
    table = (
        _add_product(context, table, destinations) if is_sum else _scatter_updates(context, table, destinations, body)
    )
    table = reshape(context, table, tuple(operand_shape[dim] for dim in order))
    result_value = permute(context, table, tuple(order.index(dim) for dim in range(len(operand_shape))))
    assert shape(result_value) == result.get_shape()
    return result_value


def _body(op: Any) -> str:
    """Returns the name of the one op in the body, which combines the old element with the update.

    The name is empty if the body returns the update, and "other" for any other body.
    """
    block = op.regions[0].blocks[0]
    ops = list(block.operations)
    if len(ops) == 1:
        return "" if ops[0].operands[0] == block.arguments[1] else "other"
    in_order = list(ops[0].operands) == list(block.arguments)
    return body_op(op) if in_order and body_op(op) else "other"


def _described(op: Any, body: str) -> str:
    """Returns the name of a body in messages: that of its op, or the names of all."""
    if body != "other":
        return body
    return " and ".join(inner.name for inner in list(op.regions[0].blocks[0].operations)[:-1]) or "its first argument"


def _destinations(context: ImportContext, op: Any) -> _Destinations:
    """Works out where the updates of a scatter go, and brings them into the shape of the table."""
    numbers = stablehlo.ScatterDimensionNumbers(op.attributes["scatter_dimension_numbers"])
    operand, indices, updates = context.operands(op)
    operand_shape, update_shape = shape(operand), shape(updates)
    batching, index_dims = tuple(numbers.input_batching_dims), tuple(numbers.scattered_dims_to_operand_dims)
    update_windows = tuple(numbers.update_window_dims)
    window_dims = [dim for dim in range(len(operand_shape)) if dim not in (*numbers.inserted_window_dims, *batching)]
    position = dict(zip(window_dims, update_windows, strict=True))
    sizes = tuple(update_shape[position[dim]] if dim in position else 1 for dim in range(len(operand_shape)))
    partial = [
        dim
        for dim in range(len(operand_shape))
        if dim not in (*index_dims, *batching) and (dim not in position or sizes[dim] != operand_shape[dim])
    ]
    indices_by_dim = index_parts(context, indices, numbers.index_vector_dim)
    batch = shape(indices_by_dim[0])
    lines = batch_lines(context, batch, numbers.scatter_indices_batching_dims, numbers.index_vector_dim)
    starts = dict(zip(batching, lines, strict=True))
    valid: SSAValue | None = None
    for dim, index in zip(index_dims, indices_by_dim, strict=True):
        index = wide(context, index)
        indexes = "" if PART in op.attributes else f"stablehlo.scatter, dimension {dim}"
        clamped = within(context, index, operand_shape[dim] - sizes[dim] + 1, indexes)
        if clamped is not index:
            is_inside = context.emit(ttir.BINARY_OPS["eq"], [clamped, index], tensor(batch, bf16))
            both = [valid, is_inside]
            valid = (
                is_inside if valid is None else context.emit(ttir.BINARY_OPS["logical_and"], both, tensor(batch, bf16))
            )
        starts[dim] = as_si32(context, clamped)
    starts |= {dim: full(context, 0, tensor(batch, si32)) for dim in partial}
    has_one_index = list(starts) == list(index_dims[:1]) and not context.module.checks_indices
    unclamped_rows = as_si32(context, wide(context, indices_by_dim[0])) if has_one_index else None
    unique = bool(op.attributes["unique_indices"].value) if "unique_indices" in op.attributes else False
    repeats = not unique and math.prod(batch) > 1
    if not position and len(index_dims) == 1 and not partial:
        (dim,) = index_dims
        index_batching = numbers.scatter_indices_batching_dims
        axis = Axis.of(dim, batching, index_batching, numbers.index_vector_dim, starts[dim])
        rows, updates = axis.to_operand_dims(context, starts[dim]), axis.to_operand_dims(context, updates)
        return _Destinations((dim,), batching, rows, valid, updates, repeats, unclamped_rows, axis)
    windows = tuple(dim for dim in starts if dim in position)
    rows = row_numbers(context, starts, operand_shape, sizes, windows)
    others = tuple(dim for dim in range(len(operand_shape)) if dim not in starts)
    order = [dim for dim in range(len(update_shape)) if dim not in update_windows]
    updates = permute(context, updates, (*order, *(position[dim] for dim in (*windows, *others))))
    updates = reshape(context, updates, (math.prod(shape(rows)), math.prod(operand_shape[dim] for dim in others)))
    return _Destinations(tuple(starts), others, rows, valid, updates, repeats, None if windows else unclamped_rows)


def _scatter_updates(context: ImportContext, table: SSAValue, destinations: _Destinations, body: str) -> SSAValue:
    """Scatters the updates to the rows of a table [R, C], or along one dimension of the operand."""
    if destinations.axis is None:
        table, rows, updates, dim = _scatter_operands(context, table, destinations)
    else:
        rows, updates, dim = destinations.rows, destinations.updates, destinations.axis.dim
    total, element = shape(table)[dim], tensor_type(table).element_type
    has_spare_row = False
    if destinations.valid is not None:
        valid = (
            _row_validity(context, destinations, dim)
            if destinations.axis is None
            else destinations.axis.to_operand_dims(context, destinations.valid)
        )
        if body in _REDUCTIONS:
            neutral = full(context, _REDUCTIONS[body][1], tensor_type(updates))
            updates = choose(context, valid, updates, neutral)
        else:
            has_spare_row = True
            table = _with_spare_row(context, table, dim)
            rows = choose(context, valid, rows, full(context, total, tensor_type(rows)))
    if body in _EXTREMES and destinations.repeats:
        updates = _combined(context, rows, updates, dim, body)
    if body in _JOINS:
        old_elements = context.emit(GatherOp, [table, rows], tensor_type(updates), dim=dim)
        updates = context.emit(ttir.BINARY_OPS[_JOINS[body]], [old_elements, updates], tensor_type(updates))
    kind = _REDUCTIONS[body][0] if body in _REDUCTIONS else ReduceType.INVALID
    type_ = tensor(shape(table), element)
    table = context.emit(ScatterOp, [table, rows, updates], type_, dim=dim, scatter_reduce_type=kind)
    if has_spare_row:
        table = crop(context, table, dim, 0, total)
    return table


def _is_small_sum(destinations: _Destinations, rows: int) -> bool:
    """Whether a matrix product should add the updates to the rows: they are floats, and the matrix is not too large.

    TT-NN's own scatter works row by row, and takes a row number in range for each element.
    """
    floats = tensor_type(destinations.updates).element_type in (bf16, f32)
    count = math.prod(shape(destinations.rows))
    return floats and count * rows <= _MOST_MATCHES


def _add_product(context: ImportContext, table: SSAValue, destinations: _Destinations) -> SSAValue:
    """Adds the updates to the rows of a table [R, C] by a matrix product.

    The left matrix has a 1 where an update (column) belongs to a row, else 0. Row numbers outside the table match no
    row.
    """
    rows, count = shape(table)[0], math.prod(shape(destinations.rows))
    row_numbers_of_updates = destinations.unclamped_rows
    if row_numbers_of_updates is None:
        row_numbers_of_updates = reshape(context, destinations.rows, (count, 1))
        if destinations.valid is not None:
            valid = _row_validity(context, destinations, 0)
            row_numbers_of_updates = choose(
                context, valid, row_numbers_of_updates, full(context, -1, tensor_type(row_numbers_of_updates))
            )
    element, pairs = tensor_type(table).element_type, (rows, count)

    def spread(value: SSAValue, *sizes: int) -> SSAValue:
        reshaped, factors = reshape(context, value, sizes), tuple(map(int.__floordiv__, pairs, sizes))
        return context.emit(BroadcastOp, [reshaped], tensor(pairs, si32), broadcast_dimensions=factors)

    lines = line(context, (rows,), 0, si32)
    sides = [spread(lines, rows, 1), spread(row_numbers_of_updates, 1, count)]
    matches = context.emit(ttir.BINARY_OPS["eq"], sides, tensor(pairs, bf16))
    if element is not bf16:
        matches = context.emit(TypecastOp, [matches], tensor(pairs, element))
    updates = reshape(context, destinations.updates, (count, shape(table)[1]))
    flags = {"transpose_a": False, "transpose_b": False}
    product = context.emit(MatmulOp, [matches, updates], tensor_type(table), **flags)
    if scalar_constant(table) == 0:
        return product
    return context.emit(ttir.BINARY_OPS["add"], [table, product], tensor_type(table))


def _can_combine_first(op: Any, body: str, destinations: _Destinations) -> bool:
    """Whether updates of the same position can be combined by comparing all pairs: floats, and not too many of them."""
    updates = shape(destinations.updates)
    count = updates[destinations.axis.dim if destinations.axis is not None else 0]
    floats = str(op.operands[0].type.element_type) in ("bf16", "f16", "f32", "f64")
    return body in _EXTREMES and floats and math.prod(updates) * count <= _MOST_PAIRS


def _combined(context: ImportContext, rows: SSAValue, updates: SSAValue, dim: int, body: str) -> SSAValue:
    """Combines each update with all updates of the same position, so that it does not matter which is written last."""
    kind, neutral = _EXTREMES[body]
    sizes, element = shape(updates), tensor_type(updates).element_type
    count = sizes[dim]
    pairs = (*sizes[:dim], count, *sizes[dim:])

    def paired(value: SSAValue, axis: int) -> SSAValue:
        """Repeats a value along one axis of the pairs."""
        reshaped = reshape(context, value, (*pairs[:axis], 1, *pairs[axis + 1 :]))
        factors = tuple(count if dimension == axis else 1 for dimension in range(len(pairs)))
        type_ = tensor(pairs, tensor_type(value).element_type)
        return context.emit(BroadcastOp, [reshaped], type_, broadcast_dimensions=factors)

    matches = context.emit(ttir.BINARY_OPS["eq"], [paired(rows, dim), paired(rows, dim + 1)], tensor(pairs, bf16))
    others = paired(updates, dim)
    candidates = choose(context, matches, others, full(context, neutral, tensor_type(others)))
    return context.emit(kind, [candidates], tensor(sizes, element), dim_arg=(dim + 1,), keep_dim=False)


def _scatter_operands(
    context: ImportContext, table: SSAValue, destinations: _Destinations
) -> tuple[SSAValue, SSAValue, SSAValue, int]:
    """Returns table, row numbers and updates for a TT-NN scatter, and its dimension.

    A table of one column is laid along the last dimension.
    """
    count, columns = shape(destinations.updates)
    if columns == 1:
        table, rows, updates = (
            reshape(context, value, (1, math.prod(shape(value))))
            for value in (table, destinations.rows, destinations.updates)
        )
        return table, rows, updates, 1
    rows = reshape(context, destinations.rows, (count, 1))
    spread = tensor((count, columns), tensor_type(rows).element_type)
    rows = context.emit(BroadcastOp, [rows], spread, broadcast_dimensions=(1, columns))
    return table, rows, destinations.updates, 0


def _row_validity(context: ImportContext, destinations: _Destinations, dim: int) -> SSAValue:
    """Returns whether each row's window lies in the operand: [rows, 1], or [1, rows] for a table along dimension 1."""
    assert destinations.valid is not None
    batch, row_shape = shape(destinations.valid), shape(destinations.rows)
    extra = len(row_shape) - len(batch)
    value = reshape(context, destinations.valid, (*batch, *(1,) * extra))
    factors = (*(1,) * len(batch), *row_shape[len(batch) :])
    if any(factor != 1 for factor in factors):
        value = context.emit(BroadcastOp, [value], tensor(row_shape, bf16), broadcast_dimensions=factors)
    return reshape(context, value, (1, math.prod(row_shape)) if dim == 1 else (math.prod(row_shape), 1))


def _with_spare_row(context: ImportContext, table: SSAValue, dim: int) -> SSAValue:
    """Extends the table by one position along a dimension, for updates that must have no effect."""
    sizes = shape(table)
    type_ = tensor(tuple(size + (index == dim) for index, size in enumerate(sizes)), tensor_type(table).element_type)
    known = scalar_constant(table)
    if known is not None:
        return full(context, known, type_)
    padding = tuple(int(index == 2 * dim + 1) for index in range(2 * len(sizes)))
    return context.emit(PadOp, [table], type_, padding=padding, value=0.0)
