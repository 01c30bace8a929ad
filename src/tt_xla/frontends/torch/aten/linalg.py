"""Linear systems that a few matrix products solve."""

from __future__ import annotations

import numpy as np
import torch
from jax import lax

from tt_xla.frontends.torch.aten.matmul import product
from tt_xla.frontends.torch.aten.registry import Array, Context, broadcast, cast, like, lower

aten = torch.ops.aten

LARGEST_TRIANGLE = 128
"""Greatest size of a triangular matrix that is solved on the device; the products' work grows with its third power."""


@lower(aten.linalg_solve_triangular.default)
def solve_triangular(
    ctx: Context, a: Array, b: Array, *, upper: bool, left: bool = True, unitriangular: bool = False
) -> Array:
    size = a.shape[-1]
    if ctx.dtype != np.float32 or size > LARGEST_TRIANGLE:
        ctx.unsupported(f"except in float32 and up to size {LARGEST_TRIANGLE}")
    if not left:  # X A = B is equivalent to A' X' = B', with transposes
        a, b, upper = _transposed(a), _transposed(b), not upper
    batch = ctx.shape[:-2]
    a, b = broadcast(a, (*batch, size, size)), broadcast(b, (*batch, *b.shape[-2:]))
    if not unitriangular:
        diagonal = _diagonal(a)
        a, b = (lax.div(part, broadcast(lax.expand_dims(diagonal, (diagonal.ndim,)), part.shape)) for part in (a, b))
    inverse = _transposed(_inverse(_transposed(a))) if upper else _inverse(a)
    result = product(inverse, b)
    return result if left else _transposed(result)


def _inverse(a: Array) -> Array:
    """Returns the inverse of a lower triangular matrix with ones on the diagonal; reads only what lies below it.

    The inverses of diagonal blocks give those of blocks of twice the size: the inverse of ``[[P, 0], [C, Q]]`` is
    ``[[P', 0], [-Q' C P', Q']]`` with the inverses ``P'`` and ``Q'``. One pair of products computes the lower left
    corners of all blocks of a size.
    """
    row, column = (lax.broadcasted_iota(np.dtype("int32"), a.shape, a.ndim - axis) for axis in (2, 1))
    inverse = cast(lax.eq(row, column), a.dtype)
    block = 1
    while block < a.shape[-1]:
        rows, columns = (lax.div(index, like(index, block)) for index in (row, column))
        odd = lax.eq(lax.bitwise_and(rows, like(rows, 1)), like(rows, 1))
        corners = lax.bitwise_and(odd, lax.eq(columns, lax.sub(rows, like(rows, 1))))
        corner = lax.select(corners, a, like(a, 0))
        inverse = lax.sub(inverse, product(product(inverse, corner), inverse))
        block *= 2
    return inverse


def _diagonal(a: Array) -> Array:
    """Returns the diagonals of matrices, [..., size]."""
    row, column = (lax.broadcasted_iota(np.dtype("int32"), a.shape, a.ndim - axis) for axis in (2, 1))
    return lax.reduce_sum(lax.select(lax.eq(row, column), a, like(a, 0)), (a.ndim - 1,))


def _transposed(a: Array) -> Array:
    """Returns the transposes of matrices."""
    return lax.transpose(a, (*range(a.ndim - 2), a.ndim - 1, a.ndim - 2))
