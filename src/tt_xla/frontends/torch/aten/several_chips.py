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
from tt_xla.frontends.torch.custom_ops import COLLECTIVE, MARK, SHARDING_CONSTRAINT

_call = Primitive("tt_custom_call")
"""A custom call of one operand: ``target``, ``config`` and the ``shape`` of its result."""


def _lower(ctx: Any, operand: Any, *, target: str, config: str, shape: tuple[int, ...]) -> list[Any]:
    result_type = ir.RankedTensorType.get(shape, operand.type.element_type)
    return custom_call(target, [result_type], [operand], backend_config=config)


_call.def_abstract_eval(lambda x, *, target, config, shape: jax.core.ShapedArray(shape, x.dtype))
mlir.register_lowering(_call, _lower)


@lower_named("tt::sharding_constraint")
def sharding_constraint(ctx: Context, x: Array, sdy_sharding: str) -> Array:
    return _call.bind(x, target=SHARDING_CONSTRAINT, config=sdy_sharding, shape=tuple(x.shape))


@lower_named("tt::mark_sharding")
def mark_sharding(
    ctx: Context, x: Array, chips: Any, mesh_shape: Any, axis_names: Any, dims: Any, gradient: bool
) -> Array:
    axes = [[int(axis) for axis in dim.split()] for dim in dims]
    config = json.dumps(
        {"chips": list(chips), "shape": list(mesh_shape), "axes": list(axis_names), "dims": axes}, sort_keys=True
    )
    return _call.bind(x, target=MARK, config=config, shape=tuple(x.shape))


@lower_named("tt::collective")
def collective(ctx: Context, x: Array, config: str, shape: Any) -> Array:
    return _call.bind(x, target=COLLECTIVE, config=config, shape=ctx.shape)
