"""Elementwise ops: arithmetic, comparison, logic, activations."""

from __future__ import annotations

import math
from typing import Any

import jax.numpy as jnp
import numpy as np
import torch
from jax import lax

from tt_xla.frontends.torch.aten.registry import (
    Array,
    Context,
    broadcast,
    cast,
    full,
    like,
    lower,
    pointwise,
    spread,
    wide,
)

aten = torch.ops.aten
prims = torch.ops.prims

for _ops, _primitive in (
    ((aten.acos.default,), lax.acos),
    ((aten.acosh.default,), lax.acosh),
    ((aten.asin.default,), lax.asin),
    ((aten.asinh.default,), lax.asinh),
    ((aten.atan.default,), lax.atan),
    ((aten.atan2.default,), lax.atan2),
    ((aten.atanh.default,), lax.atanh),
    ((aten.cos.default,), lax.cos),
    ((aten.cosh.default,), lax.cosh),
    ((aten.erf.default,), lax.erf),
    ((aten.erfc.default,), lax.erfc),
    ((aten.erfinv.default,), lax.erf_inv),
    ((aten.exp.default,), lax.exp),
    ((aten.expm1.default,), lax.expm1),
    ((aten.lgamma.default,), lax.lgamma),
    ((aten.log.default,), lax.log),
    ((aten.log1p.default,), lax.log1p),
    ((aten.maximum.default,), lax.max),
    ((aten.minimum.default,), lax.min),
    ((aten.mul.Tensor, aten.mul.Scalar), lambda x, y: lax.mul(x, y) if x.dtype != np.bool_ else lax.bitwise_and(x, y)),
    ((aten.neg.default,), lax.neg),
    ((aten.nextafter.default,), lax.nextafter),
    ((aten.rsqrt.default,), lax.rsqrt),
    ((aten.sigmoid.default,), lax.logistic),
    ((aten.sin.default,), lax.sin),
    ((aten.sinh.default,), lax.sinh),
    ((aten.sqrt.default,), lax.sqrt),
    ((aten.tan.default,), lax.tan),
    ((aten.tanh.default,), lax.tanh),
    ((aten.bitwise_and.Tensor, aten.bitwise_and.Scalar, aten.bitwise_and.Scalar_Tensor), lax.bitwise_and),
    ((aten.bitwise_or.Tensor, aten.bitwise_or.Scalar, aten.bitwise_or.Scalar_Tensor), lax.bitwise_or),
    ((aten.bitwise_xor.Tensor, aten.bitwise_xor.Scalar, aten.bitwise_xor.Scalar_Tensor), lax.bitwise_xor),
    ((aten.bitwise_not.default,), lax.bitwise_not),
    ((aten.bitwise_left_shift.Tensor, aten.__lshift__.Tensor, aten.__lshift__.Scalar), lax.shift_left),
    ((aten.bitwise_left_shift.Tensor_Scalar, aten.bitwise_left_shift.Scalar_Tensor), lax.shift_left),
    ((aten.logical_and.default,), lax.bitwise_and),
    ((aten.logical_or.default,), lax.bitwise_or),
    ((aten.logical_xor.default,), lax.bitwise_xor),
    ((aten.logical_not.default,), lax.bitwise_not),
):
    pointwise(*_ops)(_primitive)

for _ops, _primitive in (
    ((aten.eq.Tensor, aten.eq.Scalar), lax.eq),
    ((aten.ge.Tensor, aten.ge.Scalar), lax.ge),
    ((aten.gt.Tensor, aten.gt.Scalar), lax.gt),
    ((aten.le.Tensor, aten.le.Scalar), lax.le),
    ((aten.lt.Tensor, aten.lt.Scalar), lax.lt),
    ((aten.ne.Tensor, aten.ne.Scalar), lax.ne),
):
    pointwise(*_ops, promote_inputs=True)(_primitive)


@pointwise(
    *(aten.bitwise_right_shift.Tensor, aten.bitwise_right_shift.Tensor_Scalar, aten.bitwise_right_shift.Scalar_Tensor),
    *(aten.__rshift__.Tensor, aten.__rshift__.Scalar),
)
def shift_right(x: Array, y: Array) -> Array:
    """Shifts in copies of the sign bit, and zeros in unsigned types, which have none."""
    unsigned = jnp.issubdtype(x.dtype, jnp.unsignedinteger)
    return lax.shift_right_logical(x, y) if unsigned else lax.shift_right_arithmetic(x, y)


