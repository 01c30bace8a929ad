"""Reductions: accumulated in float32 and rounded once."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from tt_xla.runtime.emulator import sums, threads
from tt_xla.runtime.emulator.containers import CONTAINERS
from tt_xla.runtime.emulator.context import Context
from tt_xla.runtime.emulator.registry import kernel

Tensor = torch.Tensor
Dims = Sequence[int] | int | None
Config = Mapping[str, Any] | None


def _dims(rank: int, dim_arg: Dims) -> list[int]:
    if dim_arg is None:
        return list(range(rank))
    return [dim_arg] if isinstance(dim_arg, int) else list(dim_arg)


def _reduction(
    reduce: Callable[[Tensor, list[int], bool], Tensor],
    integers_become: torch.dtype | None = None,
    negative: Callable[[Tensor, list[int], bool], Tensor] | None = None,
) -> Callable[..., Callable[[Tensor], Tensor]]:
    """Returns the kernel of a reduction along some dimensions, whose result it multiplies by a scalar.

    Args:
        integers_become: dtype to which integers are converted first.
        negative: the reduction whose product with a negative scalar is the reduction of the products.
    """

    def prepare(
        ctx: Context, keep_dim: bool, dim_arg: Dims = None, compute_config: Config = None, scalar: float = 1.0
    ) -> Callable[[Tensor], Tensor]:
        operand = ctx.spec("input")
        dims = _dims(len(operand.shape), dim_arg)
        is_float = CONTAINERS[operand.layout.dtype].is_floating_point
        chosen = negative if negative is not None and scalar < 0 else reduce

        def call(input: Tensor) -> Tensor:
            return chosen(input, dims, keep_dim)

        def call_converted(input: Tensor) -> Tensor:
            return chosen(input.to(integers_become), dims, keep_dim)

        called = call_converted if integers_become is not None and not is_float else call
        if not dims:
            called = _unchanged
        return called if scalar == 1 else lambda input: _scaled(called(input), scalar)

    return prepare


def _sum(input: Tensor, dims: list[int], keep_dim: bool) -> Tensor:
    if not input.is_floating_point():
        return torch.sum(input, dims, keep_dim)
    return sums.total(input, dims, keep_dim=keep_dim)


def _mean(input: Tensor, dims: list[int], keep_dim: bool) -> Tensor:
    return _sum(input, dims, keep_dim) / math.prod(input.shape[dim] for dim in dims)


def _most(input: Tensor, dims: list[int], keep_dim: bool) -> Tensor:
    return _one_zero(torch.amax(input, dims, keep_dim))


def _least(input: Tensor, dims: list[int], keep_dim: bool) -> Tensor:
    return _one_zero(torch.amin(input, dims, keep_dim))


def _one_zero(extremum: Tensor) -> Tensor:
    """Makes zeros positive: which of -0 and +0 torch finds depends on where they lie."""
    return extremum.add_(0.0) if extremum.is_floating_point() else extremum


def _unchanged(input: Tensor) -> Tensor:
    return input


def _scaled(total: Tensor, scalar: float) -> Tensor:
    """Returns a reduction by a scalar; integers lose the fraction of the product."""
    product = total.to(torch.float32) * scalar
    return product if total.is_floating_point() else product.trunc().to(total.dtype)


kernel("ttnn.sum", prepared=True)(_reduction(_sum, integers_become=torch.int64))
kernel("ttnn.mean", prepared=True)(_reduction(_mean, integers_become=torch.float32))
kernel("ttnn.max", prepared=True)(_reduction(_most, negative=_least))
kernel("ttnn.min", prepared=True)(_reduction(_least, negative=_most))


@kernel("ttnn.prod")
def prod(ctx: Context, input: Tensor, keep_dim: bool, dim_arg: int | Dims = None) -> Tensor:
    """Multiplies along one dimension after the other, the last one first."""
    result = input.to(torch.float32) if input.is_floating_point() else input.to(torch.int64)
    dims = [dim_arg] if isinstance(dim_arg, int) else _dims(input.ndim, dim_arg)
    for dim in sorted((dim % input.ndim for dim in dims), reverse=True):
        if result.is_floating_point() and threads.is_divided(result.shape, [dim]):
            return threads.product_of_all(result).reshape(ctx.result.shape)
        result = torch.prod(result, dim, keepdim=keep_dim)
    return result


@kernel("ttnn.argmax")
def argmax(ctx: Context, input: Tensor, dim: int | None = None, keep_dim: bool = False, dim_arg: Dims = None) -> Tensor:
    """Returns the position of the first greatest value; without a dimension, among all elements, flattened."""
    dims = [dim] if dim is not None else None if dim_arg is None else _dims(input.ndim, dim_arg)
    if dims is not None and len(dims) > 1 and len(dims) < input.ndim:
        raise ValueError(f"argmax takes one dimension or all, got {dims}")
    if dims is None or len(dims) > 1:
        return _first_maximum(input.flatten(), 0).reshape(ctx.result.shape)
    position = _first_maximum(input, dims[0])
    return position.unsqueeze(dims[0]) if keep_dim else position


def _first_maximum(input: Tensor, dim: int) -> Tensor:
    # Torch leaves open which of equal values argmax finds.
    highest = torch.amax(input, dim, keepdim=True)
    hit = (input == highest) | (input != input)
    return torch.argmax(hit.to(torch.uint8), dim) if input.shape[dim] < 2 else _first_true(hit, dim)


def _first_true(hit: Tensor, dim: int) -> Tensor:
    size = hit.shape[dim]
    shape = [1] * hit.ndim
    shape[dim] = size
    positions = torch.arange(size, device=hit.device, dtype=torch.int64).reshape(shape)
    return torch.where(hit, positions, size).amin(dim)


def _running(function: Callable[[Tensor, int], Tensor], input: Tensor, dim: int, *, backwards: bool) -> Tensor:
    source = input.to(torch.float32) if input.is_floating_point() else input
    return function(source.flip(dim), dim).flip(dim) if backwards else function(source, dim)


@kernel("ttnn.cumsum", "ttnn.moreh_cumsum")
def cumsum(ctx: Context, input: Tensor, dim: int, reverse_order: bool = False) -> Tensor:
    return _running(torch.cumsum, input, dim, backwards=reverse_order)


@kernel("ttnn.moreh_cumsum_backward")
def moreh_cumsum_backward(ctx: Context, output_grad: Tensor, dim: int) -> Tensor:
    return _running(torch.cumsum, output_grad, dim, backwards=True)


@kernel("ttnn.ema")
def ema(ctx: Context, input_tensor: Tensor, alpha: float) -> Tensor:
    """Returns the exponential moving average along the last dimension, which starts with 0 (``ckernel_sfpu_ema.h``)."""
    terms = input_tensor.to(torch.float32)
    average, steps = torch.zeros_like(terms[..., 0]), list[Tensor]()
    for term in terms.unbind(-1):
        average = alpha * average + (1 - alpha) * term
        steps.append(average)
    return torch.stack(steps, -1)


@kernel("ttnn.cumprod")
def cumprod(ctx: Context, input: Tensor, dim: int, reverse_order: bool = False) -> Tensor:
    return _running(torch.cumprod, input, dim, backwards=reverse_order)
