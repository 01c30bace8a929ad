"""Tests of the roofline: operations, bytes and links of an op, and what bounds it."""

from __future__ import annotations

from typing import Any

import pytest

from tt_xla.cost import instruction_cost
from tt_xla.cost.roofline import LABELS, bound, dram_bytes, operations, peak_operations, roofline
from tt_xla.ir.layout import BufferType, DataType, TensorLayout
from tt_xla.ir.mesh import Mesh
from tt_xla.ir.program import Cost, Instruction, Operand, TensorSpec
from tt_xla.target import arrange, load_target

pytestmark = pytest.mark.quick

N150 = load_target("n150")
BOX = load_target("n300-llmbox")


def spec(*shape: int, dtype: DataType = DataType.BF16, **place: Any) -> TensorSpec:
    return TensorSpec(shape, TensorLayout.of(shape, dtype, **place))


def op(name: str, specs: list[TensorSpec], **attributes: Any) -> tuple[Instruction, list[TensorSpec]]:
    """Returns an op whose result is the last of ``specs``."""
    operands: dict[str, Operand] = {f"operand{number}": number for number in range(len(specs) - 1)}
    return Instruction(f"ttnn.{name}", operands, (len(specs) - 1,), attributes), specs


@pytest.mark.parametrize(("fidelity", "passes"), [("lofi", 1), ("hifi2", 2), ("hifi4", 4)])
def test_a_large_product_needs_its_operations_at_the_peak_of_its_fidelity(fidelity: str, passes: int) -> None:
    size = 4096
    product = op("matmul", [spec(size, size)] * 3, compute_config={"math_fidelity": fidelity})
    least = roofline(*product, N150, None)
    assert least.compute_us == pytest.approx(2 * size**3 / (64 * 2048 * 2 / passes * 1e9) * 1e6)
    assert least.dram_us == pytest.approx(3 * size * size * 2 / 288e9 * 1e6)
    assert (least.us, least.roof) == (least.compute_us, "compute")
    assert least.us < instruction_cost(*product, N150).total_us


def test_padding_to_tiles_counts_as_distance() -> None:
    """A row of 32 users needs as much as 32 rows of one user, though its tiles are 32 times as many."""
    folded = roofline(*op("matmul", [spec(32, 4096), spec(4096, 4096), spec(32, 4096)]), N150, None)
    padded = roofline(*op("matmul", [spec(32, 1, 4096), spec(4096, 4096), spec(32, 1, 4096)]), N150, None)
    assert padded == folded
    assert folded.roof == "DRAM"


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (op("matmul", [spec(64, 8), spec(64, 96), spec(8, 96)], transpose_a=True), 2 * 8 * 96 * 64),
        (
            op("conv2d", [spec(1, 1, 64, 32), spec(1, 1, 72, 16), spec(1, 1, 64, 16)], groups=4, kernel_size=[3, 3]),
            2 * 64 * 9 * 8 * 16,
        ),
        (
            op("conv_transpose2d", [spec(1, 1, 64, 32), spec(1, 1, 128, 16), spec(1, 1, 256, 16)], kernel_size=[2, 2]),
            2 * 64 * 4 * 32 * 16,
        ),
        (op("scaled_dot_product_attention", [spec(1, 4, 128, 64)] * 4), 2 * 4 * 128 * 128 * 128),
        (
            op("scaled_dot_product_attention", [spec(1, 4, 128, 64)] * 4, is_causal=True),
            2 * 4 * (128 * 129 / 2) * 128,
        ),
        (
            op(
                "scaled_dot_product_attention_decode",
                [spec(1, 32, 8, 64), spec(32, 2, 256, 64), spec(32, 2, 256, 64), spec(1, 32, 8, 64)],
            ),
            2 * 32 * 8 * 256 * 128,
        ),
        (op("add", [spec(5, 7), spec(5, 7), spec(5, 7)]), 35),
        (op("all_gather", [spec(5, 7), spec(10, 7)]), 0),
    ],
)
def test_operations(made: tuple[Instruction, list[TensorSpec]], expected: float) -> None:
    assert operations(*made) == expected


def test_bytes_of_tensors_outside_dram_and_of_parts_that_stay_do_not_count() -> None:
    in_l1 = spec(64, 64, buffer=BufferType.L1)
    assert dram_bytes(*op("relu", [in_l1, spec(64, 64)])) == 64 * 64 * 2
    assert dram_bytes(*op("relu", [spec(64, 64, dtype=DataType.BFP_BF8), in_l1])) == 64 * 64 * 1088 / 1024
    assert dram_bytes(*op("slice_static", [spec(1024, 64), spec(32, 64)])) == 2 * 32 * 64 * 2
    assert dram_bytes(*op("embedding", [spec(1, 8, dtype=DataType.U32), spec(32000, 64), spec(1, 8, 64)])) == (
        8 * 4 + 2 * 8 * 64 * 2
    )
    cache, new = spec(32, 8, 1024, 64), spec(1, 32, 8, 64)
    assert dram_bytes(*op("paged_update_cache", [cache, new, cache])) == 2 * 32 * 8 * 64 * 2
    squared = Instruction("ttnn.multiply", {"a": 0, "b": 0}, (1,), {})
    assert dram_bytes(squared, [spec(64, 64), in_l1]) == 64 * 64 * 2


def test_an_exchange_needs_its_bytes_at_the_line_rate_of_its_links() -> None:
    mesh = Mesh((2, 4), ("x", "y"))
    exchange = op("all_gather", [spec(512, 1024), spec(2048, 1024)], cluster_axis=1, all_gather_dim=0)
    least = roofline(*exchange, BOX, mesh)
    axis = arrange(BOX, mesh.shape, mesh.devices).axes[1]
    rate = 12.5e9 * axis.links * (2 if axis.ring else 1)
    assert least.link_us == pytest.approx(3 / 4 * 2048 * 1024 * 2 / rate * 1e6)
    assert (least.us, least.roof) == (least.link_us, "links")
    cost = instruction_cost(*exchange, BOX, mesh)
    assert least.us < cost.total_us
    assert bound(cost) == "links"


def test_transfers_have_no_roofline_and_are_bound_by_pcie() -> None:
    host = spec(64, 64, buffer=BufferType.SYSTEM_MEMORY, memory=None)
    transfer = op("to_device", [host, spec(64, 64)])
    assert roofline(*transfer, N150, None).us == 0.0
    large = op("to_device", [spec(4096, 4096, buffer=BufferType.SYSTEM_MEMORY, memory=None), spec(4096, 4096)])
    assert bound(instruction_cost(*large, N150)) == "PCIe"


def test_the_gap_to_the_next_op_counts_as_dispatch() -> None:
    cost = Cost(5.0, compute_us=3.5, dram_us=2.0, launch_us=1.5, cores=64)
    assert bound(cost) == "compute"
    assert bound(cost, gap_us=4.8) == "dispatch"
    assert bound(Cost()) == ""
    assert set(LABELS.values()) == {"compute", "DRAM", "NoC", "dispatch", "links"}


def test_the_peak_is_that_of_all_cores() -> None:
    assert peak_operations(N150, "hifi4") == pytest.approx(65.5e12, rel=0.001)  # TFLOP/s of tt-metal's GEMM_FLOPS
