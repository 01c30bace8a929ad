"""Softmax and the normalisations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
import torch.nn.functional as F

from tt_xla.ir.layout import TILE
from tt_xla.runtime.emulator import sums
from tt_xla.runtime.emulator.approximations import APPROXIMATIONS
from tt_xla.runtime.emulator.context import Context
from tt_xla.runtime.emulator.registry import kernel

Tensor = torch.Tensor
Config = Mapping[str, Any] | None


@kernel("ttnn.softmax")
def softmax(
    ctx: Context,
    input: Tensor,
    dimension: int,
    numericStable: bool = False,
    compute_config: Config = None,
) -> Tensor:
    """Returns the softmax, with the maximum subtracted whatever ``numericStable`` says: without it, sums overflow."""
    rows = input.to(torch.float32).transpose(dimension, -1).contiguous()
    return _softmax_of_rows(rows).transpose(dimension, -1)


def _softmax_of_rows(rows: Tensor) -> Tensor:
    if not rows.numel():
        return rows
    powers = APPROXIMATIONS["exp"](rows - rows.amax(-1, keepdim=True))
    return powers.mul_(sums.total(powers, [-1], keep_dim=True).reciprocal_())


def _scaled(normalized: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
    """Multiplies by the weight and adds the bias, in the memory of ``normalized``."""
    if weight is not None:
        normalized.mul_(weight.to(torch.float32))
    return normalized if bias is None else normalized.add_(bias.to(torch.float32))


def _last_dimension(parameter: Tensor | None, like: Tensor) -> Tensor | None:
    return None if parameter is None else parameter.reshape(like.shape[-1:]).to(like.dtype)


@kernel("ttnn.layer_norm")
def layer_norm(
    ctx: Context,
    input: Tensor,
    residual: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    epsilon: float = 1e-12,
    compute_config: Config = None,
) -> Tensor:
    """Normalises over the last dimension, after the residual, if there is one, was added in float32."""
    if residual is not None:
        input = _with_residual(input, residual)
    wide = input.to(torch.float32)
    length = wide.shape[-1]
    centred = wide - sums.total(wide, [-1], keep_dim=True) / length
    variance = sums.total(centred * centred, [-1], keep_dim=True) / length
    normalized = centred.mul_((variance + epsilon).rsqrt_())
    return _scaled(normalized, _last_dimension(weight, wide), _last_dimension(bias, wide))


@kernel("ttnn.rms_norm")
def rms_norm(
    ctx: Context,
    input: Tensor,
    residual: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    epsilon: float = 1e-12,
    compute_config: Config = None,
) -> Tensor:
    """Normalises over the last dimension, after the residual, if there is one, was added in float32."""
    wide = _with_residual(input, residual).to(torch.float32)
    squares = sums.total(wide * wide, [-1], keep_dim=True) / wide.shape[-1]
    normalized = wide * (squares + epsilon).rsqrt_()
    return _scaled(normalized, _last_dimension(weight, wide), _last_dimension(bias, wide))


def per_channel(parameter: Tensor, input: Tensor) -> Tensor:
    """Reshapes a vector of channels to [1, C, 1, ...]; returns a parameter of another rank as it is."""
    if parameter.ndim != 1 or input.ndim == 1:
        return parameter
    return parameter.reshape((1, -1) + (1,) * (input.ndim - 2))


@kernel("ttnn.batch_norm_inference")
def batch_norm_inference(
    ctx: Context,
    input: Tensor,
    running_mean: Tensor,
    running_var: Tensor,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    epsilon: float = 1e-5,
    compute_config: Config = None,
) -> Tensor:
    """Normalises with given statistics: vectors belong to dimension 1, other shapes broadcast."""
    mean, variance = per_channel(running_mean, input), per_channel(running_var, input)
    scale, shift = (None if each is None else per_channel(each, input) for each in (weight, bias))
    centred = input.to(torch.float32) - mean.to(torch.float32)
    return _scaled(centred * torch.rsqrt(variance.to(torch.float32) + epsilon), scale, shift)


@kernel("ttnn.batch_norm_training")
def batch_norm_training(
    ctx: Context,
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    epsilon: float = 1e-5,
    momentum: float = 0.1,
    compute_config: Config = None,
) -> Tensor:
    """Normalises with the statistics of the batch; channels are dimension 1."""
    wide = input.to(torch.float32)
    dims = [dim for dim in range(input.ndim) if dim != 1]
    variance, mean = torch.var_mean(wide, dims, correction=0, keepdim=True)
    scale, shift = (None if each is None else per_channel(each, input) for each in (weight, bias))
    return _scaled((wide - mean) * torch.rsqrt(variance + epsilon), scale, shift)


@kernel("ttnn.running_statistics")
def running_statistics(
    ctx: Context,
    mean: Tensor,
    variance: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    momentum: float = 0.1,
    compute_config: Config = None,
) -> Tensor | tuple[Tensor, ...]:
    """Returns the running statistics that are given, each moved towards that of a batch."""
    pairs = ((running_mean, mean), (running_var, variance))
    results = [
        torch.lerp(old.to(torch.float32), new.to(torch.float32).reshape(old.shape), momentum)
        for old, new in pairs
        if old is not None
    ]
    return results[0] if len(results) == 1 else tuple(results)


def by_channel(weight: Tensor, channels: int) -> Tensor:
    """Returns the weights of all channels without the padding of each core's share, which is zeros."""
    flat = weight.flatten().to(torch.float32)
    for cores in range(1, channels + 1):
        size = channels // cores
        if channels % cores == 0 and (size + -size % 32) * cores == flat.numel():
            shares = flat.reshape(cores, -1)
            if not shares[:, size:].any():
                return shares[:, :size].reshape(channels)
    return flat[:channels]


