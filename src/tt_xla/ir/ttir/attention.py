"""Attention, heads and caches."""

from __future__ import annotations

from xdsl.dialects.builtin import TensorType
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def

from tt_xla.ir import shapes
from tt_xla.ir.abstract import attention as shared
from tt_xla.ir.abstract import cache
from tt_xla.ir.base import shape


@irdl_op_definition
class ScaledDotProductAttentionOp(shared.ScaledDotProductAttention):
    """Computes softmax(query @ key.T * scale + attention_mask) @ value."""

    name = "ttir.scaled_dot_product_attention"


@irdl_op_definition
class ScaledDotProductAttentionDecodeOp(shared.AttentionDecode):
    """Attention of one new position for each sequence."""

    name = "ttir.scaled_dot_product_attention_decode"
    query = operand_def(TensorType)
    key = operand_def(TensorType)
    value_ = operand_def(TensorType)
    attention_mask = opt_operand_def(TensorType)
    cur_pos_tensor = opt_operand_def(TensorType)
    attention_sink = opt_operand_def(TensorType)


@irdl_op_definition
class PagedScaledDotProductAttentionDecodeOp(shared.PagedAttentionDecode):
    """Attention of one new position for each sequence to paged keys and values; writes to ``output``."""

    name = "ttir.paged_scaled_dot_product_attention_decode"
    query = operand_def(TensorType)
    key = operand_def(TensorType)
    value_ = operand_def(TensorType)
    page_table = operand_def(TensorType)
    output = operand_def(TensorType)
    attention_mask = opt_operand_def(TensorType)
    cur_pos_tensor = opt_operand_def(TensorType)
    attention_sink = opt_operand_def(TensorType)

    def result_shape(self) -> shapes.Shape:
        self.expect_shape("output", shape(self.query))
        return super().result_shape()


@irdl_op_definition
class ChunkedScaledDotProductAttentionOp(shared.ChunkedAttention):
    """Attention of a chunk of queries to paged keys and values; writes to ``output``."""

    name = "ttir.chunked_scaled_dot_product_attention"
    query = operand_def(TensorType)
    key = operand_def(TensorType)
    value_ = operand_def(TensorType)
    page_table = operand_def(TensorType)
    chunk_start_idx = operand_def(TensorType)
    output = operand_def(TensorType)

    def result_shape(self) -> shapes.Shape:
        self.expect_shape("output", shape(self.query))
        return super().result_shape()


@irdl_op_definition
class PagedFlashMultiLatentAttentionDecodeOp(shared.PagedLatentAttentionDecode):
    """Multi-head latent attention of one new position for each sequence."""

    name = "ttir.paged_flash_multi_latent_attention_decode"


@irdl_op_definition
class SdpaFwOp(shared.AttentionForward):
    """Attention for training."""

    name = "ttir.sdpa_fw"


@irdl_op_definition
class SdpaBwOp(shared.AttentionBackward):
    """Computes the gradients of attention."""

    name = "ttir.sdpa_bw"


@irdl_op_definition
class ConcatenateHeadsOp(shared.ConcatenateHeads):
    """Joins heads side by side."""

    name = "ttir.concatenate_heads"


@irdl_op_definition
class SplitQueryKeyValueAndSplitHeadsOp(shared.SplitHeads):
    """Splits a projection into the heads of query, key and value."""

    name = "ttir.split_query_key_value_and_split_heads"


@irdl_op_definition
class UpdateCacheOp(cache.UpdateCache):
    """Writes one position of each sequence."""

    name = "ttir.update_cache"


@irdl_op_definition
class FillCacheOp(cache.FillCache):
    """Writes the first positions of sequences."""

    name = "ttir.fill_cache"


@irdl_op_definition
class PagedUpdateCacheOp(cache.PagedUpdateCache):
    """Writes one position of each sequence into its page."""

    name = "ttir.paged_update_cache"


@irdl_op_definition
class PagedFillCacheOp(cache.PagedFillCache):
    """Writes sequences into their pages."""

    name = "ttir.paged_fill_cache"


OPS = (
    ScaledDotProductAttentionOp,
    ScaledDotProductAttentionDecodeOp,
    PagedScaledDotProductAttentionDecodeOp,
    ChunkedScaledDotProductAttentionOp,
    PagedFlashMultiLatentAttentionDecodeOp,
    SdpaFwOp,
    SdpaBwOp,
    ConcatenateHeadsOp,
    SplitQueryKeyValueAndSplitHeadsOp,
    UpdateCacheOp,
    FillCacheOp,
    PagedUpdateCacheOp,
    PagedFillCacheOp,
)
