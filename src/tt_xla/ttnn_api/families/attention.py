"""Attention, rotary embeddings, and the split and concatenation of heads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tt_xla.ttnn_api import chosen_shards, conditions
from tt_xla.ttnn_api.enums import BufferType, DataType, Layout
from tt_xla.ttnn_api.errors import TTFatal
from tt_xla.ttnn_api.families.kv_cache import check_width
from tt_xla.ttnn_api.families.pointwise import required
from tt_xla.ttnn_api.geometry import DRAM_MEMORY_CONFIG, TILE_SIZE, MemoryConfig
from tt_xla.ttnn_api.layouts import type_of
from tt_xla.ttnn_api.operation import operation
from tt_xla.ttnn_api.plan import Operand, Scalar, Step, Value


def _check_heads(query: Operand, key: Operand, value: Operand) -> None:
    """Refuses queries, keys and values whose sizes do not belong together."""
    for operand in (query, key, value):
        conditions.check_rank(operand, 4, "[batch, heads, sequence, width]")
    (batch, heads, _, width), keys, values = query.shape, key.shape, value.shape
    words = None
    if keys[0] != batch or values[0] != batch:
        words = f"K and V batch must match. Got K: {keys[0]}, V: {values[0]}"
    elif keys[1] != values[1]:
        words = f"K and V num_heads must match. Got K: {keys[1]}, V: {values[1]}"
    elif keys[2] != values[2]:
        words = f"K and V sequence length must match. Got K: {keys[2]}, V: {values[2]}"
    elif keys[3] != width or values[3] != width:
        words = f"K and V hidden dim must match. Got K: {keys[3]}, V: {values[3]}"
    elif not keys[1] or heads % keys[1]:
        words = (
            "Q num_heads must be >= K num_heads and divisible by K num_heads, and K num_heads must be greater than 0. "
            f"Got Q: {heads}, K: {keys[1]}"
        )
    if words is not None:
        raise TTFatal(words, hint=f"The query has shape {query.shape}, the key {keys} and the value {values}.")


def _check_mask(query: Operand, key: Operand, mask: Operand | None, *, is_causal: bool) -> None:
    """Refuses a causal attention with a mask or over another number of keys, and a mask of another size."""
    words = None
    (batch, heads, rows, _), columns = query.shape, key.shape[2]
    if is_causal and mask is not None:
        words = "is_causal and attn_mask cannot both be present. Got is_causal: true, attn_mask: true"
    elif is_causal and rows != columns:
        words = f"Causal SDPA requires Q and K to have the same sequence length. Got Q: {rows}, K: {columns}"
    if words is not None:
        raise TTFatal(words, hint="Pass is_causal=False; a mask can hide later positions.")
    if mask is None:
        return
    sizes = mask.shape
    if sizes[0] not in (1, batch):
        words = "Mask batch dim must either be 1 (to be broadcasted across all batches) or must match Q batch dimension"
    elif mask.rank < 4 or sizes[1] not in (1, heads):
        words = "Mask num_heads must either be 1 (to be broadcasted across all heads) or must match Q heads dimension"
    elif sizes[2] != rows:
        words = "Mask sequence length must match Q sequence length"
    elif sizes[3] != columns:
        words = "Mask sequence length must match K sequence length"
    if words is not None:
        wanted = f"[1 or {batch}, 1 or {heads}, {rows}, {columns}]"
        raise TTFatal(words, hint=f"The mask has shape {sizes}; make it {wanted}.")


_OPTIONS = ("is_causal", "scale", "sliding_window_size")
"""Parameters of attention that are attributes of its op."""


@operation("ttnn.transformer.scaled_dot_product_attention", also=_OPTIONS)
def attention(
    input_tensor_q: Operand,
    input_tensor_k: Operand,
    input_tensor_v: Operand,
    attn_mask: Operand | None,
    memory_config: MemoryConfig | None,
    attention_sink: Operand | None,
    **options: Any,
) -> Step:
    """Computes attention of [batch, heads, sequence, width].

    Raises:
        TTFatal: the mask is not in DRAM.
    """
    if attn_mask is not None and attn_mask.memory.buffer_type != BufferType.DRAM:
        raise TTFatal(
            "When mask is provided to SDPA, it must be in DRAM",
            hint="Move it there with ttnn.to_memory_config(attn_mask, ttnn.DRAM_MEMORY_CONFIG).",
        )
    query = required(input_tensor_q, "ttnn.transformer.scaled_dot_product_attention")
    if attn_mask is not None and attn_mask.layout is not Layout.TILE:
        raise TTFatal("When mask is provided to SDPA, it must be tilized", hint="Convert it with ttnn.to_layout.")
    _check_heads(query, input_tensor_k, input_tensor_v)
    if query.shape[3] % TILE_SIZE:
        raise TTFatal(
            "Padding is not supported on the head_dim dimension",
            hint=f"Pad the heads to a multiple of {TILE_SIZE} with ttnn.pad.",
        )
    _check_mask(query, input_tensor_k, attn_mask, is_causal=options["is_causal"])
    operands = {"query": query, "key": input_tensor_k, "value": input_tensor_v}
    operands |= {"attention_mask": attn_mask, "attention_sink": attention_sink}
    shape = (*query.shape[:3], input_tensor_v.shape[3])
    result = query.type.with_(shape=shape, memory=memory_config or DRAM_MEMORY_CONFIG)
    return Step("ttnn.scaled_dot_product_attention", operands, [result], options)


@operation("ttnn.transformer.scaled_dot_product_attention_decode", also=_OPTIONS)
def attention_decode(
    input_tensor_q: Operand,
    input_tensor_k: Operand,
    input_tensor_v: Operand,
    attn_mask: Operand | None,
    cur_pos: Sequence[int],
    cur_pos_tensor: Operand | None,
    attention_sink: Operand | None,
    memory_config: MemoryConfig | None,
    **options: Any,
) -> Step:
    """Computes attention of one position of each sequence: query [1, batch, heads, width]."""
    query = required(input_tensor_q, "ttnn.transformer.scaled_dot_product_attention_decode")
    for operand in (query, input_tensor_k, input_tensor_v):
        conditions.check_rank(operand, 4, "one of four dimensions")
    operands: dict[str, Value] = {"query": query, "key": input_tensor_k, "value": input_tensor_v}
    positions: Value = cur_pos_tensor
    if cur_pos and cur_pos_tensor is None:
        positions = Scalar(list(cur_pos), type_of((len(cur_pos),), DataType.INT32, Layout.ROW_MAJOR))
    operands |= {"attention_mask": attn_mask, "cur_pos_tensor": positions, "attention_sink": attention_sink}
    result = query.type.with_(memory=memory_config)
    return Step("ttnn.scaled_dot_product_attention_decode", operands, [result], options)


@operation("ttnn.transformer.concatenate_heads")
def concatenate_heads(input_tensor: Operand, memory_config: MemoryConfig | None) -> Step:
    """Turns [batch, heads, sequence, width] into [batch, sequence, heads * width]."""
    source = required(input_tensor, "ttnn.transformer.concatenate_heads")
    if source.rank != 4:
        raise TTFatal(
            f"Input tensor must have rank 4. Shape: {source.shape}",
            hint="Make it [batch, heads, sequence, width] with ttnn.reshape.",
        )
    batch, heads, rows, width = source.shape
    if width % TILE_SIZE:
        raise TTFatal(
            f"Head size must be a multiple of {TILE_SIZE} but was found to be {width}",
            hint="Pad the weights of the product before, or use ttnn.permute and ttnn.reshape.",
        )
    memory = chosen_shards.of_joined_heads(memory_config, input_tensor)
    result = input_tensor.type.with_(shape=(batch, rows, heads * width), memory=memory)
    return Step("ttnn.concatenate_heads", {"input": input_tensor}, [result])


@operation("ttnn.transformer.split_query_key_value_and_split_heads")
def split_heads(
    input_tensor: Operand,
    kv_input_tensor: Operand | None,
    num_heads: int,
    num_kv_heads: int | None,
    transpose_key: bool,
    memory_config: MemoryConfig | None,
) -> Step:
    """Splits [batch, sequence, (heads + 2 * kv_heads) * width] into query, key and value."""
    source = required(input_tensor, "ttnn.transformer.split_query_key_value_and_split_heads")
    if source.rank != 3:
        raise TTFatal(
            f"Invalid input tensor: expected 3 dimensions, but found {source.rank}",
            hint="Use ttnn.reshape to [batch, sequence, width].",
        )
    if num_heads <= 0:
        raise TTFatal("num_heads must be greater than 0", hint=f"Got {num_heads}; pass at least one head.")
    batch, rows, columns = source.shape
    kv_heads = num_kv_heads or num_heads
    width = columns // (num_heads + 2 * kv_heads if kv_input_tensor is None else num_heads)
    if width % TILE_SIZE:
        raise TTFatal(
            f"Invalid head size: {width}. The head size must be a multiple of the tile width ({TILE_SIZE})",
            hint="Pad the weights of the product before, or use ttnn.reshape and ttnn.permute.",
        )
    kv_rows = rows if kv_input_tensor is None else kv_input_tensor.shape[1]
    key = (batch, kv_heads, width, kv_rows) if transpose_key else (batch, kv_heads, kv_rows, width)
    shapes = ((batch, num_heads, rows, width), key, (batch, kv_heads, kv_rows, width))
    attributes: dict[str, Any] = {"num_heads": num_heads, "transpose_key": transpose_key}
    attributes["num_kv_heads"] = num_kv_heads
    memories = [chosen_shards.of_heads(memory_config, shape, input_tensor.memory) for shape in shapes]
    results = zip(shapes, memories, strict=True)
    return Step(
        "ttnn.split_query_key_value_and_split_heads",
        {"input_tensor": input_tensor, "kv_input_tensor": kv_input_tensor},
        [input_tensor.type.with_(shape=shape, memory=memory) for shape, memory in results],
        attributes,
        returns=tuple,
    )


@operation("ttnn.experimental.rotary_embedding")
def rotary_embedding(
    input_tensor: Operand,
    cos_cache: Operand,
    sin_cache: Operand,
    token_index: int | None,
    memory_config: MemoryConfig | None,
) -> Step:
    """Turns pairs of elements by the angles of their positions. The rows of the result fill whole tiles."""
    for operand in (input_tensor, cos_cache, sin_cache):
        check_width(operand)
    shape = list(input_tensor.shape)
    shape[-2] = -(-shape[-2] // TILE_SIZE) * TILE_SIZE
    result = input_tensor.type.with_(shape=shape, memory=memory_config, layout=Layout.TILE)
    operands = {"input": input_tensor, "cos_cache": cos_cache, "sin_cache": sin_cache}
    return Step("ttnn.rotary_embedding", operands, [result], {"token_index": token_index})
