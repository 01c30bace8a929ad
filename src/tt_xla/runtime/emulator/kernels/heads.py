"""Ops that make heads of rows and rows of heads, and rotary embeddings. The parameters are TT-NN's."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F

from tt_xla.ir.element_types import TILE
from tt_xla.runtime.emulator.registry import kernel

Tensor = torch.Tensor


def _heads(rows: Tensor, count: int) -> Tensor:
    """Turns [batch, 1, sequence, count * width] into [batch, count, sequence, width]."""
    return rows.unflatten(-1, (count, -1)).squeeze(1).transpose(1, 2)


def _in_tiles(heads: Tensor) -> Tensor:
    """Returns heads whose width is rounded up to whole tiles of zeros."""
    return F.pad(heads, (0, -heads.shape[-1] % TILE))


def _parts(input: Tensor, num_heads: int, kv_heads: int, input_kv: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
    """Returns the columns of queries, keys and values, of one tensor or of one for queries and one for the others."""
    if input_kv is not None:
        key, value = input_kv.chunk(2, -1)
        return input, key, value
    width = input.shape[-1] // (num_heads + 2 * kv_heads)
    query, key, value = input.split([num_heads * width, kv_heads * width, kv_heads * width], -1)
    return query, key, value


@kernel("ttnn.experimental.nlp_create_qkv_heads")
def nlp_create_qkv_heads(
    ctx: Any,
    input: Tensor,
    num_heads: int,
    num_kv_heads: int | None = None,
    transpose_k_heads: bool = True,
    input_kv: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Splits [batch, 1, sequence, (heads + 2 * kv_heads) * width] into query, key and value."""
    kv = num_kv_heads or num_heads
    query, key, value = _parts(input, num_heads, kv, input_kv)
    query, key, value = _in_tiles(_heads(query, num_heads)), _in_tiles(_heads(key, kv)), _in_tiles(_heads(value, kv))
    return query, key.mT if transpose_k_heads else key, value


