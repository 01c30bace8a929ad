"""The compute config of a kernel, and the steps of the matrix unit with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from tt_xla.ir.element_types import DataType
from tt_xla.ir.layout import FACE, TILE
from tt_xla.runtime.emulator.bit_exact import matrix_unit
from tt_xla.runtime.emulator.bit_exact.native import product
from tt_xla.runtime.emulator.bit_exact.registers import source

Tensor = torch.Tensor
Config = Mapping[str, Any] | None

_HIFI4 = 4


@dataclass(frozen=True)
class Settings:
    """The fields of a compute config, or TT-NN's default for an op."""

    phases: int
    wide: bool
    approximate: bool
    narrow: DataType = DataType.BF16
    """Type of the buffers between the steps where the accumulator has 16 bits."""

    @classmethod
    def of(cls, config: Config, *, wide: bool, approximate: bool) -> Settings:
        given = {name: value for name, value in (config or {}).items() if value is not None}
        if not given:
            return cls(_HIFI4, wide, approximate)
        return cls(
            matrix_unit.PHASES[str(given.get("math_fidelity", "hifi4")).lower()],
            bool(given.get("fp32_dest_acc_en", True)),
            bool(given.get("math_approx_mode", False)),
        )

    @property
    def between(self) -> DataType:
        """Type of the buffers between the steps."""
        return DataType.F32 if self.wide else self.narrow

    def read(self, x: Tensor) -> Tensor:
        """Returns the source registers' values of a buffer."""
        return source(x, wide=self.wide)

    def sum_of_rows(self, x: Tensor) -> Tensor:
        """Returns the sums along the last dimension as the accumulator holds them, ``[rows, 1]``."""
        ones = torch.ones(x.shape[-1], 1, device=x.device, dtype=torch.float32)
        return product(self.read(x), ones, phases=self.phases, wide=self.wide)

    def largest(self, x: Tensor, dim: int) -> Tensor:
        """Returns the largest numbers along a dimension, of size 1, as the accumulator holds them.

        Before the kernel subtracts them, the matrix unit adds zeros to them, which makes infinities of NaN: to turn a
        row of them into a column, or to copy a tile.
        """
        found = matrix_unit.largest(self.read(x), dim)
        return matrix_unit.add(found, torch.zeros_like(found), wide=self.wide)

    def sum_of_columns(self, x: Tensor, scaler: float = 1.0, start: Tensor | None = None) -> Tensor:
        """Returns ``start`` and the sums of columns by a scaler as the accumulator holds them, ``[1, columns]``.

        All phases of the rows of a face come before those of the next.
        """
        total = start
        for rows in self.read(x).split(FACE):
            weights = self.read(torch.full((1, rows.shape[0]), scaler, device=x.device, dtype=torch.float32))
            total = product(weights, rows.contiguous(), total, phases=self.phases, wide=self.wide)
        assert total is not None
        return total

    def sum_of_tiles(self, tiles: Tensor, scaler: float, *, narrow: bool = False) -> Tensor:
        """Returns the sums of tiles as the accumulator holds them: the columns of the faces of a tile, then their sums.

        Args:
            tiles: ``[sums, tiles, rows of the four faces, columns of a face]``.
            scaler: factor of both steps.
            narrow: whether tiles are float32 and the scaler is bfloat16: then the sums of columns are cut to bfloat16.
        """
        total: Tensor | None = None
        for tile in tiles.unbind(1):
            columns = self.sum_of_columns(tile.movedim(1, 0).reshape(tile.shape[1], -1), scaler)
            columns = source(columns, wide=not narrow)
            total = self.sum_of_columns(columns.reshape(-1, FACE).T, scaler, total)
        assert total is not None
        return total.squeeze(0)

    def accumulated(self, x: Tensor, dim: int) -> Tensor:
        """Returns the sum along an outer dimension, whose tiles the accumulator adds one after another."""
        total: Tensor | None = None
        for term in x.split(1, dim):
            total = matrix_unit.add_to(total, self.read(term), wide=self.wide)
        assert total is not None
        return total

    def scaled_sum_of_rows(self, x: Tensor, scale: float, start: Tensor | None = None) -> Tensor:
        """Returns ``start`` and the sums along the last dimension by a scale, which TT-NN rounds to bfloat16."""
        scales = (
            torch.full((x.shape[-1], 1), scale, device=x.device, dtype=torch.float32)
            .to(torch.bfloat16)
            .to(torch.float32)
        )
        return product(self.read(x), scales, start, phases=self.phases, wide=self.wide)

    def chained(self, terms: Sequence[Tensor], scale: float) -> Tensor:
        """Returns the sum of columns by a scale, which the accumulator adds one after another."""
        total: Tensor | None = None
        for term in terms:
            total = self.scaled_sum_of_rows(term, scale, total)
        assert total is not None
        return total

    def multiply(self, a: Tensor, b: Tensor) -> Tensor:
        """Returns a product of the matrix unit, as the accumulator holds it."""
        return matrix_unit.multiply(self.read(a), self.read(b), phases=self.phases, wide=self.wide)

    def add(self, a: Tensor, b: Tensor) -> Tensor:
        """Returns a sum of the matrix unit, as the accumulator holds it."""
        return matrix_unit.add(self.read(a), self.read(b), wide=self.wide)

    def subtract(self, a: Tensor, b: Tensor) -> Tensor:
        """Returns a difference of the matrix unit, as the accumulator holds it."""
        return matrix_unit.add(self.read(a), -self.read(b), wide=self.wide)


def faces(x: Tensor) -> Tensor:
    """Returns the tiles of ``[matrices, rows, columns]``, row by row, each as the rows of its four faces."""
    count, rows, columns = x.shape
    tiles = x.reshape(count, rows // TILE, 2, FACE, columns // TILE, 2, FACE)
    return tiles.permute(0, 1, 4, 2, 5, 3, 6).reshape(count, -1, TILE * TILE // FACE, FACE)
