"""Attention, heads and rotary embeddings.

Shapes are written with B for the batch, H heads, G groups of heads, S query and K key positions, D head size.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence

from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue
from xdsl.irdl import AttrSizedOperandSegments, operand_def, opt_operand_def, opt_result_def, result_def

from tt_xla.ir import shapes
from tt_xla.ir.abstract import LikeInput, ShapedOp, TensorOp
from tt_xla.ir.base import shape
from tt_xla.ir.layout import TILE, round_up
from tt_xla.ir.properties import BOOL, F32, UI32, defaulted, opt_prop_def, prop_def
from tt_xla.ir.ttcore import MASK_TYPE, AttentionMask


class _Attention(TensorOp, ABC):
    """Attention of query [B, H, S, D] to key [B, G, K, D] and value [B, G, K, E]; G divides H. Result [B, H, S, E]."""

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    query = operand_def(TensorType)
    key = operand_def(TensorType)
    value_ = operand_def(TensorType)
    is_causal = defaulted(BOOL, True)
    scale = opt_prop_def(F32)


def check_heads(op: ShapedOp) -> tuple[shapes.Shape, shapes.Shape, shapes.Shape]:
    """Returns the shapes of query, key and value.

    Raises:
        ValueError: the shapes contradict each other.
    """
    query, key, value = op.shape_of_rank("query", 4), op.shape_of_rank("key", 4), op.shape_of_rank("value_", 4)
    op.require(key[:3] == value[:3], f"key of shape {key} and value of shape {value} differ before the last dimension")
    op.require(query[0] == key[0], f"query has batch {query[0]}, key has {key[0]}")
    op.require(
        key[1] > 0 and query[1] % key[1] == 0, f"query has {query[1]} heads, expected a multiple of the key's {key[1]}"
    )
    op.require(query[3] == key[3], f"query has head size {query[3]}, key has {key[3]}")
    return query, key, value


def check_mask(op: ShapedOp, mask: SSAValue | None, expected: shapes.Shape) -> None:
    """Checks that an optional mask broadcasts to the shape ``expected``.

    Raises:
        ValueError: it does not.
    """
    if mask is not None:
        op.require(
            shapes.broadcast(shape(mask), expected) == expected,
            f"attention_mask of shape {shape(mask)} does not broadcast to {expected}",
        )


class ScaledDotProductAttention(_Attention, ABC):
    """Computes softmax(query @ key.T * scale + attention_mask) @ value; scale is 1 / sqrt(D) by default."""

    query = operand_def(TensorType)
    key = operand_def(TensorType)
    value_ = operand_def(TensorType)
    attention_mask = opt_operand_def(TensorType)
    attention_sink = opt_operand_def(TensorType)
    sliding_window_size = opt_prop_def(UI32)

    def result_shape(self) -> shapes.Shape:
        query, key, value = check_heads(self)
        self.require(not (self.is_causal and self.attention_mask is not None), "is_causal excludes an attention_mask")
        check_mask(self, self.attention_mask, (*query[:3], key[2]))
        return (*query[:3], value[3])


class AttentionDecode(_Attention, ABC):
    """Attention of one query position for each sequence.

    query is [1, B, H, D], key and value are [B, G, K, D]; the result has the shape of query.
    """

    query = operand_def(TensorType)
    key = operand_def(TensorType)
    value_ = operand_def(TensorType)
    attention_mask = opt_operand_def(TensorType)
    cur_pos_tensor = opt_operand_def(TensorType)
    """Position of each sequence, [B]."""
    attention_sink = opt_operand_def(TensorType)

    def result_shape(self) -> shapes.Shape:
        query, key, value = (
            self.shape_of_rank("query", 4),
            self.shape_of_rank("key", 4),
            self.shape_of_rank("value_", 4),
        )
        self.require(query[0] == 1, f"query has shape {query}, expected (1, batch, heads, head size)")
        self.require(key == value, f"key has shape {key}, value has {value}")
        self.require(key[0] == query[1], f"query has batch {query[1]}, key has {key[0]}")
        self.require(key[3] == query[3], f"query has head size {query[3]}, key has {key[3]}")
        self.expect_shape("cur_pos_tensor", (query[1],))
        return query


class PagedAttentionDecode(_Attention, ABC):
    """Same as :class:`AttentionDecode`, with key and value in pages.

    The pages are [P, G, page size, D]; page_table [B, pages] lists those of each sequence.
    """

    query = operand_def(TensorType)
    key = operand_def(TensorType)
    value_ = operand_def(TensorType)
    page_table = operand_def(TensorType)
    attention_mask = opt_operand_def(TensorType)
    cur_pos_tensor = opt_operand_def(TensorType)
    attention_sink = opt_operand_def(TensorType)
    sliding_window_size = opt_prop_def(UI32)

    def result_shape(self) -> shapes.Shape:
        query, key, value = (
            self.shape_of_rank("query", 4),
            self.shape_of_rank("key", 4),
            self.shape_of_rank("value_", 4),
        )
        self.require(query[0] == 1, f"query has shape {query}, expected (1, batch, heads, head size)")
        self.require(key == value, f"key has shape {key}, value has {value}")
        self.require(key[3] == query[3], f"query has head size {query[3]}, key has {key[3]}")
        self.require(
            self.shape_of_rank("page_table", 2)[0] == query[1],
            f"page_table has shape {shape(self.page_table)}, expected {query[1]} rows, one for each sequence",
        )
        self.expect_shape("cur_pos_tensor", (query[1],))
        return query


class ChunkedAttention(TensorOp, ABC):
    """Attention of a chunk of queries [B, H, S, D], the first at position chunk_start_idx, to paged keys and values."""

    query = operand_def(TensorType)
    key = operand_def(TensorType)
    value_ = operand_def(TensorType)
    page_table = operand_def(TensorType)
    chunk_start_idx = operand_def(TensorType)
    scale = opt_prop_def(F32)

    def result_shape(self) -> shapes.Shape:
        query, key, value = (
            self.shape_of_rank("query", 4),
            self.shape_of_rank("key", 4),
            self.shape_of_rank("value_", 4),
        )
        self.require(key == value, f"key has shape {key}, value has {value}")
        self.require(key[3] == query[3], f"query has head size {query[3]}, key has {key[3]}")
        self.require(
            self.shape_of_rank("page_table", 2)[0] == query[0],
            f"page_table has shape {shape(self.page_table)}, expected {query[0]} rows, one for each sequence",
        )
        return query


class PagedLatentAttentionDecode(_Attention, ABC):
    """Multi-head latent attention to paged keys.

    Without ``value``, the first ``head_dim_v`` elements of each key are the value.
    """

    query = operand_def(TensorType)
    key = operand_def(TensorType)
    value_ = opt_operand_def(TensorType)
    page_table = operand_def(TensorType)
    attention_mask = opt_operand_def(TensorType)
    cur_pos_tensor = opt_operand_def(TensorType)
    attention_sink = opt_operand_def(TensorType)
    head_dim_v = prop_def(UI32)

    def result_shape(self) -> shapes.Shape:
        query, key = self.shape_of_rank("query", 4), self.shape_of_rank("key", 4)
        self.require(key[3] == query[3], f"query has head size {query[3]}, key has {key[3]}")
        self.require(
            self.shape_of_rank("page_table", 2)[0] == query[1],
            f"page_table has shape {shape(self.page_table)}, expected {query[1]} rows, one for each sequence",
        )
        return (*query[:3], self.head_dim_v)


class LatentAttentionPrefill(_Attention, ABC):
    """Multi-head latent attention of entire sequences.

    Without ``value``, the first ``head_dim_v`` elements of each key are the value.
    """

    query = operand_def(TensorType)
    key = operand_def(TensorType)
    value_ = opt_operand_def(TensorType)
    attention_mask = opt_operand_def(TensorType)
    head_dim_v = prop_def(UI32)

    def result_shape(self) -> shapes.Shape:
        query, key = self.shape_of_rank("query", 4), self.shape_of_rank("key", 4)
        self.require(
            query[0] == key[0] and query[3] == key[3],
            f"query of shape {query} and key of shape {key} differ in batch or head size",
        )
        check_mask(self, self.attention_mask, (*query[:3], key[2]))
        return (*query[:3], self.head_dim_v)


class AttentionForward(ShapedOp, ABC):
    """Attention for training; ``intermediates`` [B, H, S, 32] holds the logarithms of the row sums."""

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
        self.require(
            (self.intermediates is not None) == self.return_intermediates,
            f"return_intermediates is {self.return_intermediates}, but intermediates are "
            f"{'absent' if self.intermediates is None else 'present'}",
        )
        return (*query[:3], value[3]), (*query[:3], 32)


def check_mask_type(op: AttentionForward | AttentionBackward) -> None:
    """Checks that the op has an attention_mask exactly if ``mask_type`` is ``arbitrary``.

    Raises:
        ValueError: it does not.
    """
    arbitrary = op.mask_type is AttentionMask.ARBITRARY
    op.require(
        (op.attention_mask is not None) == arbitrary,
        f"mask_type is {op.mask_type}; an attention_mask needs mask_type arbitrary, and only that needs one",
    )


class AttentionBackward(ShapedOp, ABC):
    """Computes the gradients of :class:`AttentionForward`."""

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
            self.expect_shape(name, (*query[:3], value[3]))
        self.expect_shape("intermediates", (*query[:3], 32))
        return query, key, value


class ConcatenateHeads(TensorOp, ABC):
    """Joins heads: [B, H, S, D] becomes [B, S, H * D]."""

    input = operand_def(TensorType)

    def result_shape(self) -> shapes.Shape:
        batch, heads, rows, size = self.shape_of_rank("input", 4)
        return (batch, rows, heads * size)


class SplitHeads(ShapedOp, ABC):
    """Splits a projection [B, S, (H + 2 G) * D] into the heads of query, key and value.

    With ``kv_input_tensor`` [B, K, 2 G * D], ``input_tensor`` [B, S, H * D] holds only the query. The results are
    query [B, H, S, D], key [B, G, K, D], which ``transpose_key`` makes [B, G, D, K], and value [B, G, K, D].
    """

    input_tensor = operand_def(TensorType)
    kv_input_tensor = opt_operand_def(TensorType)
    num_heads = prop_def(UI32)
    num_kv_heads = opt_prop_def(UI32)
    transpose_key = prop_def(BOOL)
    query = result_def(TensorType)
    key = result_def(TensorType)
    value_ = result_def(TensorType)

    def result_shapes(self) -> Sequence[shapes.Shape]:
        batch, rows, width = self.shape_of_rank("input_tensor", 3)
        heads = self.num_heads
        groups = self.num_kv_heads or heads
        key_rows = rows
        head_count = heads + 2 * groups
        if self.kv_input_tensor is not None:
            _, key_rows, key_width = self.shape_of_rank("kv_input_tensor", 3)
            self.require(
                heads > 0 and key_width * heads == 2 * groups * width,
                f"kv_input_tensor has {key_width} columns, expected {2 * groups} heads of the same width "
                f"as the query's {heads} heads in {width} columns",
            )
            head_count = heads
        self.require(
            head_count > 0 and width % head_count == 0, f"{width} columns do not split into {head_count} heads"
        )
        size = width // head_count
        key = (batch, groups, key_rows, size)
        return (
            (batch, heads, rows, size),
            shapes.permute(key, (0, 1, 3, 2)) if self.transpose_key else key,
            key,
        )


class Rotary(LikeInput, ABC):
    """Rotates pairs within the last dimension by angles given as cosines and sines.

    TT-NN pads the rows of the result to a tile, so a padded result is accepted.
    """

    input = operand_def(TensorType)
    cos_cache = operand_def(TensorType)
    sin_cache = operand_def(TensorType)

    def result_shape(self) -> shapes.Shape:
        input_shape, cos, sin = shape(self.input), shape(self.cos_cache), shape(self.sin_cache)
        self.require(cos == sin, f"cos_cache has shape {cos}, sin_cache has {sin}")
        self.require(
            cos[-1:] == input_shape[-1:], f"cos_cache of shape {cos} does not fit the last dimension of {input_shape}"
        )
        padded = (*input_shape[:-2], round_up(input_shape[-2], TILE), input_shape[-1])
        return padded if shape(self.result) == padded else input_shape
