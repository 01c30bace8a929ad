"""Normalisations of rows as TT-NN's kernels compute them.

A core that has whole rows adds their elements as a product with ones. Of rows that are cut among cores, each core
averages its columns, and another one all averages. Sources: TT-NN 0.81's ``layernorm.cpp``,
``layernorm_large_tensor.cpp``, ``layernorm_sharded.cpp`` and the program factories.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from tt_xla.ir.element_types import DataType
from tt_xla.ir.layout import TILE, TensorLayout, round_up
from tt_xla.ir.program import TensorSpec
from tt_xla.runtime.emulator.bit_exact import functions
from tt_xla.runtime.emulator.bit_exact import vector_unit as sfpu
from tt_xla.runtime.emulator.bit_exact.blocks import L1_BYTES
from tt_xla.runtime.emulator.bit_exact.elementwise import applied, loaded
from tt_xla.runtime.emulator.bit_exact.registers import packed
from tt_xla.runtime.emulator.bit_exact.settings import Config, Settings
from tt_xla.runtime.emulator.context import Context
from tt_xla.runtime.emulator.registry import kernel

Tensor = torch.Tensor

_ROOM = L1_BYTES * 95 // 100
"""Bytes of L1 that TT-NN lets a norm fill. Tensors in L1 leave less, which no kernel here knows."""


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
    """Normalises over the last dimension; the buffers between the steps hold float32."""
    settings = Settings.of(compute_config, wide=True, approximate=False)
    return _computed(ctx, _norm(ctx, settings, centres=True), input, residual, weight, bias, epsilon)


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
    """Normalises over the last dimension, with a 16-bit accumulator and an approximate root where TT-NN chooses."""
    settings = Settings.of(compute_config, wide=False, approximate=True)
    return _computed(ctx, _norm(ctx, settings, centres=False), input, residual, weight, bias, epsilon)


def _computed(
    ctx: Context,
    norm: _Norm,
    input: Tensor,
    residual: Tensor | None,
    weight: Tensor | None,
    bias: Tensor | None,
    epsilon: float,
) -> Tensor:
    x, other, factor, shift = (None if each is None else loaded(each) for each in (input, residual, weight, bias))
    assert x is not None
    result = norm.normalized(*norm.centred(x, other), factor, shift, epsilon)
    return packed(result, ctx.dtype).reshape(input.shape).to(ctx.container)


def _norm(ctx: Context, settings: Settings, *, centres: bool) -> _Norm:
    spec = ctx.spec("input")
    if spec.layout.is_sharded:
        return _NormOfShards(settings, centres, spec, _cores_side_by_side(spec.layout) or ctx.grid[1])
    return (_Norm if _fits(ctx, settings, centres=centres) else _NormOfWideRows)(settings, centres)


def _fits(ctx: Context, settings: Settings, *, centres: bool) -> bool:
    """Returns whether a core has room for whole rows of tiles, or a parameter in rows lets TT-NN choose no other kernel
    (``LayerNormCbFootprint``)."""
    layouts = {name: spec.layout for name, spec in ctx.operands.items() if isinstance(spec, TensorSpec)}
    parameters = [layouts[name] for name in ("weight", "bias") if name in layouts]
    source, residual = layouts["input"], layouts.get("residual")
    if source.tiled and any(not each.tiled for each in parameters):
        return True
    between, block = settings.between.tile_bytes, 4 if settings.wide else 8
    width = round_up(-(-ctx.result.shape[-1] // TILE), block)
    own = source.dtype.tile_bytes
    size = (2 * block if residual is not None and source.tiled else width) * own
    size += (2 * block if source.tiled else width) * ctx.dtype.tile_bytes
    size += 0 if source.tiled else 2 * block * (own + ctx.dtype.tile_bytes)
    size += (width * (1 + (centres or residual is not None)) + (4 if centres else 2) + 8) * between
    size += width * sum(each.dtype.tile_bytes for each in parameters) + (2 * block * between if parameters else 0)
    if residual is not None:
        size += 2 * block * residual.dtype.tile_bytes + width * between * centres
    return size + 4 * DataType.BF16.tile_bytes < _ROOM


def _cores_side_by_side(layout: TensorLayout) -> int:
    """Returns how many columns of cores hold the shards; 0 where TT-NN chooses the cores."""
    sides = [(cores.start[0], cores.end[0]) for cores in layout.core_ranges]
    return max(end for _, end in sides) - min(start for start, _ in sides) + 1 if sides else 0


@dataclass(frozen=True)
class _Norm:
    """The steps of a normalisation."""

    settings: Settings
    """The compute config."""
    centres: bool
    """Whether means are subtracted."""

    def centred(self, input: Tensor, residual: Tensor | None) -> tuple[Tensor, Tensor]:
        """Returns the numerators of the root, ``[rows, columns]``, and the means of their squares."""
        x = self.rows(input, residual)
        if self.centres:
            x = self.masked(self.kept(self.settings.subtract(x, self.mean(self.masked(x)))))
        squares = self.kept(self.settings.multiply(x, x))
        return x, self.mean(squares if self.centres else self.masked(squares))

    def kept(self, accumulator: Tensor) -> Tensor:
        """Returns the accumulator's values in a buffer between the steps."""
        return packed(accumulator, self.settings.between)

    def rows(self, input: Tensor, residual: Tensor | None) -> Tensor:
        """Returns the input of the norm, ``[rows, columns]``: a residual is added in the matrix unit."""
        x = input.reshape(-1, input.shape[-1])
        return x if residual is None else self.kept(self.settings.add(x, residual.reshape(x.shape)))

    def masked(self, x: Tensor) -> Tensor:
        """Returns elements after the columns that fill up the last tile were cleared."""
        return x

    def mean(self, x: Tensor, other: Tensor | None = None) -> Tensor:
        """Returns means of rows, or of those of two tensors together: sums, which the vector unit multiplies."""
        total = self.settings.sum_of_rows(x)
        if other is not None:
            total = self.settings.scaled_sum_of_rows(other, 1.0, total)
        return self.kept(sfpu.stored(sfpu.multiply(total, 1 / x.shape[-1]), wide=self.settings.wide))

    def normalized(
        self, centred: Tensor, variance: Tensor, weight: Tensor | None, bias: Tensor | None, epsilon: float
    ) -> Tensor:
        """Returns the result as the accumulator holds it. The number that is added to the variance has 16 bits."""
        settings = self.settings
        constant = sfpu.stored(torch.full((1, 1), epsilon, device=centred.device, dtype=torch.float32), wide=False)
        root = functions.rsqrt(settings.add(variance, constant), wide=settings.wide, approximate=settings.approximate)
        result = settings.multiply(centred, self.kept(sfpu.stored(root, wide=settings.wide)))
        if weight is not None:
            result = settings.multiply(self.kept(result), weight.reshape(1, -1))
        return result if bias is None else settings.add(self.kept(result), bias.reshape(1, -1))


