"""scatter: updates put, or joined with what is there, at computed positions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from jaxlib.mlir.dialects import stablehlo
from xdsl.dialects.builtin import bf16, f32
from xdsl.ir import SSAValue

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
"""Bodies that TT-NN's scatter has, with the update that changes nothing."""

_JOINS = {
    "stablehlo.maximum": "maximum",
    "stablehlo.minimum": "minimum",
    "stablehlo.subtract": "subtract",
    "stablehlo.divide": "div",
}
"""Bodies that join what is there and the update before it is put; only where no position comes twice."""


_EXTREMES: dict[str, tuple[type[TTOp], float]] = {
    "stablehlo.maximum": (MaxOp, float("-inf")),
    "stablehlo.minimum": (MinOp, float("inf")),
}
"""Bodies by which updates of one place are joined first, as the reduction that does it, and what changes nothing."""

_MOST_MATCHES = 1 << 20
"""How many elements the matrix may have that says which update goes to which row."""

_MOST_PAIRS = 1 << 22
"""How many pairs of updates may be compared; in float32, 16 MiB of them."""


@dataclass(frozen=True)
class _Places:
    """Where updates go in a table whose rows are the dimensions that are indexed, whose columns are the others."""

    indexed: tuple[int, ...]
    others: tuple[int, ...]
    rows: SSAValue
    """Row numbers [batch..., windows...]."""
    valid: SSAValue | None
    """1 where a whole window lies in the operand, else 0, [batch...]; None where all do."""
    updates: SSAValue
    """[rows, columns]."""
    repeats: bool
    """Whether two updates may go to one place."""
    given: SSAValue | None = None
    """Row numbers [batch...] before they are brought into the operand; None where they are made of several indices."""
    axis: Axis | None = None
    """Where single elements go along one dimension: rows and updates then lie as the operand does."""


@converts("stablehlo.scatter")
def scatter(context: ImportContext, op: Any) -> SSAValue:
    """A write to a cache that is given up; else the indexed dimensions of the operand become the rows of a table, as in
    gather. Updates that would go outside
    change nothing: they turn neutral, or go to a row that is cut off again."""
    result = context.result_type(op)
    if len(op.results) != 1:
        raise context.reject(op, "it updates several tensors at once")
    operand = context[op.operands[0]]
    body = _body(op)
    written = None if body else scatter_slice(context, op)
    if written is not None:
        return written
    places = _places(context, op)
    is_bool = str(op.operands[0].type.element_type) == "i1"
    if (is_bool and body) or body not in ("", *_REDUCTIONS, *_JOINS):
        raise context.reject(op, "TT-NN does not scatter with its body")
    if body in _JOINS and places.repeats and not _joins_first(op, body, places):
        raise context.reject(op, "two updates may go to one place, and TT-NN joins such by sum and product alone")
    whole = shape(operand)
    order = (*places.indexed, *places.others)
    sizes = tuple(math.prod(whole[dim] for dim in dims) for dims in (places.indexed, places.others))
    is_sum = body == "stablehlo.add" and context.module.approximate and _is_small_sum(places, sizes[0])
    if places.axis is not None and not (is_sum and len(whole) == 1):
        return _put(context, operand, places, body)
    table = reshape(context, permute(context, operand, order), sizes)
    table = _add_product(context, table, places) if is_sum else _put(context, table, places, body)
    table = reshape(context, table, tuple(whole[dim] for dim in order))
    found = permute(context, table, tuple(order.index(dim) for dim in range(len(whole))))
    assert shape(found) == result.get_shape()
    return found


def _body(op: Any) -> str:
    """The name of the op that joins what is there and the update, empty for one that just puts the update, "other" for
    any other body."""
    block = op.regions[0].blocks[0]
    ops = list(block.operations)
    if len(ops) == 1:
        return "" if ops[0].operands[0] == block.arguments[1] else "other"
    in_order = list(ops[0].operands) == list(block.arguments)
    return body_op(op) if in_order and body_op(op) else "other"


