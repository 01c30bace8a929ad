"""Ops that move elements. Results are views wherever torch has one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F

from tt_xla.runtime.emulator.context import Context
from tt_xla.runtime.emulator.registry import kernel

Tensor = torch.Tensor


@kernel("ttnn.reshape", prepared=True)
def reshape(ctx: Context, shape: Sequence[int]) -> Callable[[Tensor], Tensor]:
    sizes = tuple(shape)
    return lambda input: input.reshape(sizes)


@kernel("ttnn.permute")
def permute(ctx: Context, input: Tensor, permutation: Sequence[int], pad_value: float = 0.0) -> Tensor:
    return input.permute(tuple(permutation))


@kernel("ttnn.transpose")
def transpose(ctx: Context, input: Tensor, dim0: int, dim1: int) -> Tensor:
    return input.transpose(dim0, dim1)


@kernel("ttnn.concat")
def concat(ctx: Context, inputs: Sequence[Tensor], dim: int) -> Tensor:
    return torch.cat([tensor.to(ctx.container) for tensor in inputs], dim)


@kernel("ttnn.slice_static")
def slice_static(
    ctx: Context, input: Tensor, begins: Sequence[int], ends: Sequence[int], step: Sequence[int]
) -> Tensor:
    """Returns elements ``begins`` to ``ends``, which are exclusive."""
    return input[tuple(slice(begin, end, by) for begin, end, by in zip(begins, ends, step, strict=True))]


@kernel("ttnn.slice_dynamic")
def slice_dynamic(
    ctx: Context, input: Tensor, begins: Tensor, ends: Tensor, step: Sequence[int] | None = None
) -> Tensor:
    starts, stops = ([int(value) for value in tensor.flatten().tolist()] for tensor in (begins, ends))
    return slice_static(ctx, input, starts, stops, step or [1] * input.ndim)


@kernel("ttnn.pad")
def pad(ctx: Context, input: Tensor, padding: Sequence[int], value: float = 0.0, use_multicore: bool = True) -> Tensor:
    """Pads with ``value``; ``padding`` has low and high of each dimension, from the first to the last."""
    pairs = [padding[2 * dim : 2 * dim + 2] for dim in range(input.ndim)]
    return F.pad(input, [size for pair in reversed(pairs) for size in pair], value=value)


@kernel("ttnn.repeat")
def repeat(ctx: Context, input: Tensor, repeat_dims: Sequence[int]) -> Tensor:
    """Repeats the tensor along each dimension; returns a view if only dimensions of size 1 repeat."""
    counts = tuple(repeat_dims)
    if len(counts) < input.ndim:
        counts = (1,) * (input.ndim - len(counts)) + counts
    padded = input.reshape((1,) * (len(counts) - input.ndim) + tuple(input.shape))
    if all(count == 1 or size == 1 for count, size in zip(counts, padded.shape, strict=True)):
        return padded.expand([count * size for count, size in zip(counts, padded.shape, strict=True)])
    return padded.repeat(counts)


@kernel("ttnn.repeat_interleave")
def repeat_interleave(ctx: Context, input: Tensor, repeats: int, dim: int) -> Tensor:
    return input.repeat_interleave(repeats, dim)


@kernel("ttnn.concatenate_heads", "ttnn.nlp_concat_heads")
def concatenate_heads(ctx: Context, input: Tensor) -> Tensor:
    """Turns [batch, heads, sequence, width] into the result's [batch, ..., sequence, heads * width]."""
    return input.permute(0, 2, 1, 3).reshape(ctx.result.shape)


@kernel("ttnn.upsample")
def upsample(ctx: Context, input: Tensor, scale_factor: int | Sequence[int], mode: str = "nearest") -> Tensor:
    """Scales height and width of an image NHWC."""
    factors = (scale_factor, scale_factor) if isinstance(scale_factor, int) else tuple(scale_factor)
    image = input.permute(0, 3, 1, 2).to(torch.float32)
    corners = False if mode == "bilinear" else None
    scaled = F.interpolate(image, scale_factor=tuple(map(float, factors)), mode=mode, align_corners=corners)
    return scaled.permute(0, 2, 3, 1)