@pointwise(aten.add.Tensor, aten.add.Scalar, operands=2)
def add(x: Array, y: Array, alpha: Any = 1) -> Array:
    if x.dtype == np.bool_:
        return lax.bitwise_or(x, y) if alpha else x
    return lax.add(x, _scaled(y, alpha))


@pointwise(aten.sub.Tensor, aten.sub.Scalar, operands=2)
def sub(x: Array, y: Array, alpha: Any = 1) -> Array:
    return lax.sub(x, _scaled(y, alpha))


@pointwise(aten.rsub.Tensor, aten.rsub.Scalar, operands=2)
def rsub(x: Array, y: Array, alpha: Any = 1) -> Array:
    return lax.sub(y, _scaled(x, alpha))


def _scaled(x: Array, alpha: Any) -> Array:
    """Returns ``x * alpha``; ``x`` itself for the factor 1."""
    return x if alpha == 1 else lax.mul(x, like(x, alpha))


@lower(aten.div.Tensor_mode, aten.div.Scalar_mode)
def div_mode(ctx: Context, x: Any, y: Any, *, rounding_mode: str | None = None) -> Array:
    x, y = spread(x, ctx.shape, ctx.dtype), spread(y, ctx.shape, ctx.dtype)
    if rounding_mode == "floor":
        return floor_divide(x, y)
    quotient = lax.div(x, y)
    if rounding_mode == "trunc" and not jnp.issubdtype(x.dtype, jnp.integer):
        return trunc(quotient)
    return quotient


pointwise(aten.div.Tensor, aten.div.Scalar, aten.true_divide.Tensor)(lax.div)


@pointwise(aten.floor_divide.default, aten.floor_divide.Scalar)
def floor_divide(x: Array, y: Array) -> Array:
    if not jnp.issubdtype(x.dtype, jnp.integer):
        return cast(_floor_of_quotient(cast(x, wide(x.dtype)), cast(y, wide(y.dtype))), x.dtype)
    quotient, remainder = lax.div(x, y), lax.rem(x, y)
    if jnp.issubdtype(x.dtype, jnp.unsignedinteger):
        return quotient
    inexact = lax.ne(remainder, like(remainder, 0))
    rounds_down = lax.bitwise_and(inexact, lax.ne(lax.sign(remainder), lax.sign(y)))
    return lax.select(rounds_down, lax.sub(quotient, like(quotient, 1)), quotient)


def _floor_of_quotient(x: Array, y: Array) -> Array:
    """Returns the floor of the exact quotient, which the floor of the rounded quotient may exceed by one.

    The steps are those of ``div_floor_floating`` in PyTorch's c10/util/generic_math.h, which also define the results
    for infinities: NaN for an infinite dividend, -1 or a zero for an infinite divisor.
    """
    zero, one = like(x, 0), like(x, 1)
    remainder, rounded = lax.rem(x, y), lax.div(x, y)
    quotient = lax.div(lax.sub(x, remainder), y)
    rounds_down = lax.bitwise_and(lax.ne(remainder, zero), lax.ne(lax.lt(y, zero), lax.lt(remainder, zero)))
    quotient = lax.select(rounds_down, lax.sub(quotient, one), quotient)
    floored = lax.floor(quotient)
    floored = lax.select(lax.gt(lax.sub(quotient, floored), like(x, 0.5)), lax.add(floored, one), floored)
    floored = lax.select(lax.eq(quotient, zero), copysign(zero, rounded), floored)
    return lax.select(lax.eq(y, zero), rounded, floored)


@pointwise(aten.remainder.Tensor, aten.remainder.Scalar, aten.remainder.Scalar_Tensor)
def remainder(x: Array, y: Array) -> Array:
    """Returns the remainder with the sign of the divisor."""
    remainder = lax.rem(x, y)
    zero = like(remainder, 0)
    wrong_sign = lax.bitwise_and(lax.ne(remainder, zero), lax.ne(lax.lt(remainder, zero), lax.lt(y, zero)))
    return lax.select(wrong_sign, lax.add(remainder, y), remainder)


pointwise(aten.fmod.Tensor, aten.fmod.Scalar)(lax.rem)


@pointwise(aten.ceil.default)
def ceil(x: Array) -> Array:
    return x if jnp.issubdtype(x.dtype, jnp.integer) else lax.ceil(x)


