"""Rules of gathers and scatters, of rows that are split over chips too."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from tt_xla.compiler.sharding.builder import element_type, i64s, local_shape, single_op
from tt_xla.compiler.sharding.context import Hints, Localiser, is_parameter, localises, shape_of
from tt_xla.compiler.sharding.emitter import Shard
from tt_xla.compiler.sharding.factors import Dims, Factors, Splits, identity_value
from tt_xla.compiler.sharding.partial_sums import combine
from tt_xla.compiler.sharding.reshard import axes_before, moved_elements
from tt_xla.compiler.sharding.rules.structure import integers
from tt_xla.compiler.stablehlo.annotations import INDEXES, PART
from tt_xla.ir.mesh import Axes, Mesh, Shape, Sharding


@dataclass(frozen=True)
class _Dims:
    """How the dimensions of a table, of indices into it, and of rows correspond."""

    table: Dims
    indices: Dims
    rows: Dims
    indexed: dict[int, int]
    """For each dimension of the table that indices select one element of: its place in an index."""
    vector: int
    """Dimension of the indices that makes one index; their rank if an index is a scalar."""


def _correspond(
    table: Sequence[int],
    indices_rank: int,
    rows_rank: int,
    window: Sequence[int],
    offset: Sequence[int],
    removed: Sequence[int],
    table_batch: Sequence[int],
    indices_batch: Sequence[int],
    index_map: Sequence[int],
    vector: int,
) -> _Dims:
    """Returns the correspondence of dimensions.

    Args:
        window: size of a window along each dimension of the table.
        offset: dimensions of the rows that lie in a window.
        removed: dimensions of the table that rows do not have, without those of the batch.
    """
    count = 0
    rows: list[int | None] = [None] * rows_rank
    indices_dims: list[int | None] = [None] * indices_rank
    table_dims: list[int | None] = [None] * len(table)
    batch_rows = [dim for dim in range(rows_rank) if dim not in offset]
    for row, dim in zip(batch_rows, [dim for dim in range(indices_rank) if dim != vector], strict=True):
        rows[row] = indices_dims[dim] = count
        count += 1
    for dim, index in zip(table_batch, indices_batch, strict=True):
        table_dims[dim] = indices_dims[index]
    window_dims = [dim for dim in range(len(table)) if dim not in removed and dim not in table_batch]
    for row, dim in zip(offset, window_dims, strict=True):
        if window[dim] == table[dim]:
            rows[row] = table_dims[dim] = count
            count += 1
    indexed = {dim: place for place, dim in enumerate(index_map) if dim in removed and window[dim] == 1}
    return _Dims(tuple(table_dims), tuple(indices_dims), tuple(rows), indexed, vector)


@localises("stablehlo.gather")
def gather(context: Localiser, op: Any, operands: Sequence[Shard], hints: Hints) -> Sequence[Shard]:
    """Gathers from the chip's part of the table.

    Where the indexed rows are split, each chip gathers those that it has and zeros for the others, and the chips'
    results are added. If the indices are split along the same axes, that is done with all of them where it moves less
    than the whole table.
    """
    table, indices = operands
    numbers = stablehlo.GatherDimensionNumbers(op.attributes["dimension_numbers"])
    sizes = integers(op.attributes["slice_sizes"])
    result_rank = len(ir.RankedTensorType(op.results[0].type).shape)
    dims = _correspond(
        table.shape,
        indices.rank,
        result_rank,
        sizes,
        numbers.offset_dims,
        numbers.collapsed_slice_dims,
        numbers.operand_batching_dims,
        numbers.start_indices_batching_dims,
        numbers.start_index_map,
        numbers.index_vector_dim,
    )
    splits = Factors([dims.table, dims.indices], [dims.rows]).splits(context, operands, hints)
    with_own_rows = _with_split_rows(table, splits, dims)
    if with_own_rows is not None and not is_parameter(op.operands[0]):
        costs = [_moved_by_gather(op, one, operands, dims, hints[0]) for one in (splits, with_own_rows)]
        splits = with_own_rows if costs[1] < costs[0] else splits
    table_sharding, rows_split = _table_sharding(table, splits, dims)
    part, places = context.reshard(table, table_sharding), context.reshard(indices, splits.sharding(dims.indices))
    shape = local_shape(part.value)
    local = [
        shape[dim] if dims.table[dim] is not None and dim in _window(dims, sizes, table) else size
        for dim, size in enumerate(sizes)
    ]
    attributes = {"slice_sizes": i64s(local)}
    if not rows_split:
        values = context.copy(op, [part.value, places.value], splits.result_types(op), attributes)
        return splits.results(op, values)
    own, present = _own_rows(context, part, places.value, dims, rows_split, clamp=True)
    attributes["indices_are_sorted"] = ir.BoolAttr.get(False)
    (value,) = context.copy(op, [part.value, own], splits.result_types(op), attributes)
    build = context.builder
    row_dims = [dim for dim in range(result_rank) if dim not in numbers.offset_dims]
    zeros = build.broadcast(build.zero(element_type(value)), local_shape(value))
    value = build.select(build.broadcast(present, local_shape(value), row_dims), value, zeros)
    (partial,) = splits.results(op, [value])
    axes = tuple(axis for split_axes in rows_split.values() for axis in split_axes)
    kind = "or" if str(element_type(value)) == "i1" else "add"
    return [combine(context, partial, axes, kind, hints[0])]


def _window(dims: _Dims, sizes: Sequence[int], table: Shard) -> list[int]:
    """Returns the dimensions that a window has as a whole."""
    return [dim for dim, size in enumerate(sizes) if dims.table[dim] in dims.rows and size == table.shape[dim]]


def _table_sharding(table: Shard, splits: Splits, dims: _Dims) -> tuple[Sharding, dict[int, Axes]]:
    """Returns the sharding in which a table is used, and the axes of its indexed dimensions that are split there.

    These dimensions stay split where no other dimension uses their axes.
    """
    used = {axis for axes in splits.axes.values() for axis in axes}
    rows = {dim: axes for dim in dims.indexed if (axes := table.sharding.dims[dim]) and not used & {*axes}}
    plain = splits.sharding(dims.table)
    return Sharding(tuple(rows.get(dim, axes) for dim, axes in enumerate(plain.dims))), rows


def _with_split_rows(table: Shard, splits: Splits, dims: _Dims) -> Splits | None:
    """Returns splits that leave the axes of the table's indexed dimensions to these; None if they do so already."""
    rows = {axis for dim in dims.indexed for axis in table.sharding.dims[dim]}
    kept = {factor: axes_before(axes, rows) for factor, axes in splits.axes.items()}
    return None if kept == splits.axes else Splits(splits.context, splits.factors, kept)


