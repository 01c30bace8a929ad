"""Linear layers of ``torch_xla.distributed.spmd`` that keep the dimensions of their input apart."""

from __future__ import annotations

import torch
from torch import nn


def einsum_linear(input: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None) -> torch.Tensor:
    """Computes a linear layer without joining the dimensions of its input, so that each may be split on its own.

    Args:
        input: [..., in features].
        weight: [out features, in features].
        bias: [out features], or None.

    Returns:
        [..., out features].
    """
    product = torch.einsum("...n,mn->...m", input, weight)
    return product if bias is None else product + bias


class XLAPatchedLinear:
    """The name under which scripts of ``torch_xla`` call :func:`einsum_linear`."""

    apply = staticmethod(einsum_linear)


def xla_patched_nn_linear_forward(m: nn.Linear, input: torch.Tensor) -> torch.Tensor:
    """Computes a linear layer by :func:`einsum_linear`."""
    return einsum_linear(input, m.weight, m.bias)


class EinsumLinear(nn.Linear):
    """A linear layer that keeps the dimensions of its input apart."""

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        return xla_patched_nn_linear_forward(self, input)


def apply_xla_patch_to_nn_linear(module: nn.Module) -> nn.Module:
    """Replaces each linear layer in a module by an :class:`EinsumLinear` with its parameters.

    Returns:
        The module.
    """
    for name, child in module.named_children():
        if not isinstance(child, nn.Linear):
            apply_xla_patch_to_nn_linear(child)
        elif not isinstance(child, EinsumLinear):
            layer = EinsumLinear(child.in_features, child.out_features, child.bias is not None, device="meta")
            layer.weight, layer.bias = child.weight, child.bias
            setattr(module, name, layer.train(child.training))
    return module