@pointwise(aten.floor.default)
def floor(x: Array) -> Array:
    return x if jnp.issubdtype(x.dtype, jnp.integer) else lax.floor(x)


@pointwise(aten.trunc.default)
def trunc(x: Array) -> Array:
    if jnp.issubdtype(x.dtype, jnp.integer):
        return x
    return lax.select(lax.lt(x, like(x, 0)), lax.ceil(x), lax.floor(x))


@pointwise(aten.round.default)
def round_(x: Array) -> Array:
    return x if jnp.issubdtype(x.dtype, jnp.integer) else lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN)


@pointwise(aten.abs.default, promote_inputs=True)
def abs_(x: Array) -> Array:
    return x if jnp.issubdtype(x.dtype, jnp.unsignedinteger) or x.dtype == np.bool_ else lax.abs(x)


@pointwise(aten.sign.default, aten.sgn.default)
def sign(x: Array) -> Array:
    """Returns +0 for NaN and -0, as torch does; ``lax.sign`` returns its operand."""
    if x.dtype == np.bool_:
        return x
    if not jnp.issubdtype(x.dtype, jnp.floating):
        return lax.sign(x)
    return lax.select(lax.gt(lax.abs(x), like(x, 0)), lax.sign(x), like(x, 0))


@pointwise(aten.reciprocal.default)
def reciprocal(x: Array) -> Array:
    return lax.div(like(x, 1), x)


@pointwise(aten.digamma.default)
def digamma(x: Array) -> Array:
    """Returns -inf for 0.0 and inf for -0.0, as torch does; ``lax.digamma`` returns NaN for both."""
    zero = like(x, 0)
    return lax.select(lax.eq(x, zero), lax.div(like(x, -1), x), lax.digamma(x))


@pointwise(aten.copysign.Tensor, aten.copysign.Scalar)
def copysign(x: Array, y: Array) -> Array:
    x = lax.abs(x)
    return lax.select(signbit_of(y), lax.neg(x), x)


@pointwise(aten.fmax.default)
def fmax(x: Array, y: Array) -> Array:
    """Returns the greater operand, and the number where the other operand is NaN."""
    return lax.select(lax.ne(x, x), y, lax.select(lax.ne(y, y), x, lax.max(x, y)))


@pointwise(aten.fmin.default)
def fmin(x: Array, y: Array) -> Array:
    return lax.select(lax.ne(x, x), y, lax.select(lax.ne(y, y), x, lax.min(x, y)))


@pointwise(aten.hypot.default)
def hypot(x: Array, y: Array) -> Array:
    """Returns the length of the hypotenuse, scaled by the longer side so that no square overflows."""
    x, y = lax.abs(x), lax.abs(y)
    longer, shorter = lax.max(x, y), lax.min(x, y)
    unscalable = lax.bitwise_or(lax.eq(longer, like(x, 0)), lax.eq(longer, like(x, math.inf)))
    ratio = lax.div(shorter, lax.select(unscalable, like(x, 1), longer))
    length = lax.select(unscalable, longer, lax.mul(longer, lax.sqrt(lax.add(like(x, 1), lax.mul(ratio, ratio)))))
    infinite = lax.bitwise_or(lax.eq(x, like(x, math.inf)), lax.eq(y, like(y, math.inf)))
    return lax.select(infinite, like(x, math.inf), length)  # also where the other side is NaN


@lower(aten.angle.default)
def angle(ctx: Context, x: Array) -> Array:
    if jnp.issubdtype(x.dtype, jnp.complexfloating):
        return lax.atan2(lax.imag(x), lax.real(x))
    x = cast(x, ctx.dtype)
    flat = lax.select(lax.lt(x, like(x, 0)), like(x, math.pi), like(x, 0))
    return lax.select(lax.ne(x, x), x, flat)


@pointwise(aten.square.default)
def square(x: Array) -> Array:
    return lax.mul(x, x)


@pointwise(aten.exp2.default)
def exp2(x: Array) -> Array:
    return lax.exp2(x)


@pointwise(aten.log2.default)
def log2(x: Array) -> Array:
    return lax.mul(lax.log(x), like(x, 1 / math.log(2)))


@pointwise(aten.log10.default)
def log10(x: Array) -> Array:
    return lax.mul(lax.log(x), like(x, 1 / math.log(10)))


