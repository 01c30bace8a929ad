"""Attention over caches in pages, attention whose values are a part of the keys, and writes into caches.

The parameters are TT-NN's. A page table has the number of each page of a sequence.
"""

from __future__ import annotations

from typing import Any

import torch

from tt_xla.runtime.emulator import place
from tt_xla.runtime.emulator.registry import kernel

Tensor = torch.Tensor


def gathered(cache: Tensor, table: Tensor) -> Tensor:
    """Turns pages [pages, groups, size, width] into [batch, groups, length, width]."""
    if cache.is_meta:
        return cache.new_empty(len(table), cache.shape[1], table.shape[-1] * cache.shape[2], cache.shape[3])
    pages = cache[table.long().clamp(min=0)]
    return pages.transpose(1, 2).flatten(2, 3)


def attend(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    hidden: Tensor | None,
    scale: float | None,
    mask: Tensor | None = None,
    sink: Tensor | None = None,
) -> Tensor:
    """Computes attention of [batch, heads, rows, width] in float32.

    Args:
        hidden: which keys a row does not see.
        mask: added to the scores after they are scaled.
        sink: a logit of each head that has no value; it is scaled like the scores.
    """
    factor = query.shape[-1] ** -0.5 if scale is None else scale
    groups = query.shape[1] // key.shape[1]
    keys, values = (each.float().repeat_interleave(groups, 1) for each in (key, value))
    scores = query.float() @ keys.mT * factor
    if mask is not None:
        scores = scores + mask.float()
    if hidden is not None:
        scores = scores.masked_fill(hidden, -torch.inf)
    if sink is None:
        return torch.softmax(scores, -1) @ values
    logits = sink.float().reshape(query.shape[1], -1)[:, :1] * factor
    logit = logits.reshape(1, -1, 1, 1).expand(*scores.shape[:-1], 1)
    return torch.softmax(torch.cat([scores, logit], -1), -1)[..., :-1] @ values


def _after(rows: int, columns: int, start: int, window: int | None, device: torch.device) -> Tensor:
    """Returns which keys come after each row, or before its window; the first row is at position ``start``."""
    distance = torch.arange(start, start + rows, device=device, dtype=torch.int64).unsqueeze(1) - torch.arange(
        columns, device=device, dtype=torch.int64
    )
    hidden = distance < 0
    return hidden if window is None else hidden | (distance >= window)


@kernel("ttnn.transformer.chunked_scaled_dot_product_attention")
def chunked_attention(
    ctx: Any,
    input_tensor_q: Tensor,
    input_tensor_k: Tensor,
    input_tensor_v: Tensor,
    page_table_tensor: Tensor,
    chunk_start_idx: int | None = None,
    chunk_start_idx_tensor: Tensor | None = None,
    scale: float | None = None,
    sliding_window_size: int | None = None,
    attention_sink: Tensor | None = None,
) -> Tensor:
    """Computes causal attention of queries that begin at position ``chunk_start_idx`` over keys in pages."""
    query = input_tensor_q
    if query.is_meta:
        return query.new_empty(*query.shape[:3], input_tensor_v.shape[-1])
    start = int(chunk_start_idx_tensor.flatten()[0]) if chunk_start_idx_tensor is not None else chunk_start_idx or 0
    end = start + query.shape[2]
    key, value = (gathered(each, page_table_tensor)[:, :, :end] for each in (input_tensor_k, input_tensor_v))
    hidden = _after(query.shape[2], key.shape[2], start, sliding_window_size, query.device)
    return attend(query, key, value, hidden, scale, sink=attention_sink)


