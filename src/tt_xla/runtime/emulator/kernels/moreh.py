"""The moreh functions of TT-NN: reductions, products, norms, losses and optimizers, in float32 and rounded once.

The parameters are TT-NN's. A tensor that TT-NN returns only if asked for is always returned.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch
import torch.nn.functional as F

from tt_xla.runtime.emulator import place
from tt_xla.runtime.emulator.registry import kernel

Tensor = torch.Tensor
Config = Mapping[str, Any] | None
Dims = int | Sequence[int] | None


def wide(x: Tensor) -> Tensor:
    """Returns floats in float32, and integers as they are."""
    return x.to(torch.float32) if x.is_floating_point() else x


def axes(rank: int, dim: Dims) -> list[int]:
    """Returns dimensions counted from the front; all for None or an empty list."""
    listed = [dim] if isinstance(dim, int) else list(dim or range(rank))
    return sorted({each % rank for each in listed})


def _kept(result: Tensor, dims: Sequence[int], *, keepdim: bool) -> Tensor:
    """Removes reduced dimensions, but not the last two, which moreh keeps as size 1."""
    if keepdim:
        return result
    gone = [dim for dim in dims if dim < result.ndim - 2]
    shape = [size for dim, size in enumerate(result.shape) if dim not in gone]
    return result.reshape(shape)


@kernel("ttnn.moreh_sum")
def moreh_sum(
    ctx: Any, input: Tensor, dim: Dims = None, keepdim: bool = False, compute_kernel_config: Config = None
) -> Tensor:
    dims = axes(input.ndim, dim)
    return _kept(wide(input).sum(dims, keepdim=True), dims, keepdim=keepdim)


@kernel("ttnn.moreh_mean")
def moreh_mean(
    ctx: Any,
    input: Tensor,
    dim: Dims = None,
    keepdim: bool = False,
    divisor: int | None = None,
    compute_kernel_config: Config = None,
) -> Tensor:
    dims = axes(input.ndim, dim)
    count = divisor or math.prod(input.shape[each] for each in dims)
    return _kept(wide(input).sum(dims, keepdim=True) / count, dims, keepdim=keepdim)


@kernel("ttnn.moreh_norm")
def moreh_norm(
    ctx: Any, input: Tensor, p: float, dim: Dims = None, keepdim: bool = False, compute_kernel_config: Config = None
) -> Tensor:
    dims = axes(input.ndim, dim)
    return _kept(torch.linalg.vector_norm(wide(input), p, dims, keepdim=True), dims, keepdim=keepdim)


@kernel("ttnn.moreh_abs_pow")
def moreh_abs_pow(ctx: Any, input: Tensor, p: float, compute_kernel_config: Config = None) -> Tensor:
    return wide(input).abs() ** p


@kernel("ttnn.moreh_arange")
def moreh_arange(ctx: Any, end: float, start: float = 0, step: float = 1) -> Tensor:
    return torch.arange(start, end, step, dtype=torch.float32, device=place.device())


@kernel("ttnn.moreh_full")
def moreh_full(ctx: Any, shape: Sequence[int], fill_value: float) -> Tensor:
    dtype = torch.float32 if isinstance(fill_value, float) else torch.int64
    return torch.full(tuple(shape), fill_value, device=place.device(), dtype=dtype)


@kernel("ttnn.moreh_full_like")
def moreh_full_like(ctx: Any, input: Tensor, fill_value: float) -> Tensor:
    return torch.full_like(wide(input), fill_value)


@kernel("ttnn.moreh_dot")
def moreh_dot(ctx: Any, input_tensor_a: Tensor, input_tensor_b: Tensor, compute_kernel_config: Config = None) -> Tensor:
    return (wide(input_tensor_a) * wide(input_tensor_b)).sum().reshape(1, 1, 1, 1)


@kernel("ttnn.moreh_matmul")
def moreh_matmul(
    ctx: Any,
    input: Tensor,
    other: Tensor,
    transpose_input: bool = False,
    transpose_other: bool = False,
    bias: Tensor | None = None,
    compute_kernel_config: Config = None,
) -> Tensor:
    left, right = wide(input), wide(other)
    left = left.transpose(-1, -2) if transpose_input else left
    right = right.transpose(-1, -2) if transpose_other else right
    product = left @ right
    return product if bias is None else product + wide(bias)


@kernel("ttnn.moreh_bmm")
def moreh_bmm(ctx: Any, input: Tensor, mat2: Tensor, compute_kernel_config: Config = None) -> Tensor:
    return wide(input) @ wide(mat2)


@kernel("ttnn.moreh_linear")
def moreh_linear(
    ctx: Any, input: Tensor, weight: Tensor, bias: Tensor | None = None, compute_kernel_config: Config = None
) -> Tensor:
    product = wide(input) @ wide(weight).transpose(-1, -2)
    return product if bias is None else product + wide(bias)


@kernel("ttnn.moreh_getitem")
def moreh_getitem(ctx: Any, input: Tensor, index_tensors: Sequence[Tensor], index_dims: Sequence[int]) -> Tensor:
    """Takes the elements at positions of some dimensions, which the positions replace."""
    chosen: list[Any] = [slice(None)] * input.ndim
    for index, dim in zip(index_tensors, index_dims, strict=True):
        chosen[dim] = index.reshape(-1).long()
    return input[tuple(chosen)]


@kernel("ttnn.moreh_fold")
def moreh_fold(
    ctx: Any,
    input: Tensor,
    output_size: Sequence[int],
    kernel_size: Sequence[int],
    dilation: Sequence[int] = (1, 1),
    padding: Sequence[int] = (0, 0),
    stride: Sequence[int] = (1, 1),
) -> Tensor:
    """Adds up sliding blocks, as ``torch.nn.functional.fold``."""
    sizes = (tuple(each) for each in (output_size, kernel_size, dilation, padding, stride))
    return F.fold(wide(input), *sizes)


def _statistics(x: Tensor, dims: list[int], eps: float) -> tuple[Tensor, Tensor]:
    mean = x.mean(dims, keepdim=True)
    return mean, ((x - mean) ** 2).mean(dims, keepdim=True).add(eps).rsqrt()


@kernel("ttnn.moreh_layer_norm")
def moreh_layer_norm(
    ctx: Any,
    input: Tensor,
    normalized_dims: int,
    eps: float = 1e-5,
    gamma: Tensor | None = None,
    beta: Tensor | None = None,
    compute_kernel_config: Config = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Returns the normalised tensor, the mean, and the inverse of the standard deviation."""
    x = wide(input)
    mean, rstd = _statistics(x, list(range(x.ndim - normalized_dims, x.ndim)), eps)
    result, sizes = (x - mean) * rstd, x.shape[x.ndim - normalized_dims :]
    if gamma is not None:
        result = result * wide(gamma).reshape(sizes)
    if beta is not None:
        result = result + wide(beta).reshape(sizes)
    rest = x.shape[: x.ndim - normalized_dims]
    shape = tuple(rest) if len(rest) >= 2 else (1,) * (2 - len(rest)) + tuple(rest)
    return result, mean.reshape(shape), rstd.reshape(shape)