def _places(context: ImportContext, op: Any) -> _Places:
    numbers = stablehlo.ScatterDimensionNumbers(op.attributes["scatter_dimension_numbers"])
    operand, indices, updates = context.operands(op)
    whole, given = shape(operand), shape(updates)
    batching, starts_at = tuple(numbers.input_batching_dims), tuple(numbers.scattered_dims_to_operand_dims)
    update_windows = tuple(numbers.update_window_dims)
    kept = [dim for dim in range(len(whole)) if dim not in (*numbers.inserted_window_dims, *batching)]
    position = dict(zip(kept, update_windows, strict=True))
    sizes = tuple(given[position[dim]] if dim in position else 1 for dim in range(len(whole)))
    partial = [dim for dim in kept if dim not in starts_at and sizes[dim] != whole[dim]]
    parts = index_parts(context, indices, numbers.index_vector_dim)
    batch = shape(parts[0])
    lines = batch_lines(context, batch, numbers.scatter_indices_batching_dims, numbers.index_vector_dim)
    starts = dict(zip(batching, lines, strict=True))
    valid: SSAValue | None = None
    for dim, part in zip(starts_at, parts, strict=True):
        part = wide(context, part)
        inside = within(context, part, whole[dim] - sizes[dim] + 1)
        if inside is not part:
            here = context.emit(ttir.BINARY_OPS["eq"], [inside, part], tensor(batch, bf16))
            both = [valid, here]
            valid = here if valid is None else context.emit(ttir.BINARY_OPS["logical_and"], both, tensor(batch, bf16))
        starts[dim] = as_si32(context, inside)
    given_rows = as_si32(context, wide(context, parts[0])) if list(starts) == list(starts_at[:1]) else None
    starts |= {dim: full(context, 0, tensor(batch, si32)) for dim in partial}
    once = bool(op.attributes["unique_indices"].value) if "unique_indices" in op.attributes else False
    repeats = not once and math.prod(batch) > 1
    if not position and len(starts_at) == 1 and not partial:
        (dim,) = starts_at
        given_batching = numbers.scatter_indices_batching_dims
        axis = Axis.of(dim, batching, given_batching, numbers.index_vector_dim, starts[dim])
        rows, updates = axis.bring(context, starts[dim]), axis.bring(context, updates)
        return _Places((dim,), batching, rows, valid, updates, repeats, given_rows, axis)
    windows = tuple(dim for dim in starts if dim in position)
    rows = row_numbers(context, starts, whole, sizes, windows)
    others = tuple(dim for dim in range(len(whole)) if dim not in starts)
    order = [dim for dim in range(len(given)) if dim not in update_windows]
    updates = permute(context, updates, (*order, *(position[dim] for dim in (*windows, *others))))
    updates = reshape(context, updates, (math.prod(shape(rows)), math.prod(whole[dim] for dim in others)))
    return _Places(tuple(starts), others, rows, valid, updates, repeats, None if windows else given_rows)


def _put(context: ImportContext, table: SSAValue, places: _Places, body: str) -> SSAValue:
    """The table [R, C], or the operand itself, with the updates in their places."""
    if places.axis is None:
        table, rows, updates, dim = _as_lines(context, table, places)
    else:
        rows, updates, dim = places.rows, places.updates, places.axis.dim
    total, element = shape(table)[dim], tensor_type(table).element_type
    spare = False
    if places.valid is not None:
        valid = _of_rows(context, places, dim) if places.axis is None else places.axis.bring(context, places.valid)
        if body in _REDUCTIONS:
            neutral = full(context, _REDUCTIONS[body][1], tensor_type(updates))
            updates = choose(context, valid, updates, neutral)
        else:
            spare = True
            table = _with_spare(context, table, dim)
            rows = choose(context, valid, rows, full(context, total, tensor_type(rows)))
    if body in _EXTREMES and places.repeats:
        updates = _joined(context, rows, updates, dim, body)
    if body in _JOINS:
        there = context.emit(GatherOp, [table, rows], tensor_type(updates), dim=dim)
        updates = context.emit(ttir.BINARY_OPS[_JOINS[body]], [there, updates], tensor_type(updates))
    kind = _REDUCTIONS[body][0] if body in _REDUCTIONS else ReduceType.INVALID
    type_ = tensor(shape(table), element)
    table = context.emit(ScatterOp, [table, rows, updates], type_, dim=dim, scatter_reduce_type=kind)
    if spare:
        table = crop(context, table, dim, 0, total)
    return table


def _is_small_sum(places: _Places, rows: int) -> bool:
    """Whether updates are to be added to rows by a matrix product: floats, and a matrix that is not too large.

    TT-NN scatters row by row, and wants a row number for each element, brought into range.
    """
    floats = tensor_type(places.updates).element_type in (bf16, f32)
    count = math.prod(shape(places.rows))
    return floats and count * rows <= _MOST_MATCHES


