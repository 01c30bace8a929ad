"""Ops that create tensors without operands."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from tt_xla.ir.layout import DataType
from tt_xla.runtime.emulator import place
from tt_xla.runtime.emulator.context import Context
from tt_xla.runtime.emulator.registry import kernel

Tensor = torch.Tensor


def _full(ctx: Context, value: float) -> Tensor:
    return torch.full(ctx.result.shape, value, dtype=ctx.container, device=place.device())


@kernel("ttnn.zeros")
def zeros(ctx: Context, shape: Sequence[int] | None = None) -> Tensor:
    return _full(ctx, 0)


@kernel("ttnn.ones")
def ones(ctx: Context, shape: Sequence[int] | None = None) -> Tensor:
    return _full(ctx, 1)


@kernel("ttnn.empty")
def empty(ctx: Context, shape: Sequence[int] | None = None) -> Tensor:
    """Returns zeros, because a run must not depend on what memory held before."""
    return _full(ctx, 0)


@kernel("ttnn.full")
def full(ctx: Context, fill_value: float, shape: Sequence[int] | None = None) -> Tensor:
    return _full(ctx, fill_value)


@kernel("ttnn.arange")
def arange(ctx: Context, start: int, end: int, step: int) -> Tensor:
    return torch.arange(start, end, step, dtype=torch.int64, device=place.device()).reshape(ctx.result.shape)


@kernel("ttnn.constant")
def constant(ctx: Context, value: bytes) -> Tensor:
    """Returns a tensor with the elements of ``value``, little-endian in the result's dtype.

    Elements of bf16 and of block floats have 2 bytes. A single element fills the result. No bytes stand for a result
    without elements, of any dtype.
    """
    if not value:
        return torch.empty(ctx.result.shape, dtype=ctx.container, device=place.device())
    array = np.frombuffer(value, ctx.dtype.little_endian)
    # The array is copied, because the bytes belong to the Program.
    if ctx.dtype.is_float and ctx.dtype is not DataType.F32:
        tensor = torch.from_numpy(array.copy()).view(torch.bfloat16)
    else:
        tensor = torch.from_numpy(
            array.astype(array.dtype.newbyteorder("=").str.replace("u4", "i8").replace("u2", "i4"))
        )
    tensor = place.brought(tensor)
    if tensor.numel() == 1:
        return tensor.reshape(()).repeat(ctx.result.shape) if ctx.result.shape else tensor.reshape(())
    return tensor.reshape(ctx.result.shape)
