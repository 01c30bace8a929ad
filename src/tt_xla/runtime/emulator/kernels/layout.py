"""Ops that change a tensor's layout or type, not its elements."""

from __future__ import annotations

import torch

from tt_xla.runtime.emulator.containers import CONTAINERS
from tt_xla.runtime.emulator.context import Context
from tt_xla.runtime.emulator.registry import kernel

Tensor = torch.Tensor


@kernel("ttnn.assign", keeps_values=True)
def assign(ctx: Context, input: Tensor) -> Tensor:
    """Returns a copy, which may be written to."""
    return input.clone(memory_format=torch.contiguous_format)


@kernel(
    "ttnn.copy",
    "ttnn.from_device",
    "ttnn.to_device",
    "ttnn.to_layout",
    "ttnn.to_memory_config",
    "ttnn.to_tensor_spec",
    "ttnn.typecast",
    keeps_values=True,
)
def move(ctx: Context, input: Tensor) -> Tensor:
    """Returns the operand; rounding to the result's dtype is all that the emulated card does."""
    return input


@kernel("ttnn.bitcast_convert")
def bitcast_convert(ctx: Context, input: Tensor) -> Tensor:
    """Reinterprets the bits as another type of the same width."""
    narrow = {torch.int64: torch.int32, torch.int32: torch.int32}
    spec = ctx.operands["input"]
    assert not isinstance(spec, tuple)
    width = spec.layout.dtype.element_bytes
    bits = input.to({4: torch.int32, 2: torch.int16, 1: torch.uint8}[width]) if input.dtype in narrow else input
    as_type = {4: torch.int32, 2: torch.int16, 1: torch.uint8}[width]
    return bits.contiguous().view(as_type if not ctx.dtype.is_float else CONTAINERS[ctx.dtype])
