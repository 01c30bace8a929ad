"""Subclasses of ``DTensor``: a way to make them."""

from __future__ import annotations

import torch

from tt_xla.frontends.torch.private.names import names_of

with names_of("dtensor"):
    make_subclass = torch.Tensor._make_subclass
    """``make_subclass(cls, tensor)`` returns a tensor of a subclass over the same memory, no view for autograd."""

__all__ = ["make_subclass"]
