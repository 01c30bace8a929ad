"""Tests of the program config and fidelity that TT-NN chooses for products."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tt_xla.ttnn_api.chosen_programs import of_grid
from tt_xla.ttnn_api.plan import Operand

pytestmark = pytest.mark.quick

ROWS, INNER, COLUMNS = 64, 256, 96


def operands(ttnn: Any, device: Any, *shapes: tuple[int, ...], dtype: str = "bfloat16") -> list[Any]:
    generator = torch.Generator().manual_seed(3)
    options = {"dtype": getattr(ttnn, dtype), "layout": ttnn.TILE_LAYOUT, "device": device}
    return [ttnn.from_torch(torch.randn(shape, generator=generator), **options) for shape in shapes]


def configured(ttnn: Any, fidelity: str) -> Any:
    return ttnn.WormholeComputeKernelConfig(math_fidelity=getattr(ttnn.MathFidelity, fidelity), fp32_dest_acc_en=True)


@pytest.mark.parametrize(
    ("dtype", "on_grid", "fidelity"),
    [
        ("bfloat16", False, "HiFi2"),
        ("bfloat16", True, "LoFi"),
        ("bfloat8_b", False, "LoFi"),
        ("float32", False, "HiFi4"),
        ("float32", True, "HiFi4"),
    ],
)
def test_the_fidelity_follows_operands_and_grid(
    ttnn: Any, device: Any, dtype: str, on_grid: bool, fidelity: str
) -> None:
    a, b = operands(ttnn, device, (ROWS, INNER), (INNER, COLUMNS), dtype=dtype)
    keywords = {"core_grid": ttnn.CoreGrid(y=2, x=2)} if on_grid else {}
    results = {
        name: ttnn.to_torch(ttnn.linear(a, b, compute_kernel_config=configured(ttnn, name)))
        for name in ("LoFi", "HiFi2", "HiFi4")
    }
    chosen = ttnn.to_torch(ttnn.linear(a, b, **keywords))
    assert torch.equal(chosen, results[fidelity])
    other = "HiFi4" if fidelity != "HiFi4" else "HiFi2"
    assert not torch.equal(chosen, results[other])


def test_a_grid_fuses_the_function_which_is_applied_once(
    ttnn: Any, device: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TTXLA_NUMERICS", "bit_exact")
    a, b = operands(ttnn, device, (ROWS, INNER), (INNER, COLUMNS))
    fields = {"in0_block_w": 4, "out_subblock_h": 1, "out_subblock_w": 1, "per_core_M": 1, "per_core_N": 2}
    config = ttnn.MatmulMultiCoreReuseMultiCastProgramConfig(
        compute_with_storage_grid_size=ttnn.CoreCoord(2, 2),
        transpose_mcast=False,
        fused_activation=ttnn.UnaryWithParam(ttnn.UnaryOpType.SILU),
        **fields,
    )
    named = ttnn.to_torch(ttnn.linear(a, b, program_config=config))
    chosen = ttnn.to_torch(ttnn.linear(a, b, activation="silu", core_grid=ttnn.CoreGrid(y=2, x=2)))
    assert torch.equal(named, chosen)
    loosely = configured(ttnn, "LoFi")
    product = ttnn.to_torch(ttnn.linear(a, b, compute_kernel_config=loosely)).float()
    once = torch.nn.functional.silu(product)
    assert (chosen - once).abs().mean() < 0.7 * (chosen - torch.nn.functional.silu(once)).abs().mean()


def blocks(ttnn: Any, device: Any, a: tuple[int, ...], b: tuple[int, ...], grid: tuple[int, int]) -> dict[str, Any]:
    """Returns the program config of a product on a grid of rows and columns."""
    left, right = operands(ttnn, device, a, b)
    pair = [Operand(place, tensor.type, device) for place, tensor in enumerate((left, right))]
    return of_grid(ttnn.CoreGrid(y=grid[0], x=grid[1]), pair[0], pair[1], (a, b), None)


def test_blocks_follow_the_shape(ttnn: Any, device: Any) -> None:
    square = blocks(ttnn, device, (128, 256), (256, 128), (2, 2))
    assert square == {
        "config": "multi_cast",
        "compute_with_storage_grid_size": [2, 2],
        "in0_block_w": 4,
        "per_core_m": 2,
        "per_core_n": 2,
    }
    assert blocks(ttnn, device, (64, 224), (224, 96), (2, 2))["in0_block_w"] == 1
    row = blocks(ttnn, device, (32, 512), (512, 128), (2, 2))
    assert (row["config"], row["in0_block_w"], row["mcast_in0"]) == ("multi_cast_1d", 4, True)
    batched = blocks(ttnn, device, (2, 64, 160), (2, 160, 96), (2, 2))
    assert (batched["config"], batched["in0_block_w"]) == ("reuse", 1)
    large = blocks(ttnn, device, (128, 256), (256, 128), (40, 40))
    assert large["compute_with_storage_grid_size"] != [40, 40]


def test_a_function_after_batched_weights_is_refused(ttnn: Any, device: Any) -> None:
    a, b = operands(ttnn, device, (2, 64, 64), (2, 64, 64))
    with pytest.raises(RuntimeError, match="Cannot use activation with batched input b"):
        ttnn.matmul(a, b, activation="gelu", core_grid=ttnn.CoreGrid(y=2, x=2))


@pytest.mark.parametrize("grid", [(2, 2), (0, 0)])
def test_vectors_and_empty_grids_are_multiplied(ttnn: Any, device: Any, grid: tuple[int, int]) -> None:
    vector, matrix = operands(ttnn, device, (64,), (64, 64))
    cores = ttnn.CoreGrid(y=grid[0], x=grid[1])
    assert ttnn.matmul(matrix, matrix, core_grid=cores).shape == [64, 64]
    assert ttnn.matmul(vector, matrix, core_grid=cores).shape == [64]


def test_fewer_cores_take_longer(ttnn: Any, device: Any) -> None:
    a, b = operands(ttnn, device, (512, 512), (512, 512))
    times: list[float] = []
    for side in (1, 8):
        before = device.predicted_us
        ttnn.linear(a, b, core_grid=ttnn.CoreGrid(y=side, x=side))
        times.append(device.predicted_us - before)
    assert times[0] > 4 * times[1]
