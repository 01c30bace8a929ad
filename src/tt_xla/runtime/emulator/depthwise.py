"""Convolutions in which each channel has a kernel of its own, in the emulated card's order of additions.

An element adds its terms one after another by fused multiply-adds, row by row of the kernel. What a window covers
beyond the image are zeros, which are terms too. Convolutions of more than 2**18 multiplications are a library's.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
import torch.nn.functional as F

from tt_xla.runtime.emulator.library import library
from tt_xla.runtime.emulator.sums import fused_multiply_add
from tt_xla.runtime.emulator.windows import Window

Tensor = torch.Tensor

_LARGE = 1 << 18


def result_size(image: Sequence[int], weight: Sequence[int], window: Window) -> tuple[int, int]:
    """Returns height and width of a convolution's result, for an image NCHW and a weight OIHW."""
    stride, padding, dilation, _ = window
    sizes = zip(image[2:], weight[2:], stride, padding, dilation, strict=True)
    high, wide = ((size + 2 * pad - spread * (taps - 1) - 1) // step + 1 for size, taps, step, pad, spread in sizes)
    return high, wide


def takes(image: Sequence[int], weight: Sequence[int], window: Window) -> bool:
    """Whether a convolution of floats is computed here: it is depthwise, and not large.

    Args:
        image: shape of the image, NCHW.
        weight: shape of the weight, OIHW.
        window: stride, padding, dilation and groups.
    """
    groups = window[3]
    if groups == 1 or weight[:2] != (groups, 1) or image[1] != groups:
        return False
    count = image[0] * groups * math.prod(result_size(image, weight, window)) * math.prod(weight[2:])
    return 0 < count <= _LARGE and math.prod(image) <= _LARGE


def convolution(x: Tensor, weight: Tensor, window: Window) -> Tensor:
    """Returns the float32 convolution NCHW, with its channels last in memory.

    Args:
        x: image of floats, NCHW, which :func:`takes` accepts.
        weight: weight of floats, OIHW.
        window: stride, padding, dilation and groups.
    """
    stride, (top, left), dilation, _ = window
    high, wide = result_size(x.shape, weight.shape, window)
    channels_last = x.permute(0, 2, 3, 1).to(torch.float32)
    image = F.pad(channels_last, (0, 0, left, left, top, top)).contiguous()
    kernel = weight.flatten(1).t().to(torch.float32).contiguous()
    compiled = library()
    if compiled is None:
        result = _defined(image, kernel.unflatten(0, weight.shape[2:]), (high, wide), stride, dilation)
    else:
        result = torch.empty(len(image), high, wide, image.shape[3], dtype=torch.float32, device="cpu")
        numbers = (*image.shape, *weight.shape[2:], high, wide, *stride, *dilation)
        compiled.depthwise(image, kernel, result, torch.tensor(numbers, dtype=torch.int64, device="cpu"))
    return result.permute(0, 3, 1, 2)


def _defined(
    image: Tensor, kernel: Tensor, size: Sequence[int], stride: Sequence[int], dilation: Sequence[int]
) -> Tensor:
    """Returns the convolution of [N, H, W, C] with [kh, kw, C]: the definition, in torch."""
    result = torch.zeros(len(image), *size, image.shape[3], dtype=torch.float32, device=image.device)
    for row in range(kernel.shape[0]):
        for column in range(kernel.shape[1]):
            starts = row * dilation[0], column * dilation[1]
            spans = [
                slice(start, start + (count - 1) * step + 1, step)
                for start, count, step in zip(starts, size, stride, strict=True)
            ]
            result = fused_multiply_add(image[:, spans[0], spans[1]], kernel[row, column], result)
    return result
