"""Variances and standard deviations as TT-NN's kernels compute them: in two passes of the vector unit.

The first pass adds the distances of elements to the first one, the second the squares of their distances to the mean.
Both have a sum of elements at even places and one of those at odd places. Of several dimensions a core takes the last
but one, and joins the columns by 32. Sources: TT-NN 0.81's ``generic_reductions.cpp``,
``welford_reduce_program_factory.cpp`` and its kernels, ``writer_welford_hw.cpp`` and
``ckernel_sfpu_welfords_common.h``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from tt_xla.ir.layout import FACE, TILE
from tt_xla.runtime.emulator.bit_exact import functions
from tt_xla.runtime.emulator.bit_exact import vector_unit as sfpu
from tt_xla.runtime.emulator.bit_exact.elementwise import loaded, otherwise
from tt_xla.runtime.emulator.bit_exact.reductions import delivered
from tt_xla.runtime.emulator.bit_exact.registers import packed
from tt_xla.runtime.emulator.bit_exact.settings import Config, Settings
from tt_xla.runtime.emulator.context import Context
from tt_xla.runtime.emulator.registry import kernel

Tensor = torch.Tensor

_LANES = 8
"""Lanes of the vector unit that its rotations stay within."""


@kernel("ttnn.var", "ttnn.std", bit_exact=True)
def spread(
    ctx: Context,
    input: Tensor,
    dim_arg: Sequence[int],
    keep_dim: bool,
    correction: bool,
    scalar: float = 1.0,
    compute_config: Config = None,
) -> Tensor:
    """The variance or the standard deviation along dimensions; a scalar multiplies the result."""
    dims = sorted(dim % input.ndim for dim in dim_arg)
    if math.prod(input.shape[dim] for dim in dims) < 2 or input.numel() == 0:
        attributes = {"dim_arg": dim_arg, "keep_dim": keep_dim, "correction": correction, "scalar": scalar}
        return otherwise(ctx, attributes)(input)
    wide = Settings.of(compute_config, wide=True, approximate=False).wide
    kept = [dim for dim in range(input.ndim) if dim not in dims]
    x = loaded(input).permute(*kept, *dims).reshape(-1, *(input.shape[dim] for dim in dims))
    if len(dims) == 1:
        variance = sfpu.stored(moments(x, correction=int(correction))[1], wide=wide)
    else:
        x = x.reshape(x.shape[0], -1, *x.shape[-2:])
        variance = sfpu.stored(_of_matrices(x, correction=int(correction), wide=wide), wide=wide)
    is_std = ctx.op == "ttnn.std"
    if is_std:
        variance = sfpu.stored(functions.sqrt(variance, wide=wide), wide=wide)
    factor = sfpu.single(abs(scalar) if is_std else scalar * scalar)
    if factor != 1:
        variance = sfpu.stored(sfpu.multiply(variance, factor), wide=wide)
    shape = [1 if dim in dims else size for dim, size in enumerate(input.shape)]
    return delivered(ctx, packed(variance.reshape(shape), ctx.dtype))


def moments(x: Tensor, *, correction: int = 0, sums: int = 2) -> tuple[Tensor, Tensor]:
    """Returns mean and variance along the last dimension.

    Args:
        x: the elements.
        correction: what is subtracted from their number for the variance.
        sums: 2 if elements at even and at odd places have sums of their own, else 1.
    """
    count = x.shape[-1]
    first = x[..., :1]
    total = _sum(sfpu.mad(-1.0, first, x), sums)
    mean = sfpu.mad(total, _inverse(count), first.squeeze(-1))
    squares = _sum(sfpu.mad(-1.0, mean.unsqueeze(-1), x), sums, squared=True)
    return mean, sfpu.multiply(squares, _inverse(count - correction))


def _sum(x: Tensor, sums: int, *, squared: bool = False) -> Tensor:
    """Returns the sum of elements or of their squares, one after another."""
    totals = [torch.zeros_like(x[..., 0]) for _ in range(sums)]
    for place, term in enumerate(x.unbind(-1)):
        total = totals[place % sums]
        totals[place % sums] = sfpu.mad(term, term, total) if squared else sfpu.add(total, term)
    return sfpu.add(*totals) if sums == 2 else totals[0]


def _inverse(count: int) -> float:
    return float(np.float32(1) / np.float32(count))


@dataclass(frozen=True)
class Moments:
    """Moments of columns that are joined."""

    mean: Tensor
    squares: Tensor
    """Variances of the columns and the squared distances of their means, added."""

    def joined(self, other: Moments, share: float, weight: float) -> Moments:
        """Returns the moments of both, as a core that moves data computes them.

        Args:
            other: the moments of further columns.
            share: which part of all columns those are.
            weight: factor of the squared distance of the means.
        """
        distance = other.mean - self.mean
        squares = self.squares + other.squares + distance * distance * weight
        return Moments(self.mean + distance * share, squares)


def _of_matrices(x: Tensor, *, correction: int, wide: bool) -> Tensor:
    """Returns the variance of each group of matrices, ``[groups, matrices, rows, columns]``."""
    rows, columns = x.shape[-2:]
    mean, variance = (sfpu.stored(each, wide=wide) for each in moments(x.transpose(-1, -2)))
    whole = columns // TILE * TILE if wide else 0
    blocks, rest = list[Moments](), torch.empty(2, x.shape[0], 0, device=x.device, dtype=torch.float32)
    for both in torch.stack([mean, variance]).unbind(2):
        blocks += [of_lanes(*both[..., place : place + TILE]) for place in range(0, whole, TILE)]
        rest = torch.cat([rest, both[..., whole:]], 2)
        while rest.shape[2] >= TILE:
            blocks.append(_one_after_another(*rest[..., :TILE]))
            rest = rest[..., TILE:]
    tail = _one_after_another(*rest) if rest.shape[2] else None
    joined = _joined_blocks(blocks)
    number = x.shape[1] * columns
    if tail is not None:
        full, last = number // TILE * TILE, number % TILE
        part = np.float32(1) / np.float32(number)
        weight = float(np.float32(full) * np.float32(last) * part)
        joined = tail if joined is None else joined.joined(tail, float(np.float32(last) * part), weight)
    assert joined is not None
    scale = np.float32(rows) / np.float32(number * rows - 1) if correction else np.float32(1) / np.float32(number)
    return joined.squares * float(scale)


def of_lanes(mean: Tensor, variance: Tensor) -> Moments:
    """Returns the moments of 32 columns, which the vector unit joins across its lanes."""
    order = [face * FACE + 2 * lane + odd for face in (0, 1) for odd in (0, 1) for lane in range(_LANES)]
    means = mean[:, order]
    distances = sfpu.mad(-1.0, means[:, :1], means)
    middle = sfpu.multiply(_across_lanes(distances), 1 / TILE)
    rest = sfpu.mad(-1.0, middle.unsqueeze(-1), distances)
    squares = sfpu.add(_across_lanes(sfpu.multiply(rest, rest)), _across_lanes(variance[:, order]))
    return Moments(sfpu.add(middle, mean[:, 0]), squares)


def _across_lanes(x: Tensor) -> Tensor:
    """Returns the sum of all lanes: those of a row of 8 by halves, then the rows one after another."""
    rows = x.unflatten(-1, (-1, _LANES))
    while rows.shape[-1] > 1:
        rows = sfpu.add(*rows.chunk(2, -1))
    first, *others = rows.squeeze(-1).unbind(-1)
    for other in others:
        first = sfpu.add(first, other)
    return first


def _one_after_another(mean: Tensor, variance: Tensor) -> Moments:
    """Returns the moments of at most 32 columns, which a core that moves data joins one after another."""
    first, (squares, *variances) = mean[:, 0], variance.unbind(1)
    distance_sum, square_sum = torch.zeros_like(first), torch.zeros_like(first)
    for other, own in zip(mean[:, 1:].unbind(1), variances, strict=True):
        distance = other - first
        distance_sum, square_sum, squares = distance_sum + distance, square_sum + distance * distance, squares + own
    middle = distance_sum * _inverse(mean.shape[1])
    return Moments(first + middle, squares + (square_sum - distance_sum * middle).clamp(min=0))


def _joined_blocks(blocks: Sequence[Moments]) -> Moments | None:
    """Returns the moments of blocks of 32 columns, of which TT-NN joins equal numbers as soon as it has two."""
    levels: dict[int, Moments] = {}
    for block in blocks:
        level = 0
        while level in levels:
            block = levels.pop(level).joined(block, 0.5, float(TILE << level) / 2)
            level += 1
        levels[level] = block
    result: Moments | None = None
    before = 0
    for level in sorted(levels):
        own = 1 << level
        if result is None:
            result = levels[level]
        else:
            part = np.float32(1) / np.float32((before + own) * TILE)
            weight = np.float32(before * TILE) * np.float32(own * TILE) * part
            result = result.joined(levels[level], float(np.float32(own * TILE) * part), float(weight))
        before += own
    return result