@kernel("ttnn.group_norm")
def group_norm(
    ctx: Context,
    input: Tensor,
    num_groups: int,
    input_mask: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    epsilon: float = 1e-12,
    compute_config: Config = None,
    core_grid: Sequence[int] | None = None,
    num_out_blocks: int | None = None,
    use_welford: bool = False,
) -> Tensor:
    """Normalises groups of channels of an input [N, 1, H*W, C].

    The weights of each core's channels may be padded to a multiple of 32.
    """
    channels = input.shape[-1]
    rows = input.to(torch.float32).reshape(input.shape[0], -1, channels).transpose(1, 2)
    scale, shift = (None if p is None else by_channel(p, channels) for p in (weight, bias))
    normalized = F.group_norm(rows, num_groups, scale, shift, epsilon)
    return normalized.transpose(1, 2).reshape(input.shape)


@kernel("ttnn.rms_norm_pre_all_gather")
def rms_norm_pre_all_gather(
    ctx: Context, input: Tensor, residual: Tensor | None = None, compute_config: Config = None
) -> Tensor:
    """Returns the sums of squares of rows, each in the first column of a tile whose other columns are 0."""
    return _columns(_sum_of_squares(_with_residual(input, residual)))


@kernel("ttnn.layer_norm_pre_all_gather")
def layer_norm_pre_all_gather(
    ctx: Context,
    input: Tensor,
    residual_input: Tensor | None = None,
    recip: Tensor | None = None,
    compute_config: Config = None,
) -> Tensor:
    """Returns the sums of squares of rows in one tile, and their sums in the next one."""
    wide = _with_residual(input, residual_input)
    return _columns(_sum_of_squares(wide), wide.sum(-1, keepdim=True, dtype=torch.float64))


@kernel("ttnn.rms_norm_post_all_gather")
def rms_norm_post_all_gather(
    ctx: Context,
    input: Tensor,
    stats: Tensor,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    epsilon: float = 1e-12,
    compute_config: Config = None,
) -> Tensor:
    """Normalises over the last dimension of all chips, whose sums of squares ``stats`` has side by side."""
    wide = input.to(torch.float32)
    (squares,) = _means(stats, 1, wide.shape[-1])
    factor = (squares + epsilon).rsqrt().to(torch.float32)
    return _scaled(wide * factor, _last_dimension(weight, wide), _last_dimension(bias, wide))


@kernel("ttnn.layer_norm_post_all_gather")
def layer_norm_post_all_gather(
    ctx: Context,
    input: Tensor,
    stats: Tensor,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    epsilon: float = 1e-12,
    compute_config: Config = None,
) -> Tensor:
    """Normalises over the last dimension of all chips; the variance is the mean of squares minus the squared mean."""
    wide = input.to(torch.float32)
    squares, mean = _means(stats, 2, wide.shape[-1])
    factor = (squares - mean.square() + epsilon).rsqrt().to(torch.float32)
    normalized = (wide - mean.to(torch.float32)) * factor
    return _scaled(normalized, _last_dimension(weight, wide), _last_dimension(bias, wide))


def _with_residual(input: Tensor, residual: Tensor | None) -> Tensor:
    wide = input.to(torch.float32)
    return wide if residual is None else wide + residual.to(torch.float32)


def _sum_of_squares(wide: Tensor) -> Tensor:
    return sums.total(wide * wide, [-1], keep_dim=True)


def _columns(*statistics: Tensor) -> Tensor:
    """Returns one tile for each statistic of the rows, with the statistic in its first column."""
    first = torch.stack(statistics, -1)  # [..., 1, number of statistics]
    tiles = first.new_zeros((*first.shape[:-2], first.shape[-1], TILE), dtype=torch.float32)
    tiles[..., 0] = first[..., 0, :]
    return tiles.flatten(-2)


def _means(stats: Tensor, count: int, width: int) -> Sequence[Tensor]:
    """Returns the means over all chips, in float64, of each of ``count`` statistics of rows of ``width`` elements."""
    chips = stats.unflatten(-1, (-1, count, TILE))[..., 0].to(torch.float64)
    return (chips.sum(-2) / (chips.shape[-2] * width)).unsqueeze(-2).unbind(-1)
