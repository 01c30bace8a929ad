"""Fourier transforms as matrix products. Large sizes are split into factors, so that the matrices stay small."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
import torch
from jax import lax

from tt_xla.frontends.torch.aten.registry import Array, Context, like, lower
from tt_xla.frontends.torch.aten.shapes import slice_along

aten = torch.ops.aten

LARGEST_MATRIX = 128
"""Greatest size that is transformed by one product; a larger one is transformed by its factors one after the other."""

LARGEST_FACTOR = 512
"""Greatest prime factor of a size that is transformed on the device; a greater one would need too large a matrix."""


class Parts(NamedTuple):
    """Real and imaginary part of a complex array; a real array has no imaginary part."""

    real: Array
    imaginary: Array | None = None


@lower(aten._fft_c2c.default)
def complex_to_complex(ctx: Context, x: Array, dims: Sequence[int], normalization: int, forward: bool) -> Array:
    count = _checked(ctx, [x.shape[dim] for dim in dims])
    return _joined(_scaled(_transform_dims(_parts(x), dims, forward), normalization, count))


@lower(aten._fft_r2c.default)
def real_to_complex(ctx: Context, x: Array, dims: Sequence[int], normalization: int, onesided: bool) -> Array:
    count = _checked(ctx, [x.shape[dim] for dim in dims])
    *others, last = [dim % x.ndim for dim in dims]
    parts = _transform_dim(Parts(x), last, True)
    if onesided:
        half = x.shape[last] // 2 + 1
        parts = Parts(*(slice_along(part, last, 0, half) for part in parts))
    return _joined(_scaled(_transform_dims(parts, others, True), normalization, count))


@lower(aten._fft_c2r.default)
def complex_to_real(ctx: Context, x: Array, dims: Sequence[int], normalization: int, last_dim_size: int) -> Array:
    *others, last = [dim % x.ndim for dim in dims]
    count = _checked(ctx, [*(x.shape[dim] for dim in others), last_dim_size])
    real, imaginary = _transform_dims(_parts(x), others, False)
    mirrored = (slice_along(part, last, 1, (last_dim_size + 1) // 2) for part in (real, imaginary))
    real_end, imaginary_end = (lax.rev(part, (last,)) for part in mirrored)
    imaginary_end = lax.neg(imaginary_end)
    spectrum = Parts(lax.concatenate([real, real_end], last), lax.concatenate([imaginary, imaginary_end], last))
    return _scaled(_transform_dim(spectrum, last, False), normalization, count).real


def _checked(ctx: Context, sizes: Sequence[int]) -> int:
    """Returns the number of elements of a transform, and refuses dtypes and sizes that matrix products do not cover."""
    if torch.finfo(ctx.first.dtype).bits != 32:
        ctx.unsupported("in other dtypes than float32 and complex64")
    for size in sizes:
        if _factor(size) is None:
            ctx.unsupported(f"of size {size}, whose factors are too large for matrices")
    return math.prod(sizes)


def _factor(size: int) -> int | None:
    """Returns the lower of the two nearest factors of a size.

    Returns the size itself if one matrix transforms it, and None if it has too large a factor.
    """
    if size <= LARGEST_MATRIX:
        return size
    best = next(factor for factor in range(math.isqrt(size), 0, -1) if size % factor == 0)
    if best == 1:
        return size if size <= LARGEST_FACTOR else None
    return best if _factor(size // best) is not None else None


def _transform_dims(parts: Parts, dims: Sequence[int], forward: bool) -> Parts:
    """Transforms several dimensions, one after the other."""
    for dim in dims:
        parts = _transform_dim(parts, dim % parts.real.ndim, forward)
    return parts


def _transform_dim(parts: Parts, dim: int, forward: bool) -> Parts:
    """Transforms one dimension."""
    order = [*(axis for axis in range(parts.real.ndim) if axis != dim), dim]
    back = [order.index(axis) for axis in range(len(order))]
    permuted = Parts(*(None if part is None else lax.transpose(part, order) for part in parts))
    return Parts(*(lax.transpose(part, back) for part in _transform_last(permuted, forward)))


def _transform_last(parts: Parts, forward: bool) -> Parts:
    """Transforms the last dimension by the Cooley-Tukey algorithm.

    For ``a * b`` elements ``x[b * i + j]`` it transforms over ``i``, multiplies by the twiddle factors, which are
    rotations by ``j`` times the frequency, and transforms over ``j``.
    """
    *batch, size = parts.real.shape
    first = _factor(size)
    assert first is not None
    if first == size:
        return _product(parts, forward)
    second = size // first
    columns = Parts(*(None if part is None else _split(part, batch, first, second) for part in parts))
    rows = _rotated(_transform_last(columns, forward), first, second, forward)
    transformed = _transform_last(Parts(*(_swapped(part) for part in rows)), forward)
    return Parts(*(lax.reshape(_swapped(part), (*batch, size)) for part in transformed))


def _split(part: Array, batch: Sequence[int], first: int, second: int) -> Array:
    """Returns elements [..., second, first] of a last dimension of ``first * second`` elements."""
    return _swapped(lax.reshape(part, (*batch, first, second)))


def _swapped(x: Array) -> Array:
    """Transposes the last two dimensions."""
    return lax.transpose(x, (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2))


def _product(parts: Parts, forward: bool) -> Parts:
    """Transforms the last dimension by one product: real and imaginary parts side by side times the DFT matrix."""
    size = parts.real.shape[-1]
    cosine, sine = _circle(np.outer(np.arange(size), np.arange(size)), size, forward)
    matrix = np.concatenate([cosine, sine], 1)
    operand = parts.real
    if parts.imaginary is not None:
        matrix = np.concatenate([matrix, np.concatenate([-sine, cosine], 1)], 0)
        operand = lax.concatenate([parts.real, parts.imaginary], operand.ndim - 1)
    product = lax.dot_general(operand, jnp.asarray(matrix), (((operand.ndim - 1,), (0,)), ((), ())))
    return Parts(*(slice_along(product, product.ndim - 1, start, start + size) for start in (0, size)))


def _rotated(parts: Parts, first: int, second: int, forward: bool) -> Parts:
    """Multiplies elements [..., second, first] by the twiddle factors of a transform of ``first * second`` elements."""
    cosine, sine = _circle(np.outer(np.arange(second), np.arange(first)), first * second, forward)
    real, imaginary = parts
    assert imaginary is not None
    axes = (real.ndim - 2, real.ndim - 1)
    cosine, sine = (lax.broadcast_in_dim(jnp.asarray(part), real.shape, axes) for part in (cosine, sine))
    return Parts(
        lax.sub(lax.mul(real, cosine), lax.mul(imaginary, sine)),
        lax.add(lax.mul(real, sine), lax.mul(imaginary, cosine)),
    )


def _circle(steps: np.ndarray, size: int, forward: bool) -> tuple[np.ndarray, np.ndarray]:
    """Returns cosine and sine of angles that are counted in steps, with ``size`` steps to a full circle."""
    angle = (steps % size) * (2 * math.pi / size) * (-1 if forward else 1)
    return np.cos(angle).astype("float32"), np.sin(angle).astype("float32")


def _scaled(parts: Parts, normalization: int, count: int) -> Parts:
    """Scales a transform of ``count`` elements by torch's modes: 0 not at all, 1 by 1 / sqrt(count), 2 by 1 / count."""
    if normalization == 0:
        return parts
    factor = 1 / math.sqrt(count) if normalization == 1 else 1 / count
    return Parts(*(None if part is None else lax.mul(part, like(part, factor)) for part in parts))


def _parts(x: Array) -> Parts:
    """Returns real and imaginary part of a complex array."""
    return Parts(lax.real(x), lax.imag(x))


def _joined(parts: Parts) -> Array:
    """Returns the complex array of two parts."""
    assert parts.imaginary is not None
    return lax.complex(parts.real, parts.imaginary)
