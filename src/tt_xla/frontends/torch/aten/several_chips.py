"""Sharding constraints and collectives: custom calls, which :mod:`tt_xla.frontends.torch.partitioning` replaces."""

from __future__ import annotations

from typing import Any

import jax
from jax.extend.core import Primitive
from jax.interpreters import mlir
from jaxlib.mlir import ir

from tt_xla.frontends.jax.custom_calls import custom_call
from tt_xla.frontends.torch.aten.registry import Array, Context, lower_named
from tt_xla.frontends.torch.custom_ops import COLLECTIVE, SHARDING_CONSTRAINT

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


@lower_named("tt::collective")
def collective(ctx: Context, x: Array, config: str, shape: Any) -> Array:
    return _call.bind(x, target=COLLECTIVE, config=config, shape=ctx.shape)
