"""Upstream's helpers around modules."""

from __future__ import annotations

import torch


def mark_module_user_inputs(module: torch.nn.Module) -> None:
    """Says that what the module is called with are inputs. They are known as such here, from dynamo's sources, so the
    module stays as it is.

    Raises:
        TypeError: this is no module.
    """
    if not isinstance(module, torch.nn.Module):
        raise TypeError(f"Expected nn.Module, got {type(module).__name__}")


__all__ = ["mark_module_user_inputs"]