def _moved_by_gather(op: Any, splits: Splits, operands: Sequence[Shard], dims: _Dims, hint: Sharding | None) -> int:
    """Returns an estimate of the elements that a chip receives for a gather."""
    table, indices = operands
    mesh, shape = splits.context.mesh, shape_of(op.results[0])
    table_sharding, rows_split = _table_sharding(table, splits, dims)
    moved = moved_elements(mesh, table.shape, table.sharding, table_sharding)
    moved += moved_elements(mesh, indices.shape, indices.sharding, splits.sharding(dims.indices))
    return moved + _moved_by_result(mesh, shape, splits.sharding(dims.rows), rows_split.values(), hint)


def _moved_by_result(mesh: Mesh, shape: Shape, now: Sharding, combined: Iterable[Axes], hint: Sharding | None) -> int:
    """Returns an estimate of the elements that a chip receives until a result has the sharding that is wanted.

    Args:
        mesh: the mesh.
        shape: global shape of the result.
        now: sharding of the chips' results.
        combined: axes over which these are combined.
        hint: the wanted sharding; None if any will do.
    """
    moved, axes = 0, {axis for part in combined for axis in part}
    if axes:
        scatters = hint is not None and axes <= hint.splitting_axes
        moved = math.prod(now.local_shape(mesh, shape)) * (1 if scatters else 2)
        if scatters:
            return moved
    return moved + (0 if hint is None else moved_elements(mesh, shape, now, hint))


