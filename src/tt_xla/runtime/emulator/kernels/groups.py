"""Ops of hand-written TT-NN whose result on a chip depends on its place in the mesh.

A kernel takes the chips of a group, by their places in the mesh, and by operand the list of their tensors. It returns
the results of each chip. What a chip's results do not define is 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from tt_xla.runtime.emulator.kernels.paged import attend, gathered
from tt_xla.runtime.emulator.registry import kernel

Tensor = torch.Tensor
Shards = Sequence[Tensor]
Results = list[tuple[Tensor, ...]]


def _experts_of(mapping: Tensor, chip: int) -> Tensor:
    """Returns the numbers of the experts that lie on a chip, from a table [1, 1, experts, chips] of ones and zeros."""
    return torch.nonzero(mapping[0, 0, :, chip]).flatten()


@kernel("ttnn.all_to_all_dispatch")
def all_to_all_dispatch(
    ctx: Any,
    chips: Sequence[int],
    input_tensor: Shards,
    expert_indices_tensor: Shards,
    expert_mapping_tensor: Shards,
    output_concat_dim: int,
) -> Results:
    """Sends each token [B, S, 1, H] to the chips of its experts [B, S, 1, K].

    A chip gets [1, B * chips, S, H], or [1, B, S * chips, H], and the experts of all tokens.
    """
    dim = output_concat_dim - 1
    tokens = torch.cat([each.squeeze(2) for each in input_tensor], dim)
    chosen = torch.cat([each.squeeze(2) for each in expert_indices_tensor], dim)
    results: Results = []
    for chip, mapping in zip(chips, expert_mapping_tensor, strict=True):
        wanted = mapping[0, 0, :, chip].bool()[chosen.long()].any(-1, keepdim=True)
        results.append(((tokens * wanted).unsqueeze(0), chosen.unsqueeze(0)))
    return results


@kernel("ttnn.all_to_all_combine")
def all_to_all_combine(
    ctx: Any,
    chips: Sequence[int],
    input_tensor: Shards,
    expert_metadata_tensor: Shards,
    expert_mapping_tensor: Shards,
    local_reduce: bool,
    output_shard_dim: int,
) -> Results:
    """Returns the tokens that experts made to the chips that they came from: [K, B, S, H] of a chip's own tokens.

    Args:
        input_tensor: tokens of each expert of a chip, [experts, B, S, H], or of all of them with ``local_reduce``.
        expert_metadata_tensor: the experts of all tokens, [1, B, S, K].
        local_reduce: whether a chip's experts are added up; the sum stands in the place of the first of them.
        output_shard_dim: the dimension along which tokens belong to chips: 1 or 2.
    """
    chosen = expert_metadata_tensor[0][0].long()
    combined = input_tensor[0].new_zeros(chosen.shape[-1], *chosen.shape[:2], input_tensor[0].shape[-1])
    for chip, made, mapping in zip(chips, input_tensor, expert_mapping_tensor, strict=True):
        taken = torch.zeros(chosen.shape[:2], dtype=torch.bool, device=chosen.device)
        for number, expert in enumerate(_experts_of(mapping, chip)):
            selected = (chosen == expert) & ~taken.unsqueeze(-1)
            slots = selected.permute(2, 0, 1).unsqueeze(-1)
            combined = torch.where(slots, made[0 if local_reduce else number], combined)
            taken = taken | selected.any(-1) if local_reduce else taken
    return [(part,) for part in combined.chunk(len(chips), output_shard_dim)]


@kernel("ttnn.moe_expert_token_remap")
def moe_expert_token_remap(
    ctx: Any,
    chips: Sequence[int],
    topk_tensor: Shards,
    expert_mapping_tensor: Shards,
    expert_metadata_tensor: Shards,
    reduction_size: int,
) -> Results:
    """Returns for each chip the weights of its experts for all tokens, and which tokens, in groups, use them."""
    results: Results = []
    operands = zip(chips, topk_tensor, expert_mapping_tensor, expert_metadata_tensor, strict=True)
    for chip, weights, mapping, chosen in operands:
        own = _experts_of(mapping, chip)
        selected = (chosen.long().unsqueeze(-1) == own).any(-2)
        local = weights[..., own] * selected
        used = local.flatten(0, 2).unflatten(0, (-1, reduction_size)).ne(0).any(1)
        results.append((local, used[None, None].to(torch.int32)))
    return results


@kernel("ttnn.moe_routing_remap")
def moe_routing_remap(
    ctx: Any, chips: Sequence[int], routing_weights_tensor: Shards, non_zero_weight_size: int
) -> Results:
    """Leaves to each chip of a group an equal number of the weights that are not 0."""
    size = non_zero_weight_size // len(chips)
    results: Results = []
    for place, weights in enumerate(routing_weights_tensor):
        number = (weights != 0).flatten().cumsum(0).reshape(weights.shape) - 1
        results.append((weights * ((number >= place * size) & (number < (place + 1) * size)),))
    return results


@kernel("ttnn.reduce_to_root")
def reduce_to_root(
    ctx: Any,
    chips: Sequence[int],
    input_tensor_l: Shards,
    input_tensor_s: Shards,
    input_tensor_m: Shards,
    root: int,
    scale: float,
) -> Results:
    """Joins the states of attention over parts of the keys on one chip: weighted values l, sums s and maxima m.

    The rows of s and m lie on cores of 32 columns each, and the values are divided by their sums at last.
    """
    cores = input_tensor_s[0].shape[-1] // 32
    states = [
        tuple(each.float().unflatten(-1, (cores, -1)) for each in state)
        for state in zip(input_tensor_l, input_tensor_s, input_tensor_m, strict=True)
    ]
    greatest = torch.stack([m for _, _, m in states]).amax(0)
    factors = [torch.exp((m - greatest) * scale) for _, _, m in states]
    total = torch.stack([s * factor for (_, s, _), factor in zip(states, factors, strict=True)]).sum(0)
    values = torch.stack([values * factor[..., :1] for (values, _, _), factor in zip(states, factors, strict=True)])
    joined = [(values.sum(0) / total[..., :1]).flatten(-2), total.flatten(-2), greatest.flatten(-2)]
    nothing = [torch.zeros_like(each) for each in joined]
    return [tuple(joined if chip == root else nothing) for chip in chips]


@kernel("ttnn.fused_rms_minimal")
def fused_rms_minimal(
    ctx: Any,
    chips: Sequence[int],
    input_tensor: Shards,
    weight: Shards,
    epsilon: float,
    residual_input_tensor: Shards | None = None,
) -> Results:
    """Normalises rows that are split over the chips of a group by the root of their mean square."""
    rows = [each.float() for each in input_tensor]
    if residual_input_tensor is not None:
        rows = [row + other.float() for row, other in zip(rows, residual_input_tensor, strict=True)]
    width = sum(row.shape[-1] for row in rows)
    mean = torch.stack([row.square().sum(-1, keepdim=True) for row in rows]).sum(0) / width
    factor = torch.rsqrt(mean + epsilon)
    return [(row * factor * gamma.float().reshape(-1),) for row, gamma in zip(rows, weight, strict=True)]


def _after(positions: Tensor, columns: int) -> Tensor:
    """Returns which keys come after each position."""
    return torch.arange(columns, device=positions.device, dtype=torch.int64) > positions.unsqueeze(1)


@kernel("ttnn.transformer.ring_distributed_scaled_dot_product_attention")
def ring_distributed_attention(
    ctx: Any,
    chips: Sequence[int],
    input_tensor_q: Shards,
    input_tensor_k: Shards,
    input_tensor_v: Shards,
    ring_size: int,
    ring_id: int | None = None,
    scale: float | None = None,
    chunk_start_idx: int = 0,
    page_table: Shards | None = None,
) -> Results:
    """Computes causal attention of two parts of the queries on each chip: an early one and a late one."""
    results: Results = []
    for place, (query, key, value) in enumerate(zip(input_tensor_q, input_tensor_k, input_tensor_v, strict=True)):
        if page_table is not None:
            key, value = (gathered(each, page_table[place]) for each in (key, value))
        parts = query.chunk(2 * ring_size, 2)
        own = place % ring_size if ring_id is None else ring_id
        size, ends = parts[0].shape[2], (own, 2 * ring_size - 1 - own)
        positions = torch.cat(
            [torch.arange(end * size, (end + 1) * size, device=query.device, dtype=torch.int64) for end in ends]
        )
        length = min(key.shape[2], chunk_start_idx + query.shape[2])
        hidden = _after(positions + chunk_start_idx, length)
        rows = torch.cat([parts[end] for end in ends], 2)
        results.append((attend(rows, key[:, :, :length], value[:, :, :length], hidden, scale),))
    return results


@kernel("ttnn.transformer.ring_joint_scaled_dot_product_attention")
def ring_joint_attention(
    ctx: Any,
    chips: Sequence[int],
    query: Shards,
    key: Shards,
    value: Shards,
    logical_n: int,
    dim: int,
    scale: float | None = None,
    is_causal: bool = False,
    is_balanced: bool = False,
    joint_query: Shards | None = None,
    joint_key: Shards | None = None,
    joint_value: Shards | None = None,
) -> Results:
    """Computes attention of each chip's queries over the keys of all chips.

    Args:
        query: each chip's part of the sequence, [B, heads, N / chips, width].
        key: each chip's part of the keys; rows of the whole from ``logical_n`` on do not count.
        is_balanced: whether chip r has the parts r and 2 * chips - 1 - r of the sequence.
        joint_query: queries of a second sequence, the same on all chips, whose keys and values follow the first ones.

    Returns:
        for each chip the rows of its queries, those of the second sequence, the maxima and sums of all rows, and the
        keys and values of all chips.
    """
    all_keys, all_values = torch.cat(list(key), dim), torch.cat(list(value), dim)
    results: Results = []
    for place in range(len(chips)):
        rows, keys, values = query[place], all_keys[:, :, :logical_n], all_values[:, :, :logical_n]
        count, length, hidden = rows.shape[2], keys.shape[2], None
        if is_causal:
            total = count * len(chips)
            order = (
                _balanced(total, len(chips)) if is_balanced else torch.arange(total, device="cpu", dtype=torch.int64)
            ).to(rows.device)
            hidden = order[:length] > order[place * count : (place + 1) * count].unsqueeze(1)
        if joint_query is not None and joint_key is not None and joint_value is not None:
            rows, keys, values = (
                torch.cat([one, other[place]], 2)
                for one, other in ((rows, joint_query), (keys, joint_key), (values, joint_value))
            )
        output, statistics = _with_statistics(rows, keys, values, hidden, scale)
        results.append((output[:, :, :count], output[:, :, count:], statistics, all_keys, all_values))
    return results


@kernel("ttnn.transformer.ring_mla")
def ring_mla(
    ctx: Any,
    chips: Sequence[int],
    query: Shards,
    key: Shards,
    head_dim_v: int,
    logical_n: int,
    dim: int,
    scale: float | None = None,
    is_balanced: bool = False,
) -> Results:
    """Computes causal attention whose values are the first ``head_dim_v`` columns of the keys."""
    values = [each[..., :head_dim_v] for each in key]
    joint = ring_joint_attention(
        ctx, chips, query, key, values, logical_n, dim, scale, is_causal=True, is_balanced=is_balanced
    )
    return [(output, statistics, keys) for output, _, statistics, keys, _ in joint]


def _balanced(length: int, chips: int) -> Tensor:
    """Returns the positions of rows whose parts are dealt to chips from both ends."""
    parts = torch.arange(length, device="cpu", dtype=torch.int64).chunk(2 * chips)
    return torch.cat([parts[end] for place in range(chips) for end in (place, 2 * chips - 1 - place)])


def _with_statistics(
    query: Tensor, key: Tensor, value: Tensor, hidden: Tensor | None, scale: float | None
) -> tuple[Tensor, Tensor]:
    """Returns attention, and the greatest score of each row, behind which the sums of their exponentials follow."""
    scores = query.float() @ key.float().repeat_interleave(query.shape[1] // key.shape[1], 1).mT
    scores = scores * (query.shape[-1] ** -0.5 if scale is None else scale)
    scores = scores if hidden is None else scores.masked_fill(hidden, -torch.inf)
    greatest = scores.amax(-1, keepdim=True)
    sums = (scores - greatest).exp().sum(-1, keepdim=True)
    return attend(query, key, value, hidden, scale), torch.cat([greatest, sums], 2)
