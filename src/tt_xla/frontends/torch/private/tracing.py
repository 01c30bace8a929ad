"""Graphs of functions, and what graphs are compiled with."""

from __future__ import annotations

import contextlib
from typing import Any

import torch
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.experimental.symbolic_shapes import ShapeEnv

from tt_xla.frontends.torch.private.fake import FakeTensorMode


def traced(function: Any, example: list[Any], *, before_autograd: bool = False) -> torch.fx.GraphModule:
    """Returns a function of tensors as a graph of aten ops.

    Args:
        function: the function. Other tensors than its inputs become attributes of the graph.
        example: tensors like its inputs.
        before_autograd: whether the graph is to be differentiated, so that autograd must not have seen its ops.
    """
    trace = make_fx(function, tracing_mode="fake", pre_dispatch=before_autograd, _allow_non_fake_inputs=True)
    with torch.set_grad_enabled(before_autograd and torch.is_grad_enabled()):
        return trace(*example)


def with_unknown_sizes() -> contextlib.AbstractContextManager[Any]:
    """Context manager in which graphs may be compiled that have numbers nobody knows, as results of loops are."""
    return FakeTensorMode(shape_env=ShapeEnv(), allow_non_fake_inputs=True)


def count_of_writes(tensor: torch.Tensor) -> int:
    """Returns a number that grows with each write to a tensor or to a view of the same memory."""
    return tensor._version


__all__ = [
    "count_of_writes",
    "traced",
    "with_unknown_sizes",
]
