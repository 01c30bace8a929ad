"""Gradients of the moreh functions of TT-NN, in float32 and rounded once. The parameters are TT-NN's."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch

from tt_xla.runtime.emulator import place
from tt_xla.runtime.emulator.kernels.moreh import Config, Dims, axes, wide
from tt_xla.runtime.emulator.registry import kernel

Tensor = torch.Tensor


def spread(grad: Tensor, shape: Sequence[int], dim: Dims) -> Tensor:
    """Repeats the gradient of a reduction along the dimensions that were reduced."""
    dims = axes(len(shape), dim)
    kept = [1 if index in dims else size for index, size in enumerate(shape)]
    return wide(grad).reshape(kept).expand(tuple(shape))


@kernel("ttnn.moreh_sum_backward")
def moreh_sum_backward(
    ctx: Any,
    output_grad: Tensor,
    input: Tensor | None = None,
    dim: Dims = None,
    keepdim: bool = False,
    compute_kernel_config: Config = None,
) -> Tensor:
    return spread(output_grad, output_grad.shape if input is None else input.shape, dim)


@kernel("ttnn.moreh_mean_backward")
def moreh_mean_backward(
    ctx: Any,
    output_grad: Tensor,
    dim: Dims = None,
    keepdim: bool = False,
    input_grad_shape: Sequence[int] | None = None,
    input_grad: Tensor | None = None,
    compute_kernel_config: Config = None,
) -> Tensor:
    shape = input_grad_shape or (output_grad if input_grad is None else input_grad).shape
    count = math.prod(shape[each] for each in axes(len(shape), dim))
    return spread(output_grad, shape, dim) / count


@kernel("ttnn.moreh_norm_backward")
def moreh_norm_backward(
    ctx: Any, input: Tensor, output: Tensor, output_grad: Tensor, p: float, dim: Dims = None, keepdim: bool = False
) -> Tensor:
    x = wide(input)
    norm, grad = (spread(each, x.shape, dim) for each in (output, output_grad))
    if math.isinf(p):
        return x.sign() * (x.abs() == norm) * grad
    if p == 0:
        return torch.zeros_like(x)
    return torch.where(norm == 0, 0.0, x.sign() * x.abs() ** (p - 1) * grad / norm ** (p - 1))


@kernel("ttnn.moreh_dot_backward")
def moreh_dot_backward(ctx: Any, output_grad: Tensor, input: Tensor, other: Tensor) -> tuple[Tensor, Tensor]:
    return wide(output_grad) * wide(other), wide(output_grad) * wide(input)


def _summed(grad: Tensor, shape: Sequence[int]) -> Tensor:
    """Adds up a gradient along the dimensions that were repeated in the product."""
    return grad.sum_to_size(tuple(shape))


@kernel("ttnn.moreh_matmul_backward")
def moreh_matmul_backward(ctx: Any, output_grad: Tensor, input_a: Tensor, input_b: Tensor) -> tuple[Tensor, Tensor]:
    grad = wide(output_grad)
    first, second = grad @ wide(input_b).mT, wide(input_a).mT @ grad
    return _summed(first, input_a.shape), _summed(second, input_b.shape)


@kernel("ttnn.moreh_bmm_backward")
def moreh_bmm_backward(ctx: Any, output_grad: Tensor, input: Tensor, mat2: Tensor) -> tuple[Tensor, Tensor]:
    return wide(output_grad) @ wide(mat2).mT, wide(input).mT @ wide(output_grad)


@kernel("ttnn.moreh_linear_backward")
def moreh_linear_backward(
    ctx: Any, output_grad: Tensor, input: Tensor, weight: Tensor, bias: Tensor | None = None
) -> tuple[Tensor, ...]:
    """Returns the gradients of input and weight, and of a bias if there is one."""
    grad = wide(output_grad)
    first = grad @ wide(weight)
    second = _summed(grad.mT @ wide(input), weight.shape)
    if bias is None:
        return first, second
    third = grad.sum() if bias.numel() == 1 else grad.reshape(-1, grad.shape[-1]).sum(0)
    return first, second, third.reshape(bias.shape)


def _norm_backward(grad: Tensor, normal: Tensor, rstd: Tensor, dims: Sequence[int]) -> Tensor:
    """Returns the gradient of a normalisation from that of the normalised values."""
    mean = grad.mean(tuple(dims), keepdim=True)
    return rstd * (grad - mean - normal * (grad * normal).mean(tuple(dims), keepdim=True))


@kernel("ttnn.moreh_layer_norm_backward")
def moreh_layer_norm_backward(
    ctx: Any,
    output_grad: Tensor,
    input: Tensor,
    mean: Tensor,
    rstd: Tensor,
    normalized_dims: int,
    gamma: Tensor | None = None,
) -> tuple[Tensor, ...]:
    """Returns the gradients of the input, and of scale and shift if there is a scale."""
    x, grad, outer = wide(input), wide(output_grad), input.ndim - normalized_dims
    kept = (*x.shape[:outer], *(1,) * normalized_dims)
    inverse = wide(rstd).reshape(kept)
    normal = (x - wide(mean).reshape(kept)) * inverse
    sizes = x.shape[outer:]
    scaled = grad if gamma is None else grad * wide(gamma).reshape(sizes)
    first = _norm_backward(scaled, normal, inverse, range(outer, x.ndim))
    shape = sizes if gamma is None else gamma.shape
    sums = [each.reshape(-1, *sizes).sum(0).reshape(shape) for each in (grad * normal, grad)]
    return first, *sums


@kernel("ttnn.moreh_group_norm_backward")
def moreh_group_norm_backward(
    ctx: Any,
    output_grad: Tensor,
    input: Tensor,
    mean: Tensor,
    rstd: Tensor,
    num_groups: int,
    gamma: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Returns the gradients of the input, of scale and of shift."""
    count, channels = input.shape[:2]
    inverse = wide(rstd).reshape(count, num_groups, 1)
    groups = wide(input).reshape(count, num_groups, -1)
    normal, grad = (groups - wide(mean).reshape(count, num_groups, 1)) * inverse, wide(output_grad)
    scaled = grad if gamma is None else grad * wide(gamma).reshape(channels, *(1,) * (input.ndim - 2))
    first = _norm_backward(scaled.reshape(groups.shape), normal, inverse, [-1]).reshape(input.shape)
    sums = [
        each.reshape(count, channels, -1).sum((0, 2)).reshape(1, 1, 1, channels)
        for each in (grad * normal.reshape(input.shape), grad)
    ]
    return first, sums[0], sums[1]


