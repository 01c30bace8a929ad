"""Batch, layer, group and RMS normalisation. Statistics of 16-bit floats are computed in float32, as in torch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from jax import lax

from tt_xla.frontends.torch.aten.reductions import average, centred, expand_back, total
from tt_xla.frontends.torch.aten.registry import Array, Context, along, broadcast, cast, like, lower, wide
from tt_xla.frontends.torch.graph.composites import default_epsilon

aten = torch.ops.aten


def _scale_and_shift(x: Array, scale: Array, shift: Array) -> Array:
    """Returns ``x * scale + shift``, with one scale and one shift for each channel."""
    return lax.add(lax.mul(x, along(scale, 1, x.shape)), along(shift, 1, x.shape))


def _inference(
    x: Array, weight: Array | None, bias: Array | None, mean: Array, variance: Array, epsilon: float
) -> Array:
    """Returns batch normalisation with given statistics, as one scale and one shift for each channel."""
    variance = cast(variance, wide(variance.dtype))
    inverse = lax.rsqrt(lax.add(variance, like(variance, epsilon)))
    scale = inverse if weight is None else lax.mul(inverse, cast(weight, inverse.dtype))
    shift = lax.neg(lax.mul(cast(mean, scale.dtype), scale))
    if bias is not None:
        shift = lax.add(cast(bias, shift.dtype), shift)
    # In 16 bits the shift would lose what is left of x * scale + shift where both are large.
    return cast(_scale_and_shift(cast(x, scale.dtype), scale, shift), x.dtype)


@lower(aten._native_batch_norm_legit_no_training.default)
def batch_norm_inference(
    ctx: Context,
    x: Array,
    weight: Array | None,
    bias: Array | None,
    mean: Array,
    variance: Array,
    momentum: float,
    epsilon: float,
) -> list[Array | None]:
    return [_inference(x, weight, bias, mean, variance, epsilon), like_vector(ctx, 1), like_vector(ctx, 2)]


def like_vector(ctx: Context, index: int) -> Array | None:
    """Returns the saved statistics of inference, which are empty; None if the graph does not read them."""
    return lax.full(tuple(ctx.out[index].shape), 0.0, "float32") if ctx.used(index) else None


def _training(
    ctx: Context, x: Array, weight: Array | None, bias: Array | None, epsilon: float
) -> tuple[Array, Array, Array, Array]:
    """Returns the result, the batch's mean, its biased variance, and 1 / its standard deviation."""
    dims = tuple(i for i in range(x.ndim) if i != 1)
    mean, differences = centred(cast(x, wide(x.dtype)), dims)
    variance = average(lax.mul(differences, differences), dims)
    inverse = lax.rsqrt(lax.add(variance, like(variance, epsilon)))
    result = lax.mul(differences, expand_back(inverse, x.shape, dims))
    if weight is not None:
        result = lax.mul(result, along(cast(weight, result.dtype), 1, x.shape))
    if bias is not None:
        result = lax.add(result, along(cast(bias, result.dtype), 1, x.shape))
    return result, mean, variance, inverse


@lower(aten._native_batch_norm_legit.no_stats)
def batch_norm_no_stats(
    ctx: Context, x: Array, weight: Array | None, bias: Array | None, training: bool, momentum: float, epsilon: float
) -> list[Array]:
    result, mean, _, inverse = _training(ctx, x, weight, bias, epsilon)
    return [result, mean, inverse]


@lower(aten._native_batch_norm_legit_functional.default)
def batch_norm_functional(
    ctx: Context,
    x: Array,
    weight: Array | None,
    bias: Array | None,
    running_mean: Array,
    running_var: Array,
    training: bool,
    momentum: float,
    epsilon: float,
) -> list[Array | None]:
    if not training:
        result = _inference(x, weight, bias, running_mean, running_var, epsilon)
        return [result, like_vector(ctx, 1), like_vector(ctx, 2), running_mean, running_var]
    result, mean, variance, inverse = _training(ctx, x, weight, bias, epsilon)
    count = x.size // x.shape[1]
    unbiased = lax.mul(variance, like(variance, count / max(count - 1, 1)))
    return [
        result,
        mean,
        inverse,
        _running_average(running_mean, mean, momentum),
        _running_average(running_var, unbiased, momentum),
    ]


def _running_average(running: Array, new: Array, momentum: float) -> Array:
    """Returns a running statistic after a batch: ``running * (1 - momentum) + new * momentum``."""
    new = cast(new, running.dtype)
    return lax.add(lax.mul(running, like(running, 1 - momentum)), lax.mul(new, like(new, momentum)))


