"""Experts of transformers' models, computed by TT-NN's sparse products or by products of all experts.

register_tt_moe_backend()
AutoModelForCausalLM.from_pretrained(name, experts_implementation="tt_moe")
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from torch import Tensor, nn
from transformers.integrations.moe import ALL_EXPERTS_FUNCTIONS, ExpertsInterface

from tt_torch.sparse_mlp import expert_specs, expert_weights, routed

TT_MOE_BACKEND_NAME = "tt_moe"
TT_DENSE_EXPERTS_BACKEND_NAME = "tt_dense"


def tt_experts_forward(self: nn.Module, hidden_states: Tensor, top_k_index: Tensor, top_k_weights: Tensor) -> Tensor:
    """Returns the weighted sums of the chosen experts by sparse products; on the CPU by transformers' ``batched_mm``.

    Args:
        self: a module of experts, with ``gate_up_proj`` or ``gate_proj`` and ``up_proj``, and ``down_proj``.
        hidden_states: tokens, [T, H].
        top_k_index: the experts of each token, [T, K].
        top_k_weights: their weights, [T, K].

    Raises:
        ValueError: the module has no such weights.
    """
    if hidden_states.device.type == "cpu":
        return ALL_EXPERTS_FUNCTIONS["batched_mm"](self, hidden_states, top_k_index, top_k_weights)
    return routed(hidden_states, top_k_index, top_k_weights, expert_weights(self, hidden_states.shape[-1]))


def tt_dense_experts_forward(
    self: nn.Module, hidden_states: Tensor, top_k_index: Tensor, top_k_weights: Tensor
) -> Tensor:
    """Same as :func:`tt_experts_forward`, where each expert computes all tokens."""
    experts = expert_weights(self, hidden_states.shape[-1])
    return routed(hidden_states, top_k_index, top_k_weights, experts, is_dense=True)


def register_tt_moe_backend(cluster_axis: int | None = None) -> None:
    """Makes ``tt_moe`` and ``tt_dense`` known to transformers as implementations of experts.

    Args:
        cluster_axis: axis of the mesh along which tokens are sent. It changes nothing: the compiler splits the experts
            as their weights are marked.
    """
    ExpertsInterface.register(TT_MOE_BACKEND_NAME, tt_experts_forward)
    ExpertsInterface.register(TT_DENSE_EXPERTS_BACKEND_NAME, tt_dense_experts_forward)


def get_tt_moe_shard_specs(
    model: nn.Module, original_spec_fn: Callable[[nn.Module], Mapping[Any, Any]], mesh_names: Sequence[str]
) -> dict[Any, Any]:
    """Returns how the weights of a model are split, with the experts of its layers over all axes of a mesh.

    Args:
        model: a model of transformers.
        original_spec_fn: returns how its other weights are split: a partition spec for each.
        mesh_names: names of the axes.
    """
    specs = dict(original_spec_fn(model))
    axes = tuple(mesh_names) if len(mesh_names) > 1 else mesh_names[0]
    for module in model.modules():
        experts = getattr(module, "experts", None)
        if isinstance(experts, nn.Module):
            specs.update(expert_specs(experts, axes))
    return specs


register_tt_moe_backend()

__all__ = [
    "TT_DENSE_EXPERTS_BACKEND_NAME",
    "TT_MOE_BACKEND_NAME",
    "get_tt_moe_shard_specs",
    "register_tt_moe_backend",
    "tt_dense_experts_forward",
    "tt_experts_forward",
]
