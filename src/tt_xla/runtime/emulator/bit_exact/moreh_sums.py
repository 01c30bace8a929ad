"""The sums, means and norms of moreh and their gradients as TT-NN's kernels compute them.

The matrix unit adds. Several dimensions take several kernels, the last dimension first, between which sums lie in
bfloat16. Sources: TT-NN 0.81's ``moreh_sum_w.cpp``, ``moreh_sum_h.cpp``, ``moreh_sum_nc.cpp``, those of ``moreh_mean``,
``moreh_abs_pow_kernel.cpp``, ``moreh_common.hpp``, ``moreh_sum_backward.cpp`` and ``moreh_mean_backward.cpp``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from tt_xla.ir.element_types import DataType
from tt_xla.ir.layout import TILE
from tt_xla.runtime.emulator.bit_exact import functions
from tt_xla.runtime.emulator.bit_exact import vector_unit as sfpu
from tt_xla.runtime.emulator.bit_exact.elementwise import loaded, otherwise
from tt_xla.runtime.emulator.bit_exact.registers import packed
from tt_xla.runtime.emulator.bit_exact.settings import Config, Settings
from tt_xla.runtime.emulator.context import Context
from tt_xla.runtime.emulator.kernels.moreh import Dims, axes
from tt_xla.runtime.emulator.kernels.moreh_backward import spread
from tt_xla.runtime.emulator.registry import kernel

Tensor = torch.Tensor


@kernel("ttnn.moreh_sum", bit_exact=True)
def moreh_sum(
    ctx: Context, input: Tensor, dim: Dims = None, keepdim: bool = False, compute_kernel_config: Config = None
) -> Tensor:
    """A sum along dimensions. That of integers is computed as by the other numerics."""
    if not input.is_floating_point():
        return otherwise(ctx, {"dim": dim, "keepdim": keepdim})(input)
    return _reduced(ctx, input, dim, _Sum(_settings(compute_kernel_config)))


@kernel("ttnn.moreh_mean", bit_exact=True)
def moreh_mean(
    ctx: Context,
    input: Tensor,
    dim: Dims = None,
    keepdim: bool = False,
    divisor: int | None = None,
    compute_kernel_config: Config = None,
) -> Tensor:
    """A mean along dimensions. TT-NN refuses a divisor, with which the mean is computed as by the other numerics."""
    if divisor is not None:
        return otherwise(ctx, {"dim": dim, "keepdim": keepdim, "divisor": divisor})(input)
    return _reduced(ctx, input, dim, _Mean(_settings(compute_kernel_config)))


@kernel("ttnn.moreh_norm", bit_exact=True)
def moreh_norm(
    ctx: Context,
    input: Tensor,
    p: float,
    dim: Dims = None,
    keepdim: bool = False,
    compute_kernel_config: Config = None,
) -> Tensor:
    """A power of the sum of powers. The norms of order 0 and infinity, which have other kernels, are computed as by the
    other numerics."""
    if p == 0 or math.isinf(p):
        return otherwise(ctx, {"p": p, "dim": dim, "keepdim": keepdim})(input)
    settings = _settings(compute_kernel_config)
    powers = _power(loaded(input), p, settings)
    total = _Sum(settings).along(powers, axes(input.ndim, dim))
    norm = _power(total, float(np.float32(1) / np.float32(p)), settings)
    return norm.reshape(ctx.result.shape).to(ctx.container)


@kernel("ttnn.moreh_abs_pow", bit_exact=True)
def moreh_abs_pow(ctx: Context, input: Tensor, p: float, compute_kernel_config: Config = None) -> Tensor:
    """The power of the absolute values."""
    return _power(loaded(input), p, _settings(compute_kernel_config)).to(ctx.container)


@kernel("ttnn.moreh_sum_backward", bit_exact=True)
def moreh_sum_backward(
    ctx: Context,
    output_grad: Tensor,
    input: Tensor | None = None,
    dim: Dims = None,
    keepdim: bool = False,
    compute_kernel_config: Config = None,
) -> Tensor:
    """The gradient, which is repeated along the dimensions of the sum."""
    shape = output_grad.shape if input is None else input.shape
    return _repeated(output_grad, shape, dim, _settings(compute_kernel_config)).to(ctx.container)


@kernel("ttnn.moreh_mean_backward", bit_exact=True)
def moreh_mean_backward(
    ctx: Context,
    output_grad: Tensor,
    dim: Dims = None,
    keepdim: bool = False,
    input_grad_shape: Sequence[int] | None = None,
    input_grad: Tensor | None = None,
    compute_kernel_config: Config = None,
) -> Tensor:
    """The gradient, which is repeated along the dimensions of the mean and multiplied by a scaler."""
    shape = input_grad_shape or (output_grad if input_grad is None else input_grad).shape
    settings = _settings(compute_kernel_config)
    count = math.prod(shape[each] for each in axes(len(shape), dim))
    repeated = _repeated(output_grad, shape, dim, settings)
    return packed(settings.multiply(repeated, _cut(_inverse(count))), DataType.BF16).to(ctx.container)


def _settings(config: Config) -> Settings:
    return Settings.of(config, wide=False, approximate=True)


def _inverse(count: int) -> float:
    return float(np.float32(1) / np.float32(count))


def _cut(value: float) -> Tensor:
    """Returns a number of a buffer of bfloat16, which a data movement kernel cuts."""
    return sfpu.stored(torch.full((1,), value, device="cpu", dtype=torch.float32), wide=False)


@dataclass(frozen=True)
class _Sum:
    """The kernels of a sum of bfloat16 along one dimension."""

    settings: Settings

    def along(self, x: Tensor, dims: Sequence[int]) -> Tensor:
        """Returns the reduced tensor, whose reduced dimensions have size 1."""
        if x.ndim == 1:
            x, dims = x.unsqueeze(0), [1]
        for dim in reversed(dims):
            x = packed(self._along(x, dim), DataType.BF16)
        return x

    def _along(self, x: Tensor, dim: int) -> Tensor:
        """Returns the reduction along one dimension as the accumulator holds it."""
        if dim < x.ndim - 2:
            return self._of_tiles(x, dim)
        terms = x.movedim(dim, 0)
        count = terms.shape[0]
        reduce = self._of_rows if dim == x.ndim - 1 else self._of_columns
        total = self._with_last_tile(terms.reshape(count, -1), reduce, by_rows=dim == x.ndim - 1)
        return total.reshape(terms.shape[1:]).unsqueeze(dim)

    def _with_last_tile(self, terms: Tensor, reduce: Callable[..., Tensor], *, by_rows: bool) -> Tensor:
        """Returns the sums of ``[terms, sums]``: those of all tiles but the last pass a buffer, and a mask fills the
        last tile with zeros."""
        count = terms.shape[0]
        before = (count - 1) // TILE * TILE
        last = terms[before:]
        if count % TILE:
            last = packed(self.settings.read(last), DataType.BF16)
        total: Tensor | None = None
        if before:
            total = packed(reduce(terms[:before], count), self.settings.between)
            total = self._reloaded(total, by_rows=by_rows)
        return reduce(last, count, total)

    def _reloaded(self, total: Tensor, *, by_rows: bool) -> Tensor:
        """Returns the accumulator's values of sums in a buffer: all of float32."""
        return total if self.settings.wide else self.settings.read(total)

    def _of_rows(self, terms: Tensor, count: int, start: Tensor | None = None) -> Tensor:
        """Returns the sums of rows by a scaler, which the host rounds to bfloat16."""
        start = None if start is None else start.reshape(-1, 1)
        return self.settings.scaled_sum_of_rows(terms.T.contiguous(), self._scaler(count), start).reshape(1, -1)

    def _of_columns(self, terms: Tensor, count: int, start: Tensor | None = None) -> Tensor:
        """Returns the sums of columns by a scaler, which is cut to bfloat16."""
        return self.settings.sum_of_columns(terms, float(_cut(self._scaler(count))), start)

    def _scaler(self, count: int) -> float:
        return 1.0

    def _of_tiles(self, x: Tensor, dim: int) -> Tensor:
        """Returns the sum of tiles, which the accumulator adds one after another."""
        return self.settings.accumulated(x, dim)


