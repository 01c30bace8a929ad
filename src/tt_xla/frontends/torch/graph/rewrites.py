"""Rewrites functions of the graph that dynamo captured, before autograd sees it."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F

from tt_xla.frontends.torch.private.functions import (
    flex_math_attention,
)


def rewrite(graph_module: torch.fx.GraphModule) -> None:
    """Replaces functions that have fused kernels by plain ops: fused kernels differ by device and hide their ops.

    Embeddings get dense gradients, because the device has no sparse tensors.
    """
    changed = False
    for node in graph_module.graph.nodes:
        if node.op != "call_function":
            continue
        plain = _PLAIN.get(node.target) or _PLAIN_BY_NAME.get(getattr(node.target, "__name__", ""))
        if plain is not None:
            node.target = plain
            changed = True
        position = _SPARSE.get(node.target)
        if position is not None and node.kwargs.get("sparse"):
            node.kwargs = {**node.kwargs, "sparse": False}
            changed = True
        elif position is not None and len(node.args) > position and node.args[position]:
            node.args = (*node.args[:position], False, *node.args[position + 1 :])
            changed = True
    if changed:
        graph_module.recompile()


_SPARSE: dict[object, int] = {F.embedding: 6, F.embedding_bag: 7, torch.embedding: 4, torch.embedding_bag: 5}
"""Position of the argument ``sparse``, by function."""


def rewrite_adaptive_avgpool_to_mean(gm: torch.fx.GraphModule) -> torch.fx.GraphModule:
    """Replaces adaptive average poolings to one element, modules and functions, by a mean over these dimensions."""
    changed = False
    for node in list(gm.graph.nodes):
        dims = _pooled_to_one(gm, node)
        if dims is None:
            continue
        with gm.graph.inserting_after(node):
            mean = gm.graph.call_function(torch.mean, (node.args[0],), {"dim": dims, "keepdim": True})
        mean.meta = dict(node.meta)
        node.replace_all_uses_with(mean)
        gm.graph.erase_node(node)
        changed = True
    if changed:
        gm.recompile()
    return gm


def _pooled_to_one(gm: torch.fx.GraphModule, node: torch.fx.Node) -> list[int] | None:
    """Returns the dimensions that a node pools to one element each, or None when it is no such pooling."""
    if node.op == "call_module":
        module = gm.get_submodule(str(node.target))
        rank, size = _ADAPTIVE.get(type(module)), getattr(module, "output_size", None)
    elif node.op == "call_function" and len(node.args) == 2:
        rank, size = _ADAPTIVE.get(node.target), node.args[1]
    else:
        return None
    if rank is None or size not in (1, (1,) * rank, [1] * rank):
        return None
    return list(range(-rank, 0))


_ADAPTIVE: dict[object, int] = {
    torch.nn.AdaptiveAvgPool1d: 1,
    torch.nn.AdaptiveAvgPool2d: 2,
    F.adaptive_avg_pool1d: 1,
    F.adaptive_avg_pool2d: 2,
}
"""Number of pooled dimensions, by module type or function of an adaptive average pooling."""


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
    """Computes ``F.scaled_dot_product_attention`` in plain ops.

    PyTorch selects a fused kernel for CPU tensors, whose backward has no decomposition. These ops are the same on all
    devices.
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
    # As in PyTorch's kernels, a fully masked row gives zeros. Only a mask of the user's can have such a row.
    weights = torch.softmax(scores, -1) if attn_mask is None else torch.ops.aten._safe_softmax(scores, -1)
    if dropout_p:
        weights = F.dropout(weights, dropout_p)
    return torch.matmul(weights.to(value.dtype), value)  # a float32 mask of bfloat16 tensors widens the scores


def multi_head_attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    width: int,
    heads: int,
    qkv_weight: torch.Tensor,
    qkv_bias: torch.Tensor,
    out_weight: torch.Tensor,
    out_bias: torch.Tensor,
    mask: torch.Tensor | None = None,
    need_weights: bool = True,
    average_attn_weights: bool = True,
    mask_type: int | None = None,
) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Computes ``torch._native_multi_head_attention``, the inference path of ``nn.MultiheadAttention``."""
    projections = zip((query, key, value), qkv_weight.chunk(3), qkv_bias.chunk(3), strict=True)
    query, key, value = (
        F.linear(tensor, weight, bias).unflatten(-1, (heads, -1)).transpose(1, 2)
        for tensor, weight, bias in projections
    )
    scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(width // heads)
    if mask is not None:
        mask = mask[:, None, None, :] if mask_type == 1 else mask
        is_boolean = mask.dtype == torch.bool
        scores = scores.masked_fill(mask, -math.inf) if is_boolean else scores + mask
    weights = torch.softmax(scores, -1)
    result = F.linear(torch.matmul(weights, value).transpose(1, 2).flatten(2), out_weight, out_bias)
    if not need_weights:
        return result, None
    return result, weights.mean(1) if average_attn_weights else weights


def encoder_layer(
    x: torch.Tensor,
    width: int,
    heads: int,
    qkv_weight: torch.Tensor,
    qkv_bias: torch.Tensor,
    out_weight: torch.Tensor,
    out_bias: torch.Tensor,
    use_gelu: bool,
    norm_first: bool,
    epsilon: float,
    norm1_weight: torch.Tensor,
    norm1_bias: torch.Tensor,
    norm2_weight: torch.Tensor,
    norm2_bias: torch.Tensor,
    up_weight: torch.Tensor,
    up_bias: torch.Tensor,
    down_weight: torch.Tensor,
    down_bias: torch.Tensor,
    mask: torch.Tensor | None = None,
    mask_type: int | None = None,
) -> torch.Tensor:
    """Computes ``torch._transformer_encoder_layer_fwd``, the inference path of ``nn.TransformerEncoderLayer``."""

    def attend(x: torch.Tensor) -> torch.Tensor:
        projections = qkv_weight, qkv_bias, out_weight, out_bias
        return multi_head_attention(x, x, x, width, heads, *projections, mask, False, mask_type=mask_type)[0]

    def feed_forward(x: torch.Tensor) -> torch.Tensor:
        inner = F.linear(x, up_weight, up_bias)
        return F.linear(F.gelu(inner) if use_gelu else F.relu(inner), down_weight, down_bias)

    def norm1(x: torch.Tensor) -> torch.Tensor:
        return F.layer_norm(x, (width,), norm1_weight, norm1_bias, epsilon)

    def norm2(x: torch.Tensor) -> torch.Tensor:
        return F.layer_norm(x, (width,), norm2_weight, norm2_bias, epsilon)

    if norm_first:
        x = x + attend(norm1(x))
        return x + feed_forward(norm2(x))
    x = norm1(x + attend(x))
    return norm2(x + feed_forward(x))


_PLAIN: dict[object, Callable[..., object]] = {
    torch.ops.higher_order.flex_attention: flex_math_attention,
    F.scaled_dot_product_attention: attention,
}
_PLAIN_BY_NAME = {
    "_native_multi_head_attention": multi_head_attention,
    "_transformer_encoder_layer_fwd": encoder_layer,
}
"""Inference paths of ``nn.MultiheadAttention`` and ``nn.TransformerEncoderLayer``, by names of PyTorch's functions."""
