"""``torch_xla.utils.stablehlo_test_utils``: helpers of tests of exported models."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any

import torch


def has_tf_package() -> bool:
    """Returns whether TensorFlow is installed."""
    return importlib.util.find_spec("tensorflow") is not None


def wrap_func_as_nn_module(f: Callable[..., Any]) -> torch.nn.Module:
    """Returns a module in evaluation mode that calls a function with its positional arguments."""

    class Wrapped(torch.nn.Module):
        def forward(self, *args: Any) -> Any:
            return f(*args)

    return Wrapped().eval()


__all__ = ["has_tf_package", "wrap_func_as_nn_module"]
