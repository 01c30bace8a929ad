"""Gradients that TT-NN computes in kernels of their own, and chains of functions, as its kernels compute them.

Sources: TT-NN 0.81's ``unary_backward``, ``ckernel_sfpu_tanh_derivative.h`` and ``ckernel_sfpu_gelu.h``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from tt_xla.ir.element_types import DataType
from tt_xla.runtime.emulator.bit_exact import functions
from tt_xla.runtime.emulator.bit_exact import vector_unit as sfpu
from tt_xla.runtime.emulator.bit_exact.curves import reduced, scaled
from tt_xla.runtime.emulator.bit_exact.elementwise import (
    applied,
    in_float32,
    loaded,
    otherwise,
    result_of,
    short_product,
)
from tt_xla.runtime.emulator.bit_exact.functions import negative, newton_reciprocal, rounded, size_of
from tt_xla.runtime.emulator.bit_exact.padding import elementwise_kernel
from tt_xla.runtime.emulator.context import Context

Tensor = torch.Tensor


@elementwise_kernel("ttnn.unary_chain")
def unary_chain(ctx: Context, input: Tensor, functions: Sequence[Any]) -> Tensor:
    """Functions one after another in the accumulator; none leave the packer alone."""
    if not input.is_floating_point():
        return otherwise(ctx, {"functions": functions})(input)
    wide = ctx.spec("input").layout.dtype is DataType.F32
    result = loaded(input, keeps_denormals=not functions)
    for item in map(dict, functions):
        result = applied(item["op_type"], result, tuple(item.get("params") or ()), wide=wide)
    return result_of(ctx, result)


def _product(a: Tensor, b: Tensor, *, wide: bool) -> Tensor:
    """Returns a product of the vector unit as the accumulator holds it."""
    return sfpu.stored(sfpu.multiply(a, b) if wide else short_product(a, b), wide=wide)


@elementwise_kernel("ttnn.sigmoid_bw")
def sigmoid_bw(ctx: Context, lhs: Tensor, rhs: Tensor) -> Tensor:
    """The accumulator has 32 bits for every type."""
    curve = functions.sigmoid(loaded(rhs), wide=True)
    result = _product(_product(loaded(lhs), curve, wide=True), sfpu.add(1.0, negative(curve)), wide=True)
    return result_of(ctx, result)


@elementwise_kernel("ttnn.tanh_bw")
def tanh_bw(ctx: Context, lhs: Tensor, rhs: Tensor) -> Tensor:
    """The gradient is multiplied by the square of the hyperbolic secant."""
    wide = in_float32(ctx)
    slope = sfpu.stored(rounded(squared_secant(loaded(rhs)), wide=wide), wide=wide)
    return result_of(ctx, _product(loaded(lhs), slope, wide=wide))


def squared_secant(x: Tensor) -> Tensor:
    """Returns ``1 / cosh(x)**2`` as ``4 e / (1 + e)**2`` of ``e = exp(-2 abs(x))``, with the rest of the division
    (``calculate_tanh_derivative_sech2``)."""
    size = size_of(x)
    doubled = sfpu.multiply(size, -2.0)
    power, rest = reduced(doubled, sfpu.multiply(doubled, functions.LOG2_E))
    series = (1.0, 1.0, 4.99999851e-1, 1.66664720e-1, 4.16695364e-2, 8.37312452e-3, 1.37805939e-3)
    e4 = scaled(sfpu.polynomial(rest, *series), power + 2)
    q = sfpu.mad(e4, 0.0625, 0.5)
    q_rest = sfpu.mad(e4, 0.0625, sfpu.add(0.5, negative(q)))
    below = sfpu.mad(e4, q, 1.0)
    below_rest = sfpu.mad(e4, q_rest, sfpu.mad(e4, q, sfpu.add(1.0, negative(below))))
    y = sfpu.approximate_reciprocal(below)
    for _ in range(2):
        y = sfpu.mad(y, sfpu.mad(negative(below), y, 1.0), y)
    quotient = sfpu.multiply(e4, y)
    left = sfpu.mad(negative(quotient), below_rest, sfpu.mad(negative(quotient), below, e4))
    return torch.where(size < 45.0, sfpu.mad(left, y, quotient), 0.0)


@elementwise_kernel("ttnn.gelu_bw")
def gelu_bw(ctx: Context, lhs: Tensor, rhs: Tensor, approximate: str = "none") -> Tensor:
    """The gradient is multiplied by the derivative of gelu, or of its approximation by a hyperbolic tangent."""
    wide = in_float32(ctx)
    if approximate == "tanh":
        slope = (_slope_by_tanh if wide else _slope_by_sigmoid)(loaded(rhs))
    else:
        slope = sfpu.stored(rounded(gelu_slope(loaded(rhs), wide=wide), wide=wide), wide=wide)
    return result_of(ctx, _product(loaded(lhs), slope, wide=wide))


_KAPPA = sfpu.single(0.044715)
_BETA = 0.7978845834732056


def _slope_by_tanh(x: Tensor) -> Tensor:
    """Returns the derivative of gelu's approximation with 32 bits (``eltwise_bw_gelu_tanh_fp32.cpp``)."""
    square = sfpu.multiply(x, x)
    inner = sfpu.multiply(sfpu.add(sfpu.multiply(sfpu.multiply(square, x), _KAPPA), x), _BETA)
    tangent = functions.tanh(inner, wide=True)
    left = sfpu.multiply(sfpu.add(tangent, 1.0), 0.5)
    slope = sfpu.add(1.0, negative(sfpu.multiply(tangent, tangent)))
    right = sfpu.multiply(sfpu.add(sfpu.multiply(square, sfpu.single(3 * _KAPPA)), 1.0), slope)
    return sfpu.add(left, sfpu.multiply(sfpu.multiply(right, _BETA / 2), x))


