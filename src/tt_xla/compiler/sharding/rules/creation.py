"""Rules of ops that create tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jaxlib.mlir import ir

from tt_xla.compiler.sharding.builder import element_type, local_shape
from tt_xla.compiler.sharding.context import Hints, Localizer, localizes, shape_of
from tt_xla.compiler.sharding.emitter import Shard
from tt_xla.ir.mesh import replicated


@localizes("stablehlo.constant", "stablehlo.create_token", "stablehlo.after_all", "chlo.constant")
def constant(context: Localizer, op: Any, operands: Sequence[Shard], hints: Hints) -> Sequence[Shard]:
    """Copies the constant. A constant of one value gets the shape of a shard; others are split where they are used."""
    (shard,) = context.replicated_copy(op, operands)
    return [shard if hints[0] is None else context.reshard(shard, hints[0])]


@localizes("stablehlo.iota")
def iota(context: Localizer, op: Any, operands: Sequence[Shard], hints: Hints) -> Sequence[Shard]:
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


@localizes("stablehlo.rng_bit_generator", "stablehlo.rng")
def random(context: Localizer, op: Any, operands: Sequence[Shard], hints: Hints) -> Sequence[Shard]:
    """Computes all numbers on every chip, so that they are those of one device; each chip keeps its part."""
    results = context.replicated_copy(op, operands)
    return [shard if hint is None else context.reshard(shard, hint) for shard, hint in zip(results, hints, strict=True)]