@kernel("ttnn.moreh_softmax_backward", "ttnn.moreh_softmin_backward", "ttnn.moreh_logsoftmax_backward")
def moreh_softmax_backward(
    ctx: Any, output_tensor: Tensor, output_grad_tensor: Tensor, dim: int, op: str, compute_kernel_config: Config = None
) -> Tensor:
    result, grad = wide(output_tensor), wide(output_grad_tensor)
    if op == "LOGSOFTMAX":
        return grad - result.exp() * grad.sum(dim, keepdim=True)
    slope = result * (grad - (grad * result).sum(dim, keepdim=True))
    return -slope if op == "SOFTMIN" else slope


@kernel("ttnn.moreh_nll_loss_backward", "ttnn.moreh_nll_loss_unreduced_backward")
def moreh_nll_loss_backward(
    ctx: Any,
    target_tensor: Tensor,
    output_grad_tensor: Tensor,
    input_grad_tensor: Tensor,
    reduction_mean: bool = False,
    weight_tensor: Tensor | None = None,
    divisor_tensor: Tensor | None = None,
    ignore_index: int = -100,
) -> Tensor:
    """Returns the gradient of the log likelihoods; ``input_grad_tensor`` has its shape."""
    shape = input_grad_tensor.shape
    result = torch.zeros(shape, device=target_tensor.device, dtype=torch.float32)
    if target_tensor.is_meta:
        return result
    target = target_tensor.long().reshape(shape[0], 1, -1)
    valid = (target != ignore_index) & (target >= 0) & (target < shape[1])
    grad = wide(output_grad_tensor).reshape(-1).expand(target.numel()).reshape(target.shape)
    index = target.clamp(0, shape[1] - 1)
    weight = (
        torch.ones(shape[1], device=place.device(), dtype=torch.float32)
        if weight_tensor is None
        else wide(weight_tensor).reshape(-1)
    )
    share = torch.where(valid, -grad * weight[index], 0.0)
    flat = result.reshape(shape[0], shape[1], -1).scatter_(1, index, share)
    if reduction_mean:
        total = weight[index][valid].sum() if divisor_tensor is None else wide(divisor_tensor).reshape(-1)[0]
        flat = flat / total
    return flat.reshape(shape)
