"""Functions of PyTorch that have private names, and pytrees, decompositions and the setup of a Python device."""

from __future__ import annotations

import torch
from torch._decomp import decomposition_table
from torch._higher_order_ops.flex_attention import math_attention as flex_math_attention
from torch.utils._python_dispatch import _disable_current_modes as without_dispatch_modes
from torch.utils._pytree import (
    TreeSpec,
    tree_flatten,
    tree_leaves,
    tree_map,
    tree_map_only,
    tree_unflatten,
    treespec_dumps,
    treespec_loads,
)
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend as setup_python_device

make_subclass = torch.Tensor._make_subclass
"""``make_subclass(cls, tensor)`` returns a tensor of a subclass over the same memory that is no view for autograd."""

native_multi_head_attention = torch._native_multi_head_attention
"""Inference path of ``nn.MultiheadAttention``."""

transformer_encoder_layer_forward = torch._transformer_encoder_layer_fwd
"""Inference path of ``nn.TransformerEncoderLayer``."""


def profiling_all_threads() -> torch._C._profiler._ExperimentalConfig:
    """Returns settings by which PyTorch's profiler also sees threads other than the one that starts it."""
    return torch._C._profiler._ExperimentalConfig(profile_all_threads=True)


__all__ = [
    "TreeSpec",
    "decomposition_table",
    "flex_math_attention",
    "make_subclass",
    "native_multi_head_attention",
    "profiling_all_threads",
    "setup_python_device",
    "transformer_encoder_layer_forward",
    "tree_flatten",
    "tree_leaves",
    "tree_map",
    "tree_map_only",
    "tree_unflatten",
    "treespec_dumps",
    "treespec_loads",
    "without_dispatch_modes",
]
