"""Custom ops that map to ops of TT-NN, ``torch.ops.tt.<name>``; importing this module defines them."""

from tt_xla.frontends.torch.custom_ops import (
    chunked_scaled_dot_product_attention,
    fill_cache,
    flash_mla_prefill,
    mark_argument_attributes,
    paged_fill_cache,
    paged_flash_mla_decode,
    paged_scaled_dot_product_attention_decode,
    paged_update_cache,
    sampling,
    scaled_dot_product_attention,
    scaled_dot_product_attention_decode,
    sharding_constraint,
    update_cache,
)
from tt_xla.frontends.torch.expert_ops import (
    all_to_all_combine,
    all_to_all_dispatch,
    moe_expert_token_remap,
    sparse_matmul,
)
from tt_xla.frontends.torch.weight_dtypes import weight_dtype_override

__all__ = [
    "all_to_all_combine",
    "all_to_all_dispatch",
    "chunked_scaled_dot_product_attention",
    "fill_cache",
    "flash_mla_prefill",
    "mark_argument_attributes",
    "moe_expert_token_remap",
    "paged_fill_cache",
    "paged_flash_mla_decode",
    "paged_scaled_dot_product_attention_decode",
    "paged_update_cache",
    "sampling",
    "scaled_dot_product_attention",
    "scaled_dot_product_attention_decode",
    "sharding_constraint",
    "sparse_matmul",
    "update_cache",
    "weight_dtype_override",
]
