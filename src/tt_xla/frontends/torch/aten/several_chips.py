"""Sharding constraints and collectives: custom calls, which :mod:`tt_xla.frontends.torch.partitioning` replaces."""

from __future__ import annotations

import json
from typing import Any

import jax
from jax.extend.core import Primitive
from jax.interpreters import mlir
from jaxlib.mlir import ir

from tt_xla.frontends.jax.custom_calls import custom_call
from tt_xla.frontends.torch.aten.registry import Array, Context, lower_named
from tt_xla.frontends.torch.custom_ops import (
    COLLECTIVE,
    FULL_TO_SHARD,
    MARK,
    SHARD_ALIKE,
    SHARD_TO_FULL,
    SHARDING_CONSTRAINT,
)

_call = Primitive("tt_custom_call")
"""A custom call of one operand: ``target``, ``config`` and the ``shape`` of its result."""


def _lower(ctx: Any, operand: Any, *, target: str, config: str, shape: tuple[int, ...]) -> list[Any]:
    result_type = ir.RankedTensorType.get(shape, operand.type.element_type)
    return custom_call(target, [result_type], [operand], backend_config=config)


_call.def_abstract_eval(lambda x, *, target, config, shape: jax.core.ShapedArray(shape, x.dtype))
mlir.register_lowering(_call, _lower)


_alike = Primitive("tt_shard_alike")
"""A custom call of two operands, which it returns."""
_alike.multiple_results = True
_alike.def_abstract_eval(lambda a, b: (a, b))
mlir.register_lowering(_alike, lambda ctx, a, b: custom_call(SHARD_ALIKE, [a.type, b.type], [a, b], backend_config=""))


@lower_named("tt::sharding_constraint")
def sharding_constraint(ctx: Context, x: Array, sdy_sharding: str) -> Array:
    return _call.bind(x, target=SHARDING_CONSTRAINT, config=sdy_sharding, shape=tuple(x.shape))


@lower_named("tt::mark_sharding")
def mark_sharding(
    ctx: Context, x: Array, chips: Any, mesh_shape: Any, axis_names: Any, dims: Any, gradient: bool
) -> Array:
    return _call.bind(x, target=MARK, config=_mark(chips, mesh_shape, axis_names, dims), shape=tuple(x.shape))


def _mark(chips: Any, mesh_shape: Any, axis_names: Any, dims: Any) -> str:
    """Returns a mesh and the axes that split each dimension as JSON."""
    axes = [[int(axis) for axis in dim.split()] for dim in dims]
    mesh = {"chips": list(chips), "shape": list(mesh_shape), "axes": list(axis_names)}
    return json.dumps({**mesh, "dims": axes}, sort_keys=True)


@lower_named("tt::shard_alike")
def shard_alike(ctx: Context, a: Array, b: Array) -> list[Array]:
    return _alike.bind(a, b)


@lower_named("tt::full_to_shard")
def full_to_shard(ctx: Context, x: Array, chips: Any, mesh_shape: Any, axis_names: Any, dims: Any, shape: Any) -> Array:
    return _call.bind(x, target=FULL_TO_SHARD, config=_mark(chips, mesh_shape, axis_names, dims), shape=ctx.shape)


@lower_named("tt::shard_to_full")
def shard_to_full(ctx: Context, x: Array, chips: Any, mesh_shape: Any, axis_names: Any, dims: Any, shape: Any) -> Array:
    return _call.bind(x, target=SHARD_TO_FULL, config=_mark(chips, mesh_shape, axis_names, dims), shape=ctx.shape)


@lower_named("xla::dynamo_set_buffer_donor_")
def donate(ctx: Context, x: Array, donates: bool) -> Array:
    return x  # graphs of dynamo's backend openxla alone take donations


@lower_named("tt::collective")
def collective(ctx: Context, x: Array, config: str, shape: Any) -> Array:
    return _call.bind(x, target=COLLECTIVE, config=config, shape=ctx.shape)