@kernel("ttnn.moreh_group_norm")
def moreh_group_norm(
    ctx: Any,
    input: Tensor,
    num_groups: int,
    eps: float = 1e-5,
    gamma: Tensor | None = None,
    beta: Tensor | None = None,
    compute_kernel_config: Config = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Returns the normalised tensor, the mean, and the inverse of the standard deviation of each group."""
    groups = wide(input).reshape(input.shape[0], num_groups, -1)
    mean, rstd = _statistics(groups, [-1], eps)
    result, channels = ((groups - mean) * rstd).reshape(input.shape), (-1, *(1,) * (input.ndim - 2))
    if gamma is not None:
        result = result * wide(gamma).reshape(channels)
    if beta is not None:
        result = result + wide(beta).reshape(channels)
    shape = (1, 1, input.shape[0], num_groups)
    return result, mean.reshape(shape), rstd.reshape(shape)


@kernel("ttnn.moreh_softmax", "ttnn.moreh_softmin", "ttnn.moreh_logsoftmax")
def moreh_softmax(ctx: Any, input_tensor: Tensor, dim: int, op: str) -> Tensor:
    x = wide(input_tensor)
    return torch.log_softmax(x, dim) if op == "LOGSOFTMAX" else torch.softmax(-x if op == "SOFTMIN" else x, dim)


@kernel("ttnn.moreh_nll_loss")
def moreh_nll_loss(
    ctx: Any,
    input_tensor: Tensor,
    target_tensor: Tensor,
    reduction: str,
    weight_tensor: Tensor | None = None,
    ignore_index: int = -100,
) -> tuple[Tensor, Tensor]:
    """Returns the negative log likelihood of targets, a row if they are a vector; reduced, as one element.

    The second result is the sum of the weights of the targets, by which a mean is divided.
    """
    weight = None if weight_tensor is None else wide(weight_tensor).reshape(-1)
    targets = target_tensor.to(torch.int64)
    each = target_tensor.shape if target_tensor.ndim > 1 else (1, len(target_tensor))
    shape = each if reduction == "none" else (1, 1)
    if input_tensor.is_meta:
        return input_tensor.new_empty(shape), input_tensor.new_empty(1)
    counted = targets != ignore_index
    divisor = counted.sum() if weight is None else weight[targets.clamp(min=0)].where(counted, 0.0).sum()
    loss = F.nll_loss(wide(input_tensor), targets, weight, ignore_index=ignore_index, reduction=reduction)
    return loss.reshape(shape), divisor.reshape(1).float()


@kernel("ttnn.moreh_clip_grad_norm")
def moreh_clip_grad_norm(
    ctx: Any, inputs: Sequence[Tensor], max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False
) -> tuple[Tensor, ...]:
    """Returns the norm of all gradients, and the gradients scaled down to ``max_norm``."""
    norms = torch.stack([torch.linalg.vector_norm(wide(each), norm_type) for each in inputs])
    total = torch.linalg.vector_norm(norms, norm_type)
    if error_if_nonfinite and not total.is_meta and not total.isfinite():
        raise RuntimeError(
            f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, so it cannot be "
            "clipped."
        )
    factor = (max_norm / (total + 1e-6)).clamp(max=1.0)
    return total.reshape(1), *(wide(each) * factor for each in inputs)


@kernel("ttnn.moreh_adam", "ttnn.moreh_adamw")
def moreh_adam(
    ctx: Any,
    param_in: Tensor,
    grad: Tensor,
    exp_avg_in: Tensor,
    exp_avg_sq_in: Tensor,
    lr: float,
    beta1: float,
    beta2: float,
    eps: float,
    weight_decay: float,
    step: int,
    amsgrad: bool,
    max_exp_avg_sq_in: Tensor | None = None,
    decoupled: bool = False,
    compute_kernel_config: Config = None,
) -> tuple[Tensor, ...]:
    """Returns the parameters, both moments, and the greatest second moment if ``amsgrad`` asks for it."""
    param, gradient = wide(param_in), wide(grad)
    if decoupled:
        param = param * (1 - lr * weight_decay)
    else:
        gradient = gradient + weight_decay * param
    first = beta1 * wide(exp_avg_in) + (1 - beta1) * gradient
    second = beta2 * wide(exp_avg_sq_in) + (1 - beta2) * gradient**2
    greatest = torch.maximum(wide(max_exp_avg_sq_in), second) if max_exp_avg_sq_in is not None else second
    size = (greatest if amsgrad else second) / (1 - beta2**step)
    updated = param - lr * (first / (1 - beta1**step)) / (size.sqrt() + eps)
    return (updated, first, second, *([greatest] if amsgrad else []))


@kernel("ttnn.moreh_sgd")
def moreh_sgd(
    ctx: Any,
    param_in: Tensor,
    grad: Tensor,
    momentum_buffer_in: Tensor | None = None,
    lr: float = 1e-3,
    momentum: float = 0.0,
    dampening: float = 0.0,
    weight_decay: float = 0.0,
    nesterov: bool = False,
    momentum_initialized: bool = False,
    compute_kernel_config: Config = None,
) -> Tensor | tuple[Tensor, Tensor]:
    """Returns the parameters, and the momentum if there is one."""
    param = wide(param_in)
    step = wide(grad) + weight_decay * param
    if not momentum:
        return param - lr * step
    buffer = step
    if momentum_initialized and momentum_buffer_in is not None:
        buffer = momentum * wide(momentum_buffer_in) + (1 - dampening) * step
    change = step + momentum * buffer if nesterov else buffer
    return param - lr * change, buffer
