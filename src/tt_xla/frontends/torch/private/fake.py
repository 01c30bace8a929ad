"""``torch._subclasses.fake_tensor``: tensors that have a shape, a dtype and a device, and no elements."""

from __future__ import annotations

from typing import Any

import torch

from tt_xla.frontends.torch.private.names import names_of

with names_of("fake"):
    from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode

LOGGER_NAME = "torch._subclasses.fake_tensor"
"""Name of the logger to which fake tensors report ops that they refuse."""


def symbolic_mode() -> Any:
    """Returns a fake mode whose tensors may have symbolic sizes."""
    from torch.fx.experimental.symbolic_shapes import ShapeEnv

    return FakeTensorMode(shape_env=ShapeEnv(), allow_fallback_kernels=False)


def new_symbol(mode: Any, value: int) -> torch.SymInt:
    """Returns a new symbolic size that has a value in the traced run."""
    from torch._dynamo.source import ConstantSource
    from torch.fx.experimental.symbolic_shapes import DimDynamic, StatelessSymbolicContext

    from tt_xla.frontends.torch.private.functions import without_dispatch_modes

    with without_dispatch_modes():
        example = torch.empty(value, device="meta")
    source = ConstantSource(f"size_{len(mode.shape_env.var_to_range)}")
    context = StatelessSymbolicContext(dynamic_sizes=[DimDynamic.DYNAMIC])
    size = mode.from_tensor(example, source=source, symbolic_context=context).shape[0]
    assert isinstance(size, torch.SymInt)
    return size


__all__ = ["LOGGER_NAME", "FakeTensor", "FakeTensorMode", "new_symbol", "symbolic_mode"]