def _own_rows(
    context: Localiser, table: Shard, indices: Any, dims: _Dims, split: dict[int, Axes], *, clamp: bool
) -> tuple[Any, Any]:
    """Returns indices into a chip's part of a table, and which of them lie in it.

    Args:
        split: axes of the indexed dimensions that are split.
        clamp: whether indices outside of the table mean its nearest element, and those returned must lie in the part.
    """
    build = context.builder
    indices = context.builder.signed(indices)
    shape = local_shape(indices)
    if dims.vector == len(shape):
        indices, shape = build.reshape(indices, [*shape, 1]), [*shape, 1]
    rows = [size for dim, size in enumerate(shape) if dim != dims.vector]
    places: list[Any] = []
    present: Any = None
    by_place = {place: dim for dim, place in dims.indexed.items()}
    for place in range(shape[dims.vector]):
        column = build.slice_dim(indices, dims.vector, place, place + 1)
        dim = by_place.get(place)
        if dim in split:
            length, size = local_shape(table.value)[dim], table.shape[dim]
            if clamp:
                column = _clamped(context, column, 0, size - 1, f"stablehlo.gather, dimension {dim}")
            offset = build.convert(context.offset(split[dim], length), element_type(column))
            column = build.binary("subtract", column, build.broadcast(offset, local_shape(column)))
            inside = build.binary("and", _compared(context, column, 0, "GE"), _compared(context, column, length, "LT"))
            present = inside if present is None else build.binary("and", present, inside)
            column = _clamped(context, column, 0, length - 1) if clamp else column
        places.append(column)
    joined = build.concatenate(places, dims.vector)
    if dims.vector == len(shape) - 1 and shape[-1] == 1 and dims.vector == len(rows) and len(dims.indices) == len(rows):
        joined = build.reshape(joined, rows)
    return joined, build.reshape(present, rows)


def _clamped(context: Localiser, value: Any, low: int, high: int, indexes: str = "") -> Any:
    """Clamps values to [low, high]; ``indexes`` is what they index if they are indices of the program."""
    build = context.builder
    bounds = [build.convert(build.scalar(bound), element_type(value)) for bound in (low, high)]
    marks = {INDEXES: ir.StringAttr.get(indexes)} if indexes else {}
    return build.result("clamp", [bounds[0], value, bounds[1]], value.type, marks)


def _compared(context: Localiser, value: Any, bound: int, direction: str) -> Any:
    build = context.builder
    limit = build.convert(build.scalar(bound), element_type(value))
    return build.compare(value, build.broadcast(limit, local_shape(value)), direction)