def _slope_by_sigmoid(x: Tensor) -> Tensor:
    """Returns the derivative of gelu's approximation by steps of 16 bits, in which a logistic function stands for the
    hyperbolic tangent (``eltwise_bw_gelu_tanh.cpp``)."""

    def constant(value: float) -> Tensor:
        return sfpu.stored(torch.full_like(x, value), wide=False)

    def total(a: Tensor, b: Tensor) -> Tensor:
        return sfpu.to_nearest_even(sfpu.add(a, b))

    square = sfpu.to_nearest_even(sfpu.multiply(x, x))
    cube = short_product(short_product(square, x), constant(_KAPPA))
    curve = functions.sigmoid(short_product(total(cube, x), constant(2 * _BETA)), wide=False)
    slope = short_product(curve, total(constant(1.0), negative(curve)))
    right = total(short_product(square, constant(sfpu.single(3 * _KAPPA))), constant(1.0))
    right = short_product(short_product(right, slope), constant(2 * _BETA))
    return total(curve, short_product(right, x))


_SLOPE = (
    7.9788309336e-01, -2.6593554020e-01, 5.9766173363e-02, -9.4142099842e-03, 1.1061388068e-03, -9.7448595625e-05,
    6.0921474869e-06, -2.3764030743e-07, 4.2734988881e-09,
)  # fmt: skip


def gelu_slope(x: Tensor, *, wide: bool) -> Tensor:
    """Returns the derivative of gelu: a polynomial around zero, and the tail of the normal distribution below -3
    (``calculate_gelu_derivative_simple``)."""
    square = sfpu.multiply(x, x)
    middle = sfpu.mad(x, sfpu.polynomial(square, *_SLOPE), 0.5)
    exponent = sfpu.multiply(square, -0.5)
    power, rest = reduced(exponent, sfpu.multiply(exponent, functions.LOG2_E))
    series = sfpu.polynomial(rest, 1.0, 1.0, 0.5, 0.166666667, 0.0416666667, 0.00833333333)
    bell = sfpu.multiply(scaled(sfpu.multiply(x, series), power), 0.3989422804014327)
    inverse = newton_reciprocal(square, 2 if wide else 1)
    tail = sfpu.multiply(bell, sfpu.mad(inverse, inverse, sfpu.add(1.0, negative(inverse))))
    result = torch.where(sfpu.greater(-3.0, x), torch.where(sfpu.greater(x, -13.375), tail, 0.0), middle)
    saturated = ~sfpu.greater(sfpu.single(3.1719), x) & ~(x.isnan() if wide else torch.zeros_like(x, dtype=torch.bool))
    return torch.where(saturated, 1.0, result)