@lower(aten.native_batch_norm_backward.default)
def batch_norm_backward(
    ctx: Context,
    grad: Array,
    x: Array,
    weight: Array | None,
    running_mean: Array | None,
    running_var: Array | None,
    save_mean: Array | None,
    save_inverse: Array | None,
    training: bool,
    epsilon: float,
    mask: Sequence[bool],
) -> list[Array | None]:
    dims = tuple(i for i in range(x.ndim) if i != 1)
    dtype = wide(x.dtype)
    x, grad = cast(x, dtype), cast(grad, dtype)
    if training:
        assert save_mean is not None
        assert save_inverse is not None
        mean, inverse = cast(save_mean, dtype), cast(save_inverse, dtype)
    else:
        assert running_mean is not None
        assert running_var is not None
        variance = cast(running_var, dtype)
        mean, inverse = cast(running_mean, dtype), lax.rsqrt(lax.add(variance, like(variance, epsilon)))
    normal = lax.mul(lax.sub(x, along(mean, 1, x.shape)), along(inverse, 1, x.shape))
    grad_bias, grad_weight = total(grad, dims), total(lax.mul(grad, normal), dims)
    grad_x = None
    if mask[0]:
        scale = inverse if weight is None else lax.mul(inverse, cast(weight, dtype))
        centred_grad = grad
        if training:
            count = math.prod(x.shape[dim] for dim in dims)
            mean_grad = lax.div(grad_bias, like(grad_bias, count))
            mean_product = lax.div(grad_weight, like(grad_weight, count))
            centred_grad = lax.sub(centred_grad, along(mean_grad, 1, x.shape))
            centred_grad = lax.sub(centred_grad, lax.mul(normal, along(mean_product, 1, x.shape)))
        grad_x = lax.mul(centred_grad, along(scale, 1, x.shape))
    return [grad_x, grad_weight if mask[1] else None, grad_bias if mask[2] else None]


@lower(aten.native_layer_norm.default)
def layer_norm(
    ctx: Context, x: Array, shape: Sequence[int], weight: Array | None, bias: Array | None, epsilon: float
) -> list[Array]:
    dims = tuple(range(x.ndim - len(shape), x.ndim))
    mean, differences = centred(cast(x, wide(x.dtype)), dims)
    variance = average(lax.mul(differences, differences), dims)
    inverse = lax.rsqrt(lax.add(variance, like(variance, epsilon)))
    result = lax.mul(differences, expand_back(inverse, x.shape, dims))
    if weight is not None:
        result = lax.mul(result, broadcast(cast(weight, result.dtype), x.shape))
    if bias is not None:
        result = lax.add(result, broadcast(cast(bias, result.dtype), x.shape))
    return [result, lax.expand_dims(mean, dims), lax.expand_dims(inverse, dims)]


@lower(aten.native_group_norm.default)
def group_norm(
    ctx: Context,
    x: Array,
    weight: Array | None,
    bias: Array | None,
    batch: int,
    channels: int,
    inner: int,
    groups: int,
    epsilon: float,
) -> list[Array]:
    shape = x.shape
    grouped = lax.reshape(cast(x, wide(x.dtype)), (batch, groups, channels // groups * inner))
    mean, differences = centred(grouped, (2,))
    variance = average(lax.mul(differences, differences), (2,))
    inverse = lax.rsqrt(lax.add(variance, like(variance, epsilon)))
    result = lax.reshape(lax.mul(differences, expand_back(inverse, grouped.shape, (2,))), shape)
    if weight is not None:
        result = lax.mul(result, along(cast(weight, result.dtype), 1, shape))
    if bias is not None:
        result = lax.add(result, along(cast(bias, result.dtype), 1, shape))
    return [result, mean, inverse]


@lower(aten._fused_rms_norm.default)
def rms_norm(ctx: Context, x: Array, shape: Sequence[int], weight: Array | None, epsilon: float | None) -> list[Any]:
    dims = tuple(range(x.ndim - len(shape), x.ndim))
    wider = cast(x, wide(x.dtype))
    epsilon = default_epsilon(ctx.first.dtype) if epsilon is None else epsilon
    mean = average(lax.mul(wider, wider), dims)
    inverse = lax.rsqrt(lax.add(mean, like(mean, epsilon)))
    result = lax.mul(wider, expand_back(inverse, x.shape, dims))
    if weight is not None:
        result = lax.mul(result, broadcast(cast(weight, result.dtype), x.shape))
    return [result, lax.expand_dims(inverse, dims)]
