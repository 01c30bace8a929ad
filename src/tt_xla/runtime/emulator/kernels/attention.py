"""Attention, rotary embeddings, and the split of heads."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
import torch.nn.functional as F

from tt_xla.runtime.emulator import matrix_unit, streaming, threads
from tt_xla.runtime.emulator.context import Context
from tt_xla.runtime.emulator.registry import kernel

Tensor = torch.Tensor
Softmax = Callable[[Tensor, float, int], tuple[Tensor, Tensor]]
"""Takes scores, which it may overwrite, their scale, and the significant bits of a weight. Returns weights, and what a
weighted sum of values is to be multiplied by."""

_FIDELITY = {"math_fidelity": "hifi2"}
"""Compute config of calls that have none."""
SCORES = 1 << 25
"""Elements of scores that are in memory at once; the bits of a result do not depend on it."""


def softmax(scores: Tensor, factor: float, bits: int) -> tuple[Tensor, Tensor]:
    """Computes weights as TT-NN's kernel for entire sequences does."""
    weights, inverses = streaming.softmax(scores, factor)
    return matrix_unit.significant(weights, bits), inverses


def _exact_softmax(scores: Tensor, factor: float, bits: int) -> tuple[Tensor, Tensor]:
    """Computes weights by torch, divided by their sum."""
    weights = torch.softmax(scores.mul_(factor), -1)
    return matrix_unit.significant(weights, bits), weights.new_ones(())


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
    softmax: Softmax = softmax,
    scales_mask: bool = False,
) -> Tensor:
    """Attention of [batch, heads, sequence, width]; fewer key than query heads are shared by groups of query heads.

    ``attention_sink`` is a logit of each head that takes part in the softmax and has no value. It is scaled like the
    scores; with ``scales_mask``, as in the op for decoding, so is the mask.
    """
    factor = query.shape[-1] ** -0.5 if scale is None else scale
    if attention_sink is None and sliding_window_size is None:
        mask = None if attention_mask is None else attention_mask.to(query.dtype)
        causal = is_causal and mask is None
        all_bfloat16 = query.dtype is key.dtype is value.dtype is torch.bfloat16
        if ctx.silicon and all_bfloat16 and query.numel() and key.numel() and (scale is None or scale > 0):
            bits = matrix_unit.source_bits(_FIDELITY | dict(compute_config or {}), silicon=True)
            added = mask if mask is None or scales_mask else _divided(mask, factor)
            return _in_bfloat16(query, key, value, added, causal=causal, factor=factor, bits=bits, softmax=softmax)
        operands = [x if x is None else x.to(torch.float32) for x in (query, key, value, mask)]
        if operands[3] is not None and scales_mask:
            operands[3] = operands[3] * factor
        if query.shape[2] == 1 and not causal:
            return _of_one_row(*operands, factor=factor)  # type: ignore[arg-type]
        grouped = query.shape[1] != key.shape[1]
        return F.scaled_dot_product_attention(*operands, is_causal=causal, scale=scale, enable_gqa=grouped)  # type: ignore[arg-type]
    groups = query.shape[1] // key.shape[1]
    keys, values = (tensor.to(torch.float32).repeat_interleave(groups, 1) for tensor in (key, value))
    scores = threads.product(query.to(torch.float32), keys.transpose(-2, -1)) * factor
    rows, columns = (torch.arange(size, device=scores.device, dtype=torch.int64) for size in scores.shape[-2:])
    distance = rows.unsqueeze(1) - columns
    hidden = distance < 0 if is_causal else torch.zeros_like(distance, dtype=torch.bool)
    if sliding_window_size is not None:
        hidden = hidden | (distance >= sliding_window_size)
    scores = scores.masked_fill(hidden, -torch.inf)
    if attention_mask is not None:
        scores = scores + attention_mask.to(torch.float32) * (factor if scales_mask else 1.0)
    if attention_sink is None:
        return threads.product(torch.softmax(scores, -1), values)
    logits = attention_sink.to(torch.float32).reshape(query.shape[1], -1)[:, :1] * factor
    sink = logits.reshape(1, -1, 1, 1).expand(*scores.shape[:-1], 1)
    return threads.product(torch.softmax(torch.cat([scores, sink], -1), -1)[..., :-1], values)


