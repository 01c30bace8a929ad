"""Poolings of flattened activations [1, 1, N*H*W, C], viewed as channels-last NCHW without a copy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F

from tt_xla.runtime.emulator.context import Context
from tt_xla.runtime.emulator.registry import kernel
from tt_xla.runtime.emulator.windows import flattened, four_sides, image

Tensor = torch.Tensor


@kernel("ttnn.max_pool2d")
def max_pool2d(
    ctx: Context,
    input: Tensor,
    batch_size: int,
    input_height: int,
    input_width: int,
    channels: int,
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    ceil_mode: bool,
    **_: Any,
) -> Tensor:
    """Returns the maximum of each window; ``padding`` is (height, width) or (top, bottom, left, right)."""
    x = image(input, batch_size, input_height, input_width, channels)
    if _tiles(x, kernel_size, stride, padding, dilation):
        return flattened(_maximum_of_tiles(x, kernel_size)).reshape(ctx.result.shape)
    x, around = _padded(x, padding, kernel_size, -torch.inf)
    pooled = F.max_pool2d(x, tuple(kernel_size), tuple(stride), around, tuple(dilation), ceil_mode)
    return flattened(_cropped(pooled, input_height, input_width, padding, stride)).reshape(ctx.result.shape)


def _tiles(
    x: Tensor, size: Sequence[int], stride: Sequence[int], padding: Sequence[int], dilation: Sequence[int]
) -> bool:
    """Whether windows lie side by side and fill the image, so that no element is in two of them."""
    side_by_side = tuple(size) == tuple(stride) and not any(padding) and set(dilation) == {1}
    return side_by_side and x.numel() > 0 and x.shape[2] % size[0] == 0 and x.shape[3] % size[1] == 0


def _maximum_of_tiles(x: Tensor, size: Sequence[int]) -> Tensor:
    """Takes maxima of whole tensors, first over rows of windows, then columns: half the time of torch's pooling."""
    for dim, count in ((2, size[0]), (3, size[1])):
        slices = x.unflatten(dim, (-1, count)).unbind(dim + 1)
        x = slices[0] if count == 1 else torch.maximum(slices[0], slices[1])
        for each in slices[2:]:
            torch.maximum(x, each, out=x)
    return x


@kernel("ttnn.max_pool2d_with_indices")
def max_pool2d_with_indices(
    ctx: Context,
    input: Tensor,
    batch_size: int,
    input_height: int,
    input_width: int,
    channels: int,
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    ceil_mode: bool,
    **_: Any,
) -> tuple[Tensor, Tensor]:
    """Returns the maximum of each window and its position; among equal elements, that of the first.

    Positions are row * width + column in the unpadded plane of a channel.
    """
    x = image(input, batch_size, input_height, input_width, channels)
    x, around = _padded(x, padding, kernel_size, -torch.inf)
    size, step = tuple(kernel_size), tuple(stride)
    maxima = F.max_pool2d(x, size, step, around, tuple(dilation), ceil_mode, return_indices=True)
    pooled, index = (_cropped(each, input_height, input_width, padding, stride) for each in maxima)
    if x.shape[2:] != (input_height, input_width):  # padded before
        top, left = four_sides(padding)[::2]
        wide = x.shape[3]
        index = (index // wide - top) * input_width + index % wide - left
    shape = ctx.results[0].shape
    return flattened(pooled).reshape(shape), flattened(index).reshape(shape)


def _cropped(pooled: Tensor, height: int, width: int, padding: Sequence[int], stride: Sequence[int]) -> Tensor:
    """Removes windows that start in the padding after the end: ``ceil_mode`` adds them to a padded image."""
    top, _, left, _ = four_sides(padding)
    return pooled[:, :, : -(-(height + top) // stride[0]), : -(-(width + left) // stride[1])]


def _padded(
    x: Tensor, padding: Sequence[int], kernel_size: Sequence[int], value: float
) -> tuple[Tensor, tuple[int, int]]:
    """Pads the image if torch's pooling cannot; returns it with the padding (height, width) left to torch."""
    top, bottom, left, right = four_sides(padding)
    alike = (top, left) == (bottom, right)
    if alike and 2 * top <= kernel_size[0] and 2 * left <= kernel_size[1]:
        return x, (top, left)
    return F.pad(x, (left, right, top, bottom), value=value), (0, 0)


@kernel("ttnn.avg_pool2d")
def avg_pool2d(
    ctx: Context,
    input: Tensor,
    batch_size: int,
    input_height: int,
    input_width: int,
    channels: int,
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    ceil_mode: bool,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
    **_: Any,
) -> Tensor:
    """Returns the mean of each window, or its sum divided by ``divisor_override``.

    ``padding`` is (height, width) or (top, bottom, left, right).
    """
    if any(step != 1 for step in dilation):
        raise ValueError(f"avg_pool2d takes no dilation, got {tuple(dilation)}")
    x = image(input, batch_size, input_height, input_width, channels)
    size, step = tuple(kernel_size), tuple(stride)
    padded, around = _padded(x, padding, kernel_size, 0.0)
    if around != (0, 0) or padded is x or count_include_pad or divisor_override is not None:
        pooled = F.avg_pool2d(padded, size, step, around, ceil_mode, count_include_pad, divisor_override)
    else:
        inside, _around = _padded(torch.ones_like(x[:1, :1], dtype=torch.float32), padding, kernel_size, 0.0)
        share = F.avg_pool2d(inside, size, step, 0, ceil_mode)
        pooled = F.avg_pool2d(padded.to(torch.float32), size, step, 0, ceil_mode) / share
    return flattened(_cropped(pooled, input_height, input_width, padding, stride)).reshape(ctx.result.shape)


@kernel("ttnn.global_avg_pool2d")
def global_avg_pool2d(ctx: Context, input: Tensor) -> Tensor:
    """Returns the mean of each channel: [N, H, W, C] becomes [N, 1, 1, C]."""
    return input.mean((1, 2), keepdim=True)
