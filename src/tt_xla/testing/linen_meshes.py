"""Flax linen models that are written for the shards of one chip: parameters and their partition specs.

Such a model has collectives over a mesh axis, so ``init`` runs inside ``shard_map``. The functions have
upstream's names.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest import mock

import jax
from jax.sharding import Mesh, PartitionSpec


def make_flax_linen_parameters_partition_specs_on_cpu(
    model: Any, cpu_mesh: Mesh, inputs_specs: tuple[PartitionSpec, ...], cpu_inputs: Any
) -> Any:
    """Returns the tree of partition specs that a model's own annotations (``with_partitioning``) give its parameters.

    Args:
        model: the linen module.
        cpu_mesh: a mesh of CPU devices.
        inputs_specs: a tuple with the partition spec of the inputs.
        cpu_inputs: the inputs.
    """
    from flax import linen

    init = _shard_map(on_shards(model.init), cpu_mesh, (PartitionSpec(), *inputs_specs), PartitionSpec())
    return linen.get_partition_spec(jax.eval_shape(init, jax.random.PRNGKey(0), cpu_inputs))


def initialize_flax_linen_parameters_on_cpu(
    model: Any,
    inputs_specs: tuple[PartitionSpec, ...],
    cpu_inputs: Any,
    params_specs: Any,
    cpu_mesh: Mesh,
    rng_seed: int,
) -> Any:
    """Returns a model's initial parameters as whole arrays.

    Other arguments are those of :func:`make_flax_linen_parameters_partition_specs_on_cpu`.

    Args:
        params_specs: tree of the parameters' partition specs, which that function returns.
        rng_seed: seed of the random numbers.
    """
    init = _shard_map(on_shards(model.init), cpu_mesh, (PartitionSpec(), *inputs_specs), params_specs)
    with jax.default_device(cpu_mesh.devices.flat[0]):
        return jax.jit(init)(jax.random.PRNGKey(rng_seed), cpu_inputs)


def on_shards(function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a method of a linen module for use inside ``shard_map``.

    Reading a parameter that is annotated with mesh axes adds a sharding constraint, which JAX refuses inside
    ``shard_map``, where a parameter is the part of one chip already.
    """
    from flax.core import meta

    def call(*args: Any, **kwargs: Any) -> Any:
        with mock.patch.object(meta.Partitioned, "unbox", lambda self, apply_constraint=True: self.value):
            return function(*args, **kwargs)

    return call


def _shard_map(function: Any, mesh: Mesh, in_specs: tuple[Any, ...], out_specs: Any) -> Any:
    return jax.shard_map(function, mesh=mesh, in_specs=in_specs, out_specs=out_specs, check_vma=False)


__all__ = ["initialize_flax_linen_parameters_on_cpu", "make_flax_linen_parameters_partition_specs_on_cpu", "on_shards"]
