"""``torch_xla.distributed.fsdp.utils``: linear layers that keep the dimensions of inputs apart, and checkpoints."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
import torch_xla.distributed.spmd as _spmd
from torch import nn
from torch.utils.checkpoint import set_checkpoint_early_stop as _set_checkpoint_early_stop
from torch_xla.utils.checkpoint import checkpoint as _checkpoint


def apply_xla_patch_to_nn_linear(
    module: nn.Module,
    patched_function: Callable[[nn.Linear, torch.Tensor], torch.Tensor] = _spmd.xla_patched_nn_linear_forward,
) -> nn.Module:
    """Replaces the forward pass of each linear layer of a module, and returns the module."""
    for layer in module.modules():
        if isinstance(layer, nn.Linear):
            layer.forward = partial(patched_function, layer)  # type: ignore[method-assign]
    return module


def checkpoint_module(module: nn.Module) -> nn.Module:
    """Makes the backward pass compute the activations of a module again, and returns the module.

    Inputs without gradients have none to compute, so there the forward pass stays as it is.
    """
    forward = module.forward

    def checkpointed(*args: Any, **kwargs: Any) -> Any:
        tensors = [value for value in (*args, *kwargs.values()) if isinstance(value, torch.Tensor)]
        if not any(tensor.requires_grad for tensor in tensors):
            return forward(*args, **kwargs)
        with _set_checkpoint_early_stop(False):  # the second pass is a whole one, with the user's side effects
            return _checkpoint(lambda *values: forward(*values, **kwargs), *args, use_reentrant=False)

    module.forward = checkpointed  # type: ignore[method-assign]
    return module
