"""Pooling to a given size, sampling and rotation of images, and convolutions of volumes. The parameters are TT-NN's."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F

from tt_xla.runtime.emulator import place
from tt_xla.runtime.emulator.kernels.convolution import row_major
from tt_xla.runtime.emulator.registry import kernel

Tensor = torch.Tensor


def _pooled(
    pool: Callable[..., Tensor], rows: Tensor, sizes: tuple[int, int, int, int], output_size: int | Sequence[int]
) -> Tensor:
    """Pools images [1, 1, N * H * W, C]; TT-NN's windows are those of a pooling with one size and stride."""
    batch, height, width, channels = sizes
    image = rows.float().reshape(batch, height, width, channels).permute(0, 3, 1, 2)
    size = (output_size, output_size) if isinstance(output_size, int) else tuple(output_size)
    return pool(image, size).permute(0, 2, 3, 1).reshape(1, 1, -1, channels)


@kernel("ttnn.adaptive_avg_pool2d")
def adaptive_avg_pool2d(
    ctx: Any, input_tensor: Tensor, batch_size: int, input_h: int, input_w: int, channels: int, output_size: Any
) -> Tensor:
    return _pooled(F.adaptive_avg_pool2d, input_tensor, (batch_size, input_h, input_w, channels), output_size)


@kernel("ttnn.adaptive_max_pool2d")
def adaptive_max_pool2d(
    ctx: Any, input_tensor: Tensor, batch_size: int, input_h: int, input_w: int, channels: int, output_size: Any
) -> Tensor:
    return _pooled(F.adaptive_max_pool2d, input_tensor, (batch_size, input_h, input_w, channels), output_size)


@kernel("ttnn.grid_sample")
def grid_sample(
    ctx: Any,
    input_tensor: Tensor,
    grid: Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool = False,
    use_precomputed_grid: bool = False,
    batch_output_channels: bool = False,
) -> Tensor:
    """Samples images [N, H, W, C] at the places [N, h, w, 2 * K]: K places for each point of the result.

    A precomputed grid has for each place what :func:`prepare_grid_sample_grid` returns.
    """
    each = 2 if mode == "nearest" or not use_precomputed_grid else 6
    places = grid.shape[-1] // each
    count, rows, columns = grid.shape[:3]
    points = grid.reshape(count, rows, columns * places, each)
    if use_precomputed_grid:
        sampled = _sampled_at(input_tensor, points)
    else:
        image = input_tensor.float().permute(0, 3, 1, 2)
        sampled = F.grid_sample(image, points.float(), mode, padding_mode, align_corners).permute(0, 2, 3, 1)
    if batch_output_channels and places > 1:
        return sampled.reshape(count, rows, columns, -1)
    return sampled


def _sampled_at(image: Tensor, points: Tensor) -> Tensor:
    """Samples images at integer places, or by the weights of four neighbours; see :func:`prepare_grid_sample_grid`."""
    count, height, width, channels = image.shape
    if image.is_meta:
        return image.new_empty(*points.shape[:3], channels)
    corners = points[..., :2].bfloat16().view(torch.int16).long()
    batch = torch.arange(count, device=image.device, dtype=torch.int64).reshape(-1, 1, 1)
    total = torch.zeros(*points.shape[:3], channels, device=image.device, dtype=torch.float32)
    weights = points[..., 2:].float().unbind(-1) if points.shape[-1] > 2 else (torch.ones_like(total[..., 0]),)
    for weight, (down, right) in zip(weights, ((0, 0), (0, 1), (1, 0), (1, 1)), strict=False):
        rows, columns = corners[..., 0] + down, corners[..., 1] + right
        inside = (rows >= 0) & (rows < height) & (columns >= 0) & (columns < width)
        pixels = image[batch, rows.clamp(0, height - 1), columns.clamp(0, width - 1)].float()
        total += pixels * (weight * inside).unsqueeze(-1)
    return total


@kernel("ttnn.prepare_grid_sample_grid")
def prepare_grid_sample_grid(
    ctx: Any, grid: Tensor, input_shape: Sequence[int], mode: str = "bilinear", align_corners: bool = False
) -> Tensor:
    """Returns row and column of the pixel at each place of a grid, as integers in the bits of bfloat16.

    For bilinear samples they are those of the north-west neighbour, and the weights of the four neighbours follow.
    """
    x, y = grid.float().unbind(-1)
    row, column = (
        (place + 1) / 2 * (size - 1) if align_corners else place * (size * 0.5) + (size * 0.5 - 0.5)
        for place, size in ((y, input_shape[1]), (x, input_shape[2]))
    )
    if mode == "nearest":
        return torch.stack([_in_bits(row.round()), _in_bits(column.round())], -1)
    top, left = row.floor(), column.floor()
    weights: list[Tensor] = []
    for down, right in ((0, 0), (0, 1), (1, 0), (1, 1)):
        inside = (top + down >= 0) & (top + down < input_shape[1])
        inside = inside & (left + right >= 0) & (left + right < input_shape[2])
        parts = (row - top if down else 1 - (row - top)) * (column - left if right else 1 - (column - left))
        weights.append((parts * inside).bfloat16())
    return torch.stack([_in_bits(top), _in_bits(left), *weights], -1)