def _of_one_row(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, *, factor: float) -> Tensor:
    """Computes attention of one query a head, whose keys torch's own function divides among threads."""
    batch, heads, _, width = query.shape
    together = (batch, key.shape[1], heads // key.shape[1])  # query heads that share a key head are rows of one matrix
    scores = threads.product(query.reshape(*together, width), key.mT).view(batch, heads, 1, -1) * factor
    weights = torch.ops.aten._safe_softmax.default(scores if mask is None else scores + mask, -1)
    return threads.product(weights.view(*together, -1), value).reshape(batch, heads, 1, -1)


@kernel("ttnn.scaled_dot_product_attention_decode")
def scaled_dot_product_attention_decode(
    ctx: Context,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None = None,
    cur_pos_tensor: Tensor | None = None,
    attention_sink: Tensor | None = None,
    is_causal: bool = True,
    scale: float | None = None,
    sliding_window_size: int | None = None,
    program_config: Mapping[str, Any] | None = None,
    compute_config: Mapping[str, Any] | None = None,
) -> Tensor:
    """Attention of one position of each sequence: query [1, B, H, D], key and value [B, G, K, D], mask [B, 1, H, K].

    The mask is scaled like the scores. With ``is_causal``, a sequence sees keys up to its position in
    ``cur_pos_tensor``; ``sliding_window_size`` limits them to the last ones.
    """
    mask = None if attention_mask is None else attention_mask.transpose(1, 2)
    if is_causal or sliding_window_size is not None:
        if cur_pos_tensor is None:
            raise ValueError("attention for decoding needs cur_pos_tensor where positions decide what a query sees")
        positions = torch.arange(key.shape[2], device=key.device, dtype=torch.int64)
        distance = cur_pos_tensor.reshape(-1, 1, 1, 1) - positions
        hidden = distance < 0
        if sliding_window_size is not None:
            hidden = hidden | (distance >= sliding_window_size)
        visible = torch.zeros(hidden.shape, dtype=query.dtype, device=key.device).masked_fill_(hidden, -torch.inf)
        mask = visible if mask is None else mask + visible
    attended = scaled_dot_product_attention(
        ctx,
        query.transpose(0, 1).transpose(1, 2),
        key,
        value,
        mask,
        attention_sink,
        is_causal=False,
        scale=scale,
        compute_config=compute_config,
        softmax=_exact_softmax,
        scales_mask=True,
    )
    return attended.transpose(1, 2).transpose(0, 1)


def _in_bfloat16(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    added: Tensor | None,
    *,
    causal: bool,
    factor: float,
    bits: tuple[int, int],
    softmax: Softmax,
) -> Tensor:
    """Computes attention as two matmuls around a softmax, with scores and weights in bfloat16.

    TT-NN's kernel holds them so in its buffers (tt-metal, sdpa_program_factory.cpp: ``im_df``), and its exponential
    scales the scores. Scores that do not fit in memory are computed a few key heads at a time.

    Args:
        added: what is added to the scores before they are scaled.
        factor: the scale.
        bits: significant bits of the left and of the right operands that take part in the matmuls.
    """
    batch, heads, rows, _ = query.shape
    groups, length = key.shape[1:3]
    at_once = max(1, SCORES // (batch * heads // groups * rows * length))
    left, right = (matrix_unit.cutter(query.dtype, count) for count in bits)
    query, key, value = left(query), right(key), right(value)
    if added is not None and added.ndim >= 3:
        added = added.expand(*added.shape[: added.ndim - 3], heads, *added.shape[-2:])

    def attend(start: int, end: int) -> Tensor:
        first, last = start * heads // groups, end * heads // groups
        part = added if added is None or added.ndim < 3 else added[..., first:last, :, :]
        scores = _scores(query[:, first:last], key[:, start:end], part, causal=causal)
        weights, inverses = softmax(scores, factor, bits[0])
        mixed = torch.bmm(weights, value[:, start:end].reshape(-1, *value.shape[2:]))
        return mixed.mul_(inverses).view(batch, last - first, rows, -1)

    results = [attend(start, min(start + at_once, groups)) for start in range(0, groups, at_once)]
    return results[0] if len(results) == 1 else torch.cat(results, 1)


def _divided(mask: Tensor, factor: float) -> Tensor:
    """Returns a mask divided by the scale; finite values stay finite."""
    return (mask * (1 / factor)).clamp_(min=torch.finfo(mask.dtype).min).where(mask != -torch.inf, mask)


def _scores(query: Tensor, key: Tensor, mask: Tensor | None, *, causal: bool) -> Tensor:
    """Returns the masked products of queries and keys; query heads that share a key head are rows of one matrix."""
    batch, heads, rows, width = query.shape
    length = key.shape[2]
    scores = torch.bmm(query.reshape(batch * key.shape[1], -1, width), key.reshape(-1, length, width).mT)
    if mask is not None:
        scores.view(batch, heads, rows, length).add_(mask)
    if causal:
        hidden = torch.ones(rows, length, dtype=torch.bool, device=query.device).triu_(1)
        scores.view(batch, heads, rows, length).masked_fill_(hidden, -torch.inf)
    return scores


@kernel("ttnn.rotary_embedding")
def rotary_embedding(
    ctx: Context,
    input: Tensor,
    cos_cache: Tensor,
    sin_cache: Tensor,
    token_index: int | None = None,
    compute_config: Mapping[str, Any] | None = None,
) -> Tensor:
    """Returns ``input * cos + rotate_half(input) * sin``; with ``token_index``, one row of the caches serves all rows.

    On silicon the products lie in buffers of the caches' types before they are added (tt-metal,
    rotary_embedding_program_factory.cpp: ``cos_interm_cb_index``, ``sin_interm_cb_index``).

    Rows that fill up the last tile of the result are 0 here; on the chip they hold what its padding yields.
    """
    rows = input.shape[-2]
    start, count = (0, rows) if token_index is None else (token_index, 1)
    cosine, sine = (cache.narrow(-2, start, count) for cache in (cos_cache, sin_cache))
    x = input if ctx.silicon else input.to(torch.float32)
    low, high = x.chunk(2, -1)
    straight, turned = x * cosine, torch.cat([-high, low], -1) * sine
    if ctx.silicon:
        straight, turned = straight.to(cosine.dtype), turned.to(sine.dtype)
    rotated = straight + turned
    missing = ctx.result.shape[-2] - rows
    return F.pad(rotated, (0, 0, 0, missing)) if missing else rotated


@kernel("ttnn.split_query_key_value_and_split_heads")
def split_query_key_value_and_split_heads(
    ctx: Context,
    input_tensor: Tensor,
    num_heads: int,
    transpose_key: bool,
    kv_input_tensor: Tensor | None = None,
    num_kv_heads: int | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Splits [batch, sequence, (heads + 2 * kv_heads) * width] into query, key and value.

    Each result is [batch, heads, sequence, width]; with ``transpose_key`` the key is [batch, heads, width, sequence].
    """
    kv_heads = num_kv_heads or num_heads
    if kv_input_tensor is None:
        width = input_tensor.shape[-1] // (num_heads + 2 * kv_heads)
        thirds = input_tensor.split([num_heads * width, kv_heads * width, kv_heads * width], -1)
    else:
        thirds = (input_tensor, *kv_input_tensor.chunk(2, -1))

    def heads(tensor: Tensor, count: int) -> Tensor:
        return tensor.view(*tensor.shape[:2], count, -1).transpose(1, 2)

    query, key, value = (
        heads(part, count) for part, count in zip(thirds, (num_heads, kv_heads, kv_heads), strict=True)
    )
    return query, key.transpose(-2, -1) if transpose_key else key, value
