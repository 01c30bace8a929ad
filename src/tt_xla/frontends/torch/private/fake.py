"""``torch._subclasses.fake_tensor``: tensors that have a shape, a dtype and a device, and no elements."""

from __future__ import annotations

from tt_xla.frontends.torch.private.names import names_of

with names_of("fake"):
    from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode

LOGGER_NAME = "torch._subclasses.fake_tensor"
"""Name of the logger to which fake tensors report ops that they refuse."""

__all__ = ["LOGGER_NAME", "FakeTensor", "FakeTensorMode"]