@kernel("ttnn.experimental.nlp_create_qkv_heads_falcon7b")
def nlp_create_qkv_heads_falcon7b(ctx: Any, input: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Splits rows into 71 heads of queries, and one of keys and values."""
    return nlp_create_qkv_heads(ctx, input, 71, 1, transpose_k_heads=False)


@kernel("ttnn.experimental.nlp_create_qkv_heads_vit")
def nlp_create_qkv_heads_vit(ctx: Any, input: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Splits rows into 12 heads of queries, keys and values."""
    return nlp_create_qkv_heads(ctx, input, 12, 12, transpose_k_heads=False)


@kernel("ttnn.experimental.nlp_create_qkv_heads_segformer")
def nlp_create_qkv_heads_segformer(ctx: Any, input: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Splits rows into heads of 32 columns. TT-NN's kernel writes the first result alone; the others are zeros here."""
    query = _heads(input, input.shape[-1] // 32)
    return query, torch.zeros_like(query), torch.zeros_like(query)


@kernel("ttnn.experimental.nlp_create_qkv_heads_boltz")
def nlp_create_qkv_heads_boltz(
    ctx: Any,
    input: Tensor,
    num_heads: int,
    num_kv_heads: int | None = None,
    transpose_k_heads: bool = True,
    input_kv: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Splits pairs [1, rows, columns, (heads + 2 * kv_heads) * width] into [heads, rows, columns, width] of each."""
    kv = num_kv_heads or num_heads
    query, key, value = _parts(input, num_heads, kv, input_kv)
    query, key, value = (
        each[0].unflatten(-1, (count, -1)).permute(2, 0, 1, 3)
        for each, count in ((query, num_heads), (key, kv), (value, kv))
    )
    return query, key.permute(0, 3, 1, 2) if transpose_k_heads else key, value


@kernel("ttnn.experimental.nlp_concat_heads_boltz")
def nlp_concat_heads_boltz(ctx: Any, input_tensor: Tensor) -> Tensor:
    """Turns [heads, rows, columns, width] into [1, rows, columns, heads * width]."""
    return input_tensor.permute(1, 2, 0, 3).flatten(-2).unsqueeze(0)


@kernel("ttnn.experimental.nlp_create_q_heads_split")
def nlp_create_q_heads_split(ctx: Any, input: Tensor, num_heads: int, split_head_dim: int) -> tuple[Tensor, Tensor]:
    """Splits rows into heads, and these into their first columns and the rest."""
    heads = _heads(input, num_heads)
    return heads[..., :split_head_dim], heads[..., split_head_dim:]


@kernel("ttnn.experimental.nlp_create_qkv_heads_decode")
def nlp_create_qkv_heads_decode(
    ctx: Any, input_tensor: Tensor, num_heads: int, num_kv_heads: int | None = None
) -> tuple[Tensor, ...]:
    """Splits [1, 1, batch, (heads + 2 * kv_heads) * width] into three of [1, batch, heads, width]."""
    kv = num_kv_heads or num_heads
    width = input_tensor.shape[-1] // (num_heads + 2 * kv)
    parts = input_tensor.split([num_heads * width, kv * width, kv * width], -1)
    return tuple(part.squeeze(0).unflatten(-1, (-1, width)) for part in parts)


@kernel("ttnn.experimental.nlp_concat_heads_decode")
def nlp_concat_heads_decode(ctx: Any, input_tensor: Tensor, num_heads: int) -> Tensor:
    """Turns [1, batch, heads, width] into [1, 1, batch, num_heads * width]."""
    return input_tensor[:, :, :num_heads].flatten(-2).unsqueeze(0)


@kernel("ttnn.experimental.create_qkv_heads")
def create_qkv_heads(
    ctx: Any, input: Tensor, num_heads: int, num_kv_heads: int | None = None, transpose_k_heads: bool = True
) -> tuple[Tensor, Tensor, Tensor]:
    """Splits rows that hold the queries, key and value of one kv head after the other."""
    kv = num_kv_heads or num_heads
    each = num_heads // kv
    groups = input.squeeze(1).unflatten(-1, (kv, each + 2, -1))
    query = groups[:, :, :, :each].flatten(2, 3).transpose(1, 2)
    key, value = (groups[:, :, :, place].transpose(1, 2) for place in (each, each + 1))
    return query, key.mT if transpose_k_heads else key, value


@kernel("ttnn.experimental.create_qkv_heads_from_separate_tensors")
def create_qkv_heads_from_separate_tensors(
    ctx: Any,
    input: Tensor,
    input_kv: Tensor,
    num_heads: int,
    num_kv_heads: int | None = None,
    transpose_k_heads: bool = True,
) -> tuple[Tensor, Tensor, Tensor]:
    """Splits queries, and rows that hold the key and value of one kv head after the other."""
    pairs = input_kv.squeeze(1).unflatten(-1, (num_kv_heads or num_heads, 2, -1))
    key, value = (pairs[:, :, :, place].transpose(1, 2) for place in (0, 1))
    return _heads(input, num_heads), key.mT if transpose_k_heads else key, value


@kernel("ttnn.experimental.split_query_key_value_and_split_heads")
def split_query_key_value_and_split_heads(
    ctx: Any, input_tensor: Tensor, num_heads: int = 16
) -> tuple[Tensor, Tensor, Tensor]:
    return nlp_create_qkv_heads(ctx, input_tensor, num_heads, num_heads, transpose_k_heads=True)


@kernel("ttnn.experimental.concatenate_heads")
def concatenate_heads(ctx: Any, input_tensor: Tensor) -> Tensor:
    """Turns [batch, heads, sequence, width] into [batch, 1, sequence, heads * width]."""
    return input_tensor.transpose(1, 2).flatten(-2).unsqueeze(1)


@kernel("ttnn.experimental.nlp_concat_heads")
def nlp_concat_heads(ctx: Any, input_tensor: Tensor) -> Tensor:
    """Joins the heads of [batch, heads, sequence, width] by moving tiles, one after another.

    Where heads fill no tiles, TT-NN moves their padding too, so that elements get to other places than with
    ``concatenate_heads`` (seen on Tenstorrent's functional simulator).
    """
    batch, heads, rows, width = input_tensor.shape
    if width % TILE == 0:
        return concatenate_heads(ctx, input_tensor)
    padded = F.pad(input_tensor, (0, -width % TILE, 0, -rows % TILE))
    tiles = padded.unflatten(3, (-1, TILE)).unflatten(2, (-1, TILE)).permute(0, 2, 1, 4, 3, 5)
    high, wide = tiles.shape[1], -(-heads * width // TILE)
    moved = tiles.reshape(-1, TILE, TILE)[: batch * high * wide].reshape(batch, high, wide, TILE, TILE)
    joined = moved.transpose(2, 3).reshape(batch, 1, high * TILE, wide * TILE)
    return joined[:, :, :rows, : heads * width]


@kernel("ttnn.experimental.nlp_kv_cache_load_slice")
def nlp_kv_cache_load_slice(ctx: Any, input_tensor: Tensor, seq_len_start: int, seq_len_end: int) -> Tensor:
    return input_tensor[:, :, seq_len_start:seq_len_end]


def _turned(x: Tensor, cosine: Tensor, sine: Tensor, other: Tensor) -> Tensor:
    rows = min(x.shape[-2], cosine.shape[-2])
    if rows < x.shape[-2]:
        cosine, sine = cosine[..., :1, :], sine[..., :1, :]
    else:
        cosine, sine = cosine[..., :rows, :], sine[..., :rows, :]
    return x.float() * cosine.float() + other.float() * sine.float()


@kernel("ttnn.experimental.rotary_embedding_llama")
def rotary_embedding_llama(
    ctx: Any,
    input_tensor: Tensor,
    cos_cache: Tensor,
    sin_cache: Tensor,
    trans_mat: Tensor,
    is_decode_mode: bool = False,
) -> Tensor:
    """Returns ``x * cos + (x @ trans_mat) * sin``, where the matrix multiplies each 32 columns."""
    matrix = trans_mat.reshape(-1, trans_mat.shape[-1])[:32, :32].float()
    other = (input_tensor.float().unflatten(-1, (-1, 32)) @ matrix).flatten(-2)
    if is_decode_mode:
        cos_cache, sin_cache = cos_cache[..., :1, :], sin_cache[..., :1, :]
    return _turned(input_tensor, cos_cache, sin_cache, other)


@kernel("ttnn.experimental.rotary_embedding_llama_fused_qk")
def rotary_embedding_llama_fused_qk(
    ctx: Any, q_input_tensor: Tensor, k_input_tensor: Tensor, cos_cache: Tensor, sin_cache: Tensor, trans_mat: Tensor
) -> tuple[Tensor, Tensor]:
    """Rotates queries and keys; the caches hold the rows of all queries, then those of all keys."""
    batch = q_input_tensor.shape[1]
    tables = ((cos_cache[:, :batch], sin_cache[:, :batch]), (cos_cache[:, batch:], sin_cache[:, batch:]))
    query, key = (
        rotary_embedding_llama(ctx, x, cosine, sine, trans_mat, is_decode_mode=True)
        for x, (cosine, sine) in zip((q_input_tensor, k_input_tensor), tables, strict=True)
    )
    return query, key


@kernel("ttnn.experimental.rotary_embedding_hf")
def rotary_embedding_hf(
    ctx: Any, input_tensor: Tensor, cos_cache: Tensor, sin_cache: Tensor, is_decode_mode: bool = False
) -> Tensor:
    """Returns ``x * cos + rotate_half(x) * sin``."""
    low, high = input_tensor.chunk(2, -1)
    if is_decode_mode:
        cos_cache, sin_cache = cos_cache[..., :1, :], sin_cache[..., :1, :]
    return _turned(input_tensor, cos_cache, sin_cache, torch.cat([-high, low], -1))


@kernel("ttnn.experimental.attn_matmul")
def attn_matmul(ctx: Any, input_tensor_a: Tensor, input_tensor_b: Tensor) -> Tensor:
    """Multiplies [1, heads, batch, inner] by [batch, 1, inner, columns], for each batch."""
    return torch.einsum("xhbk,bxkn->xhbn", input_tensor_a.float(), input_tensor_b.float())


@kernel("ttnn.experimental.group_attn_matmul")
def group_attn_matmul(ctx: Any, input_tensor_a: Tensor, input_tensor_b: Tensor) -> Tensor:
    """Multiplies [1, heads, batch, inner] by [batch, kv_heads, inner, columns], for each batch."""
    groups = input_tensor_b.shape[1]
    left = input_tensor_a.float().unflatten(1, (groups, -1))
    return torch.einsum("xghbk,bgkn->xghbn", left, input_tensor_b.float()).flatten(1, 2)


@kernel("ttnn.experimental.attn_matmul_from_cache")
def attn_matmul_from_cache(
    ctx: Any, input_tensor_a: Tensor, input_tensor_b: Tensor, num_tokens: int, transpose_hw: bool
) -> Tensor:
    """Multiplies by the first ``num_tokens`` rows of a cache, rounded up to whole tiles, or by their transpose."""
    used = input_tensor_b[:, :, : -(-num_tokens // 32) * 32]
    return attn_matmul(ctx, input_tensor_a, used.mT if transpose_hw else used)
