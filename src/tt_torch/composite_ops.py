"""Composite ops. An entry in :data:`replacements` turns a function or module of torch into a composite op:

replacements[torch.nn.functional.my_op] = composite_my_op
"""

from tt_xla.frontends.torch.graph.composites import (
    composite_argmax,
    composite_gather,
    composite_gelu,
    composite_group_norm,
    composite_layer_norm,
    composite_rms_norm,
    composite_scaled_dot_product_attention,
    composite_topk,
    composite_topk_indices,
    composite_topk_values,
    module_parameter,
    replace_gelu_module,
    replace_group_norm_module,
    replace_layer_norm_module,
    replace_rms_norm_module,
    replacements,
)
from tt_xla.frontends.torch.graph.marks import StableHLOCompositeBuilder

__all__ = [
    "StableHLOCompositeBuilder",
    "composite_argmax",
    "composite_gather",
    "composite_gelu",
    "composite_group_norm",
    "composite_layer_norm",
    "composite_rms_norm",
    "composite_scaled_dot_product_attention",
    "composite_topk",
    "composite_topk_indices",
    "composite_topk_values",
    "module_parameter",
    "replace_gelu_module",
    "replace_group_norm_module",
    "replace_layer_norm_module",
    "replace_rms_norm_module",
    "replacements",
]