@localises("stablehlo.scatter")
def scatter(context: Localiser, op: Any, operands: Sequence[Shard], hints: Hints) -> Sequence[Shard]:
    """Scatters into the chip's part of the table.

    A chip leaves out the rows that it does not have: their indices lie outside of its part. Where updates are split,
    each chip scatters its own into a neutral table, and the chips' results are combined.
    """
    count = (len(operands) - 1) // 2
    tables, indices, updates = operands[:count], operands[count], operands[count + 1 :]
    dims = _scatter_dims(op, tables[0], indices, updates[0])
    factors = Factors([dims.table] * count + [dims.indices] + [dims.rows] * count, [dims.table] * count)
    splits = factors.splits(context, operands, hints)
    with_own_rows = _with_split_rows(tables[0], splits, dims)
    if with_own_rows is not None:
        costs = [_moved_by_scatter(one, operands, dims, hints[0]) for one in (splits, with_own_rows)]
        splits = with_own_rows if costs[1] < costs[0] else splits
    kind = single_op(op.regions[0])
    identity = identity_value(context, kind, element_type(tables[0].value)) if kind and count == 1 else None
    if splits.reduced() and (identity is None or kind not in ("add", "maximum", "minimum", "multiply", "and", "or")):
        in_table = {factor for factor in dims.table if factor is not None}
        splits = Splits(context, factors, {factor: axes for factor, axes in splits.axes.items() if factor in in_table})
    table_sharding, rows_split = _table_sharding(tables[0], splits, dims)
    parts = [context.reshard(table, table_sharding) for table in tables]
    places, leaves_out = _scatter_places(context, splits, parts[0], indices, dims, rows_split)
    changed = [context.reshard(update, splits.sharding(dims.rows)).value for update in updates]
    axes = splits.reduced()
    targets = [part.value for part in parts]
    if axes:
        targets = [context.builder.broadcast(identity, local_shape(targets[0]))]
    attributes: dict[str, Any] = {"indices_are_sorted": ir.BoolAttr.get(False)} if rows_split or axes else {}
    attributes |= {PART: ir.UnitAttr.get()} if leaves_out else {}
    types = [target.type for target in targets]
    values = context.copy(op, [*targets, places, *changed], types, attributes)
    if not axes:
        return context.shards(op, values, [table_sharding] * count)
    (partial,) = context.shards(op, values, [table_sharding])
    wanted = None if hints[0] is None else table_sharding.with_unreduced(hints[0].unreduced)
    total = combine(context, partial, axes, kind, wanted)
    table = context.reshard(parts[0], total.sharding)
    value = context.builder.binary(kind, table.value, total.value)
    return [Shard(value, total.shape, total.sharding)]


def _moved_by_scatter(splits: Splits, operands: Sequence[Shard], dims: _Dims, hint: Sharding | None) -> int:
    """Returns an estimate of the elements that a chip receives for a scatter."""
    count = (len(operands) - 1) // 2
    mesh, table = splits.context.mesh, operands[0]
    table_sharding, _ = _table_sharding(table, splits, dims)
    moved = moved_elements(mesh, table.shape, table.sharding, table_sharding)
    moved += sum(
        moved_elements(mesh, update.shape, update.sharding, splits.sharding(dims.rows))
        for update in operands[count + 1 :]
    )
    moved += moved_elements(mesh, operands[count].shape, operands[count].sharding, splits.sharding(dims.indices))
    return moved + _moved_by_result(mesh, table.shape, table_sharding, [splits.reduced()], hint)


def _scatter_dims(op: Any, table: Shard, indices: Shard, update: Shard) -> _Dims:
    numbers = stablehlo.ScatterDimensionNumbers(op.attributes["scatter_dimension_numbers"])
    inserted, batch = list(numbers.inserted_window_dims), list(numbers.input_batching_dims)
    window_dims = [dim for dim in range(table.rank) if dim not in inserted and dim not in batch]
    window = [1] * table.rank
    for row, dim in zip(numbers.update_window_dims, window_dims, strict=True):
        window[dim] = update.shape[row]
    return _correspond(
        table.shape,
        indices.rank,
        update.rank,
        window,
        list(numbers.update_window_dims),
        inserted,
        batch,
        list(numbers.scatter_indices_batching_dims),
        list(numbers.scattered_dims_to_operand_dims),
        numbers.index_vector_dim,
    )


def _scatter_places(
    context: Localiser, splits: Splits, table: Shard, indices: Shard, dims: _Dims, rows_split: dict[int, Axes]
) -> tuple[Any, bool]:
    """Returns the indices of a chip's updates; those of padding, and of rows that it does not have, lie outside.

    Also returns whether there may be such indices.
    """
    part = context.reshard(indices, splits.sharding(dims.indices))
    padded = [
        dim
        for dim in range(part.rank)
        if dims.indices[dim] not in dims.table and dim != dims.vector and context.is_padded(part, dim)
    ]
    if padded:
        build, element = context.builder, element_type(part.value)
        outside = build.convert(build.scalar(-1 if not element.is_unsigned else 2**31 - 1), element)
        part = context.masked(part, padded, outside)
    if not rows_split:
        return part.value, bool(padded)
    return _own_rows(context, table, part.value, dims, rows_split, clamp=False)[0], True
