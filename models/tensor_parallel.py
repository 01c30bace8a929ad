"""Tensor parallelism of transformers' decoders with gated MLPs, such as Llama's."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import torch

from .transformers_models import TransformersLoader

PartitionSpec = tuple[str | None, str | None]


class SplitDecoder(TransformersLoader):
    """A loader whose model's heads and MLPs are split over the chips.

    The projections to heads and to the MLP are split by their outputs, those back to the residual stream by their
    inputs, so each layer sums twice over the chips.
    """

    def get_mesh_config(self, num_devices: int) -> tuple[Sequence[int], Sequence[str]]:
        """Returns a mesh whose axis ``model`` has at most one chip for each head of keys and values."""
        heads = self.architecture.configuration(self._variant).num_key_value_heads
        split = math.gcd(num_devices, heads)
        return (num_devices // split, split), ("batch", "model")

    def load_shard_spec(self, model: torch.nn.Module) -> Mapping[torch.Tensor, PartitionSpec]:
        """Returns the partition spec of each weight that is split."""
        outputs: PartitionSpec = ("model", None)
        inputs: PartitionSpec = (None, "model")
        specs: dict[torch.Tensor, PartitionSpec] = {}
        for layer in model.model.layers:
            attention, mlp = layer.self_attn, layer.mlp
            by_outputs = attention.q_proj, attention.k_proj, attention.v_proj, mlp.gate_proj, mlp.up_proj
            specs |= {linear.weight: outputs for linear in by_outputs}
            specs |= {linear.weight: inputs for linear in (attention.o_proj, mlp.down_proj)}
        return specs
