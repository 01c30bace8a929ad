"""Sums and means along dimensions as TT-NN's kernels compute them.

The matrix unit adds 16-bit numbers and block floats as a product with a scaler, which TT-NN cuts to bfloat16; the
vector unit adds float32. Several dimensions take several kernels, between which sums of bfloat16 lie in float32.
Sources: TT-NN 0.81's ``generic_reductions.cpp``, ``reduce_op.cpp``, ``fast_reduce_nc``, ``llk_math_reduce.h`` and
``ckernel_sfpu_reduce.h``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from tt_xla.ir.element_types import DataType
from tt_xla.ir.layout import FACE, TILE
from tt_xla.runtime.emulator.bit_exact import vector_unit as sfpu
from tt_xla.runtime.emulator.bit_exact.elementwise import loaded, otherwise, result_of
from tt_xla.runtime.emulator.bit_exact.moves import with_filled_tiles
from tt_xla.runtime.emulator.bit_exact.native import product
from tt_xla.runtime.emulator.bit_exact.registers import packed, repacked, source
from tt_xla.runtime.emulator.bit_exact.settings import Config, Settings
from tt_xla.runtime.emulator.context import Context
from tt_xla.runtime.emulator.registry import kernel

Tensor = torch.Tensor

_LANES = 4
"""Rows that a register of the vector unit holds."""

_TILES_PER_SLICE = 20
"""Tiles of a column from which on TT-NN divides the column among cores."""


@kernel("ttnn.sum", "ttnn.mean", bit_exact=True)
def reduced(
    ctx: Context,
    input: Tensor,
    dim_arg: int | Sequence[int] | None = None,
    keep_dim: bool = False,
    compute_config: Config = None,
    scalar: float = 1.0,
) -> Tensor:
    """A sum or a mean along dimensions, by a scalar."""
    dtype = ctx.spec("input").layout.dtype
    if not input.is_floating_point() or input.ndim == 0 or input.numel() == 0:
        attributes = {"dim_arg": dim_arg, "keep_dim": keep_dim, "compute_config": compute_config, "scalar": scalar}
        return otherwise(ctx, attributes)(input)
    dims = [dim_arg] if isinstance(dim_arg, int) else list(range(input.ndim) if dim_arg is None else dim_arg)
    dims = sorted(dim % input.ndim for dim in dims)
    settings = Settings.of(compute_config, wide=True, approximate=False)
    x = input.to(torch.float32)
    if input.ndim == 1:
        x, dims = x.unsqueeze(0), [1]
    reduction = _Reduction(settings, dtype, is_mean=ctx.op == "ttnn.mean", cores=math.prod(ctx.grid))
    return delivered(ctx, reduction.along(x, dims, scalar))


def sum_of_columns(ctx: Context, x: Tensor, scale: float) -> Tensor:
    """Returns the sum along the dimension before the last by a scale, in the type of the operand ``input``."""
    dtype, settings = ctx.spec("input").layout.dtype, Settings.of(None, wide=True, approximate=False)
    reduction = _Reduction(settings, dtype, is_mean=False, cores=math.prod(ctx.grid))
    return reduction.along(x, [x.ndim - 2], scale)


def delivered(ctx: Context, result: Tensor) -> Tensor:
    """Returns a result that has dimensions of size 1 in its final shape, where block floats share other exponents."""
    shape = ctx.result.shape
    if ctx.dtype.is_block_float and shape and tuple(result.shape) != tuple(shape):
        result = packed(result.reshape(shape).contiguous(), ctx.dtype)
    return result.reshape(shape).to(ctx.container)


@kernel("ttnn.max", "ttnn.min", bit_exact=True)
def extreme(ctx: Context, input: Tensor, scalar: float = 1.0, **attributes: Any) -> Tensor:
    """The largest or smallest element along dimensions, by a scalar in the vector unit."""
    if not input.is_floating_point():
        return otherwise(ctx, {**attributes, "scalar": scalar})(input)
    if input.ndim == 0 or input.numel() == 0:
        return result_of(ctx, loaded(otherwise(ctx, {**attributes, "scalar": scalar})(input)))
    largest = (ctx.op == "ttnn.max") == (scalar >= 0)
    dtype = ctx.spec("input").layout.dtype
    filled = with_filled_tiles(input, dtype, -math.inf if largest else math.inf)
    chosen = _extreme(loaded(filled), attributes.get("dim_arg"), largest=largest)
    chosen = repacked(chosen, dtype)
    if scalar == 1:
        return delivered(ctx, chosen)
    return delivered(ctx, packed(sfpu.multiply(chosen, sfpu.single(scalar)), ctx.dtype))


def _extreme(x: Tensor, dim_arg: int | Sequence[int] | None, *, largest: bool) -> Tensor:
    """Returns the largest or smallest elements in the order of signs and magnitudes, in which a NaN is beyond infinity,
    along dimensions that stay. Padding is infinite and takes part."""
    given = range(x.ndim) if dim_arg is None else [dim_arg] if isinstance(dim_arg, int) else dim_arg
    dims = [dim % x.ndim for dim in given] or list(range(x.ndim))
    places = sfpu.order(sfpu.bits(x))
    found = sfpu.number(sfpu.order(places.amax(dims, keepdim=True) if largest else places.amin(dims, keepdim=True)))
    has_padding = any(x.shape[dim] % TILE for dim in dims)
    return sfpu.minimum(found, math.inf) if has_padding and not largest else found


@dataclass(frozen=True)
class _Reduction:
    """The kernels of a sum or a mean of one data type.

    Attributes:
        cores: cores among which TT-NN divides long rows and columns.
    """

    settings: Settings
    dtype: DataType
    is_mean: bool
    cores: int

    def along(self, x: Tensor, dims: Sequence[int], scalar: float) -> Tensor:
        """Returns the reduced tensor, whose reduced dimensions have size 1.

        TT-NN adds the outer dimensions of narrow sums tile by tile. Of other reductions it reduces one dimension after
        the other, the last one first, which takes the scalar; or the last two at once.
        """
        chained = self.dtype is DataType.BF16 and 1 < len(dims) < x.ndim
        between = DataType.F32 if chained else self.dtype
        now, last = self.dtype, x.ndim - 1
        if not self.is_mean and self.dtype is not DataType.F32 and scalar == 1:
            outer = [dim for dim in dims if dim < last - 1]
            dims = [dim for dim in dims if dim >= last - 1]
            for dim in reversed(outer):
                now = self.dtype if not dims and dim == outer[0] else between
                x = packed(self.settings.accumulated(x, dim), now)
            if not dims:
                return x
        if now.is_block_float and any(dim < last - 1 for dim in dims):
            x = repacked(x, now)  # TT-NN permutes them as bfloat16
        x = with_filled_tiles(x, now)
        volume = math.prod(x.shape[dim] for dim in dims) if self.is_mean else 1
        factor = float(np.float32(scalar) / np.float32(volume))
        averages = self.is_mean and (len(dims) == 1 or dims == [last - 1, last])
        if dims == [last - 1, last]:
            return self._of_matrices(x, now, factor, DataType.BF16 if chained else self.dtype, averages=averages)
        for dim in reversed(dims):
            then = between if dim != dims[0] else self.dtype
            x = packed(self._along(x, dim, now, factor, averages=averages), then)
            now, factor = then, 1.0
        return x

    def _of_matrices(self, x: Tensor, now: DataType, factor: float, then: DataType, *, averages: bool) -> Tensor:
        """Returns the reduction of the last two dimensions: of rows, then of their column."""
        accurate = now is DataType.F32 and self.settings.wide
        whole = now is DataType.F32 or (now is DataType.BF16 and self.settings.wide and not averages)
        between = DataType.F32 if whole else then
        rows = packed(self._step(x, x.ndim - 1, accurate, now, 1.0), between)
        return packed(self._step(rows, x.ndim - 2, accurate, between, factor), then)

    def _along(self, x: Tensor, dim: int, now: DataType, factor: float, *, averages: bool) -> Tensor:
        """Returns the reduction along one dimension, which may be divided among cores."""
        accurate = now is DataType.F32 and self.settings.wide
        tiles = -(-x.shape[dim] // TILE)
        columns = x.numel() // x.shape[dim] // x.shape[-1] * -(-x.shape[-1] // TILE)
        divided = dim < x.ndim - 1 and columns < self.cores and tiles >= _TILES_PER_SLICE
        slices = min(self.cores // columns, tiles) if divided else 1
        if slices < 2:
            return self._step(x, dim, accurate, now, factor)
        rows = -(-tiles // slices) * TILE
        parts = [self._step(part, dim, accurate, now, 1.0) for part in x.split(rows, dim)]
        whole = self.settings.wide and not now.is_block_float
        return self._step(torch.cat(parts, dim), dim, whole, DataType.F32, factor)

    def _step(self, x: Tensor, dim: int, accurate: bool, now: DataType, factor: float) -> Tensor:
        """Returns the accumulator's values after one kernel's reduction along a dimension."""
        if accurate:
            total = _in_float32(x, dim)
            if factor != 1:
                total = sfpu.multiply(total, float(np.float32(factor)))
            return total.unsqueeze(dim)
        scaler = sfpu.stored(torch.full((1,), factor, device=x.device, dtype=torch.float32), wide=now is DataType.F32)
        scaler = source(scaler, wide=self.settings.wide)
        count = x.shape[dim]
        if dim == x.ndim - 1:
            terms, phases = self.settings.read(x).reshape(-1, count), self.settings.phases
            total = product(terms, scaler.expand(count, 1), phases=phases, wide=self.settings.wide)
        else:
            total = self.settings.sum_of_columns(x.movedim(dim, 0).reshape(count, -1), float(scaler))
        shape = [size for place, size in enumerate(x.shape) if place != dim]
        return total.reshape(shape).contiguous().unsqueeze(dim)


def _in_float32(x: Tensor, dim: int) -> Tensor:
    """Returns sums along a dimension: tiles are added one after another, then the elements of the last sum
    (``perform_reduce_row_sum_tile`` and ``perform_reduce_col_sum_avg``)."""
    count = x.shape[dim]
    terms = x.movedim(dim, -1)
    terms = torch.nn.functional.pad(terms, (0, -count % TILE))
    tiles = sfpu.stored(terms.contiguous(), wide=True).split(TILE, -1)
    tile = tiles[0]
    for other in tiles[1:]:
        tile = sfpu.add(tile, other)
    return _of_columns(tile) if dim == x.ndim - 1 else _of_rows(tile)


def _of_columns(tile: Tensor) -> Tensor:
    """Returns the sum of a row of a tile: registers hold the even or the odd columns of a face, and fold by halves."""
    faces = tile.split(FACE, -1)
    lanes = _from_the_last([face[..., odd::2] for face in faces for odd in (0, 1)])
    while lanes.shape[-1] > 1:
        lanes = sfpu.add(*lanes.chunk(2, -1))
    return lanes.squeeze(-1)


def _of_rows(tile: Tensor) -> Tensor:
    """Returns the sum of a column of a tile, whose rows are the last dimension: registers hold four rows of a face."""
    upper, lower = (_from_the_last(face.split(_LANES, -1)) for face in tile.split(FACE, -1))
    return _from_the_last(sfpu.add(upper, lower).unbind(-1))


def _from_the_last(registers: Sequence[Tensor]) -> Tensor:
    """Returns the sum of registers, which begins with the last two."""
    total = registers[-1]
    for register in reversed(registers[:-1]):
        total = sfpu.add(register, total)
    return total
