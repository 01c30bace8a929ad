"""Ops that move elements and that compiled programs do not use. The parameters are TT-NN's."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F

from tt_xla.runtime.emulator import place
from tt_xla.runtime.emulator.registry import kernel

Tensor = torch.Tensor


@kernel("ttnn.roll")
def roll(ctx: Any, input_tensor: Tensor, shifts: int | Sequence[int], dim: Any = None) -> Tensor:
    """Moves elements along dimensions, and those that leave at one end back in at the other."""
    amounts = shifts if isinstance(shifts, int) else tuple(shifts)
    if dim is None:
        return torch.roll(input_tensor, amounts)
    return torch.roll(input_tensor, amounts, dim if isinstance(dim, int) else tuple(dim))


@kernel("ttnn.fold")
def fold(
    ctx: Any,
    input: Tensor,
    stride_h: int,
    stride_w: int,
    use_transpose_as_fold: bool = False,
    output_shape: Sequence[int] | None = None,
    padding: Sequence[int] = (0, 0, 0, 0, 0, 0),
    collapse_output: bool = False,
) -> Tensor:
    """Turns each block of ``stride_h`` by ``stride_w`` positions of [N, H, W, C] into channels.

    Args:
        ctx: the card.
        input: [N, H, W, C], or [N, C, H, W] with ``use_transpose_as_fold``.
        stride_h: rows of a block.
        stride_w: columns of a block.
        use_transpose_as_fold: whether the channels come first.
        output_shape: how much of the result is kept.
        padding: zeros around rows, columns and channels, each in front and behind.
        collapse_output: whether the result is [1, 1, N * H * W, C].
    """
    x = input.permute(0, 2, 3, 1) if use_transpose_as_fold else input
    top, bottom, left, right, front, back = padding
    x = F.pad(x, (front, back, left, right, top, bottom))
    count, rows, columns, channels = x.shape
    blocks = x.reshape(count, rows // stride_h, stride_h, columns // stride_w, stride_w, channels)
    folded = blocks.permute(0, 1, 3, 2, 4, 5).reshape(
        count, rows // stride_h, columns // stride_w, stride_h * stride_w * channels
    )
    if output_shape is not None:
        folded = folded[tuple(slice(0, size) for size in output_shape)]
    return folded.reshape(1, 1, -1, folded.shape[-1]) if collapse_output else folded


@kernel("ttnn.indexed_fill")
def indexed_fill(ctx: Any, batch_id: Tensor, input_tensor_a: Tensor, input_tensor_b: Tensor, dim: int = 0) -> Tensor:
    """Replaces slices of the first tensor, at the positions of ``batch_id``, by those of the second one."""
    return input_tensor_a.index_copy(dim, batch_id.flatten().long(), input_tensor_b.to(input_tensor_a.dtype))


@kernel("ttnn.index_fill", "ttnn.index_fill_new")
def index_fill(ctx: Any, input: Tensor, dim: int, index: Tensor, value: float) -> Tensor:
    return input.index_fill(dim, index.flatten().long(), value)


@kernel("ttnn.scatter_add")
def scatter_add(ctx: Any, input: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    return input.scatter_add(dim, index.long(), src.to(input.dtype))


@kernel("ttnn.tosa_gather")
def tosa_gather(ctx: Any, input: Tensor, index: Tensor) -> Tensor:
    """Takes rows of [N, K, C] at the positions [N, W]."""
    return input.gather(1, index.long().unsqueeze(-1).expand(-1, -1, input.shape[-1]))


@kernel("ttnn.tosa_scatter")
def tosa_scatter(ctx: Any, input: Tensor, index: Tensor, src: Tensor) -> Tensor:
    """Replaces rows of [N, K, C] at the positions [N, W]."""
    places = index.long().unsqueeze(-1).expand(-1, -1, input.shape[-1])
    return input.scatter(1, places, src.to(input.dtype))


@kernel("ttnn.nonzero")
def nonzero(ctx: Any, input_tensor: Tensor) -> tuple[Tensor, Tensor]:
    """Returns the count of elements that are not 0, as the first of eight, and their four coordinates, then zeros."""
    if input_tensor.ndim != 4:
        raise ValueError(f"input must be rank-4, got rank {input_tensor.ndim}")
    size = 4 * math.prod(input_tensor.shape)
    count, places = (torch.zeros(each, dtype=torch.int64, device=place.device()) for each in ((1, 1, 1, 8), (size,)))
    if not input_tensor.is_meta:
        found = input_tensor.nonzero()
        count[..., 0] = len(found)
        places[: found.numel()] = found.reshape(-1)
    return count, places.reshape(1, 1, 1, size)


@kernel("ttnn.plus_one")
def plus_one(ctx: Any, input_tensor: Tensor, skip_negative_entries: bool = False) -> Tensor:
    return torch.where(input_tensor < 0, input_tensor, input_tensor + 1) if skip_negative_entries else input_tensor + 1


@kernel("ttnn.fill_rm", "ttnn.fill_ones_rm")
def fill_rm(
    ctx: Any,
    N: int,
    C: int,
    H: int,
    W: int,
    hOnes: int,
    wOnes: int,
    any: Tensor,
    val_hi: float = 1.0,
    val_lo: float = 0.0,
) -> Tensor:
    """Returns [N, C, H, W] of ``val_hi`` in the first rows and columns, and of ``val_lo`` elsewhere."""
    result = torch.full((N, C, H, W), val_lo, device=place.device(), dtype=torch.float32)
    result[:, :, :hOnes, :wOnes] = val_hi
    return result


@kernel("ttnn.sharded_to_interleaved_partial")
def sharded_to_interleaved_partial(
    ctx: Any, input_tensor: Tensor, cache_tensor: Tensor, num_slices: int, slice_index: int
) -> Tensor:
    """Replaces one of ``num_slices`` equal parts of the rows of ``cache_tensor``."""
    result = cache_tensor.clone()
    rows = result.reshape(-1, result.shape[-1])
    size = len(rows) // num_slices
    rows[slice_index * size : (slice_index + 1) * size] = input_tensor.reshape(size, -1).to(result.dtype)
    return result


@kernel("ttnn.experimental.isin")
def isin(ctx: Any, elements: Tensor, test_elements: Tensor, invert: bool = False) -> Tensor:
    """Returns 2 ** 32 - 1 for elements that are in ``test_elements``, else 0."""
    if elements.is_meta:
        return elements
    return torch.where(torch.isin(elements, test_elements, invert=invert), 2**32 - 1, 0)


@kernel("ttnn.convert_to_hwc", "ttnn.experimental.convert_to_hwc")
def convert_to_hwc(ctx: Any, input: Tensor, channels: int | None = None) -> Tensor:
    """Turns [1, B, C, H * W] into [1, 1, B * H * W, C], with zeros up to a number of channels."""
    last = input.transpose(2, 3).reshape(1, 1, -1, input.shape[2])
    return last if channels is None else F.pad(last, (0, channels - input.shape[2]))


@kernel("ttnn.experimental.convert_to_chw")
def convert_to_chw(ctx: Any, input: Tensor) -> Tensor:
    """Turns [1, 1, H * W, C] into [1, 1, C, H * W]."""
    return input.transpose(2, 3)


@kernel("ttnn.experimental.transpose_rm")
def transpose_rm(ctx: Any, input: Tensor) -> Tensor:
    return input.transpose(-1, -2)


@kernel("ttnn.experimental.rotate_half")
def rotate_half(ctx: Any, input: Tensor) -> Tensor:
    low, high = input.chunk(2, -1)
    return torch.cat([-high, low], -1)


@kernel("ttnn.experimental.intimg")
def intimg(ctx: Any, input_tensor: Tensor) -> Tensor:
    """Returns the sums of all elements above and left, of [B, H, W, C]."""
    return input_tensor.float().cumsum(1).cumsum(2)


@kernel("ttnn.experimental.fast_reduce_nc")
def fast_reduce_nc(ctx: Any, input: Tensor, dims: Sequence[int]) -> Tensor:
    return input.float().sum(list(dims), keepdim=True)


@kernel("ttnn.experimental.hc_sum_reduce")
def hc_sum_reduce(ctx: Any, input: Tensor) -> Tensor:
    """Adds up each 32 columns."""
    return input.float().unflatten(-1, (-1, 32)).sum(-1)


@kernel("ttnn.experimental.prefix_scan")
def prefix_scan(ctx: Any, a: Tensor, bx: Tensor, h_prev: Tensor) -> tuple[Tensor, Tensor]:
    """Returns the states ``h = a * h + bx`` of each row, and the last one, which takes the place of ``h_prev``."""
    decay, change, state = (each.float() for each in (a, bx, h_prev))
    rows: list[Tensor] = []
    state = state.expand_as(decay[..., :1, :]) if state.shape[-2] == 1 else state[..., :1, :]
    for row in range(decay.shape[-2]):
        state = decay[..., row : row + 1, :] * state + change[..., row : row + 1, :]
        rows.append(state)
    return torch.cat(rows, -2), state.expand_as(h_prev)


@kernel("ttnn.experimental.repeat_and_interleave_eltwise_mul")
def repeat_and_interleave_eltwise_mul(ctx: Any, a: Tensor, b: Tensor) -> Tensor:
    """Multiplies a tensor that is repeated to the width of 32 * 5120 by one whose elements are."""
    wide = 32 * 5120
    left = a.repeat(1, 1, 1, wide // a.shape[-1]) if a.shape[-1] != wide else a
    right = b.repeat_interleave(wide // b.shape[-1], -1) if b.shape[-1] != wide else b
    return left.float() * right.float()


@kernel("ttnn.experimental.padded_slice")
def padded_slice(
    ctx: Any,
    input_tensor: Tensor,
    padded_slice_start: Sequence[int],
    padded_slice_end: Sequence[int],
    padded_slice_step: Sequence[int] | None = None,
) -> Tensor:
    """Returns a part of a tensor, whose shards may have padding."""
    steps = padded_slice_step or [1] * input_tensor.dim()
    return input_tensor[tuple(map(slice, padded_slice_start, padded_slice_end, steps))]


@kernel("ttnn.experimental.slice_write")
def slice_write(
    ctx: Any, input_tensor: Tensor, output_tensor: Tensor, start: Sequence[int], end: Sequence[int], step: Sequence[int]
) -> Tensor:
    """Replaces a part of the second tensor by the first."""
    result = output_tensor.clone()
    result[tuple(map(slice, start, end, step))] = input_tensor.to(result.dtype)
    return result


@kernel("ttnn.experimental.topk_large_indices")
def topk_large_indices(
    ctx: Any,
    input_tensor: Tensor,
    k: int,
    valid_length: int | None = None,
    valid_length_tensor: Tensor | None = None,
    valid_length_offset: int = 0,
    valid_end_tensor: Tensor | None = None,
) -> Tensor:
    """Returns the places of the ``k`` greatest elements of each row; 0xFFFFFFFF for elements of -inf.

    Args:
        valid_length: the first columns that are searched; ``valid_length_tensor`` has it, less the offset.
        valid_end_tensor: a limit of the columns, which is rounded up to whole tiles.
    """
    if input_tensor.is_meta:
        return input_tensor.new_empty(*input_tensor.shape[:-1], k, dtype=torch.int64)
    length = valid_length or input_tensor.shape[-1]
    if valid_length_tensor is not None:
        length = int(valid_length_tensor.flatten()[0]) + valid_length_offset
    if valid_end_tensor is not None:
        length = min(length, -(-int(valid_end_tensor.flatten()[0]) // 32) * 32)
    values, places = torch.topk(input_tensor[..., :length].float(), k, -1)
    return places.masked_fill(values == -torch.inf, 0xFFFFFFFF)
