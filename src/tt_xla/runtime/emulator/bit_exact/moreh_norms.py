"""The layer norm and the group norm of moreh as TT-NN's kernels compute them.

A core adds the tiles of a row or of a group elementwise, and then the elements of that sum. Sources: TT-NN 0.81's
``moreh_layer_norm_small_kernel.cpp`` and the program factories of both.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch

from tt_xla.ir.element_types import DataType
from tt_xla.ir.layout import TILE
from tt_xla.runtime.emulator.bit_exact import functions
from tt_xla.runtime.emulator.bit_exact import vector_unit as sfpu
from tt_xla.runtime.emulator.bit_exact.native import product
from tt_xla.runtime.emulator.bit_exact.registers import packed
from tt_xla.runtime.emulator.bit_exact.settings import Config, Settings, faces
from tt_xla.runtime.emulator.context import Context
from tt_xla.runtime.emulator.registry import kernel

Tensor = torch.Tensor


@kernel("ttnn.moreh_layer_norm", bit_exact=True)
def moreh_layer_norm(
    ctx: Context,
    input: Tensor,
    normalized_dims: int,
    eps: float = 1e-5,
    gamma: Tensor | None = None,
    beta: Tensor | None = None,
    compute_kernel_config: Config = None,
) -> tuple[Tensor, ...]:
    """Normalises over the last dimensions."""
    dtype = ctx.spec("input").layout.dtype
    settings = Settings.of(compute_kernel_config, wide=False, approximate=True)
    sizes = input.shape[input.ndim - normalized_dims :]
    outer = input.shape[: input.ndim - normalized_dims]
    if normalized_dims == 1:
        x, scaler = input.reshape(-1, 1, 1, sizes[-1]), np.float32(1) / np.float32(sizes[-1])
    else:
        x = input.reshape(math.prod(outer), -1, *sizes[-2:])
        scaler = np.float32(1) / np.sqrt(np.float32(math.prod(sizes)))
    norm = _MorehNorm(settings, DataType.F32 if settings.wide else dtype, dtype, by_rows=normalized_dims == 1)
    parameters = [None if each is None else each.reshape(1, *x.shape[1:]) for each in (gamma, beta)]
    result, *statistics = norm.normalized(x, float(scaler), eps, *parameters)
    return _delivered(ctx, [result.reshape(input.shape), *statistics])


@kernel("ttnn.moreh_group_norm", bit_exact=True)
def moreh_group_norm(
    ctx: Context,
    input: Tensor,
    num_groups: int,
    eps: float = 1e-5,
    gamma: Tensor | None = None,
    beta: Tensor | None = None,
    compute_kernel_config: Config = None,
) -> tuple[Tensor, ...]:
    """Normalises groups of channels; the buffers between the steps have the input's type."""
    dtype = ctx.spec("input").layout.dtype
    settings = Settings.of(compute_kernel_config, wide=False, approximate=True)
    batches, channels, *matrix = input.shape
    x = input.reshape(batches * num_groups, -1, *matrix)
    tiles = [np.float32(channels) / np.float32(num_groups), *(np.float32(size) / np.float32(TILE) for size in matrix)]
    scaler = np.float32(1) / (np.float32(TILE) * np.sqrt(tiles[0] * tiles[1] * tiles[2]))
    parameters = [
        None if each is None else each.reshape(1, num_groups, -1).repeat(batches, 1, 1).reshape(*x.shape[:2], 1, 1)
        for each in (gamma, beta)
    ]
    norm = _MorehNorm(settings, dtype, dtype, by_rows=False)
    result, *statistics = norm.normalized(x, float(scaler), eps, *parameters)
    return _delivered(ctx, [result.reshape(input.shape), *statistics])


def _delivered(ctx: Context, results: list[Tensor]) -> tuple[Tensor, ...]:
    return tuple(each.reshape(spec.shape).to(ctx.container) for each, spec in zip(results, ctx.results, strict=False))


@dataclass(frozen=True)
class _MorehNorm:
    """The kernel of both norms.

    Attributes:
        settings: the compute config.
        between: type of the buffers between the steps.
        dtype: type of the tensors, of the scaler and of epsilon.
        by_rows: whether rows are normalised, rather than all tiles together.
    """

    settings: Settings
    between: DataType
    dtype: DataType
    by_rows: bool

    def normalized(
        self, x: Tensor, scaler: float, epsilon: float, gamma: Tensor | None, beta: Tensor | None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Returns the normalised matrices, their means and the inverses of their standard deviations.

        Args:
            x: ``[norms, matrices, rows, columns]``, all elements of the first dimension each by themselves.
            scaler: factor of the sum of rows, or of each of the two steps of a sum of tiles.
            epsilon: the number that is added to a variance.
            gamma: factors, to which ``x`` broadcasts.
            beta: what is added.
        """
        settings = self.settings
        x = x.to(torch.float32)
        mean = self._mean(self._copied(x), scaler)
        centred = self._kept(settings.subtract(x, mean))
        variance = self._mean(self._kept(settings.multiply(centred, centred)), scaler)
        constant = sfpu.stored(torch.full_like(variance, epsilon), wide=self.dtype is DataType.F32)
        root = functions.rsqrt(settings.add(variance, constant), wide=settings.wide, approximate=settings.approximate)
        root = self._kept(sfpu.stored(root, wide=settings.wide))
        result = settings.multiply(centred, root)
        if gamma is not None:
            result = settings.multiply(self._kept(result), gamma.to(torch.float32))
        if beta is not None:
            result = settings.add(self._kept(result), beta.to(torch.float32))
        mean, root = (packed(settings.read(each), self.dtype) for each in (mean, root))
        return packed(result, self.dtype), mean, root

    def _kept(self, accumulator: Tensor) -> Tensor:
        return packed(accumulator, self.between)

    def _copied(self, x: Tensor) -> Tensor:
        """Returns elements that pass a source register and the accumulator."""
        return self._kept(self.settings.read(x))

    def _mean(self, x: Tensor, scaler: float) -> Tensor:
        """Returns means, ``[norms, 1, 1 or rows, 1]``: tiles are added one after another, then the sum's elements."""
        norms, _, rows, columns = x.shape
        x = torch.nn.functional.pad(x, (0, -columns % TILE, 0, 0 if self.by_rows else -rows % TILE))
        if self.by_rows:
            terms = list(x.split(TILE, -1))
        else:
            tiles = faces(x.reshape(-1, *x.shape[-2:])).reshape(norms, -1, TILE * TILE // 16, 16)
            terms = list(tiles.unbind(1))
        total = self._copied(terms[0])
        for term in terms[1:]:
            total = self._kept(self.settings.add(total, term))
        factor = sfpu.stored(
            torch.full((1,), scaler, device=x.device, dtype=torch.float32), wide=self.dtype is DataType.F32
        )
        if not self.by_rows:
            narrow = self.between is not self.dtype
            sums = self.settings.sum_of_tiles(total.unsqueeze(1), float(factor), narrow=narrow)
            return self._kept(sums.reshape(-1, 1, 1, 1))
        factors = self.settings.read(factor).expand(TILE, 1)
        sums = product(
            self.settings.read(total.reshape(-1, TILE)), factors, phases=self.settings.phases, wide=self.settings.wide
        )
        return self._kept(sums.reshape(norms, 1, rows, 1))
