"""Sums and means of moreh as TT-NN's kernels compute them: along one dimension after the other, the last one first.

The matrix unit multiplies rows and columns by ones, or by the inverse of their number in bfloat16. A buffer holds the
sum of all tiles but the last one. Sources: TT-NN 0.81's ``moreh_sum.cpp``, ``moreh_mean.cpp`` and their kernels.
"""

from __future__ import annotations

from typing import Any

import torch

from tt_xla.ir.element_types import DataType
from tt_xla.ir.layout import TILE
from tt_xla.runtime.emulator.bit_exact import matrix_unit
from tt_xla.runtime.emulator.bit_exact import vector_unit as sfpu
from tt_xla.runtime.emulator.bit_exact.elementwise import otherwise
from tt_xla.runtime.emulator.bit_exact.registers import packed
from tt_xla.runtime.emulator.bit_exact.settings import Config, Settings
from tt_xla.runtime.emulator.context import Context
from tt_xla.runtime.emulator.kernels.moreh import Dims, axes
from tt_xla.runtime.emulator.registry import kernel

Tensor = torch.Tensor


@kernel("ttnn.moreh_mean", "ttnn.moreh_sum", bit_exact=True)
def summed(ctx: Context, input: Tensor, compute_kernel_config: Config = None, **attributes: Any) -> Tensor:
    """A sum or a mean. Each dimension's result has the type of the operand."""
    dims: Dims = attributes.get("dim")
    if not input.is_floating_point() or input.ndim == 0 or attributes.get("divisor") is not None:
        return otherwise(ctx, attributes)(input)
    settings = Settings.of(compute_kernel_config, wide=False, approximate=False)
    dtype = ctx.spec("input").layout.dtype
    x = input.to(torch.float32)
    for dim in reversed(axes(input.ndim, dims)):
        along = _along_tiles if dim >= x.ndim - 2 or x.ndim == 1 else _of_tiles
        scale = _inverse(x.shape[dim], is_cut=dim < x.ndim - 1) if ctx.op == "ttnn.moreh_mean" else 1.0
        x = packed(along(x, dim, settings, scale), dtype)
    return x.reshape(ctx.result.shape).to(ctx.container)


def _inverse(count: int, *, is_cut: bool) -> float:
    """Returns the inverse of a number in bfloat16: for rows it is rounded, and else cut."""
    inverse = torch.tensor(1 / count, device="cpu")
    return float(sfpu.stored(inverse, wide=False) if is_cut else inverse.to(torch.bfloat16))


def _along_tiles(x: Tensor, dim: int, settings: Settings, scale: float) -> Tensor:
    """Returns the sum of rows or columns, whose last tile is added to the sum of the others."""
    terms = x.movedim(dim, -1)
    shape, terms = terms.shape[:-1], terms.reshape(-1, terms.shape[-1])
    before = (terms.shape[1] - 1) // TILE * TILE
    by_rows = dim == x.ndim - 1
    total: Tensor | None = None
    for part in terms.split([before, terms.shape[1] - before], 1):
        if not part.shape[1]:
            continue
        if by_rows:
            total = settings.scaled_sum_of_rows(part, scale, total)
        else:
            total = settings.sum_of_columns(part.T, scale, total)
        total = packed(total.contiguous(), settings.between)
    assert total is not None
    return total.reshape(shape).unsqueeze(dim)


def _of_tiles(x: Tensor, dim: int, settings: Settings, scale: float) -> Tensor:
    """Returns the sum of tiles: in the accumulator, or for a mean one after another by way of a buffer."""
    if scale == 1:
        total: Tensor | None = None
        for term in x.split(1, dim):
            total = matrix_unit.add_to(total, settings.read(term), wide=settings.wide)
        assert total is not None
        return total
    mean = torch.zeros_like(x.narrow(dim, 0, 1))
    for term in x.split(1, dim):
        mean = packed(settings.add(term, mean), DataType.BF16)
    return settings.multiply(mean, torch.full_like(mean, scale))
