"""Calls for attention, rotary embeddings, and for splitting and concatenating heads."""

from __future__ import annotations

import math

from tt_xla.codegen.calls.registry import COMPUTE, MEMORY, Op, calls, row, without_none
from tt_xla.codegen.expressions import Call, Expression, Name
from tt_xla.ir.layout import TILE


@calls("ttnn.scaled_dot_product_attention")
def attention(op: Op) -> Call:
    keywords: dict[str, Expression] = {"is_causal": op.get("is_causal")}
    keywords |= without_none(
        attn_mask=_mask(op),
        scale=op.get("scale"),
        sliding_window_size=op.get("sliding_window_size"),
        attention_sink=op["attention_sink"],
        memory_config=op.memory,
        compute_kernel_config=op.compute,
    )
    operands = (op["query"], op["key"], op["value"])
    return Call("ttnn.transformer.scaled_dot_product_attention", operands, keywords)


@calls("ttnn.scaled_dot_product_attention_decode")
def attention_decode(op: Op) -> Call:
    keywords: dict[str, Expression] = {"is_causal": op.get("is_causal")}
    keywords |= without_none(
        attn_mask=_mask(op),
        cur_pos_tensor=op["cur_pos_tensor"],
        attention_sink=op["attention_sink"],
        scale=op.get("scale"),
        sliding_window_size=op.get("sliding_window_size"),
        memory_config=op.memory,
        compute_kernel_config=op.compute,
    )
    operands = (op["query"], op["key"], op["value"])
    return Call("ttnn.transformer.scaled_dot_product_attention_decode", operands, keywords)


def _mask(op: Op) -> Expression:
    """Returns the attention mask as TT-NN reads it: from DRAM, with keys hidden that fill up the last tile.

    TT-NN reads the mask of those keys from the padding of its tiles, which is zero otherwise.
    """
    mask = op["attention_mask"]
    if mask is None:
        return None
    dram = Name("ttnn.DRAM_MEMORY_CONFIG")
    if op.memory_of("attention_mask") != dram:
        mask = Call("ttnn.to_memory_config", (mask, dram))
    if op.spec("attention_mask").shape[-1] % TILE:
        mask = Call("ttnn.fill_implicit_tile_padding", (mask, -math.inf))
    return mask


row("ttnn.concatenate_heads", "input", function="ttnn.transformer.concatenate_heads", **MEMORY)
row(
    "ttnn.split_query_key_value_and_split_heads",
    "input_tensor",
    function="ttnn.transformer.split_query_key_value_and_split_heads",
    kv_input_tensor="kv_input_tensor",
    num_kv_heads="num_kv_heads",
    num_heads="num_heads",
    transpose_key="transpose_key",
    **MEMORY,
)
row(
    "ttnn.rotary_embedding",
    *("input", "cos_cache", "sin_cache"),
    function="ttnn.experimental.rotary_embedding",
    token_index="token_index",
    **COMPUTE,
)
