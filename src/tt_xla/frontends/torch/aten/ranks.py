"""Functional collectives of ``torch.distributed``: custom calls with effects, one for each call of the graph.

The other ranks wait for each of them, so :mod:`tt_xla.frontends.torch.stages` keeps their order too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import msgspec
import torch

from tt_xla.environment import selected_runtime
from tt_xla.frontends.torch.aten.registry import Array, Context, lower_named
from tt_xla.frontends.torch.distributed.placement import chips_of
from tt_xla.ir.ranks import TARGET, RankCollective
from tt_xla.runtime import process_groups

_REDUCTIONS = {"sum": "sum", "avg": "mean", "product": "prod", "max": "max", "min": "min"}
"""Reductions of TT-NN's collectives by PyTorch's names; the others reduce bits."""

_REFUSED = (torch.float64, torch.complex64, torch.complex128)
"""Dtypes that the chip holds in another form, and the ranks exchange as they are."""


def _collective(
    ctx: Context,
    x: Array,
    kind: str,
    group: Any,
    shape: Sequence[int],
    reduction: str = "",
    root: int = 0,
    **sizes: tuple[int, ...],
) -> Array:
    """Returns the result of a collective.

    Args:
        kind: kind of a :class:`~tt_xla.ir.ranks.RankCollective`.
        group: the process group, or its name.
        shape: shape of the result.
        reduction: PyTorch's name of the reduction.
        root: number in the group of the rank that sends.
        sizes: ``sent`` and ``received`` of a :class:`~tt_xla.ir.ranks.RankCollective`; none for equal parts.
    """
    if selected_runtime() != "emulated":
        ctx.unsupported(f"by the runtime {selected_runtime()}, whose programs have one process")
    name = group if isinstance(group, str) else group.group_name
    found = process_groups.registered().get(name)
    if found is None:
        ctx.unsupported(f"in a process group of another backend than 'tt' ({name!r})")
    if ctx.first.dtype in _REFUSED:
        ctx.unsupported(f"for {ctx.first.dtype}, which the chip lacks")
    if reduction and reduction not in _REDUCTIONS:
        ctx.unsupported(f"with the reduction {reduction!r}, which the chip lacks")
    call = RankCollective(kind, name, found.size(), chips_of(found), _REDUCTIONS.get(reduction, ""), root, **sizes)
    bound = jax.ffi.ffi_call(
        TARGET,
        jax.ShapeDtypeStruct(tuple(shape), x.dtype),
        has_side_effect=True,
        custom_call_api_version=2,
        legacy_backend_config=msgspec.json.encode(call).decode(),
    )
    return bound(x)


@lower_named("_c10d_functional::wait_tensor")
def wait_tensor(ctx: Context, x: Array) -> Array:
    return x


@lower_named("_c10d_functional::all_reduce")
def all_reduce(ctx: Context, x: Array, reduce_op: str, group_name: Any) -> Array:
    return _collective(ctx, x, "all_reduce", group_name, x.shape, reduce_op)


@lower_named("_c10d_functional::all_reduce_coalesced")
def all_reduce_coalesced(ctx: Context, inputs: Sequence[Array], reduce_op: str, group_name: Any) -> list[Array]:
    return [all_reduce(ctx, x, reduce_op, group_name) for x in inputs]


@lower_named("_c10d_functional::all_gather_into_tensor")
def all_gather(ctx: Context, x: Array, group_size: int, group_name: Any) -> Array:
    return _collective(ctx, x, "all_gather", group_name, (x.shape[0] * group_size, *x.shape[1:]))


@lower_named("_c10d_functional::all_gather_into_tensor_coalesced")
def all_gather_coalesced(ctx: Context, inputs: Sequence[Array], group_size: int, group_name: Any) -> list[Array]:
    return [all_gather(ctx, x, group_size, group_name) for x in inputs]


@lower_named("_c10d_functional::reduce_scatter_tensor")
def reduce_scatter(ctx: Context, x: Array, reduce_op: str, group_size: int, group_name: Any) -> Array:
    shape = (x.shape[0] // group_size, *x.shape[1:])
    return _collective(ctx, x, "reduce_scatter", group_name, shape, reduce_op)


@lower_named("_c10d_functional::reduce_scatter_tensor_coalesced")
def reduce_scatter_coalesced(
    ctx: Context, inputs: Sequence[Array], reduce_op: str, group_size: int, group_name: Any
) -> list[Array]:
    return [reduce_scatter(ctx, x, reduce_op, group_size, group_name) for x in inputs]


@lower_named("_c10d_functional::broadcast")
def broadcast(ctx: Context, x: Array, src: int, group_name: Any) -> Array:
    return _collective(ctx, x, "broadcast", group_name, x.shape, root=src)


@lower_named("_c10d_functional::all_to_all_single")
def all_to_all(
    ctx: Context, x: Array, output_split_sizes: Sequence[int], input_split_sizes: Sequence[int], group_name: Any
) -> Array:
    sent, received = tuple(input_split_sizes), tuple(output_split_sizes)
    if not all(isinstance(rows, int) for rows in (*sent, *received)):
        ctx.unsupported("with sizes that are known only when the graph runs")
    if len({*sent, *received}) == 1:
        return _collective(ctx, x, "all_to_all", group_name, x.shape)
    if not x.size:
        ctx.unsupported("for a tensor without elements")
    shape = (sum(received), *x.shape[1:])
    return _collective(ctx, x, "all_to_all", group_name, shape, sent=sent, received=received)


@lower_named("_dtensor::shard_dim_alltoall")
def shard_dim_all_to_all(ctx: Context, x: Array, gather_dim: int, shard_dim: int, group_name: Any) -> Array:
    """Splits ``shard_dim`` over the ranks, and joins what they send along ``gather_dim``."""
    ranks = ctx.shape[gather_dim] // x.shape[gather_dim]
    parts = jnp.concatenate(jnp.split(x, ranks, shard_dim))
    received = _collective(ctx, parts, "all_to_all", group_name, parts.shape)
    return jnp.concatenate(jnp.split(received, ranks), gather_dim)