@kernel("ttnn.transformer.flash_mla_prefill")
def flash_mla_prefill(
    ctx: Any,
    input_tensor_q: Tensor,
    input_tensor_k: Tensor,
    head_dim_v: int | None = None,
    input_tensor_v: Tensor | None = None,
    attn_mask: Tensor | None = None,
    is_causal: bool = True,
    scale: float | None = None,
) -> Tensor:
    """Computes attention whose values are the first ``head_dim_v`` columns of the keys."""
    value = input_tensor_k[..., :head_dim_v] if input_tensor_v is None else input_tensor_v
    rows, columns = input_tensor_q.shape[2], input_tensor_k.shape[2]
    hidden = _after(rows, columns, 0, None, input_tensor_q.device) if is_causal else None
    return attend(input_tensor_q, input_tensor_k, value, hidden, scale, attn_mask)


@kernel("ttnn.transformer.chunked_flash_mla_prefill")
def chunked_flash_mla_prefill(
    ctx: Any,
    input_tensor_q: Tensor,
    input_tensor_k: Tensor,
    head_dim_v: int,
    page_table_tensor: Tensor,
    chunk_start_idx: int,
    scale: float | None = None,
) -> Tensor:
    """Computes the same over keys in pages, of queries that begin at ``chunk_start_idx``."""
    values = input_tensor_k[..., :head_dim_v]
    return chunked_attention(
        ctx, input_tensor_q, input_tensor_k, values, page_table_tensor, chunk_start_idx, scale=scale
    )


def _decode(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    positions: Tensor | None,
    scale: float | None,
    mask: Tensor | None,
    window: int | None,
    sink: Tensor | None,
) -> Tensor:
    """Computes attention of one position of each sequence: query [1, batch, heads, width]. The mask is scaled too."""
    if query.is_meta:
        return query.new_empty(*query.shape[:3], value.shape[-1])
    hidden = None
    if positions is not None:
        distance = positions.reshape(-1, 1, 1, 1) - torch.arange(key.shape[2], device=key.device, dtype=torch.int64)
        hidden = distance < 0
        hidden = hidden if window is None else hidden | (distance >= window)
    rows = query.transpose(0, 1).transpose(1, 2)
    factor = query.shape[-1] ** -0.5 if scale is None else scale
    turned = None if mask is None else mask.transpose(1, 2).float() * factor
    return attend(rows, key, value, hidden, scale, turned, sink).transpose(1, 2).transpose(0, 1)


@kernel("ttnn.transformer.paged_scaled_dot_product_attention_decode")
def paged_attention_decode(
    ctx: Any,
    input_tensor_q: Tensor,
    input_tensor_k: Tensor,
    input_tensor_v: Tensor,
    page_table_tensor: Tensor,
    is_causal: bool = True,
    attn_mask: Tensor | None = None,
    cur_pos_tensor: Tensor | None = None,
    attention_sink: Tensor | None = None,
    scale: float | None = None,
    sliding_window_size: int | None = None,
) -> Tensor:
    key, value = (gathered(each, page_table_tensor) for each in (input_tensor_k, input_tensor_v))
    positions = cur_pos_tensor if is_causal else None
    return _decode(input_tensor_q, key, value, positions, scale, attn_mask, sliding_window_size, attention_sink)


@kernel("ttnn.transformer.flash_multi_latent_attention_decode")
def latent_attention_decode(
    ctx: Any,
    input_tensor_q: Tensor,
    input_tensor_k: Tensor,
    input_tensor_v: Tensor | None = None,
    head_dim_v: int | None = None,
    is_causal: bool = True,
    attn_mask: Tensor | None = None,
    cur_pos: list[int] | None = None,
    cur_pos_tensor: Tensor | None = None,
    attention_sink: Tensor | None = None,
    scale: float | None = None,
    sliding_window_size: int | None = None,
) -> Tensor:
    """Computes attention for decoding whose values are the first ``head_dim_v`` columns of the keys."""
    value = input_tensor_k[..., :head_dim_v] if input_tensor_v is None else input_tensor_v
    positions = torch.tensor(cur_pos, device=place.device(), dtype=torch.int64) if cur_pos else cur_pos_tensor
    positions = positions if is_causal else None
    query, key = input_tensor_q, input_tensor_k
    return _decode(query, key, value, positions, scale, attn_mask, sliding_window_size, attention_sink)


