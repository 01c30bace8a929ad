"""Normalizations of rows as TT-NN's kernels compute them.

A core that has whole rows adds their elements as a product with ones. Of rows that are cut among cores, each core
averages its columns, and another one all averages. Sources: TT-NN 0.81's ``layernorm.cpp``, ``layernorm_sharded.cpp``
and ``layernorm_op_multi_core_sharded.cpp``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from tt_xla.ir.layout import TILE, TensorLayout, round_up
from tt_xla.ir.program import TensorSpec
from tt_xla.runtime.emulator.bit_exact import functions
from tt_xla.runtime.emulator.bit_exact import vector_unit as sfpu
from tt_xla.runtime.emulator.bit_exact.registers import packed
from tt_xla.runtime.emulator.bit_exact.settings import Config, Settings
from tt_xla.runtime.emulator.context import Context
from tt_xla.runtime.emulator.registry import kernel

Tensor = torch.Tensor


@kernel("ttnn.layer_norm", bit_exact=True)
def layer_norm(
    ctx: Context,
    input: Tensor,
    residual: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    epsilon: float = 1e-12,
    compute_config: Config = None,
) -> Tensor:
    """Normalizes over the last dimension; the buffers between the steps hold float32."""
    norm = _norm(ctx, Settings.of(compute_config, wide=True, approximate=False))
    x = norm.rows(input, residual)
    centred = norm.masked(norm.kept(norm.settings.subtract(x, norm.mean(norm.masked(x)))))
    variance = norm.mean(norm.kept(norm.settings.multiply(centred, centred)))
    result = norm.normalized(centred, variance, weight, bias, epsilon)
    return packed(result, ctx.dtype).reshape(input.shape).to(ctx.container)


@kernel("ttnn.rms_norm", bit_exact=True)
def rms_norm(
    ctx: Context,
    input: Tensor,
    residual: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    epsilon: float = 1e-12,
    compute_config: Config = None,
) -> Tensor:
    """Normalizes over the last dimension, with a 16-bit accumulator and an approximate root where TT-NN chooses."""
    norm = _norm(ctx, Settings.of(compute_config, wide=False, approximate=True))
    x = norm.rows(input, residual)
    squares = norm.masked(norm.kept(norm.settings.multiply(x, x)))
    result = norm.normalized(x, norm.mean(squares), weight, bias, epsilon)
    return packed(result, ctx.dtype).reshape(input.shape).to(ctx.container)


def _norm(ctx: Context, settings: Settings) -> _Norm | _NormOfShards:
    spec = ctx.spec("input")
    if not spec.layout.is_sharded:
        return _Norm(settings)
    return _NormOfShards(settings, spec, _cores_side_by_side(spec.layout) or ctx.grid[1])


def _cores_side_by_side(layout: TensorLayout) -> int:
    """Returns how many columns of cores hold the shards; 0 where TT-NN chooses the cores."""
    sides = [(cores.start[0], cores.end[0]) for cores in layout.core_ranges]
    return max(end for _, end in sides) - min(start for start, _ in sides) + 1 if sides else 0


@dataclass(frozen=True)
class _Norm:
    """The steps of a normalization."""

    settings: Settings
    """The compute config."""

    def kept(self, accumulator: Tensor) -> Tensor:
        """Returns what a buffer between the steps holds of the accumulator."""
        return packed(accumulator, self.settings.between)

    def rows(self, input: Tensor, residual: Tensor | None) -> Tensor:
        """Returns what is normalized, ``[rows, columns]``: a residual is added in the matrix unit."""
        x = input.reshape(-1, input.shape[-1]).to(torch.float32)
        return x if residual is None else self.kept(self.settings.add(x, residual.reshape(x.shape).to(torch.float32)))

    def masked(self, x: Tensor) -> Tensor:
        """Returns elements after the columns that fill up the last tile were cleared."""
        return x

    def mean(self, x: Tensor) -> Tensor:
        """Returns means of rows: sums, which the vector unit multiplies."""
        scaled = sfpu.multiply(self.settings.sum_of_rows(x), 1 / x.shape[-1])
        return self.kept(sfpu.stored(scaled, wide=self.settings.wide))

    def normalized(
        self, centred: Tensor, variance: Tensor, weight: Tensor | None, bias: Tensor | None, epsilon: float
    ) -> Tensor:
        """Returns the result as the accumulator holds it. The number that is added to the variance has 16 bits."""
        settings = self.settings
        constant = sfpu.stored(torch.full((1, 1), epsilon, device=centred.device), wide=False)
        root = functions.rsqrt(settings.add(variance, constant), wide=settings.wide, approximate=settings.approximate)
        result = settings.multiply(centred, self.kept(sfpu.stored(root, wide=settings.wide)))
        if weight is not None:
            result = settings.multiply(self.kept(result), weight.reshape(1, -1))
        return result if bias is None else settings.add(self.kept(result), bias.reshape(1, -1))


@dataclass(frozen=True)
class _NormOfShards(_Norm):
    """The steps of a normalization of a tensor in shards."""

    spec: TensorSpec
    """The tensor."""
    across: int
    """Cores of a row of the chip."""

    def masked(self, x: Tensor) -> Tensor:
        """Multiplies by ones where columns fill up the last tile: of 11 bits of a number the product keeps 10."""
        return self.kept(self.settings.multiply(x, torch.ones_like(x))) if x.shape[-1] % TILE else x

    def mean(self, x: Tensor) -> Tensor:
        """Returns means of rows that are cut among cores.

        Tiles of rows are divided among the cores that join averages. Each core begins with its own, and goes on to the
        cores after it. Where shards have different widths, all divide by the mean one. If the cores fill several rows
        of the chip, the averages of the other rows are added first.
        """
        settings = self.settings
        height, columns = self.spec.layout.shard[0], self.spec.layout.shard[1] * TILE
        parts = x.split(columns, 1)
        inner, outer = len(parts) / x.shape[1], 1 / len(parts)
        across = self.across if len(parts) % self.across == 0 else len(parts)
        averages = [self.kept(settings.scaled_sum_of_rows(part, inner)) for part in parts]
        index, size = torch.arange(x.shape[0], device=x.device), math.prod(self.spec.shape[-2:-1])
        tiles = index // size * round_up(size, TILE) // TILE + index % size // TILE
        cores = tiles % height // -(-height // len(parts))
        result = torch.zeros(x.shape[0], 1, device=x.device)
        for core in range(int(cores.amax()) + 1):
            own = [average[cores == core] for average in averages]
            first, *others = [own[start : start + across] for start in range(0, len(own), across)]
            sums = [self.kept(settings.chained(row, 1.0)) for row in others]
            result[cores == core] = self.kept(settings.chained([*first[core:], *first[:core], *sums], outer))
        return result