@lower(aten.pow.Tensor_Scalar)
def pow_scalar(ctx: Context, x: Array, exponent: Any) -> Array:
    x = cast(x, ctx.dtype)
    if exponent == 2:
        return lax.mul(x, x)
    if exponent == 0.5:
        return lax.sqrt(x)
    if exponent == -0.5:
        return lax.rsqrt(x)
    whole = not isinstance(exponent, complex) and float(exponent).is_integer()
    if whole and (abs(exponent) <= 8 or (jnp.issubdtype(x.dtype, jnp.integer) and exponent >= 0)):
        return _integer_power(x, int(exponent))
    return _power(x, like(x, exponent))


def _integer_power(x: Array, exponent: int) -> Array:
    """Returns a small integer power by repeated squaring."""
    if exponent < 0:
        return lax.div(like(x, 1), _integer_power(x, -exponent))
    if exponent == 0:
        return like(x, 1)
    half = _integer_power(x, exponent // 2) if exponent > 1 else None
    squared = lax.mul(half, half) if half is not None else None
    if squared is None:
        return x
    return lax.mul(squared, x) if exponent % 2 else squared


@pointwise(aten.pow.Tensor_Tensor, aten.pow.Scalar)
def _power(x: Array, y: Array) -> Array:
    if jnp.issubdtype(x.dtype, jnp.complexfloating):  # XLA's power of zero is NaN unless the exponent is real
        vanishes = lax.bitwise_and(lax.eq(x, like(x, 0)), lax.gt(lax.real(y), like(lax.real(y), 0)))
        return lax.select(vanishes, like(x, 0), lax.pow(x, y))
    if not jnp.issubdtype(x.dtype, jnp.integer):
        return lax.pow(x, y)
    base, result = x, like(x, 1)
    for bit in range(int(jnp.iinfo(y.dtype).max).bit_length()):  # powers wrap around, as PyTorch's
        odd = lax.ne(lax.bitwise_and(lax.shift_right_arithmetic(y, like(y, bit)), like(y, 1)), like(y, 0))
        result = lax.select(odd, lax.mul(result, x), result)
        x = lax.mul(x, x)
    if jnp.issubdtype(y.dtype, jnp.unsignedinteger):
        return result
    # With a negative exponent only the bases 1 and -1 have powers other than 0; those depend on the lowest bit alone.
    one = like(base, 1)
    odd = lax.ne(lax.bitwise_and(y, one), like(y, 0))
    unit = lax.select(lax.eq(lax.abs(base), one), lax.select(odd, base, one), like(base, 0))
    return lax.select(lax.lt(y, like(y, 0)), unit, result)


@pointwise(aten.signbit.default, promote_inputs=True)
def signbit_of(x: Array) -> Array:
    """Returns whether the sign bit is set, which includes -0.0."""
    if jnp.issubdtype(x.dtype, jnp.floating):
        x = lax.bitcast_convert_type(x, np.dtype(f"int{8 * x.dtype.itemsize}"))
    return lax.lt(x, like(x, 0)) if x.dtype != np.bool_ else like(x, False)


@pointwise(aten.isnan.default, promote_inputs=True)
def isnan(x: Array) -> Array:
    return lax.ne(x, x)


@pointwise(aten.isinf.default, promote_inputs=True)
def isinf(x: Array) -> Array:
    if not jnp.issubdtype(x.dtype, jnp.inexact):
        return full(x.shape, False, np.dtype(bool))
    magnitude = lax.abs(x)  # of a complex number, a float
    return lax.eq(magnitude, like(magnitude, math.inf))


@lower(aten.where.self, aten.where.ScalarOther, aten.where.ScalarSelf, aten.where.Scalar)
def where(ctx: Context, condition: Array, x: Any, y: Any) -> Array:
    condition = broadcast(cast(condition, np.dtype(bool)), ctx.shape)
    return lax.select(condition, spread(x, ctx.shape, ctx.dtype), spread(y, ctx.shape, ctx.dtype))


@lower(aten.masked_fill.Scalar, aten.masked_fill.Tensor)
def masked_fill(ctx: Context, x: Array, mask: Array, value: Any) -> Array:
    return where(ctx, mask, value, x)


@lower(aten.clamp.default, aten.clamp.Tensor, aten.hardtanh.default)
def clamp(ctx: Context, x: Array, low: Any = None, high: Any = None, **named: Any) -> Array:
    if ctx.node.target is aten.hardtanh.default:
        low, high = named.get("min_val", -1 if low is None else low), named.get("max_val", 1 if high is None else high)
    low, high = named.get("min", low), named.get("max", high)
    x = spread(x, ctx.shape, ctx.dtype)
    if low is not None:
        x = lax.max(x, spread(low, ctx.shape, ctx.dtype))
    return x if high is None else lax.min(x, spread(high, ctx.shape, ctx.dtype))


@lower(aten.clamp_min.default, aten.clamp_min.Tensor)
def clamp_min(ctx: Context, x: Array, low: Any) -> Array:
    return clamp(ctx, x, low)


@lower(aten.clamp_max.default, aten.clamp_max.Tensor)
def clamp_max(ctx: Context, x: Array, high: Any) -> Array:
    return clamp(ctx, x, None, high)


# Activations; torch decomposes the others into ops with rules --------------------------------------------------------


@pointwise(aten.relu.default)
def relu(x: Array) -> Array:
    return lax.max(x, like(x, 0))


@pointwise(aten.silu.default)
def silu(x: Array) -> Array:
    return lax.mul(x, lax.logistic(x))


@lower(aten.leaky_relu.default)
def leaky_relu(ctx: Context, x: Array, negative_slope: float = 0.01) -> Array:
    return lax.select(lax.gt(x, like(x, 0)), x, lax.mul(x, like(x, negative_slope)))


@lower(aten.gelu.default)
def gelu(ctx: Context, x: Array, *, approximate: str = "none") -> Array:
    """Computes in float32, as PyTorch does: below zero, 1 + erf(x) has few of the digits of 16-bit floats left."""
    x = cast(x, wide(x.dtype))
    if approximate == "tanh":
        cubed = lax.mul(lax.mul(x, x), x)
        inner = lax.mul(like(x, math.sqrt(2 / math.pi)), lax.add(x, lax.mul(like(x, 0.044715), cubed)))
        cdf = lax.mul(like(x, 0.5), lax.add(like(x, 1), lax.tanh(inner)))
    else:
        cdf = lax.mul(like(x, 0.5), lax.add(like(x, 1), lax.erf(lax.mul(x, like(x, math.sqrt(0.5))))))
    return lax.mul(x, cdf)


@lower(aten.elu.default)
def elu(ctx: Context, x: Array, alpha: Any = 1, scale: Any = 1, input_scale: Any = 1) -> Array:
    negative = lax.mul(like(x, alpha), lax.expm1(_scaled(x, input_scale)))
    return _scaled(lax.select(lax.ge(x, like(x, 0)), x, negative), scale)


@lower(aten.threshold_backward.default)
def threshold_backward(ctx: Context, grad: Array, x: Array, threshold: Any) -> Array:
    x, grad = broadcast(x, ctx.shape), spread(grad, ctx.shape, ctx.dtype)
    return lax.select(lax.le(x, like(x, threshold)), like(grad, 0), grad)


@lower(aten.hardshrink_backward.default, aten.softshrink_backward.default)
def shrink_backward(ctx: Context, grad: Array, x: Array, threshold: Any) -> Array:
    return lax.select(lax.le(lax.abs(x), like(x, threshold)), like(grad, 0), grad)


@lower(aten.rrelu_with_noise_functional.default)
def rrelu(
    ctx: Context,
    x: Array,
    noise: Array,
    lower_slope: float = 0.125,
    upper_slope: float = 1 / 3,
    training: bool = False,
    generator: object = None,
) -> list[Array]:
    if training:
        ctx.unsupported("in training")
    return [leaky_relu(ctx, x, (lower_slope + upper_slope) / 2), noise]


# Conversion ----------------------------------------------------------------------------------------------------------


@lower(aten._to_copy.default, aten.clone.default, aten.alias.default, aten.detach.default, aten.lift_fresh_copy.default)
def copy(ctx: Context, x: Array, **options: Any) -> Array:
    return x  # apply() converts the result to the dtype that torch inferred


@lower(prims.convert_element_type.default)
def convert_element_type(ctx: Context, x: Array, dtype: torch.dtype) -> Array:
    return x


@lower(prims.device_put.default)
def device_put(ctx: Context, x: Array, device: object, non_blocking: bool = False) -> Array:
    return x


@lower(aten.copy.default)
def copy_into(ctx: Context, target: Array, source: Array, non_blocking: bool = False) -> Array:
    return broadcast(cast(source, ctx.dtype), ctx.shape)
