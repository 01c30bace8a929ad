"""Group norm as TT-NN's kernels compute it.

A core sums the elements of a group to a scalar, and one core adds the scalars of all cores that share the group. Of a
tensor in shards it first adds the tiles elementwise. Sources: TT-NN 0.81's ``groupnorm.cpp``,
``groupnorm_sharded_v2.cpp``, their readers and writers, ``groupnorm_program_utils.cpp`` and ``llk_math_reduce.h``.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from tt_xla.ir.element_types import DataType
from tt_xla.ir.layout import FACE, TILE, TensorLayout, round_up
from tt_xla.runtime.emulator.bit_exact import functions, matrix_unit
from tt_xla.runtime.emulator.bit_exact import vector_unit as sfpu
from tt_xla.runtime.emulator.bit_exact.elementwise import loaded, otherwise
from tt_xla.runtime.emulator.bit_exact.registers import packed
from tt_xla.runtime.emulator.bit_exact.settings import Config, Settings, faces
from tt_xla.runtime.emulator.bit_exact.variances import moments, of_lanes
from tt_xla.runtime.emulator.context import Context
from tt_xla.runtime.emulator.kernels.normalization import by_channel
from tt_xla.runtime.emulator.registry import kernel
from tt_xla.target.group_norm_cores import chosen_grid, virtual_columns

Tensor = torch.Tensor

_SLOT_BYTES = 16
"""Distance of the scalars of cores in the tile that one core reads."""
_ELEMENTS_OF_BLOCK = 256 * 256
"""Elements of a core's batch from which on TT-NN takes several blocks."""
_MOST_BLOCKS = 256
_TILES_OF_ONE_SUM = 8
"""Tiles from which on TT-NN takes two blocks for a 16-bit accumulator."""


@dataclass(frozen=True)
class _Division:
    """How a group norm is divided."""

    cores: int
    """Cores that share the rows of a batch."""
    columns: int
    """Channels of a core."""
    blocks: tuple[int, ...]
    """Tiles of rows in each block of a core's batch, the last of which may be empty."""