@dataclass(frozen=True)
class _Mean(_Sum):
    """The kernels of a mean of bfloat16 along one dimension."""

    def _scaler(self, count: int) -> float:
        return _inverse(count)

    def _reloaded(self, total: Tensor, *, by_rows: bool) -> Tensor:
        """Returns the accumulator's values of sums in a buffer: those of rows pass a source register."""
        return self.settings.read(total) if by_rows else super()._reloaded(total, by_rows=by_rows)

    def _of_tiles(self, x: Tensor, dim: int) -> Tensor:
        """Returns the sum of tiles by a scaler: each sum passes a buffer."""
        terms = x.split(1, dim)
        total = torch.zeros_like(terms[0])
        for term in terms:
            total = packed(self.settings.add(term, total), DataType.BF16)
        return self.settings.multiply(total, _cut(_inverse(len(terms))))


def _reduced(ctx: Context, input: Tensor, dim: Dims, reduction: _Sum) -> Tensor:
    result = reduction.along(loaded(input), axes(input.ndim, dim))
    return result.reshape(ctx.result.shape).to(ctx.container)


def _power(x: Tensor, p: float, settings: Settings) -> Tensor:
    """Returns ``|x|**p`` in bfloat16: the product of the power of the floor of p, by repeated squaring, and of an
    exponential of the logarithm by the rest (``moreh_abs_pow_kernel.cpp``).

    The simulator's results show that the logarithm lies in bfloat16 for an accumulator of 32 bits too.
    """
    wide, between = settings.wide, settings.between
    floor = np.floor(np.float32(p))
    size = packed(sfpu.stored(functions.size_of(settings.read(x)), wide=wide), between)
    base = settings.read(size)
    whole = sfpu.stored(repeated_square(base, int(abs(floor))), wide=wide)
    if floor < 0:
        whole = functions.reciprocal(whole, wide=wide, approximate=settings.approximate)
        whole = sfpu.stored(whole, wide=wide)
    logarithm = packed(sfpu.stored(functions.log(base, wide=wide), wide=wide), DataType.BF16)
    exponent = settings.multiply(logarithm, _cut(float(np.float32(p) - floor)))
    rest = sfpu.stored(functions.FUNCTIONS["exp"](exponent, wide=wide), wide=wide)
    return packed(settings.multiply(packed(whole, between), packed(rest, between)), DataType.BF16)


def repeated_square(x: Tensor, exponent: int) -> Tensor:
    """Returns a power of a natural exponent (``calculate_unary_power_iterative``)."""
    if exponent == 0:
        return torch.ones_like(x)
    result, left = x, exponent - 1
    while left:
        if left & 1:
            result = sfpu.multiply(result, x)
        x = sfpu.multiply(x, x)
        left >>= 1
    return result


def _repeated(grad: Tensor, shape: Sequence[int], dim: Dims, settings: Settings) -> Tensor:
    """Returns a gradient repeated along dimensions. Along one of the last two, the matrix unit adds it to zeros."""
    inner = any(each >= len(shape) - 2 for each in axes(len(shape), dim))
    repeated = spread(loaded(grad), shape, dim)
    copied = settings.add(torch.zeros_like(repeated), repeated) if inner else settings.read(repeated)
    return packed(copied, DataType.BF16)
