"""Convolutions and transposed convolutions of one to three dimensions, and their gradients."""

from __future__ import annotations

from collections.abc import Sequence

import jax
import torch
from jax import lax

from tt_xla.frontends.torch.aten.reductions import total
from tt_xla.frontends.torch.aten.registry import Array, Context, along, lower

aten = torch.ops.aten


def _sizes(values: Sequence[int], rank: int) -> list[int]:
    """Returns one value for each dimension; a single value stands for all dimensions."""
    return [int(value) for value in values] * (rank if len(values) == 1 else 1)


def convolve(
    x: Array,
    weight: Array,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
) -> Array:
    """Returns the convolution of ``x``, [batch, channels, *sizes], without bias; the arguments are those of torch."""
    rank = x.ndim - 2
    stride, padding, dilation = _sizes(stride, rank), _sizes(padding, rank), _sizes(dilation, rank)
    output_padding = _sizes(output_padding or [0], rank)
    spatial = "DHW"[3 - rank :]
    numbers = (f"NC{spatial}", f"OI{spatial}", f"NC{spatial}")
    if not transposed and rank == 3:
        return _convolve_in_planes(x, weight, stride, padding, dilation, groups)
    if not transposed:
        return lax.conv_general_dilated(
            x,
            weight,
            stride,
            [(pad, pad) for pad in padding],
            rhs_dilation=dilation,
            dimension_numbers=numbers,
            feature_group_count=groups,
        )
    # A transposed convolution is the gradient of a convolution: a convolution with the reversed kernel of the input
    # with stride - 1 zeros between its elements.
    kernel = weight.shape[2:]
    weight = lax.rev(weight, range(2, weight.ndim))
    inputs, outputs = weight.shape[:2]
    weight = lax.reshape(weight, (groups, inputs // groups, outputs, *kernel))
    weight = lax.transpose(weight, (0, 2, 1, *range(3, weight.ndim)))
    weight = lax.reshape(weight, (groups * outputs, inputs // groups, *kernel))
    edges = [
        (spread * (size - 1) - pad, spread * (size - 1) - pad + extra)
        for spread, size, pad, extra in zip(dilation, kernel, padding, output_padding, strict=True)
    ]
    return lax.conv_general_dilated(
        x,
        weight,
        [1] * rank,
        edges,
        lhs_dilation=stride,
        rhs_dilation=dilation,
        dimension_numbers=numbers,
        feature_group_count=groups,
    )


def _convolve_in_planes(
    x: Array, weight: Array, stride: list[int], padding: list[int], dilation: list[int], groups: int
) -> Array:
    """Computes a convolution of three dimensions as one of two: the depth of a window becomes channels of its plane."""
    batch, channels, _, *plane = x.shape
    taps = weight.shape[2]
    x = lax.pad(x, lax.full((), 0, x.dtype), [(0, 0, 0), (0, 0, 0), (padding[0], padding[0], 0), (0, 0, 0), (0, 0, 0)])
    depth = (x.shape[2] - dilation[0] * (taps - 1) - 1) // stride[0] + 1
    starts = [tap * dilation[0] for tap in range(taps)]
    ends = [start + (depth - 1) * stride[0] + 1 for start in starts]
    slices = [lax.slice_in_dim(x, *bounds, stride[0], 2) for bounds in zip(starts, ends, strict=True)]
    windows = lax.concatenate([lax.expand_dims(lax.transpose(s, (0, 2, 1, 3, 4)), (3,)) for s in slices], 3)
    result = lax.conv_general_dilated(
        lax.reshape(windows, (batch * depth, channels * taps, *plane)),
        lax.reshape(weight, (weight.shape[0], weight.shape[1] * taps, *weight.shape[3:])),
        stride[1:],
        [(pad, pad) for pad in padding[1:]],
        rhs_dilation=dilation[1:],
        dimension_numbers=("NCHW", "OIHW", "NCHW"),
        feature_group_count=groups,
    )
    return lax.transpose(lax.reshape(result, (batch, depth, *result.shape[1:])), (0, 2, 1, 3, 4))


@lower(aten.convolution.default, aten.convolution_overrideable.default)
def convolution(
    ctx: Context,
    x: Array,
    weight: Array,
    bias: Array | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
) -> Array:
    result = convolve(x, weight, stride, padding, dilation, transposed, output_padding, groups)
    return result if bias is None else lax.add(result, along(bias, 1, result.shape))


@lower(aten.convolution_backward.default)
def convolution_backward(
    ctx: Context,
    grad: Array,
    x: Array,
    weight: Array,
    bias_sizes: Sequence[int] | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
    output_mask: Sequence[bool],
) -> list[Array | None]:
    settings = stride, padding, dilation, transposed, output_padding, groups
    grad_x = grad_weight = grad_bias = None
    if output_mask[0]:
        (grad_x,) = jax.linear_transpose(lambda primal: convolve(primal, weight, *settings), x)(grad)
    if output_mask[1]:
        (grad_weight,) = jax.linear_transpose(lambda primal: convolve(x, primal, *settings), weight)(grad)
    if output_mask[2]:
        grad_bias = total(grad, tuple(i for i in range(grad.ndim) if i != 1))
    return [grad_x, grad_weight, grad_bias]


@lower(aten.convolution_backward_overrideable.default)
def convolution_backward_overrideable(
    ctx: Context, grad: Array, x: Array, weight: Array, *settings: object
) -> list[Array | None]:
    return convolution_backward(ctx, grad, x, weight, None, *settings)  # type: ignore[arg-type]
