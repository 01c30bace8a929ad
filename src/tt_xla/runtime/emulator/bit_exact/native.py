"""The matrix unit's product in C++, with the bits of :mod:`.matrix_unit` and a hundred times its speed."""

from __future__ import annotations

import torch

from tt_xla.runtime.emulator.bit_exact import matrix_unit
from tt_xla.runtime.emulator.library import library

Tensor = torch.Tensor

_COLUMNS = 16
"""Columns of the result that the C++ computes side by side."""


def product(a: Tensor, b: Tensor, start: Tensor | None = None, *, phases: int, wide: bool) -> Tensor:
    """Computes :func:`matrix_unit.product`, by C++ where there is a compiler."""
    compiled = library()
    if compiled is None:
        return matrix_unit.product(a, b, start, phases=phases, wide=wide)
    rows, columns = a.shape[0], b.shape[1]
    inner, side = -a.shape[1] % matrix_unit.TILE, -columns % _COLUMNS
    a = torch.nn.functional.pad(a, (0, inner)).contiguous()
    b = torch.nn.functional.pad(b, (0, side, 0, inner)).contiguous()
    result = torch.zeros(rows, columns + side, device="cpu", dtype=torch.float32)
    if start is not None:
        result[:, :columns] = start
    sizes = torch.tensor([rows, a.shape[1], columns + side, phases, wide], dtype=torch.int64, device="cpu")
    compiled.matrix_unit(a, b, result, sizes)
    return result[:, :columns]
