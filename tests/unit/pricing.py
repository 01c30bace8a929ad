"""A chip of 3 x 4 cores with the figures of an n150, and helpers of the tests whose prices are worked out by hand."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from tt_xla.cost import instruction_cost
from tt_xla.cost.rates import rates_of
from tt_xla.ir.layout import BufferType, DataType, MemoryLayout, TensorLayout
from tt_xla.ir.program import Cost, Instruction, TensorSpec
from tt_xla.target import load_target

CHIP = dataclasses.replace(load_target("n150"), grid=(3, 4))
R = rates_of(CHIP)
PAGE = 2048
"""Bytes of a tile of bfloat16."""


def spec(shape: tuple[int, ...], dtype: DataType = DataType.BF16, **place: Any) -> TensorSpec:
    return TensorSpec(shape, TensorLayout.of(shape, dtype, **place))


def sharded(shape: tuple[int, ...], grid: tuple[int, int], dtype: DataType = DataType.BF16, **more: Any) -> TensorSpec:
    memory = (
        MemoryLayout.HEIGHT_SHARDED
        if grid[1] == 1
        else MemoryLayout.WIDTH_SHARDED
        if grid[0] == 1
        else MemoryLayout.BLOCK_SHARDED
    )
    return spec(shape, dtype, buffer=BufferType.L1, memory=memory, grid=grid, **more)


def price(op: str, inputs: Sequence[TensorSpec], output: TensorSpec, **attributes: Any) -> Cost:
    operands = {f"operand{number}": number for number in range(len(inputs))}
    instruction = Instruction(f"ttnn.{op}", operands, (len(inputs),), attributes)
    return instruction_cost(instruction, [*inputs, output], CHIP)


def expect(
    cost: Cost, *, cores: int, compute: float = 0.0, dram: float = 0.0, noc: float = 0.0, launches: int = 1
) -> None:
    """Compares a price with that of a program whose parts overlap: the longest of them, and the launch."""
    launch = launches * (R.launch + cores * R.launch_core)
    total = launch + max(compute, dram, noc)
    assert msgspec.structs.astuple(cost) == pytest.approx((total, compute, dram, noc, launch, cores, 0.0))
