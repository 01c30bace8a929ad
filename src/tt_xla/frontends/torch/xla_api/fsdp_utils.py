"""``torch_xla.distributed.fsdp.utils``: a linear layer that keeps the dimensions of its input apart."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
import torch_xla.distributed.spmd as _spmd
from torch import nn


def apply_xla_patch_to_nn_linear(
    module: nn.Module,
    patched_function: Callable[[nn.Linear, torch.Tensor], torch.Tensor] = _spmd.xla_patched_nn_linear_forward,
) -> nn.Module:
    """Replaces the forward pass of each linear layer of a module, and returns the module."""
    for layer in module.modules():
        if isinstance(layer, nn.Linear):
            layer.forward = partial(patched_function, layer)  # type: ignore[method-assign]
    return module
