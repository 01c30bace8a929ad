"""Fourier transforms as matrix products. A size is taken apart into factors, so that the matrices stay small."""

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
"""Sizes up to this are one product; larger ones are transforms of two factors, with a turn between them."""

LARGEST_FACTOR = 512
"""A size with a greater prime factor would be too large a matrix."""


class Parts(NamedTuple):
    """A complex array. A real one has no imaginary part."""

    real: Array
    imaginary: Array | None = None


@lower(aten._fft_c2c.default)
def complex_to_complex(ctx: Context, x: Array, dims: Sequence[int], normalization: int, forward: bool) -> Array:
    count = _checked(ctx, [x.shape[dim] for dim in dims])
    return _joined(_scaled(_along_all(_parts(x), dims, forward), normalization, count))


@lower(aten._fft_r2c.default)
def real_to_complex(ctx: Context, x: Array, dims: Sequence[int], normalization: int, onesided: bool) -> Array:
    count = _checked(ctx, [x.shape[dim] for dim in dims])
    *others, last = [dim % x.ndim for dim in dims]
    parts = _along(Parts(x), last, True)
    if onesided:
        half = x.shape[last] // 2 + 1
        parts = Parts(*(slice_along(part, last, 0, half) for part in parts))
    return _joined(_scaled(_along_all(parts, others, True), normalization, count))


@lower(aten._fft_c2r.default)
def complex_to_real(ctx: Context, x: Array, dims: Sequence[int], normalization: int, last_dim_size: int) -> Array:
    *others, last = [dim % x.ndim for dim in dims]
    count = _checked(ctx, [*(x.shape[dim] for dim in others), last_dim_size])
    real, imaginary = _along_all(_parts(x), others, False)
    mirrored = (slice_along(part, last, 1, (last_dim_size + 1) // 2) for part in (real, imaginary))
    real_end, imaginary_end = (lax.rev(part, (last,)) for part in mirrored)
    whole = Parts(lax.concatenate([real, real_end], last), lax.concatenate([imaginary, lax.neg(imaginary_end)], last))
    return _scaled(_along(whole, last, False), normalization, count).real


def _checked(ctx: Context, sizes: Sequence[int]) -> int:
    """The number of elements of a transform that is small enough to be matrices."""
    if torch.finfo(ctx.first.dtype).bits != 32:
        ctx.unsupported("in other types than float32")
    for size in sizes:
        if _factor(size) is None:
            ctx.unsupported(f"of size {size}, whose factors are too large for matrices")
    return math.prod(sizes)


def _factor(size: int) -> int | None:
    """The first of two factors as near to each other as can be; the size itself is one matrix."""
    if size <= LARGEST_MATRIX:
        return size
    best = next(factor for factor in range(math.isqrt(size), 0, -1) if size % factor == 0)
    if best == 1:
        return size if size <= LARGEST_FACTOR else None
    return best if _factor(size // best) is not None else None


def _along_all(parts: Parts, dims: Sequence[int], forward: bool) -> Parts:
    for dim in dims:
        parts = _along(parts, dim % parts.real.ndim, forward)
    return parts


def _along(parts: Parts, dim: int, forward: bool) -> Parts:
    order = [*(axis for axis in range(parts.real.ndim) if axis != dim), dim]
    back = [order.index(axis) for axis in range(len(order))]
    moved = Parts(*(None if part is None else lax.transpose(part, order) for part in parts))
    return Parts(*(lax.transpose(part, back) for part in _last(moved, forward)))


def _last(parts: Parts, forward: bool) -> Parts:
    """The transform of the last dimension.

    Of ``a * b`` elements, ``x[b * i + j]``, it is that of each column of ``i``, a turn by ``j`` times the frequency,
    and that of each row of ``j``.
    """
    *batch, size = parts.real.shape
    first = _factor(size)
    assert first is not None
    if first == size:
        return _product(parts, forward)
    second = size // first
    columns = Parts(*(None if part is None else _split(part, batch, first, second) for part in parts))
    rows = _turned(_last(columns, forward), first, second, forward)
    done = _last(Parts(*(_swapped(part) for part in rows)), forward)
    return Parts(*(lax.reshape(_swapped(part), (*batch, size)) for part in done))


def _split(part: Array, batch: Sequence[int], first: int, second: int) -> Array:
    return _swapped(lax.reshape(part, (*batch, first, second)))


def _swapped(x: Array) -> Array:
    return lax.transpose(x, (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2))


def _product(parts: Parts, forward: bool) -> Parts:
    """One product of real and imaginary parts side by side with the matrix of the transform."""
    size = parts.real.shape[-1]
    cosine, sine = _circle(np.outer(np.arange(size), np.arange(size)), size, forward)
    matrix = np.concatenate([cosine, sine], 1)
    given = parts.real
    if parts.imaginary is not None:
        matrix = np.concatenate([matrix, np.concatenate([-sine, cosine], 1)], 0)
        given = lax.concatenate([parts.real, parts.imaginary], given.ndim - 1)
    made = lax.dot_general(given, jnp.asarray(matrix), (((given.ndim - 1,), (0,)), ((), ())))
    return Parts(*(slice_along(made, made.ndim - 1, start, start + size) for start in (0, size)))


def _turned(parts: Parts, first: int, second: int, forward: bool) -> Parts:
    """Elements (..., second, first) times their turn."""
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
    """Cosine and sine after so many steps of a circle of ``size`` steps."""
    angle = (steps % size) * (2 * math.pi / size) * (-1 if forward else 1)
    return np.cos(angle).astype("float32"), np.sin(angle).astype("float32")


def _scaled(parts: Parts, normalization: int, count: int) -> Parts:
    """Torch's modes: as it is, divided by the root of the number of elements, or by that number."""
    if normalization == 0:
        return parts
    factor = 1 / math.sqrt(count) if normalization == 1 else 1 / count
    return Parts(*(None if part is None else lax.mul(part, like(part, factor)) for part in parts))


def _parts(x: Array) -> Parts:
    return Parts(lax.real(x), lax.imag(x))


def _joined(parts: Parts) -> Array:
    assert parts.imaginary is not None
    return lax.complex(parts.real, parts.imaginary)
