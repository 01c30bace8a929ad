"""Attention and what goes with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
import torch.nn.functional as F

from tt_xla.runtime.emulator.registry import Context, kernel

Tensor = torch.Tensor


@kernel("ttnn.scaled_dot_product_attention")
def scaled_dot_product_attention(
    ctx: Context,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None = None,
    attention_sink: Tensor | None = None,
    is_causal: bool = True,
    scale: float | None = None,
    sliding_window_size: int | None = None,
    compute_config: Mapping[str, Any] | None = None,
) -> Tensor:
    """[batch, heads, sequence, width]; fewer key than query heads are shared by groups of query heads.

    ``attention_sink`` is a logit per head that takes part in the softmax and has no value.
    """
    if attention_sink is None and sliding_window_size is None:
        mask = None if attention_mask is None else attention_mask.to(query.dtype)
        grouped = query.shape[1] != key.shape[1]
        return F.scaled_dot_product_attention(
            query, key, value, mask, is_causal=is_causal and mask is None, scale=scale, enable_gqa=grouped
        )
    groups = query.shape[1] // key.shape[1]
    keys, values = (tensor.to(torch.float32).repeat_interleave(groups, 1) for tensor in (key, value))
    factor = query.shape[-1] ** -0.5 if scale is None else scale
    scores = query.to(torch.float32) @ keys.transpose(-2, -1) * factor
    distance = torch.arange(scores.shape[-2]).unsqueeze(1) - torch.arange(scores.shape[-1])
    hidden = distance < 0 if is_causal else torch.zeros_like(distance, dtype=torch.bool)
    if sliding_window_size is not None:
        hidden = hidden | (distance >= sliding_window_size)
    scores = scores.masked_fill(hidden, -torch.inf)
    if attention_mask is not None:
        scores = scores + attention_mask.to(torch.float32)
    if attention_sink is None:
        return torch.softmax(scores, -1) @ values
    sink = attention_sink.to(torch.float32).reshape(1, -1, 1, 1).expand(*scores.shape[:-1], 1)
    return torch.softmax(torch.cat([scores, sink], -1), -1)[..., :-1] @ values


@kernel("ttnn.rotary_embedding")
def rotary_embedding(
    ctx: Context,
    input: Tensor,
    cos_cache: Tensor,
    sin_cache: Tensor,
    token_index: int | None = None,
    compute_config: Mapping[str, Any] | None = None,
) -> Tensor:
    """``input * cos + rotate_half(input) * sin``; with ``token_index``, one row of the caches for all.

    Rows that fill up the last tile of the result are 0 here; on the chip they are what its padding makes of them.
    """
    rows = input.shape[-2]
    start, count = (0, rows) if token_index is None else (token_index, 1)
    cosine, sine = (cache.narrow(-2, start, count).to(torch.float32) for cache in (cos_cache, sin_cache))
    wide = input.to(torch.float32)
    low, high = wide.chunk(2, -1)
    rotated = wide * cosine + torch.cat([-high, low], -1) * sine
    return torch.nn.functional.pad(rotated, (0, 0, 0, ctx.result.shape[-2] - rows))


@kernel("ttnn.split_query_key_value_and_split_heads")
def split_query_key_value_and_split_heads(
    ctx: Context,
    input_tensor: Tensor,
    num_heads: int,
    transpose_key: bool,
    kv_input_tensor: Tensor | None = None,
    num_kv_heads: int | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """[batch, sequence, (heads + 2 * kv_heads) * width] to query, key and value of [batch, heads, sequence, width]."""
    kv_heads = num_kv_heads or num_heads
    if kv_input_tensor is None:
        width = input_tensor.shape[-1] // (num_heads + 2 * kv_heads)
        parts = input_tensor.split([num_heads * width, kv_heads * width, kv_heads * width], -1)
    else:
        parts = (input_tensor, *kv_input_tensor.chunk(2, -1))

    def heads(tensor: Tensor, count: int) -> Tensor:
        return tensor.unflatten(-1, (count, -1)).transpose(1, 2)

    query, key, value = (heads(part, count) for part, count in zip(parts, (num_heads, kv_heads, kv_heads), strict=True))
    return query, key.transpose(-2, -1) if transpose_key else key, value
