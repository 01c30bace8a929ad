"""Data movement through the compute cores: elements that pass an accumulator leave it by the packer.

The packer makes a zero of each denormal and of a negative zero, and an infinity of a NaN in bfloat16. Ops that can move
whole tiles do so, and no core computes with those; float32 passes as it is, and so do integers.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import torch

from tt_xla.ir.element_types import DataType
from tt_xla.ir.layout import TILE
from tt_xla.runtime.emulator.bit_exact.registers import moved, source
from tt_xla.runtime.emulator.context import Context
from tt_xla.runtime.emulator.registry import kernel, kernels

Tensor = torch.Tensor


def _always(ctx: Context, attributes: Mapping[str, Any]) -> bool:
    return True


def _changes_layout(ctx: Context, attributes: Mapping[str, Any]) -> bool:
    return ctx.spec("input").layout.tiled != ctx.result.layout.tiled


def _joins_parts_of_tiles(ctx: Context, attributes: Mapping[str, Any]) -> bool:
    """Returns whether tensors are joined along rows or columns that fill no tiles."""
    inputs = ctx.operands["inputs"]
    assert isinstance(inputs, tuple)
    along = attributes["dim"] % len(ctx.result.shape) - len(ctx.result.shape)
    return along >= -2 and any(spec.shape[along] % TILE for spec in inputs)


def _repeats_parts_of_tiles(ctx: Context, attributes: Mapping[str, Any]) -> bool:
    """Returns whether rows or columns that fill no tiles are repeated."""
    sides = zip(ctx.spec("input").shape[-2:], ctx.result.shape[-2:], strict=False)
    return any(size != made and size % TILE for size, made in sides)


def _cuts_tiles(ctx: Context, attributes: Mapping[str, Any]) -> bool:
    """Returns whether a slice begins within a tile, or leaves elements out."""
    begins, steps = attributes["begins"], attributes["step"]
    return any(step != 1 for step in steps) or any(begin % TILE for begin in begins[-2:])


_COMPUTED: Mapping[str, Callable[[Context, Mapping[str, Any]], bool]] = {
    "ttnn.permute": _always,
    "ttnn.transpose": _always,
    "ttnn.repeat_interleave": _always,
    "ttnn.roll": _always,
    "ttnn.to_layout": _changes_layout,
    "ttnn.concat": _joins_parts_of_tiles,
    "ttnn.repeat": _repeats_parts_of_tiles,
    "ttnn.slice_static": _cuts_tiles,
}
"""Whether the compute cores execute a move of tiled tensors, by op."""


def _through_packer(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Returns a kernel whose result leaves the accumulator by the packer if compute cores execute the op."""

    @functools.wraps(function)
    def run(ctx: Context, *operands: Any, **named: Any) -> Tensor:
        result = function(ctx, *operands, **named)
        on_device = all(spec.layout.on_device for spec in ctx.specs)
        tiled = any(spec.layout.tiled for spec in ctx.specs)
        if not (on_device and tiled and ctx.dtype.is_float and _COMPUTED[ctx.op](ctx, named)):
            return result
        return moved(result, ctx.dtype).to(ctx.container)

    return run


for _op in _COMPUTED:
    kernel(_op, bit_exact=True)(_through_packer(kernels()[_op].function))


@kernel("ttnn.split_query_key_value_and_split_heads", "ttnn.experimental.nlp_create_qkv_heads", bit_exact=True)
def split_heads(ctx: Context, *operands: Any, **named: Any) -> tuple[Tensor, ...]:
    """The matrix unit transposes keys, of which source registers hold 19 bits."""
    query, key, value = kernels()[ctx.op].function(ctx, *operands, **named)
    transposed = named.get("transpose_key", named.get("transpose_k_heads", False))
    if transposed and ctx.results[1].layout.dtype is DataType.F32:
        key = source(key.contiguous(), wide=True)
    return query, key, value
