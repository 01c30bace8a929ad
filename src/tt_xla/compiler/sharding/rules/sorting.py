"""Rules of sorts and of the largest elements of a dimension."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jaxlib.mlir import ir

from tt_xla.compiler.sharding.builder import element_type, local_shape, tensor
from tt_xla.compiler.sharding.context import Hints, Localiser, localises
from tt_xla.compiler.sharding.emitter import Shard
from tt_xla.compiler.sharding.factors import Factors, identity_value
from tt_xla.ir.mesh import Sharding


@localises("stablehlo.sort")
def sort(context: Localiser, op: Any, operands: Sequence[Shard], hints: Hints) -> Sequence[Shard]:
    """Sorts along a dimension that is not split.

    Where it is split, another dimension takes over its axes during the sort if one can, so that chips exchange parts
    and each sorts some of the rows; otherwise the dimension is gathered.
    """
    rank, count = operands[0].rank, len(operands)
    dim = ir.IntegerAttr(op.attributes["dimension"]).value % max(rank, 1)
    dims = tuple(None if other == dim else other for other in range(rank))
    factors = Factors([dims] * count, [dims] * count)
    sharding = factors.splits(context, operands, hints).sharding(dims)
    axes = operands[0].sharding.dims[dim]
    moved = sharding if sharding.axes & {*axes} else _moved(context, sharding, operands[0], dim, axes)
    parts = [context.reshard(operand, moved) for operand in operands]
    types = [context.local_type(result.type, moved) for result in op.results]
    values = context.copy(op, [part.value for part in parts], types)
    return context.shards(op, values, [moved] * count)


def _moved(context: Localiser, sharding: Sharding, shard: Shard, dim: int, axes: tuple[int, ...]) -> Sharding:
    """Returns a sharding in which another dimension is split along the axes; without the axes if none divides."""
    counts = sharding.counts(context.mesh)
    for other, size in enumerate(shard.shape):
        if axes and other != dim and size % (counts[other] * context.extent(axes)) == 0 and size > 0:
            return sharding.with_dim(other, sharding.dims[other] + axes)
    return sharding


@localises("chlo.top_k")
def top_k(context: Localiser, op: Any, operands: Sequence[Shard], hints: Hints) -> Sequence[Shard]:
    """Finds the largest elements of the chip's part, and along a split dimension then the largest of all chips'."""
    (operand,) = operands
    dim, count = operand.rank - 1, ir.IntegerAttr(op.attributes["k"]).value
    dims = tuple(None if other == dim else other for other in range(operand.rank))
    sharding = Factors([dims], [dims, dims]).splits(context, operands, hints).sharding(dims)
    axes = operand.sharding.dims[dim]
    length = operand.sharding.local_shape(context.mesh, operand.shape)[dim]
    lowest = identity_value(context, "maximum", element_type(operand.value))
    if not axes or sharding.axes & {*axes} or length < count or lowest is None or context.is_padded(operand, dim):
        part = context.reshard(operand, sharding)
        types = [context.local_type(result.type, sharding) for result in op.results]
        return context.shards(op, context.copy(op, [part.value], types), [sharding, sharding])
    part = context.reshard(operand, sharding.with_dim(dim, axes))
    return _among_chips(context, op, part, sharding, count)


def _among_chips(context: Localiser, op: Any, part: Shard, sharding: Sharding, count: int) -> Sequence[Shard]:
    build, dim = context.builder, part.rank - 1
    axes = part.sharding.dims[dim]
    indices = element_type(op.results[1])
    shape = [*local_shape(part.value)[:dim], count]
    values, places = context.copy(op, [part.value], [tensor(shape, element_type(part.value)), tensor(shape, indices)])
    offset = build.convert(context.offset(axes, local_shape(part.value)[dim]), indices)
    places = build.add(places, build.broadcast(offset, shape))
    groups = context.groups(axes)
    values, places = (build.all_gather(value, dim, groups) for value in (values, places))
    best, chosen = context.copy(op, [values], [tensor(shape, element_type(values)), tensor(shape, indices)])
    return context.shards(op, [best, _looked_up(context, places, chosen)], [sharding, sharding])


def _looked_up(context: Localiser, table: Any, indices: Any) -> Any:
    """Returns the elements of a table at indices along its last dimension."""
    build = context.builder
    shape, rank = local_shape(indices), len(local_shape(indices))
    batch = ", ".join(map(str, range(rank - 1)))
    attributes = {
        "dimension_numbers": ir.Attribute.parse(
            f"#stablehlo.gather<collapsed_slice_dims = [{rank - 1}], operand_batching_dims = [{batch}], "
            f"start_indices_batching_dims = [{batch}], start_index_map = [{rank - 1}], index_vector_dim = {rank}>"
        ),
        "slice_sizes": ir.DenseI64ArrayAttr.get([1] * rank),
    }
    return build.result("gather", [table, indices], tensor(shape, element_type(table)), attributes)
