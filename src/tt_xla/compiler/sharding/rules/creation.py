"""Rules of ops that create tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jaxlib.mlir import ir

from tt_xla.compiler.sharding.builder import element_type, local_shape
from tt_xla.compiler.sharding.context import Hints, Localiser, localises, shape_of
from tt_xla.compiler.sharding.emitter import Shard
from tt_xla.ir.mesh import Sharding, replicated


@localises("stablehlo.constant", "stablehlo.create_token", "stablehlo.after_all", "chlo.constant")
def constant(context: Localiser, op: Any, operands: Sequence[Shard], hints: Hints) -> Sequence[Shard]:
    """Copies the constant. A constant of one value gets the shape of a shard; others are split where they are used."""
    (hint,) = hints
    if hint is not None and not hint.unreduced:
        part = _part(context, op, hint)
        if part is not None:
            return context.shards(op, context.copy(op, [], [part.type], {"value": part}), [hint])
    (shard,) = context.replicated_copy(op, operands)
    return [shard if hint is None else context.reshard(shard, hint)]


def _part(context: Localiser, op: Any, sharding: Sharding) -> Any | None:
    """Returns the value of a shard of a constant of one value; None for other ops."""
    if op.operation.name != "stablehlo.constant" or isinstance(element_type(op.results[0]), ir.ComplexType):
        return None  # jaxlib's bindings cannot read complex values
    value = op.attributes["value"]
    if not value.is_splat:
        return None
    return ir.DenseElementsAttr.get_splat(context.local_type(op.results[0].type, sharding), value.get_splat_value())


@localises("stablehlo.iota")
def iota(context: Localiser, op: Any, operands: Sequence[Shard], hints: Hints) -> Sequence[Shard]:
    """Counts from the place where the chip's shard starts."""
    sharding = hints[0] or replicated(len(shape_of(op.results[0])))
    (value,) = context.copy(op, [], [context.local_type(op.results[0].type, sharding)])
    dim = ir.IntegerAttr(op.attributes["iota_dimension"]).value
    axes = sharding.dims[dim]
    if axes:
        build, shape = context.builder, local_shape(value)
        offset = context.offset(axes, shape[dim])
        offset = build.convert(offset, element_type(value))
        value = build.add(value, build.broadcast(offset, shape))
    return [Shard(value, shape_of(op.results[0]), sharding)]


@localises("stablehlo.rng_bit_generator", "stablehlo.rng")
def random(context: Localiser, op: Any, operands: Sequence[Shard], hints: Hints) -> Sequence[Shard]:
    """Computes all numbers on every chip, so that they are those of one device; each chip keeps its part."""
    results = context.replicated_copy(op, operands)
    return [shard if hint is None else context.reshard(shard, hint) for shard, hint in zip(results, hints, strict=True)]
