"""Sorting, and the order statistics that sorting gives: the k largest, the k-th smallest, the median.

The order is PyTorch's: ``-0.0`` and ``0.0`` are equal, NaN is greater than every number, equal elements keep their
order.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
import torch
from jax import lax
from jax.extend.core import Primitive
from jax.interpreters import mlir
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from tt_xla.frontends.torch.aten.reductions import expand_back, total
from tt_xla.frontends.torch.aten.registry import Array, Context, cast, full, like, lower
from tt_xla.frontends.torch.aten.shapes import slice_along

aten = torch.ops.aten

_sort_descending_p = Primitive("sort_descending")
"""``lax.sort`` with the greatest element of the first operand first; the sort is stable.

``lax.sort`` only sorts in ascending order, and neither a negated key nor a reversed result gives this order: NaN stays
last in the one, equal elements change their order in the other.
"""
_sort_descending_p.multiple_results = True
_sort_descending_p.def_abstract_eval(lambda *operands, dimension: operands)


def _lower_sort_descending(ctx: mlir.LoweringRuleContext, *operands: ir.Value, dimension: int) -> list[ir.Value]:
    """Lowers the primitive to one stable ``stablehlo.sort``."""
    sort = stablehlo.SortOp(
        [operand.type for operand in operands],
        operands,
        dimension=ir.IntegerAttr.get(ir.IntegerType.get_signless(64), dimension),
        is_stable=ir.BoolAttr.get(True),
    )
    scalars = [aval.update(shape=()) for aval in ctx.avals_in for _ in range(2)]
    types = [ir.RankedTensorType(operand.type).element_type for operand in operands for _ in range(2)]
    comparator = sort.comparator.blocks.append(*[ir.RankedTensorType.get((), element) for element in types])
    comparator_ctx = ctx.replace(primitive=None, avals_in=scalars, avals_out=[scalars[0].update(dtype=np.dtype(bool))])
    with ir.InsertionPoint(comparator):
        greater = mlir.lower_fun(_comes_first, multiple_results=False)(comparator_ctx, *comparator.arguments)
        stablehlo.return_(greater)
    return list(sort.results)


def _comes_first(left: Array, right: Array, *others: Array) -> Array:
    """Returns whether ``left`` sorts before ``right`` in descending order."""
    if not jnp.issubdtype(left.dtype, jnp.floating):
        return lax.gt(left, right)
    return lax.lt_to_p.bind(_canonical(right), _canonical(left))


def _canonical(x: Array) -> Array:
    """Gives all zeros one sign and all NaN one encoding, which the total order would tell apart."""
    x = lax.select(lax.eq(x, like(x, 0)), like(x, 0), x)
    return lax.select(lax.ne(x, x), like(x, np.nan), x)


mlir.register_lowering(_sort_descending_p, _lower_sort_descending)


@lower(aten.sort.default)
def sort(ctx: Context, x: Array, dim: int = -1, descending: bool = False) -> list[Array]:
    return sorted_with_indices(x, dim, descending)


@lower(aten.sort.stable)
def sort_stable(
    ctx: Context, x: Array, *, stable: bool | None = None, dim: int = -1, descending: bool = False
) -> list[Array]:
    return sorted_with_indices(x, dim, descending)


def sorted_with_indices(x: Array, dim: int, descending: bool) -> list[Array]:
    """Returns the values in a stable order along a dimension, and their positions before the sort."""
    if x.ndim == 0:
        return [x, full((), 0, np.dtype("int64"))]
    dim %= x.ndim
    positions = lax.broadcasted_iota(np.dtype("int64"), x.shape, dim)
    if descending:
        return list(_sort_descending_p.bind(x, positions, dimension=dim))
    return list(lax.sort((x, positions), dimension=dim, is_stable=True, num_keys=1))


@lower(aten.topk.default)
def topk(
    ctx: Context, x: Array, k: int, dim: int = -1, largest: bool = True, is_sorted: bool = True, **options: Any
) -> list[Array]:
    ctx.refuse_booleans(x)
    if x.ndim == 0:
        return sorted_with_indices(x, dim, largest)
    dim %= x.ndim
    return [slice_along(part, dim, 0, k) for part in sorted_with_indices(x, dim, largest)]


@lower(aten.kthvalue.default)
def kthvalue(ctx: Context, x: Array, k: int, dim: int = -1, keepdim: bool = False) -> list[Array]:
    ctx.refuse_booleans(x)
    if x.ndim == 0:
        return sorted_with_indices(x, dim, False)
    dim %= x.ndim
    kth = [slice_along(part, dim, k - 1, k) for part in sorted_with_indices(x, dim, False)]
    return [lax.reshape(part, ctx.shape) for part in kth]


@lower(aten.median.dim)
def median_along(ctx: Context, x: Array, dim: int, keepdim: bool = False) -> list[Array]:
    """Returns the middle element, the lower of two; the first NaN where there is one."""
    if x.ndim == 0:
        return sorted_with_indices(x, dim, False)
    dim %= x.ndim
    size = x.shape[dim]
    if not size:
        ctx.invalid("dimension without elements")
    values, positions = sorted_with_indices(x, dim, False)
    middle = full((), (size - 1) // 2, np.dtype("int32"))
    nan_count = total(cast(lax.ne(x, x), np.dtype("int32")), (dim,))  # the sort puts NaN last
    position = lax.select(
        lax.gt(nan_count, like(nan_count, 0)),
        lax.sub(like(nan_count, size), nan_count),
        lax.broadcast(middle, nan_count.shape),
    )
    line = lax.broadcasted_iota(np.dtype("int32"), x.shape, dim)
    chosen = lax.eq(line, expand_back(position, x.shape, (dim,)))
    index = total(lax.select(chosen, positions, like(positions, 0)), (dim,))
    value = total(lax.select(chosen, values, like(values, 0)), (dim,))
    return [lax.reshape(value, ctx.shape), lax.reshape(index, ctx.shape)]
