"""``torch._guards``: what PyTorch knows about the graph that it compiles at the moment."""

from __future__ import annotations

from typing import Any

from tt_xla.frontends.torch.private.names import names_of

with names_of("guards"):
    from torch._guards import TracingContext


def forward_metadata() -> Any:
    """Returns AOTAutograd's ``ViewAndMutationMeta`` of the graph being compiled, or None outside a compilation."""
    context = TracingContext.try_get()
    return context.fw_metadata if context else None


def is_first_call_of_fakes() -> bool:
    """Returns whether PyTorch will call the graph being compiled with tensors without contents, for its results' form.

    It does so with the parts into which it cuts a graph at the buckets of ``DistributedDataParallel``.
    """
    context = TracingContext.try_get()
    return context is not None and context.fakify_first_call


__all__ = ["TracingContext", "forward_metadata", "is_first_call_of_fakes"]
