"""Upstream's helpers for modules."""

from __future__ import annotations

import torch


def mark_module_user_inputs(module: torch.nn.Module) -> None:
    """Marks the arguments of a module's calls as inputs.

    The module stays unchanged, because dynamo's sources already tell inputs from parameters here.

    Raises:
        TypeError: ``module`` is no module.
    """
    if not isinstance(module, torch.nn.Module):
        raise TypeError(f"Expected nn.Module, got {type(module).__name__}")


__all__ = ["mark_module_user_inputs"]
