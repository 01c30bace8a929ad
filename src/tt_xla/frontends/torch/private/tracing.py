"""Operators that PyTorch inserts while it traces ``scan``, compiled autograd and inductor's random numbers."""

from __future__ import annotations

import contextlib
from typing import Any

import torch
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.experimental.symbolic_shapes import ShapeEnv

from tt_xla.frontends.torch.private.names import names_of

with names_of("tracing"):
    from torch._guards import TracingContext, tracing
    from torch._subclasses.fake_tensor import FakeTensorMode


def register_traced_ops() -> None:
    """Makes PyTorch define the ops that traced graphs may contain, with their decompositions.

    Importing the modules that define them takes a while, so the first compilation calls this.
    """
    with names_of("tracing"):
        import torch._dynamo._trace_wrapped_higher_order_op
        import torch._inductor.inductor_prims  # noqa: F401


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
    return tracing(TracingContext(FakeTensorMode(shape_env=ShapeEnv())))


def count_of_writes(tensor: torch.Tensor) -> int:
    """Returns a number that grows with each write to a tensor or to a view of the same memory."""
    return tensor._version


__all__ = [
    "count_of_writes",
    "register_traced_ops",
    "traced",
    "with_unknown_sizes",
]