@dataclass(frozen=True)
class _NormOfWideRows(_Norm):
    """The steps of a normalisation of rows that a core has no room for, block after block."""

    def centred(self, input: Tensor, residual: Tensor | None) -> tuple[Tensor, Tensor]:
        """Returns the same of numbers of which the vector unit takes squares before they are rounded."""
        settings = self.settings
        x = input.reshape(-1, input.shape[-1])
        other = None if residual is None else residual.reshape(x.shape)
        accumulator = settings.subtract(x, self.mean(x, other)) if self.centres else settings.read(x)
        if other is not None:
            accumulator = settings.add(accumulator, other)
        squares = self.kept(applied("square", accumulator, wide=settings.wide))
        return self.kept(accumulator), self.mean(squares)


@dataclass(frozen=True)
class _NormOfShards(_Norm):
    """The steps of a normalisation of a tensor in shards."""

    spec: TensorSpec
    """The tensor."""
    across: int
    """Cores of a row of the chip."""

    def masked(self, x: Tensor) -> Tensor:
        """Multiplies by ones where columns fill up the last tile: of 11 bits of a number the product keeps 10."""
        return self.kept(self.settings.multiply(x, torch.ones_like(x))) if x.shape[-1] % TILE else x

    def mean(self, x: Tensor, other: Tensor | None = None) -> Tensor:
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
        index, size = torch.arange(x.shape[0], device=x.device, dtype=torch.int64), math.prod(self.spec.shape[-2:-1])
        tiles = index // size * round_up(size, TILE) // TILE + index % size // TILE
        cores = tiles % height // -(-height // len(parts))
        result = torch.zeros(x.shape[0], 1, device=x.device, dtype=torch.float32)
        for core in range(int(cores.amax()) + 1):
            own = [average[cores == core] for average in averages]
            first, *others = [own[start : start + across] for start in range(0, len(own), across)]
            sums = [self.kept(settings.chained(row, 1.0)) for row in others]
            result[cores == core] = self.kept(settings.chained([*first[core:], *first[:core], *sums], outer))
        return result
