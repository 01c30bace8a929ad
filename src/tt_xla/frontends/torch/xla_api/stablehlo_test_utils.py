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


def compare_exported_program_and_saved_model_result(
    ep: Any, saved_model_path: str, args: Any, atol: float = 1e-7
) -> Any:
    """Would compare an exported program with a saved model of TensorFlow.

    Raises:
        NotImplementedError: always, as there are no such models.
    """
    raise NotImplementedError(_NO_MODELS)


def load_save_model_and_inference(path: str, args: tuple[Any, ...]) -> Any:
    """Would run a saved model of TensorFlow.

    Raises:
        NotImplementedError: always, as there are no such models.
    """
    raise NotImplementedError(_NO_MODELS)


_NO_MODELS = "No file for TensorFlow is written here: StableHLOGraphModule.load loads and runs an exported model."

__all__ = [
    "compare_exported_program_and_saved_model_result",
    "has_tf_package",
    "load_save_model_and_inference",
    "wrap_func_as_nn_module",
]
