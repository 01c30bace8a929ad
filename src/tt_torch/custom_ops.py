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
from tt_xla.frontends.torch.weight_dtypes import weight_dtype_override

__all__ = [
    "chunked_scaled_dot_product_attention",
    "fill_cache",
    "flash_mla_prefill",
    "mark_argument_attributes",
    "paged_fill_cache",
    "paged_flash_mla_decode",
    "paged_scaled_dot_product_attention_decode",
    "paged_update_cache",
    "sampling",
    "scaled_dot_product_attention",
    "scaled_dot_product_attention_decode",
    "sharding_constraint",
    "update_cache",
    "weight_dtype_override",
]
