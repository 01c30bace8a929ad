"""Steps that the kernels of attention share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch

from tt_xla.ir.element_types import DataType
from tt_xla.runtime.emulator.bit_exact import functions, matrix_unit
from tt_xla.runtime.emulator.bit_exact import vector_unit as sfpu

Tensor = torch.Tensor

CHUNK = 32
"""Queries and keys of a chunk where the call has no program config, as in all programs of ours."""
BETWEEN = DataType.BF16
"""Type of the buffers between the steps."""


@dataclass(frozen=True)
class Config:
    phases: int
    wide: bool
    approximate: bool

    @classmethod
    def of(cls, config: Mapping[str, Any] | None) -> Config:
        """Reads a compute config; without one TT-NN takes HiFi2 with a 16-bit accumulator and approximations."""
        given = {name: value for name, value in (config or {}).items() if value is not None}
        return cls(
            matrix_unit.PHASES[str(given.get("math_fidelity", "hifi2")).lower()],
            bool(given.get("fp32_dest_acc_en", False)),
            bool(given.get("math_approx_mode", True)),
        )


def difference(a: Tensor, b: Tensor, *, wide: bool) -> Tensor:
    return matrix_unit.add(a, -b, wide=wide)


def first_column(distance: Tensor, factor: float, config: Config) -> Tensor:
    """Returns exponentials of differences of maxima, whose scale the kernel cuts to bfloat16."""
    scale = float(sfpu.stored(torch.tensor(factor, device="cpu", dtype=torch.float32), wide=False))
    return sfpu.stored(functions.exponential(distance, wide=config.wide, scale=scale), wide=config.wide)