def _add_product(context: ImportContext, table: SSAValue, places: _Places) -> SSAValue:
    """The table [R, C] plus a matrix product: of ones where an update belongs to a row, else zeros, and the updates.

    Row numbers outside the table match no row.
    """
    rows, count = shape(table)[0], math.prod(shape(places.rows))
    numbers = places.given
    if numbers is None:
        numbers = reshape(context, places.rows, (count, 1))
        if places.valid is not None:
            valid = _of_rows(context, places, 0)
            numbers = choose(context, valid, numbers, full(context, -1, tensor_type(numbers)))
    element, pairs = tensor_type(table).element_type, (rows, count)

    def spread(value: SSAValue, *sizes: int) -> SSAValue:
        apart, factors = reshape(context, value, sizes), tuple(map(int.__floordiv__, pairs, sizes))
        return context.emit(BroadcastOp, [apart], tensor(pairs, si32), broadcast_dimensions=factors)

    lines = line(context, (rows,), 0, si32)
    sides = [spread(lines, rows, 1), spread(numbers, 1, count)]
    same = context.emit(ttir.BINARY_OPS["eq"], sides, tensor(pairs, bf16))
    if element is not bf16:
        same = context.emit(TypecastOp, [same], tensor(pairs, element))
    updates = reshape(context, places.updates, (count, shape(table)[1]))
    flags = {"transpose_a": False, "transpose_b": False}
    found = context.emit(MatmulOp, [same, updates], tensor_type(table), **flags)
    if scalar_constant(table) == 0:
        return found
    return context.emit(ttir.BINARY_OPS["add"], [table, found], tensor_type(table))


def _joins_first(op: Any, body: str, places: _Places) -> bool:
    """Whether updates of one place are to be joined by comparing each with each: floats, and not too many of them."""
    updates = shape(places.updates)
    count = updates[places.axis.dim if places.axis is not None else 0]
    floats = str(op.operands[0].type.element_type) in ("bf16", "f16", "f32", "f64")
    return body in _EXTREMES and floats and math.prod(updates) * count <= _MOST_PAIRS


def _joined(context: ImportContext, rows: SSAValue, updates: SSAValue, dim: int, body: str) -> SSAValue:
    """Each update joined with all that go to the same place, so that whichever is put last does no harm."""
    kind, neutral = _EXTREMES[body]
    sizes, element = shape(updates), tensor_type(updates).element_type
    count = sizes[dim]
    pairs = (*sizes[:dim], count, *sizes[dim:])

    def paired(value: SSAValue, axis: int) -> SSAValue:
        """The same along one axis of the pairs."""
        apart = reshape(context, value, (*pairs[:axis], 1, *pairs[axis + 1 :]))
        factors = tuple(count if at == axis else 1 for at in range(len(pairs)))
        type_ = tensor(pairs, tensor_type(value).element_type)
        return context.emit(BroadcastOp, [apart], type_, broadcast_dimensions=factors)

    same = context.emit(ttir.BINARY_OPS["eq"], [paired(rows, dim), paired(rows, dim + 1)], tensor(pairs, bf16))
    others = paired(updates, dim)
    found = choose(context, same, others, full(context, neutral, tensor_type(others)))
    return context.emit(kind, [found], tensor(sizes, element), dim_arg=(dim + 1,), keep_dim=False)


def _as_lines(context: ImportContext, table: SSAValue, places: _Places) -> tuple[SSAValue, SSAValue, SSAValue, int]:
    """Table, row numbers and updates for a scatter, and its dimension; a table of one column lies along the last."""
    count, columns = shape(places.updates)
    if columns == 1:
        table, rows, updates = (
            reshape(context, value, (1, math.prod(shape(value)))) for value in (table, places.rows, places.updates)
        )
        return table, rows, updates, 1
    rows = reshape(context, places.rows, (count, 1))
    spread = tensor((count, columns), tensor_type(rows).element_type)
    rows = context.emit(BroadcastOp, [rows], spread, broadcast_dimensions=(1, columns))
    return table, rows, places.updates, 0


def _of_rows(context: ImportContext, places: _Places, dim: int) -> SSAValue:
    """Whether each row's window lies in the operand, [rows, 1]; [1, rows] for a table that is a line."""
    assert places.valid is not None
    batch, wanted = shape(places.valid), shape(places.rows)
    extra = len(wanted) - len(batch)
    value = reshape(context, places.valid, (*batch, *(1,) * extra))
    factors = (*(1,) * len(batch), *wanted[len(batch) :])
    if any(factor != 1 for factor in factors):
        value = context.emit(BroadcastOp, [value], tensor(wanted, bf16), broadcast_dimensions=factors)
    return reshape(context, value, (1, math.prod(wanted)) if dim == 1 else (math.prod(wanted), 1))


def _with_spare(context: ImportContext, table: SSAValue, dim: int) -> SSAValue:
    """The table with one more place along a dimension, for what is to be cut off."""
    sizes = shape(table)
    type_ = tensor(tuple(size + (at == dim) for at, size in enumerate(sizes)), tensor_type(table).element_type)
    known = scalar_constant(table)
    if known is not None:
        return full(context, known, type_)
    padding = tuple(int(place == 2 * dim + 1) for place in range(2 * len(sizes)))
    return context.emit(PadOp, [table], type_, padding=padding, value=0.0)
