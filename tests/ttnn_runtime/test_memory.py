"""Calls with changing sizes leave the memory of both processes, and what they share, where it was."""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import torch

from tests.ttnn_runtime.test_runtime import loaded
from tt_xla.runtime import lifetimes

if TYPE_CHECKING:
    from tests.ttnn_runtime.conftest import StandIn

SUM = """func.func public @main(%x: tensor<{rows}x32xf32>) -> tensor<{rows}x32xf32> {{
  %0 = stablehlo.add %x, %x : tensor<{rows}x32xf32>
  return %0 : tensor<{rows}x32xf32>
}}"""
ROWS = (4, 32, 100, 1000, 5000)
MANY_ROWS = 600_000
"""Rows of an argument of 77 MB, which is more than what stays of shared memory, or on the device, between runs."""

MB = 1 << 20


def resident_bytes(pid: int) -> int:
    """Returns the memory that a process has for itself."""
    rollup = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return sum(1024 * int(line.split()[1]) for line in rollup if line.startswith(("Private_Dirty", "Private_Clean")))


def shared_bytes(pid: int) -> int:
    """Returns the memory that a worker shares with this process."""
    files = [path for path in Path(f"/proc/{pid}/fd").iterdir() if "tt-xla-ttnn" in str(path.readlink())]
    sizes = {status.st_ino: status.st_blocks * 512 for status in map(os.stat, files)}
    return sum(sizes.values())


@pytest.mark.parametrize("calls", [200, pytest.param(10_000, marks=pytest.mark.stress)])
def test_calls_with_changing_sizes_leave_memory_where_it_was(stand_in: StandIn, calls: int) -> None:
    programs = {rows: loaded(SUM.format(rows=rows)) for rows in (*ROWS, MANY_ROWS)}
    draw = random.Random(0)

    def call(rows: int) -> None:
        x = torch.full((rows, 32), float(rows))
        version = lifetimes.new_version() if draw.random() < 0.5 else None
        (kept,) = programs[rows].run_keeping([x], [version])
        (again,) = programs[rows].run_keeping([kept], [None])
        if version is not None:
            lifetimes.ended(version)
        if draw.random() < 0.1 or rows == MANY_ROWS:
            assert torch.equal(again.read(), 4 * x)

    def memory() -> list[int]:
        call(ROWS[0])
        pid = programs[ROWS[0]].worker.pid
        assert pid is not None
        return [resident_bytes(os.getpid()), resident_bytes(pid), shared_bytes(pid)]

    for rows in (*ROWS, MANY_ROWS, *ROWS * 6):
        call(rows)
    before = memory()
    for _ in range(calls):
        call(MANY_ROWS if draw.random() < 0.005 else draw.choice(ROWS))
    after = memory()
    assert after[0] - before[0] < 24 * MB
    assert after[1] - before[1] < 24 * MB
    assert after[2] <= 17 * MB