def _in_bits(numbers: Tensor) -> Tensor:
    """Returns the bfloat16 tensor whose bits are the 16-bit integers."""
    return numbers.clamp(-(2**15), 2**15 - 1).to(torch.int16).view(torch.bfloat16)


@kernel("ttnn.rotate")
def rotate(
    ctx: Any,
    input_tensor: Tensor,
    angle: float,
    center: Sequence[float] | None = None,
    fill: float = 0.0,
    interpolation_mode: str = "nearest",
) -> Tensor:
    """Turns images [N, H, W, C] counter-clockwise by an angle in degrees."""
    _count, height, width, _channels = input_tensor.shape
    middle = ((width - 1) / 2, (height - 1) / 2) if center is None else tuple(center)
    turn = math.radians(angle)
    positions = [torch.arange(size, device=place.device(), dtype=torch.int64) for size in (height, width)]
    rows, columns = torch.meshgrid(*positions, indexing="ij")
    right, down = columns - middle[0], rows - middle[1]
    x = math.cos(turn) * right - math.sin(turn) * down + middle[0]
    y = math.sin(turn) * right + math.cos(turn) * down + middle[1]
    if input_tensor.is_meta:
        return input_tensor
    points = torch.stack([(2 * x + 1) / width - 1, (2 * y + 1) / height - 1], -1).expand(len(input_tensor), -1, -1, -1)
    image = input_tensor.float().permute(0, 3, 1, 2)
    inside = F.grid_sample(torch.ones_like(image), points, interpolation_mode, "zeros", False)
    turned = F.grid_sample(image, points, interpolation_mode, "zeros", False)
    return (turned + fill * (1 - inside)).permute(0, 2, 3, 1)


@kernel("ttnn.experimental.conv3d")
def conv3d(
    ctx: Any,
    input_tensor: Tensor,
    weight_tensor: Tensor,
    output_channels: int,
    kernel_size: Sequence[int],
    stride: Sequence[int] = (1, 1, 1),
    padding: Sequence[int] = (0, 0, 0),
    dilation: Sequence[int] = (1, 1, 1),
    padding_mode: str = "zeros",
    groups: int = 1,
    bias_tensor: Tensor | None = None,
) -> Tensor:
    """Computes a convolution of [N, D, H, W, C] with weights [kD * kH * kW * C / groups, outputs]."""
    inputs = input_tensor.shape[-1] // groups
    weight = weight_tensor.float()[: math.prod(kernel_size) * inputs, :output_channels]
    weight = weight.reshape(*kernel_size, inputs, output_channels).permute(4, 3, 0, 1, 2)
    bias = None if bias_tensor is None else bias_tensor.float().flatten()[:output_channels]
    volume, around = input_tensor.float().permute(0, 4, 1, 2, 3), tuple(padding)
    if padding_mode != "zeros":
        volume = F.pad(volume, [side for size in reversed(around) for side in (size, size)], mode=padding_mode)
        around = (0, 0, 0)
    result = F.conv3d(volume, row_major(weight), bias, tuple(stride), around, tuple(dilation), groups)
    return result.permute(0, 2, 3, 4, 1)


@kernel("ttnn.rgb_to_yuv")
def rgb_to_yuv(
    ctx: Any, input: Tensor, matrix: Sequence[Sequence[float]], wide_rows: bool = False
) -> tuple[Tensor, ...]:
    """Turns images [3, H, W, T] into luma [1, H, W, T] and two chroma of half the height and width, each 0 to 255.

    Args:
        matrix: for each of the three, the weights of red, green and blue, and an offset that is added.
        wide_rows: whether the results are [1, H, W * T].
    """
    red, green, blue = input.float()
    planes = [r * red + g * green + b * blue + offset for r, g, b, offset in matrix]
    planes[1:] = [F.avg_pool2d(plane.permute(2, 0, 1), 2).permute(1, 2, 0) for plane in planes[1:]]
    results = [plane.round().clamp(0, 255).unsqueeze(0) for plane in planes]
    return tuple(each.flatten(2) if wide_rows else each for each in results)
