"""Matrix products."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from jax import lax

from tt_xla.frontends.torch.aten.reductions import total
from tt_xla.frontends.torch.aten.registry import Array, Context, broadcast, cast, like, lower, lower_named

aten = torch.ops.aten


def product(x: Array, y: Array, dtype: Any = None) -> Array:
    """Returns ``x @ y`` over the last two dimensions; the dimensions before are batch dimensions of equal sizes.

    Args:
        x: the first operand.
        y: the second operand.
        dtype: the dtype of the result; None for that of the operands.
    """
    batch = tuple(range(x.ndim - 2))
    return lax.dot_general(x, y, (((x.ndim - 1,), (y.ndim - 2,)), (batch, batch)), preferred_element_type=dtype)


def _check_same_dtype(ctx: Context, x: Array, y: Array) -> None:
    """Refuses operands of different dtypes, as torch does."""
    if x.dtype != y.dtype:
        ctx.invalid(f"pair of operands with dtypes {x.dtype} and {y.dtype}")


@lower(aten.mm.default, aten.bmm.default)
def mm(ctx: Context, x: Array, y: Array) -> Array:
    _check_same_dtype(ctx, x, y)
    return product(x, y)


@lower(aten.mv.default, aten.dot.default)
def mv(ctx: Context, x: Array, y: Array) -> Array:
    _check_same_dtype(ctx, x, y)
    return lax.dot_general(x, y, (((x.ndim - 1,), (0,)), ((), ())))


@lower(aten.matmul.default)
def matmul(ctx: Context, x: Array, y: Array) -> Array:
    _check_same_dtype(ctx, x, y)
    if x.ndim <= 2 and y.ndim == 1:
        return mv(ctx, x, y)
    if x.ndim == 1:
        x = lax.expand_dims(x, (0,))
        return lax.reshape(matmul(ctx, x, y), ctx.shape)
    if y.ndim == 1:
        return lax.reshape(matmul(ctx, x, lax.expand_dims(y, (1,))), ctx.shape)
    batch = lax.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    return product(broadcast(x, (*batch, *x.shape[-2:])), broadcast(y, (*batch, *y.shape[-2:])))


@lower(aten.addmm.default, aten.baddbmm.default)
def addmm(ctx: Context, bias: Array, x: Array, y: Array, *, beta: Any = 1, alpha: Any = 1) -> Array:
    """Rounds once, as PyTorch does: factors and their products are float32 where the operands are 16-bit floats."""
    _check_same_dtype(ctx, x, y)
    has_factors = alpha != 1 or beta not in (0, 1)
    wide = (
        np.dtype(np.float32)
        if has_factors and x.dtype.itemsize == 2 and not np.issubdtype(x.dtype, np.integer)
        else x.dtype
    )
    result = product(x, y, wide)
    if alpha != 1:
        result = lax.mul(result, like(result, alpha))
    if beta == 0:
        return result
    bias = cast(bias, result.dtype)
    if beta != 1:
        bias = lax.mul(bias, like(bias, beta))
    return lax.add(result, broadcast(bias, result.shape))


@lower(aten._trilinear.default)
def trilinear(
    ctx: Context,
    x: Array,
    y: Array,
    z: Array,
    expand_x: Sequence[int],
    expand_y: Sequence[int],
    expand_z: Sequence[int],
    summed: Sequence[int],
    unroll_dim: int = 1,
) -> Array:
    """Returns the product of three tensors, summed over dimensions.

    Args:
        expand_x: Positions of the dimensions that ``x`` lacks; ``expand_y`` and ``expand_z`` likewise.
        summed: The dimensions to sum over.
    """
    spread = [lax.expand_dims(t, tuple(dims)) for t, dims in ((x, expand_x), (y, expand_y), (z, expand_z))]
    shape = tuple(max(sizes) for sizes in zip(*(t.shape for t in spread), strict=True))
    x, y, z = (broadcast(t, shape) for t in spread)
    return total(lax.mul(lax.mul(x, y), z), tuple(summed))


@lower(aten.linear.default)
def linear(ctx: Context, x: Array, weight: Array, bias: Array | None = None) -> Array:
    _check_same_dtype(ctx, x, weight)
    weight = lax.transpose(weight, (1, 0)) if weight.ndim == 2 else weight
    result = lax.dot_general(x, weight, (((x.ndim - 1,), (0,)), ((), ())))
    return result if bias is None else lax.add(result, broadcast(bias, result.shape))


@lower(aten._grouped_mm.default)
def grouped_mm(
    ctx: Context,
    x: Array,
    y: Array,
    offs: Array | None = None,
    bias: Array | None = None,
    out_dtype: torch.dtype | None = None,
) -> Array:
    """Multiplies groups of rows or columns; ``offs`` holds the end of each group.

    Groups of rows of ``x`` are multiplied by one matrix each, and one matrix each by groups of columns of ``y``; groups
    of columns of ``x`` and of rows of ``y`` make one matrix each, as in gradients of weights.

    Each row moves into its group's block of columns, with zeros in the other blocks. One product with the matrices
    stacked by rows then computes all groups. It takes as many multiplications as a product of all rows with each
    matrix, and needs no selection among the results.
    """
    if x.ndim == 3 and y.ndim == 3:
        return product(x, y)
    if offs is None or bias is not None:
        ctx.unsupported("without the ends of groups, or with a bias")
    if x.ndim == 2 and y.ndim == 2:
        return _sums_of_groups(x, y, offs)
    if x.ndim == 3:
        turned = grouped_mm(ctx, lax.transpose(y, (1, 0)), lax.transpose(x, (0, 2, 1)), offs)
        return lax.transpose(turned, (1, 0))
    groups, depth, width = y.shape
    return product(_spread(x, offs), lax.reshape(y, (groups * depth, width)))


def _sums_of_groups(x: Array, y: Array, ends: Array) -> Array:
    """Returns a product for each group of the dimension that is summed over: columns of ``x`` and rows of ``y``."""
    rows = _spread(lax.transpose(x, (1, 0)), ends)
    return lax.reshape(product(lax.transpose(rows, (1, 0)), y), (*ends.shape, x.shape[0], y.shape[1]))


def _spread(x: Array, ends: Array) -> Array:
    """Puts each row into its group's block of columns, with zeros in the other blocks."""
    rows, depth = x.shape
    (groups,) = ends.shape
    line = lax.broadcasted_iota(ends.dtype, (rows, groups), 0)
    starts = broadcast(lax.concatenate([lax.full((1,), 0, ends.dtype), ends[:-1]], 0), line.shape)
    in_group = lax.bitwise_and(lax.ge(line, starts), lax.lt(line, broadcast(ends, line.shape)))
    shape = (rows, groups, depth)
    repeated = lax.broadcast_in_dim(x, shape, (0, 2))
    spread = lax.select(lax.broadcast_in_dim(in_group, shape, (0, 1)), repeated, lax.full_like(repeated, 0))
    return lax.reshape(spread, (rows, groups * depth))


@lower_named("transformers::grouped_mm_fallback")
def experts(ctx: Context, x: Array, y: Array, offs: Array) -> Array:
    """Lowers the op that transformers' mixtures of experts call because ``aten._grouped_mm`` takes only bfloat16."""
    return grouped_mm(ctx, x, y, offs)


@lower_named("transformers::grouped_mm_fallback_backward")
def experts_backward(ctx: Context, x: Array, y: Array, offs: Array, grad: Array) -> list[Array]:
    grad_x = grouped_mm(ctx, grad, lax.transpose(y, (0, 2, 1)), offs)
    return [grad_x, _sums_of_groups(lax.transpose(x, (1, 0)), grad, offs)]
