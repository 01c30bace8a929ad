"""Golden prices of the ops of ``tests/data/measured``: predicted time, roofline, and memory that a kernel needs.

The measured times judge how good the cost model is (``test_cost.py``); these texts show what a change of it changes.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.measured import Measurement, Unpriced, price, read
from tests.golden import Goldens
from tt_xla.cost import instruction_cost
from tt_xla.cost.circular_buffers import circular_buffer_bytes
from tt_xla.cost.model import has_rule
from tt_xla.cost.roofline import dram_bytes, operations, roofline
from tt_xla.ir.layout import BufferType, DataType, MemoryLayout, TensorLayout
from tt_xla.ir.program import Instruction, TensorSpec
from tt_xla.ir.program_text import cost_text, number
from tt_xla.runtime.emulator.registry import kernels
from tt_xla.target import load_target

pytestmark = pytest.mark.quick

FILES = {path.stem: path for path in sorted((Path(__file__).parents[1] / "data" / "measured").glob("*.csv"))}


def line_of(row: Measurement | Unpriced) -> str:
    _, unpriced = price([row])
    if isinstance(row, Unpriced) or unpriced:
        return f"{row.line} {row.label}: {unpriced[0].reason}"
    step, values, target = row.instruction, row.values, row.target
    roof = roofline(step, values, target, row.mesh)
    configured = "matmul_program_config" in step.attributes  # the file does not tell all of a configuration
    buffers = "" if configured else f"; buffers {circular_buffer_bytes(step, values, target)} B"
    return (
        f"{row.line} {row.label}: {cost_text(instruction_cost(step, values, target, row.mesh))}; "
        f"roofline {number(roof.us)} us of {roof.roof}, {number(operations(step, values))} operations, "
        f"{number(dram_bytes(step, values))} B{buffers}"
    )


def product(result: MemoryLayout, grid: tuple[int, int]) -> str:
    """Returns the price of a product whose left operand is sharded by rows, with a result in L1."""
    sharded = TensorLayout.of(
        (2048, 512), DataType.BF16, buffer=BufferType.L1, memory=MemoryLayout.HEIGHT_SHARDED, grid=(64, 1)
    )
    out = TensorLayout.of((2048, 512), DataType.BF16, buffer=BufferType.L1, memory=result, grid=grid)
    shapes, layouts = ((2048, 512), (512, 512), (2048, 512)), (sharded, TensorLayout.of((512, 512), DataType.BF16), out)
    config = {"config": "multi_cast_1d", "in0_block_w": 16, "per_core_m": 1, "per_core_n": 16}
    step = Instruction("ttnn.matmul", {"a": 0, "b": 1}, (2,), {"matmul_program_config": config})
    specs = [TensorSpec(*each) for each in zip(shapes, layouts, strict=True)]
    return cost_text(instruction_cost(step, specs, load_target("n150")))


def test_prices_of_products_of_sharded_rows(goldens: Goldens) -> None:
    """A result whose columns are split too is not computed in turns."""
    goldens.check_all(
        "prices/products",
        {
            "rows to rows": product(MemoryLayout.HEIGHT_SHARDED, (64, 1)),
            "rows to blocks": product(MemoryLayout.BLOCK_SHARDED, (8, 8)),
        },
    )


@pytest.mark.parametrize("name", FILES)
def test_prices(name: str, goldens: Goldens) -> None:
    goldens.check_all(f"prices/{name}", {name: map(line_of, read(FILES[name], "n150"))})


def test_ops_with_a_rule(goldens: Goldens) -> None:
    """Others are priced as a copy, and reports say so."""
    ops = sorted(kernels())
    with_rule = [op for op in ops if has_rule(op)]
    texts = {"with a rule": with_rule, "as a copy": [op for op in ops if op not in with_rule]}
    goldens.check_all("prices/rules", texts)


def test_every_golden_price_has_measurements(goldens: Goldens) -> None:
    goldens.has_files("prices", [*FILES, "products", "rules"])