@kernel("ttnn.group_norm", bit_exact=True)
def group_norm(
    ctx: Context,
    input: Tensor,
    num_groups: int,
    input_mask: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    epsilon: float = 1e-12,
    compute_config: Config = None,
    core_grid: Sequence[int] | None = None,
    num_out_blocks: int | None = None,
    use_welford: bool = False,
) -> Tensor:
    """A group norm of [N, 1, H * W, C].

    The vector unit takes the statistics (``use_welford``) of whole tiles. With a 16-bit accumulator they were not
    compared, and are those of the other numerics.
    """
    batches, _, rows, channels = input.shape
    dtype = ctx.spec("input").layout.dtype
    by_vector_unit = use_welford and rows % TILE == 0
    settings = Settings.of(compute_config, wide=dtype is DataType.F32 or by_vector_unit, approximate=True)
    division = _division(
        ctx.spec("input").layout,
        (batches, round_up(rows, TILE), channels),
        num_groups,
        settings,
        core_grid or chosen_grid((ctx.grid[1], ctx.grid[0]), channels, num_groups, batches * -(-rows // TILE), batches),
        -1 if core_grid is None else num_out_blocks or 1,
    )
    if division is None or (by_vector_unit and not settings.wide):
        attributes = {"num_groups": num_groups, "epsilon": epsilon}
        return otherwise(ctx, attributes)(input, input_mask=input_mask, weight=weight, bias=bias)
    x = torch.nn.functional.pad(loaded(input.reshape(batches, rows, channels)), (0, 0, 0, -rows % TILE))
    if by_vector_unit:
        result = _by_vector_unit(x, num_groups, epsilon, settings, dtype, division)
    else:
        norm = _GroupNorm(settings, dtype, division, sharded=ctx.spec("input").layout.is_sharded, rows=rows)
        groups = _Groups(num_groups, channels, division.columns)
        result = groups.joined(norm.normalized(groups.apart(x), groups.mask(x, rows), groups.size, epsilon))
    result = packed(settings.read(result), dtype)
    if weight is not None:
        result = packed(settings.multiply(result, by_channel(loaded(weight), channels)), dtype)
    if bias is not None:
        result = packed(settings.add(result, by_channel(loaded(bias), channels)), dtype)
    return packed(result, ctx.dtype)[:, :rows].reshape(input.shape).to(ctx.container)


def _division(
    layout: TensorLayout,
    shape: tuple[int, int, int],
    groups: int,
    settings: Settings,
    core_grid: Sequence[int] | None,
    num_blocks: int,
) -> _Division | None:
    """Returns how TT-NN divides a group norm; None where its cores do not fit.

    Args:
        layout: layout of the input.
        shape: batches, rows of a batch in whole tiles, and channels.
        groups: number of groups.
        settings: the compute config.
        core_grid: columns and rows of cores; None if no cores fit.
        num_blocks: number of blocks, or -1 where TT-NN chooses it.
    """
    batches, rows, channels = shape
    tiles = rows // TILE
    if layout.is_sharded:
        unit = TILE if layout.tiled else 1
        cores = max(1, rows // (layout.shard[0] * unit))
        return _Division(cores, min(channels, layout.shard[1] * unit), (tiles // cores,))
    across = virtual_columns(core_grid[0], groups, channels) if core_grid else 0
    if not core_grid or not across:
        return None
    down = core_grid[0] // across * core_grid[1]
    cores = 1 if batches > down else down // batches
    height = tiles // cores
    if num_blocks < 0:
        num_blocks = _chosen_blocks(rows * channels, across * down)
        width = _tiles_of_group(channels // across, channels // groups)
        if num_blocks == 1 and not settings.wide and height > 1 and height * width > _TILES_OF_ONE_SUM:
            num_blocks = 2
    if not 0 < num_blocks <= height:
        return None
    usual = height // num_blocks
    blocks = [usual] * num_blocks
    if height % num_blocks:
        rest = height - usual * num_blocks
        blocks += [usual] * (rest // usual) + [rest % usual]
    return _Division(cores, channels // across, tuple(blocks))


def _chosen_blocks(elements: int, cores: int) -> int:
    wanted = max(1, elements // (_ELEMENTS_OF_BLOCK * cores))
    return min(_MOST_BLOCKS, 1 << (wanted - 1).bit_length())


def _tiles_of_group(columns: int, size: int) -> int:
    """Returns the greatest number of tiles that a group of channels touches."""
    return max((start + size - 1) // TILE - start // TILE + 1 for start in range(0, columns, size))


@dataclass(frozen=True)
class _Groups:
    """The places of groups of channels in tiles.

    Attributes:
        count: number of groups.
        channels: number of channels.
        columns: channels of a core.
    """

    count: int
    channels: int
    columns: int

    @property
    def size(self) -> int:
        return self.channels // self.count

    @functools.cached_property
    def offsets(self) -> list[int]:
        """The column of each group in its first tile."""
        return [group * self.size % self.columns % TILE for group in range(self.count)]

    @property
    def width(self) -> int:
        return round_up(max(self.offsets) + self.size, TILE)

    def apart(self, x: Tensor) -> Tensor:
        """Returns ``[batches, groups, rows, columns]``: the tiles of each group, with zeros around it."""
        parts = x.split(self.size, 2)
        sides = [(offset, self.width - self.size - offset) for offset in self.offsets]
        return torch.stack([torch.nn.functional.pad(p, side) for p, side in zip(parts, sides, strict=True)], 1)

    def joined(self, x: Tensor) -> Tensor:
        """Returns ``[batches, rows, channels]`` of tiles of groups."""
        parts = [x[:, group, :, offset : offset + self.size] for group, offset in enumerate(self.offsets)]
        return torch.cat(parts, 2)

    def mask(self, x: Tensor, rows: int) -> Tensor:
        """Returns ones at the elements of each group, and zeros at those of other groups and of padding."""
        ones = torch.zeros_like(x[:1])
        ones[:, :rows] = 1
        return self.apart(ones)


@dataclass(frozen=True)
class _GroupNorm:
    """The kernel of a group norm.

    Attributes:
        settings: the compute config.
        between: type of the buffers between the steps.
        division: how the work is divided.
        sharded: whether the kernel is that of shards.
        rows: rows of a batch without padding.
    """

    settings: Settings
    between: DataType
    division: _Division
    sharded: bool
    rows: int

    def normalized(self, x: Tensor, mask: Tensor, size: int, epsilon: float) -> Tensor:
        """Returns the normalised elements of groups as the accumulator holds them.

        Args:
            x: ``[batches, groups, rows, columns]`` in whole tiles.
            mask: ones at the elements of the groups, to which ``x`` broadcasts.
            size: channels of a group.
            epsilon: the number that is added to the variance, of which TT-NN keeps 16 bits.
        """
        settings, between = self.settings, self.between
        masked = packed(settings.multiply(x, mask), between)
        mean = self._mean(masked, size, squared=False)
        centred = packed(settings.subtract(masked if self.sharded else x, mean), between)
        centred = packed(settings.multiply(centred, mask), between)
        variance = self._mean(centred, size, squared=True)
        constant = sfpu.stored(torch.full_like(variance, epsilon), wide=False)
        root = functions.rsqrt(settings.add(variance, constant), wide=settings.wide, approximate=settings.approximate)
        root = packed(sfpu.stored(root, wide=settings.wide), between)
        return packed(settings.multiply(centred, root), between)

    def _mean(self, x: Tensor, size: int, *, squared: bool) -> Tensor:
        """Returns the means of groups, or those of their squares, ``[batches, groups, 1, 1]``."""
        batches, groups, padded, width = x.shape
        cores = self.division.cores
        local = np.float32(padded // cores * size)
        if padded != self.rows:
            local = local * np.float32(self.rows) / np.float32(padded)
        scaler = self._scaler(local)
        parts = x.reshape(batches * groups, cores, -1, width).movedim(1, 0)
        scalars = [
            self._sum_of_shard(part, scaler, squared=squared)
            if self.sharded
            else self._sum_of_block(part, scaler, squared=squared)
            for block in self._blocks(parts)
            for part in block
        ]
        if self.sharded and cores == 1:
            return scalars[0].reshape(batches, groups, 1, 1)
        return self._joined(scalars, self._scaler(np.float32(cores))).reshape(batches, groups, 1, 1)

    def _blocks(self, parts: Tensor) -> Sequence[Tensor]:
        return parts.split([tiles * TILE for tiles in self.division.blocks], 2)

    def _scaler(self, count: np.float32) -> float:
        """Returns the factor of each of the two steps of a sum: the inverse of the root of a count.

        It has 16 bits unless the buffers hold float32, and always where tensors are in shards.
        """
        value = torch.tensor(float(np.float32(1) / np.sqrt(count)), device="cpu", dtype=torch.float32)
        return float(sfpu.stored(value, wide=self.between is DataType.F32 and not self.sharded))

    def _sum_of_block(self, x: Tensor, scaler: float, *, squared: bool) -> Tensor:
        if not x.shape[1]:
            return torch.zeros(x.shape[0], device=x.device, dtype=torch.float32)
        terms = packed(self.settings.multiply(x, x), self.between) if squared else x
        return packed(self._scalar(faces(terms), scaler), self.between)

    def _sum_of_shard(self, x: Tensor, scaler: float, *, squared: bool) -> Tensor:
        """Returns the sum of tiles, which the matrix unit first adds elementwise as products."""
        settings = self.settings
        total: Tensor | None = None
        for tile in faces(settings.read(x)).unbind(1):
            other = tile if squared else torch.ones_like(tile)
            total = matrix_unit.multiply(tile, other, phases=settings.phases, wide=settings.wide, start=total)
        assert total is not None
        return packed(self._scalar(packed(total, self.between).unsqueeze(1), scaler), self.between)

    def _scalar(self, tiles: Tensor, scaler: float) -> Tensor:
        return self.settings.sum_of_tiles(tiles, scaler, narrow=self.sharded and self.between is DataType.F32)

    def _joined(self, scalars: list[Tensor], scaler: float) -> Tensor:
        """Returns the sum of the scalars of cores and blocks, which lie in tiles with zeros between them."""
        step = _SLOT_BYTES // (4 if self.between is DataType.F32 else 2)
        slots = torch.zeros(
            scalars[0].shape[0],
            round_up(len(scalars) * step, TILE * TILE),
            device=scalars[0].device,
            dtype=torch.float32,
        )
        slots[:, : len(scalars) * step : step] = torch.stack(scalars, 1)
        tiles = slots.reshape(slots.shape[0], -1, TILE * TILE // FACE, FACE)
        return packed(self._scalar(tiles, scaler), self.between)


def _by_vector_unit(
    x: Tensor, groups: int, epsilon: float, settings: Settings, between: DataType, division: _Division
) -> Tensor:
    """Returns ``[batches, rows, channels]``, normalised by statistics of the vector unit.

    Its lanes have a row of each tile of a core. Their moments are joined, and then those of the cores.
    """
    batches, rows, channels = x.shape
    size, cores = channels // groups, division.cores
    parts = x.reshape(batches, cores, -1, TILE, groups, size).permute(0, 1, 4, 3, 2, 5)
    lanes = of_lanes(
        *moments(parts.reshape(batches * cores * groups, TILE, -1), sums=2 if division.columns == size else 1)
    )
    local = (lanes.mean, sfpu.multiply(lanes.squares, 1 / TILE))
    means, variances = (packed(each, between).reshape(batches, cores, groups).unbind(1) for each in local)
    join = _joined_float32 if between is DataType.F32 else _joined_bfloat16
    mean, variance = join(means, variances, rows // cores * size)
    constant = sfpu.stored(torch.full_like(variance, epsilon), wide=False)
    root = functions.rsqrt(settings.add(variance, constant), wide=True, approximate=settings.approximate)
    mean, root = (each.repeat_interleave(size, 1).unsqueeze(1) for each in (mean, packed(root, between)))
    if between is DataType.F32:
        result = sfpu.multiply(sfpu.add(x, -mean), root)
    else:
        result = packed(settings.multiply(packed(settings.subtract(x, mean), between), root), between)
    return packed(settings.multiply(result, torch.ones_like(result)), between)


def _joined_bfloat16(means: Sequence[Tensor], variances: Sequence[Tensor], count: int) -> tuple[Tensor, Tensor]:
    """Returns mean and variance of the elements of all cores, cut to bfloat16 (``combine_welford_stats``)."""
    first, cores = means[0], len(means)
    distances = [mean - first for mean in means[1:]]
    zero = torch.zeros_like(first)
    total, squares = sum(distances, zero), sum((each * each for each in distances), zero)
    inverse = float(np.float32(1) / np.float32(cores))
    middle = total * inverse
    variance = (sum(variances[1:], variances[0]) + (squares - total * middle)) * inverse
    return sfpu.stored(first + middle, wide=False), sfpu.stored(variance, wide=False)


def _joined_float32(means: Sequence[Tensor], variances: Sequence[Tensor], count: int) -> tuple[Tensor, Tensor]:
    """Returns mean and variance of the elements of all cores, each of which has ``count`` (``combine``)."""
    mean, variance, before = means[0], variances[0], np.float32(count)
    own = np.float32(count)
    for other, spread in zip(means[1:], variances[1:], strict=True):
        both = before + own
        distance = other - mean
        mean = mean + distance * float(own / both)
        squares = variance * float(before) + spread * float(own)
        variance = (squares + distance * distance * float(before * own / both)) / float(both)
        before = both
    return mean, variance