@kernel("ttnn.transformer.paged_flash_multi_latent_attention_decode")
def paged_latent_attention_decode(
    ctx: Any,
    input_tensor_q: Tensor,
    input_tensor_k: Tensor,
    page_table_tensor: Tensor,
    input_tensor_v: Tensor | None = None,
    head_dim_v: int | None = None,
    is_causal: bool = True,
    attn_mask: Tensor | None = None,
    cur_pos_tensor: Tensor | None = None,
    attention_sink: Tensor | None = None,
    scale: float | None = None,
    sliding_window_size: int | None = None,
) -> Tensor:
    key = gathered(input_tensor_k, page_table_tensor)
    value = key[..., :head_dim_v] if input_tensor_v is None else gathered(input_tensor_v, page_table_tensor)
    positions = cur_pos_tensor if is_causal else None
    return _decode(input_tensor_q, key, value, positions, scale, attn_mask, sliding_window_size, attention_sink)


@kernel("ttnn.transformer.joint_scaled_dot_product_attention")
def joint_attention(
    ctx: Any,
    input_tensor_q: Tensor,
    input_tensor_k: Tensor,
    input_tensor_v: Tensor,
    joint_tensor_q: Tensor,
    joint_tensor_k: Tensor,
    joint_tensor_v: Tensor,
    scale: float | None = None,
) -> tuple[Tensor, Tensor]:
    """Computes attention of two sequences, one behind the other, and returns the rows of each."""
    query, key, value = (
        torch.cat([first, second], 2)
        for first, second in (
            (input_tensor_q, joint_tensor_q),
            (input_tensor_k, joint_tensor_k),
            (input_tensor_v, joint_tensor_v),
        )
    )
    result, rows = attend(query, key, value, None, scale), input_tensor_q.shape[2]
    return result[:, :, :rows], result[:, :, rows:]


@kernel("ttnn.scale_mask_softmax")
def scale_mask_softmax(
    ctx: Any,
    input_tensor: Tensor,
    scale: float | None = None,
    mask: Tensor | None = None,
    is_causal_mask: bool = False,
    compute_kernel_config: Any = None,
    numeric_stable: bool = True,
) -> Tensor:
    """Computes the softmax of ``scale * x + mask`` along rows.

    TT-NN adds a mask's first row to all rows unless the mask is causal, and scales nothing without a mask (seen on
    Tenstorrent's functional simulator).
    """
    if mask is None:
        return torch.softmax(input_tensor.float(), -1)
    scores = input_tensor.float() * (1.0 if scale is None else scale)
    return torch.softmax(scores + (mask if is_causal_mask else mask[..., :1, :]).float(), -1)


@kernel("ttnn.update_cache")
def update_cache(ctx: Any, cache: Tensor, input: Tensor, update_idx: int, batch_offset: int = 0) -> Tensor:
    """Writes input [1, heads, batch, width] at one position of all sequences of a cache."""
    result = cache.clone()
    count = min(len(result), input.shape[2] - batch_offset)
    rows = input[0, :, batch_offset : batch_offset + count].transpose(0, 1)
    result[:count, :, update_idx] = rows.to(result.dtype)
    return result


@kernel("ttnn.experimental.paged_fill_cache")
def paged_fill_cache(
    ctx: Any,
    cache_tensor: Tensor,
    input_tensor: Tensor,
    page_table: Tensor,
    batch_idx: int = 0,
    batch_idx_tensor: Tensor | None = None,
) -> Tensor:
    """Writes the first positions of one sequence, [1, heads, positions, width], into its pages."""
    result, size = cache_tensor.clone(), cache_tensor.shape[2]
    if result.is_meta:
        return result
    sequence = batch_idx if batch_idx_tensor is None else int(batch_idx_tensor.flatten()[0])
    for number in range(-(-input_tensor.shape[2] // size)):
        rows = input_tensor[0, :, number * size : (number + 1) * size]
        page = int(page_table[sequence, number])
        if page >= 0:
            result[page, :, : rows.shape[1]] = rows.to(result.dtype)
    return result
