"""Operators that PyTorch inserts while it traces ``scan``, compiled autograd and inductor's random numbers."""

from __future__ import annotations

from torch._higher_order_ops.scan import scan_op


def register_traced_ops() -> None:
    """Makes PyTorch define the ops that traced graphs may contain, with their decompositions.

    Importing the modules that define them takes a while, so the first compilation calls this.
    """
    import torch._dynamo._trace_wrapped_higher_order_op
    import torch._inductor.inductor_prims  # noqa: F401


__all__ = ["register_traced_ops", "scan_op"]
