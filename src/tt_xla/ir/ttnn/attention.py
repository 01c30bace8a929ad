"""Attention, heads, caches and rotary embeddings. Source: tt-mlir ``TTNNOps.td``."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import TensorType
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, result_def

from tt_xla.ir import abstract, shapes
from tt_xla.ir.abstract import attention as shared
from tt_xla.ir.abstract import cache
from tt_xla.ir.base import shape
from tt_xla.ir.properties import BOOL, UI32, defaulted, opt_prop_def, prop_def
from tt_xla.ir.ttnn.base import ComputeOp, ConfigurableOp, TTNNOp
from tt_xla.ir.ttnn.configs import SDPA_CONFIG


@irdl_op_definition
class ScaledDotProductAttentionOp(ConfigurableOp, shared.ScaledDotProductAttention):
    """Computes softmax(query @ key.T * scale + attention_mask) @ value."""

    name = "ttnn.scaled_dot_product_attention"


@irdl_op_definition
class ScaledDotProductAttentionDecodeOp(ConfigurableOp, shared.AttentionDecode):
    """Attention of one new position for each sequence."""

    name = "ttnn.scaled_dot_product_attention_decode"
    sliding_window_size = opt_prop_def(UI32)
    program_config = opt_prop_def(SDPA_CONFIG)


@irdl_op_definition
class PagedScaledDotProductAttentionDecodeOp(TTNNOp, shared.PagedAttentionDecode):
    """Attention of one new position for each sequence to paged keys and values."""

    name = "ttnn.paged_scaled_dot_product_attention_decode"
    program_config = opt_prop_def(SDPA_CONFIG)


@irdl_op_definition
class ChunkedScaledDotProductAttentionOp(TTNNOp, shared.ChunkedAttention):
    """Attention of a chunk of queries to paged keys and values."""

    name = "ttnn.chunked_scaled_dot_product_attention"
    program_config = opt_prop_def(SDPA_CONFIG)


@irdl_op_definition
class PagedFlashMultiLatentAttentionDecodeOp(TTNNOp, shared.PagedLatentAttentionDecode):
    """Multi-head latent attention of one new position for each sequence."""

    name = "ttnn.paged_flash_multi_latent_attention_decode"


@irdl_op_definition
class FlashMlaPrefillOp(TTNNOp, shared.LatentAttentionPrefill):
    """Multi-head latent attention of entire sequences."""

    name = "ttnn.flash_mla_prefill"


@irdl_op_definition
class SdpaFwOp(TTNNOp, shared.AttentionForward):
    """Attention for training."""

    name = "ttnn.sdpa_fw"


@irdl_op_definition
class SdpaBwOp(TTNNOp, shared.AttentionBackward):
    """Computes the gradients of attention."""

    name = "ttnn.sdpa_bw"


@irdl_op_definition
class IndexerScoreDsaOp(TTNNOp, abstract.TensorOp):
    """Scores keys for sparse attention: the sum over heads of relu(query . key) * weights.

    Keys after the query have minus infinity.
    """

    name = "ttnn.indexer_score_dsa"
    query = operand_def(TensorType)
    key = operand_def(TensorType)
    weights = operand_def(TensorType)
    chunk_start_idx = defaulted(UI32, 0)
    cluster_axis = opt_prop_def(UI32)

    def result_shape(self) -> None:
        batch, heads, rows, size = self.shape_of_rank("query", 4)
        keys = self.shape_of_rank("key", 4)
        self.require(
            (keys[0], keys[1], keys[3]) == (batch, 1, size), f"key has shape {keys}, query {shape(self.query)}"
        )
        self.expect_shape("weights", (batch, heads, rows, 1))
        self.require(
            shape(self.result)[-2:] == (rows, keys[2]),
            f"result has shape {shape(self.result)}, expected [..., {rows}, {keys[2]}]",
        )


@irdl_op_definition
class ConcatenateHeadsOp(TTNNOp, shared.ConcatenateHeads):
    """Joins heads: [B, H, S, D] becomes [B, S, H * D]."""

    name = "ttnn.concatenate_heads"


@irdl_op_definition
class NlpConcatHeadsOp(TTNNOp, abstract.TensorOp):
    """Joins heads: [B, H, S, D] becomes [B, 1, S, H * D]."""

    name = "ttnn.nlp_concat_heads"
    input = operand_def(TensorType)

    def result_shape(self) -> shapes.Shape:
        batch, heads, rows, size = self.shape_of_rank("input", 4)
        return (batch, 1, rows, heads * size)


@irdl_op_definition
class NlpConcatHeadsDecodeOp(TTNNOp, abstract.TensorOp):
    """Joins heads: [1, B, H with padding, D] becomes [1, 1, B, num_heads * D]."""

    name = "ttnn.nlp_concat_heads_decode"
    input = operand_def(TensorType)
    num_heads = prop_def(UI32)

    def result_shape(self) -> shapes.Shape:
        one, batch, heads, size = self.shape_of_rank("input", 4)
        self.require(self.num_heads <= heads, f"num_heads is {self.num_heads}, expected at most the input's {heads}")
        return (one, 1, batch, self.num_heads * size)


@irdl_op_definition
class SplitQueryKeyValueAndSplitHeadsOp(TTNNOp, shared.SplitHeads):
    """Splits a projection into the heads of query, key and value."""

    name = "ttnn.split_query_key_value_and_split_heads"


@irdl_op_definition
class NlpCreateQkvHeadsDecodeOp(TTNNOp, abstract.ShapedOp):
    """Splits [1, 1, B, (H + 2 G) * D] into query [1, B, H, D], key and value [1, B, G, D].

    ``slice_size``, where present, takes the place of B in the results.
    """

    name = "ttnn.nlp_create_qkv_heads_decode"
    input = operand_def(TensorType)
    batch_offset = opt_operand_def(TensorType)
    num_heads = prop_def(UI32)
    num_kv_heads = opt_prop_def(UI32)
    overlap_qk_coregrid = opt_prop_def(BOOL)
    slice_size = opt_prop_def(UI32)
    query = result_def(TensorType)
    key = result_def(TensorType)
    value_ = result_def(TensorType)

    def result_shapes(self) -> Sequence[shapes.Shape]:
        one, _, batch, width = self.shape_of_rank("input", 4)
        heads = self.num_heads
        groups = self.num_kv_heads or heads
        head_count = heads + 2 * groups
        self.require(
            head_count > 0 and width % head_count == 0, f"{width} columns do not split into {head_count} heads"
        )
        batch = self.slice_size or batch
        key = (one, batch, groups, width // head_count)
        return (one, batch, heads, width // head_count), key, key


@irdl_op_definition
class RotaryEmbeddingOp(ComputeOp, shared.Rotary):
    """Rotates the halves of the last dimension against each other."""

    name = "ttnn.rotary_embedding"
    token_index = opt_prop_def(UI32)


@irdl_op_definition
class RotaryEmbeddingLlamaOp(ComputeOp, shared.Rotary):
    """Rotates neighbouring elements of the last dimension, by a product with ``trans_mat``."""

    name = "ttnn.rotary_embedding_llama"
    input = operand_def(TensorType)
    cos_cache = operand_def(TensorType)
    sin_cache = operand_def(TensorType)
    trans_mat = operand_def(TensorType)
    is_decode_mode = defaulted(BOOL, False)


@irdl_op_definition
class UpdateCacheOp(TTNNOp, cache.UpdateCache):
    """Writes one position of each sequence."""

    name = "ttnn.update_cache"


@irdl_op_definition
class FillCacheOp(TTNNOp, cache.FillCache):
    """Writes the first positions of sequences."""

    name = "ttnn.fill_cache"


@irdl_op_definition
class PagedUpdateCacheOp(TTNNOp, cache.PagedUpdateCache):
    """Writes one position of each sequence into its page."""

    name = "ttnn.paged_update_cache"


@irdl_op_definition
class PagedFillCacheOp(TTNNOp, cache.PagedFillCache):
    """Writes sequences into their pages."""

    name = "ttnn.paged_fill_cache"


OPS = (
    ScaledDotProductAttentionOp,
    ScaledDotProductAttentionDecodeOp,
    PagedScaledDotProductAttentionDecodeOp,
    ChunkedScaledDotProductAttentionOp,
    PagedFlashMultiLatentAttentionDecodeOp,
    FlashMlaPrefillOp,
    SdpaFwOp,
    SdpaBwOp,
    IndexerScoreDsaOp,
    ConcatenateHeadsOp,
    NlpConcatHeadsOp,
    NlpConcatHeadsDecodeOp,
    SplitQueryKeyValueAndSplitHeadsOp,
    NlpCreateQkvHeadsDecodeOp,
    RotaryEmbeddingOp,
    RotaryEmbeddingLlamaOp,
    UpdateCacheOp,
    FillCacheOp,
    PagedUpdateCacheOp,
    PagedFillCacheOp,
)
