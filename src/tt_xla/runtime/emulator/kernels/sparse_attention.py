"""Attention over the keys that an index selects, and the scores that select them. The parameters are TT-NN's.

A selected place of 0xFFFFFFFF is none.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F

from tt_xla.runtime.emulator.registry import kernel

Tensor = torch.Tensor

_NONE = 0xFFFFFFFF


def _selected(indices: Tensor, length: int) -> Tensor:
    """Returns which of ``length`` places each row [..., places] selects."""
    places = indices.long() & _NONE
    chosen = torch.zeros(*places.shape[:-1], length + 1, dtype=torch.bool, device=places.device)
    return chosen.scatter_(-1, places.clamp(max=length), torch.ones_like(places, dtype=torch.bool))[..., :length]


def _attend(query: Tensor, key: Tensor, value: Tensor, seen: Tensor, scale: float, sink: Tensor | None) -> Tensor:
    """Computes attention of [1, heads, rows, width] over the keys that each row sees."""
    scores = (query.float() @ key.float().mT * scale).masked_fill(~seen, -torch.inf)
    if sink is None:
        return torch.softmax(scores, -1) @ value.float()
    logit = (sink.float() * scale).reshape(1, -1, 1, 1).expand(*scores.shape[:-1], 1)
    return torch.softmax(torch.cat([scores, logit], -1), -1)[..., :-1] @ value.float()


@kernel("ttnn.transformer.sparse_sdpa")
def sparse_sdpa(
    ctx: Any,
    q: Tensor,
    kv: Tensor,
    indices: Tensor,
    v_dim: int,
    scale: float | None = None,
    cache_batch_idx: int | None = None,
    attention_sink: Tensor | None = None,
) -> Tensor:
    """Computes attention of each query over the latents that it selects; values are their first ``v_dim`` columns."""
    if q.is_meta:
        return q.new_empty(*q.shape[:3], v_dim)
    slot = cache_batch_idx or 0
    latents = kv[slot : slot + 1]
    seen = _selected(indices, latents.shape[2])
    factor = q.shape[-1] ** -0.5 if scale is None else scale
    return _attend(q, latents, latents[..., :v_dim], seen, factor, attention_sink)


@kernel("ttnn.transformer.sparse_sdpa_msa")
def sparse_sdpa_msa(
    ctx: Any,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    indices: Tensor,
    scale: float | None = None,
    block_size: int = 128,
    cache_batch_idx: int | None = None,
    chunk_start_idx: int | None = None,
) -> Tensor:
    """Computes attention of each query over the blocks of keys that its group of heads selects."""
    if q.is_meta:
        return q.new_empty(*q.shape[:3], v.shape[-1])
    slot, groups, rows = cache_batch_idx or 0, k.shape[1], q.shape[2]
    keys, values = (each[slot : slot + 1].repeat_interleave(q.shape[1] // groups, 1) for each in (k, v))
    seen = _selected(indices, k.shape[2] // block_size).repeat_interleave(block_size, -1)
    if chunk_start_idx is not None:
        positions = torch.arange(chunk_start_idx, chunk_start_idx + rows, device=q.device, dtype=torch.int64).unsqueeze(
            1
        )
        seen = seen & (torch.arange(k.shape[2], device=q.device, dtype=torch.int64) <= positions)
    seen = seen.repeat_interleave(q.shape[1] // groups, 1)
    return _attend(q, keys, values, seen, q.shape[-1] ** -0.5 if scale is None else scale, None)


def _hidden(scores: Tensor, visible: Tensor, kv_len: int | None) -> Tensor:
    """Replaces the scores of keys that a row does not see by -inf; ``visible`` has the number of keys of each row."""
    places = torch.arange(scores.shape[-1], device=scores.device, dtype=torch.int64)
    hidden = places >= visible.unsqueeze(1)
    return scores.masked_fill(hidden if kv_len is None else hidden | (places >= kv_len), -torch.inf)


@kernel("ttnn.experimental.indexer_score_dsa")
def indexer_score_dsa(
    ctx: Any,
    q: Tensor,
    k: Tensor,
    weights: Tensor,
    chunk_start_idx: int = 0,
    key_compression_ratio: int = 1,
    cache_batch_idx: int | None = None,
    kv_len: int | None = None,
) -> Tensor:
    """Adds the rectified products of queries and keys over all heads, by the weight of each head: [B, 1, Sq, T]."""
    slot = cache_batch_idx or 0
    keys = k if cache_batch_idx is None else k[slot : slot + 1]
    products = F.relu(q.float() @ keys.float().mT)
    scores = (products * weights.float().transpose(1, 3).transpose(2, 3).reshape(*q.shape[:3], 1)).sum(1, keepdim=True)
    ends = torch.arange(chunk_start_idx + 1, chunk_start_idx + 1 + q.shape[2], device=q.device, dtype=torch.int64)
    return _hidden(scores, ends // key_compression_ratio, kv_len)


@kernel("ttnn.experimental.indexer_score_msa")
def indexer_score_msa(
    ctx: Any,
    q: Tensor,
    k: Tensor,
    num_groups: int,
    chunk_start_idx: int = 0,
    scale: float = 1.0,
    block_size: int = 0,
    cache_batch_idx: int | None = None,
    kv_len: int | None = None,
) -> Tensor:
    """Adds the products of queries and keys over the heads of a group; with ``block_size``, the greatest of blocks."""
    slot = cache_batch_idx or 0
    keys = k if cache_batch_idx is None else k[slot : slot + 1]
    scores = (q.float() @ keys.float().mT * scale).unflatten(1, (num_groups, -1)).sum(2)
    ends = torch.arange(chunk_start_idx + 1, chunk_start_idx + 1 + q.shape[2], device=q.device, dtype=torch.int64)
    scores = _hidden(scores, ends, kv_len)
    return scores.unflatten(-1, (-1, block_size)).amax(-1) if block_size else scores
