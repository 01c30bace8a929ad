"""Attention, heads and rotary embeddings. B batch, H heads, S query and K key positions, D head size."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence

from xdsl.dialects.builtin import TensorType
from xdsl.irdl import AttrSizedOperandSegments, operand_def, opt_operand_def, opt_result_def, result_def

from tt_xla.ir import shapes
from tt_xla.ir.abstract import LikeInput, ShapedOp, TensorOp
from tt_xla.ir.base import shape
from tt_xla.ir.layout import TILE, round_up
from tt_xla.ir.properties import BOOL, F32, UI32, defaulted, opt_prop_def, prop_def
from tt_xla.ir.ttcore import MASK_TYPE, AttentionMask


class _Attention(TensorOp, ABC):
    """query [B, H, S, D], key [B, G, K, D], value [B, G, K, E], G a divisor of H; result [B, H, S, E]."""

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    query = operand_def(TensorType)
    key = operand_def(TensorType)
    value_ = operand_def(TensorType)
    is_causal = defaulted(BOOL, True)
    scale = opt_prop_def(F32)


def check_heads(op: ShapedOp) -> tuple[shapes.Shape, shapes.Shape, shapes.Shape]:
    """Shapes of query, key and value after checking that they go together."""
    query, key, value = op.rank("query", 4), op.rank("key", 4), op.rank("value_", 4)
    op.need(key[:3] == value[:3], f"key of shape {key} and value of shape {value} differ before the last dimension")
    op.need(query[0] == key[0], f"query has batch {query[0]}, key has {key[0]}")
    op.need(key[1] > 0 and query[1] % key[1] == 0, f"{query[1]} heads of query are no multiple of {key[1]} of key")
    op.need(query[3] == key[3], f"query has head size {query[3]}, key has {key[3]}")
    return query, key, value


def check_mask(op: ShapedOp, mask: object, expected: shapes.Shape) -> None:
    """That an optional mask broadcasts to ``expected``."""
    if mask is not None:
        found = shape(mask)  # pyright: ignore[reportArgumentType]
        op.need(shapes.broadcast(found, expected) == expected, f"attention_mask {found} does not extend to {expected}")


class ScaledDotProductAttention(_Attention, ABC):
    """softmax(query @ key.T * scale + attention_mask) @ value; scale is 1 / sqrt(D) unless given."""

    query = operand_def(TensorType)
    key = operand_def(TensorType)
    value_ = operand_def(TensorType)
    attention_mask = opt_operand_def(TensorType)
    attention_sink = opt_operand_def(TensorType)
    sliding_window_size = opt_prop_def(UI32)

    def result_shape(self) -> shapes.Shape:
        query, key, value = check_heads(self)
        self.need(not (self.is_causal and self.attention_mask is not None), "is_causal excludes an attention_mask")
        check_mask(self, self.attention_mask, (*query[:3], key[2]))
        return (*query[:3], value[3])


class AttentionDecode(_Attention, ABC):
    """One query position for each sequence: query [1, B, H, D], key and value [B, G, K, D]; result as query."""

    query = operand_def(TensorType)
    key = operand_def(TensorType)
    value_ = operand_def(TensorType)
    attention_mask = opt_operand_def(TensorType)
    cur_pos_tensor = opt_operand_def(TensorType)
    """The position of each sequence, [B]."""
    attention_sink = opt_operand_def(TensorType)

    def result_shape(self) -> shapes.Shape:
        query, key, value = self.rank("query", 4), self.rank("key", 4), self.rank("value_", 4)
        self.need(query[0] == 1, f"query has shape {query}, expected (1, batch, heads, head size)")
        self.need(key == value, f"key has shape {key}, value has {value}")
        self.need(key[0] == query[1], f"query has batch {query[1]}, key has {key[0]}")
        self.need(key[3] == query[3], f"query has head size {query[3]}, key has {key[3]}")
        self.expect("cur_pos_tensor", (query[1],))
        return query


class PagedAttentionDecode(_Attention, ABC):
    """As :class:`AttentionDecode`, key and value in pages [P, G, page size, D]; page_table [B, pages] of a sequence."""

    query = operand_def(TensorType)
    key = operand_def(TensorType)
    value_ = operand_def(TensorType)
    page_table = operand_def(TensorType)
    attention_mask = opt_operand_def(TensorType)
    cur_pos_tensor = opt_operand_def(TensorType)
    attention_sink = opt_operand_def(TensorType)
    sliding_window_size = opt_prop_def(UI32)

    def result_shape(self) -> shapes.Shape:
        query, key, value = self.rank("query", 4), self.rank("key", 4), self.rank("value_", 4)
        self.need(query[0] == 1, f"query has shape {query}, expected (1, batch, heads, head size)")
        self.need(key == value, f"key has shape {key}, value has {value}")
        self.need(key[3] == query[3], f"query has head size {query[3]}, key has {key[3]}")
        self.need(self.rank("page_table", 2)[0] == query[1], f"page_table has no row for each of {query[1]} sequences")
        self.expect("cur_pos_tensor", (query[1],))
        return query


class ChunkedAttention(TensorOp, ABC):
    """A chunk of queries [B, H, S, D] from position chunk_start_idx on over paged keys and values; result as query."""

    query = operand_def(TensorType)
    key = operand_def(TensorType)
    value_ = operand_def(TensorType)
    page_table = operand_def(TensorType)
    chunk_start_idx = operand_def(TensorType)
    scale = opt_prop_def(F32)

    def result_shape(self) -> shapes.Shape:
        query, key, value = self.rank("query", 4), self.rank("key", 4), self.rank("value_", 4)
        self.need(key == value, f"key has shape {key}, value has {value}")
        self.need(key[3] == query[3], f"query has head size {query[3]}, key has {key[3]}")
        self.need(self.rank("page_table", 2)[0] == query[0], f"page_table has no row for each of {query[0]} sequences")
        return query


class PagedLatentAttentionDecode(_Attention, ABC):
    """Multi-head latent attention: values are the first ``head_dim_v`` of each key unless given."""

    query = operand_def(TensorType)
    key = operand_def(TensorType)
    value_ = opt_operand_def(TensorType)
    page_table = operand_def(TensorType)
    attention_mask = opt_operand_def(TensorType)
    cur_pos_tensor = opt_operand_def(TensorType)
    attention_sink = opt_operand_def(TensorType)
    head_dim_v = prop_def(UI32)

    def result_shape(self) -> shapes.Shape:
        query, key = self.rank("query", 4), self.rank("key", 4)
        self.need(key[3] == query[3], f"query has head size {query[3]}, key has {key[3]}")
        self.need(self.rank("page_table", 2)[0] == query[1], f"page_table has no row for each of {query[1]} sequences")
        return (*query[:3], self.head_dim_v)


class LatentAttentionPrefill(_Attention, ABC):
    """Multi-head latent attention of whole sequences; values are the first ``head_dim_v`` of each key unless given."""

    query = operand_def(TensorType)
    key = operand_def(TensorType)
    value_ = opt_operand_def(TensorType)
    attention_mask = opt_operand_def(TensorType)
    head_dim_v = prop_def(UI32)

    def result_shape(self) -> shapes.Shape:
        query, key = self.rank("query", 4), self.rank("key", 4)
        self.need(
            query[0] == key[0] and query[3] == key[3], f"query {query} and key {key} differ in batch or head size"
        )
        check_mask(self, self.attention_mask, (*query[:3], key[2]))
        return (*query[:3], self.head_dim_v)


class AttentionForward(ShapedOp, ABC):
    """Attention for training; intermediates [B, H, S, 32] are the logarithms of the row sums."""

    query = operand_def(TensorType)
    key = operand_def(TensorType)
    value_ = operand_def(TensorType)
    attention_mask = opt_operand_def(TensorType)
    mask_type = defaulted(MASK_TYPE, AttentionMask.CAUSAL)
    dropout_probability = defaulted(F32, 0.0)
    return_intermediates = defaulted(BOOL, False)
    output = result_def(TensorType)
    intermediates = opt_result_def(TensorType)

    def result_shapes(self) -> Sequence[shapes.Shape]:
        query, _, value = check_heads(self)
        check_mask_type(self)
        self.need(
            (self.intermediates is not None) == self.return_intermediates,
            "there are intermediates exactly with return_intermediates",
        )
        return (*query[:3], value[3]), (*query[:3], 32)


def check_mask_type(op: AttentionForward | AttentionBackward) -> None:
    arbitrary = op.mask_type is AttentionMask.ARBITRARY
    op.need((op.attention_mask is not None) == arbitrary, "an attention_mask goes with mask_type arbitrary alone")


class AttentionBackward(ShapedOp, ABC):
    """Gradients of :class:`AttentionForward`."""

    grad_output = operand_def(TensorType)
    attn_output = operand_def(TensorType)
    query = operand_def(TensorType)
    key = operand_def(TensorType)
    value_ = operand_def(TensorType)
    intermediates = operand_def(TensorType)
    attention_mask = opt_operand_def(TensorType)
    mask_type = defaulted(MASK_TYPE, AttentionMask.ARBITRARY)
    dropout_probability = defaulted(F32, 0.0)
    grad_query = result_def(TensorType)
    grad_key = result_def(TensorType)
    grad_value = result_def(TensorType)

    def result_shapes(self) -> Sequence[shapes.Shape]:
        query, key, value = check_heads(self)
        check_mask_type(self)
        for name in ("grad_output", "attn_output"):
            self.expect(name, (*query[:3], value[3]))
        self.expect("intermediates", (*query[:3], 32))
        return query, key, value


class ConcatenateHeads(TensorOp, ABC):
    """[B, H, S, D] to [B, S, H * D]."""

    input = operand_def(TensorType)

    def result_shape(self) -> shapes.Shape:
        batch, heads, rows, size = self.rank("input", 4)
        return (batch, rows, heads * size)


class SplitHeads(ShapedOp, ABC):
    """Query, key and value heads out of one projection [B, S, (H + 2 G) * D], or of query [B, S, H * D] and
    kv_input_tensor [B, K, 2 G * D]. Results [B, H, S, D], [B, G, K, D], the key [B, G, D, K] with transpose_key."""

    input_tensor = operand_def(TensorType)
    kv_input_tensor = opt_operand_def(TensorType)
    num_heads = prop_def(UI32)
    num_kv_heads = opt_prop_def(UI32)
    transpose_key = prop_def(BOOL)
    query = result_def(TensorType)
    key = result_def(TensorType)
    value_ = result_def(TensorType)

    def result_shapes(self) -> Sequence[shapes.Shape]:
        batch, rows, width = self.rank("input_tensor", 3)
        heads = self.num_heads
        groups = self.num_kv_heads or heads
        key_rows = rows
        parts = heads + 2 * groups
        if self.kv_input_tensor is not None:
            _, key_rows, key_width = self.rank("kv_input_tensor", 3)
            self.need(
                heads > 0 and key_width * heads == 2 * groups * width,
                f"kv_input_tensor has {key_width} columns, which are not key and value for {width} of query",
            )
            parts = heads
        self.need(parts > 0 and width % parts == 0, f"{width} columns do not split into {parts} heads")
        size = width // parts
        key = (batch, groups, key_rows, size)
        return (
            (batch, heads, rows, size),
            shapes.permute(key, (0, 1, 3, 2)) if self.transpose_key else key,
            key,
        )


class Rotary(LikeInput, ABC):
    """Rotates pairs within the last dimension by angles given as cosines and sines; TT-NN leaves the rows of the
    result padded to a tile."""

    input = operand_def(TensorType)
    cos_cache = operand_def(TensorType)
    sin_cache = operand_def(TensorType)

    def result_shape(self) -> shapes.Shape:
        whole, cos, sin = shape(self.input), shape(self.cos_cache), shape(self.sin_cache)
        self.need(cos == sin, f"cos_cache has shape {cos}, sin_cache has {sin}")
        self.need(cos[-1:] == whole[-1:], f"cos_cache of shape {cos} does not fit the last dimension of {whole}")
        padded = (*whole[:-2], round_up(whole[-2], TILE), whole[-1])
        return padded if shape(self.result) == padded else whole
