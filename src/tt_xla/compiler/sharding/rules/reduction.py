"""Rules of reductions over whole dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jaxlib.mlir import ir

from tt_xla.compiler.sharding.builder import element_type, i64s, local_shape, single_op, tensor
from tt_xla.compiler.sharding.context import Hints, Localiser, localises
from tt_xla.compiler.sharding.emitter import Shard
from tt_xla.compiler.sharding.factors import Factors, Splits, identity_value, masked_operands
from tt_xla.compiler.sharding.partial_sums import combine
from tt_xla.compiler.sharding.reshard import constant_value


@localises("stablehlo.reduce")
def reduce(context: Localiser, op: Any, operands: Sequence[Shard], hints: Hints) -> Sequence[Shard]:
    """Reduces the chips' parts, and combines their results.

    Chips combine the results of sums, products, extremes, "and" and "or" directly. Other bodies, such as that of
    argmax, are applied a second time, to the results of all chips.
    """
    count = len(operands) // 2
    inputs, inits = operands[:count], [context.whole(init) for init in operands[count:]]
    reduced = [int(dim) for dim in ir.DenseI64ArrayAttr(op.attributes["dimensions"])]
    dims = tuple(range(inputs[0].rank))
    result_dims = tuple(dim for dim in dims if dim not in reduced)
    splits = Factors([dims] * count, [result_dims] * count).splits(context, inputs, hints)
    axes = splits.reduced()
    parts = splits.operands(inputs)
    if not axes:
        return splits.results(op, context.copy(op, [*_values(parts), *inits], splits.result_types(op)))
    kind = single_op(op.regions[0])
    element = element_type(inputs[0].value)
    identity = identity_value(context, kind, element) if kind and count == 1 else None
    if identity is None:
        return _reduce_twice(context, op, splits, parts, inits)
    parts = masked_operands(context, splits, parts, lambda _: identity)
    values = context.copy(op, [parts[0].value, identity], splits.result_types(op))
    (partial,) = splits.results(op, values)
    result = combine(context, partial, axes, kind, hints[0])
    if is_identity(op.operands[1], identity):
        return [result]
    init = context.builder.broadcast(context.term(inits[0], result.sharding), local_shape(result.value))
    return [Shard(context.builder.result(kind, [init, result.value], result.value.type), result.shape, result.sharding)]


def _values(shards: Sequence[Shard]) -> list[Any]:
    return [shard.value for shard in shards]


def _reduce_twice(context: Localiser, op: Any, splits: Splits, parts: list[Shard], inits: list[Any]) -> Sequence[Shard]:
    """Reduces the chips' parts, gathers the results in a dimension of their own, and reduces that dimension."""
    reduced = [int(dim) for dim in ir.DenseI64ArrayAttr(op.attributes["dimensions"])]
    filled = [context.masked(part, reduced, init) for part, init in zip(parts, inits, strict=True)]
    build = context.builder
    partial = context.copy(op, [*_values(filled), *inits], splits.result_types(op))
    groups = context.groups(splits.reduced())
    stacked = [build.all_gather(build.reshape(value, [1, *local_shape(value)]), 0, groups) for value in partial]
    types = [tensor(local_shape(value), element_type(value)) for value in partial]
    return splits.results(op, context.copy(op, [*stacked, *inits], types, {"dimensions": i64s([0])}))


def is_identity(init: Any, identity: Any) -> bool:
    """Whether a value of the module is a constant equal to the identity of a reduction."""
    value = constant_value(init)
    return value is not None and value == constant_value(identity)
