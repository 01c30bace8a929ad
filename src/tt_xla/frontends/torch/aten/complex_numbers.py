"""Conversions between complex numbers and pairs of reals. The chip has no complex numbers, so these run on the host."""

from __future__ import annotations

import torch
from jax import lax

from tt_xla.frontends.torch.aten.registry import Array, Context, broadcast, lower
from tt_xla.frontends.torch.aten.shapes import slice_along

aten = torch.ops.aten
prims = torch.ops.prims


@lower(aten.complex.default)
def complex_(ctx: Context, real: Array, imaginary: Array) -> Array:
    return lax.complex(broadcast(real, ctx.shape), broadcast(imaginary, ctx.shape))


@lower(aten.polar.default)
def polar(ctx: Context, length: Array, angle: Array) -> Array:
    length, angle = broadcast(length, ctx.shape), broadcast(angle, ctx.shape)
    return lax.complex(lax.mul(length, lax.cos(angle)), lax.mul(length, lax.sin(angle)))


@lower(aten.view_as_complex.default)
def view_as_complex(ctx: Context, x: Array) -> Array:
    real, imaginary = (lax.reshape(slice_along(x, x.ndim - 1, i, i + 1), ctx.shape) for i in range(2))
    return lax.complex(real, imaginary)


@lower(aten.view_as_real.default)
def view_as_real(ctx: Context, x: Array) -> Array:
    parts = [lax.expand_dims(part, (x.ndim,)) for part in (lax.real(x), lax.imag(x))]
    return lax.concatenate(parts, x.ndim)


@lower(aten._conj.default, aten._conj_physical.default, prims.conj_physical.default)
def conjugate(ctx: Context, x: Array) -> Array:
    return lax.conj(x)


@lower(aten._neg_view.default)
def negative_view(ctx: Context, x: Array) -> Array:
    """Negates a view such as the imaginary part of a conjugate, whose elements stand for their negatives."""
    return lax.neg(x)
