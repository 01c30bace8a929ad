"""Rewrites of the graph that dynamo captured, before autograd sees it."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F


def rewrite(graph_module: torch.fx.GraphModule) -> None:
    """Replaces what would otherwise be traced differently for CPU and ``tt`` tensors."""
    changed = False
    for node in graph_module.graph.find_nodes(op="call_function", target=F.scaled_dot_product_attention):
        node.target = attention
        changed = True
    if changed:
        graph_module.recompile()


def attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attn_mask: torch.Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> torch.Tensor:
    """``F.scaled_dot_product_attention`` in plain ops.

    Torch picks a fused kernel for CPU tensors, whose backward has no decomposition; this is the same on all devices.
    """
    if enable_gqa:
        key = key.repeat_interleave(query.size(-3) // key.size(-3), -3)
        value = value.repeat_interleave(query.size(-3) // value.size(-3), -3)
    scale = 1 / math.sqrt(query.size(-1)) if scale is None else scale
    scores = torch.matmul(query, key.transpose(-2, -1)) * scale
    if is_causal:
        lower = torch.ones(query.size(-2), key.size(-2), dtype=torch.bool, device=query.device).tril()
        scores = scores.masked_fill(lower.logical_not(), -math.inf)
    if attn_mask is not None:
        if attn_mask.dtype == torch.bool:
            scores = scores.masked_fill(attn_mask.logical_not(), -math.inf)
        else:
            scores = scores + attn_mask
    # A row that is masked throughout gives zeros, as torch's kernels do; only a mask of the user's can have one.
    weights = torch.softmax(scores, -1) if attn_mask is None else torch.ops.aten._safe_softmax(scores, -1)
    if dropout_p:
        weights = F.dropout(weights, dropout_p)
    return torch.matmul(weights, value)
