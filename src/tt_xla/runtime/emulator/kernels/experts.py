"""Mixtures of experts on one chip: routers, and products with the weights of the experts that are chosen.

The parameters are TT-NN's.
"""

from __future__ import annotations

from typing import Any

import torch

from tt_xla.runtime.emulator.kernels.matrix import linear
from tt_xla.runtime.emulator.registry import kernel

Tensor = torch.Tensor


@kernel("ttnn.experimental.topk_router_gpt")
def topk_router_gpt(
    ctx: Any, input_tensor: Tensor, weight_tensor: Tensor, bias_tensor: Tensor, k: int = 4, num_experts: int = 128
) -> tuple[Tensor, Tensor]:
    """Returns the ``k`` experts with the greatest logits of each row, and the softmax of these logits."""
    logits = input_tensor.float() @ weight_tensor.float() + bias_tensor.float()
    values, experts = torch.topk(logits, k, -1)
    return experts, torch.softmax(values, -1)


@kernel("ttnn.experimental.deepseek_grouped_gate")
def deepseek_grouped_gate(
    ctx: Any,
    scores: Tensor,
    bias: Tensor,
    n_groups: int = 8,
    summed_experts_per_group: int = 2,
    topk_groups: int = 4,
    n_activated_experts: int = 8,
    route_scale: float = 1.0,
    epsilon: float = 1e-20,
) -> tuple[Tensor, Tensor]:
    """Returns the weights and the numbers of the experts with the greatest scores in the best groups of experts."""
    gates = torch.sigmoid(scores.float())
    biased = (gates + bias.float()).unflatten(-1, (n_groups, -1))
    strength = torch.topk(biased, summed_experts_per_group, -1).values.sum(-1)
    best = torch.topk(strength, topk_groups, -1).indices
    kept = torch.zeros_like(strength, dtype=torch.bool).scatter_(-1, best, torch.ones_like(best, dtype=torch.bool))
    chosen = biased.masked_fill(~kept.unsqueeze(-1), -torch.inf).flatten(-2)
    experts = torch.topk(chosen, n_activated_experts, -1).indices
    weights = gates.gather(-1, experts)
    return weights / (weights.sum(-1, keepdim=True) + epsilon) * route_scale, experts


@kernel("ttnn.sparse_matmul")
def sparse_matmul(
    ctx: Any,
    input_tensor_a: Tensor,
    input_tensor_b: Tensor,
    sparsity: Tensor,
    nnz: int | None = None,
    is_input_a_sparse: bool = False,
    is_input_b_sparse: bool = True,
    compute_config: Any = None,
    packed: bool = False,
    indices: Tensor | None = None,
    bias: Tensor | None = None,
) -> Tensor:
    """Multiplies matrices by the weights of the experts [1, E, K, N] where ``sparsity`` is not 0; the rest is 0.

    Args:
        packed: whether the result holds the ``nnz`` products one after the other.
        indices: the experts to compute alone; the result has them in this order, and so has a sparse first operand.
        bias: rows that are added to the products, [E, 32, N], the first row of each.
    """
    a = input_tensor_a if is_input_a_sparse else input_tensor_a[:, :, None, None]
    b = input_tensor_b if is_input_a_sparse else input_tensor_b[:, None, None]
    if indices is not None:
        chosen = torch.zeros_like(indices, dtype=torch.int64).flatten() if a.is_meta else indices.long().flatten()
        b = b.index_select(-3, chosen)
        product = _product(ctx, a, b, compute_config)
        rows = None if bias is None else bias.flatten(0, -3).index_select(0, chosen)[:, :1].float()
        return product if rows is None else product.float() + rows
    product = _product(ctx, a, b, compute_config)
    chosen = (sparsity != 0).reshape(product.shape[:-2])
    if not packed:
        return product.masked_fill(~chosen[..., None, None], 0)
    rows, columns = product.shape[-2:]
    return product.new_empty(1, nnz or 0, rows, columns) if product.is_meta else product[chosen].unsqueeze(0)


def _product(ctx: Any, a: Tensor, b: Tensor, compute_config: Any) -> Tensor:
    return torch.matmul(a, b) if a.is_meta else linear(ctx, compute_config=compute_config)(a, b)


@kernel("ttnn.experimental.deepseek_moe_fast_reduce_nc")
def deepseek_moe_fast_reduce_nc(ctx: Any, input_tensor: Tensor, dim: int, split_size: int) -> tuple[Tensor, ...]:
    """Adds up along a dimension, and returns parts of the columns."""
    return input_tensor.float().sum(dim, keepdim=True).split(split_size, -1)


@kernel("ttnn.experimental.fast_reduce_nc_split")
def fast_reduce_nc_split(ctx: Any, input: Tensor, dim: int, split_output_width: int) -> tuple[Tensor, ...]:
    """Adds up along a dimension, and returns the first columns and the rest."""
    total = input.float().sum(dim, keepdim=True)
    return total.split([split_output_width, total.shape[-1] - split_output_width], -1)
