"""Sums between chips: order and rounding of tt-metal's reduce_scatter and all_reduce."""

from __future__ import annotations

import pytest
import torch

BF16 = torch.bfloat16
ONE, HALF_ULP = 1.0, 2.0**-8
"""In bfloat16, one half ULP of 1 is lost when it is added to 1, and two of them together are not."""


def shards(*values: float, shape: tuple[int, ...] = (1, 1)) -> list[torch.Tensor]:
    return [torch.full(shape, value, dtype=BF16) for value in values]


def scattered(run_op, values: list[float], place: int, **attributes) -> float:
    """Returns the part of the chip at ``place``; each chip holds one value everywhere."""
    count = len(values)
    parts = run_op(
        "ttnn.reduce_scatter",
        {"input": shards(*values, shape=(count, 1))},
        [(1, 1)] * count,
        reduce_type="sum",
        scatter_dim=0,
        cluster_axis=0,
        **attributes,
    )
    return parts[place].item()


def test_a_line_adds_from_the_first_chip_then_from_the_last(run_op):
    # Chip 0 has no chain from lower positions: (1 + 1/2) + 1/2, with the chain of chips 3, 2, 1 added at once.
    assert scattered(run_op, [ONE, HALF_ULP, HALF_ULP, 0.0], 0) == ONE + 2 * HALF_ULP
    # On chip 2, the chain of chips 0 and 1 has lost the half ULP before; with its own one lost again.
    assert scattered(run_op, [ONE, HALF_ULP, HALF_ULP, 0.0], 2) == ONE
    # On chip 3 the chain of chips 0, 1, 2 has rounded three times.
    assert scattered(run_op, [ONE, HALF_ULP, HALF_ULP, HALF_ULP], 3) == ONE
    # On chip 1, its own part is added to that of chip 0, and then the chain of chips 3 and 2.
    assert scattered(run_op, [ONE, HALF_ULP, HALF_ULP, HALF_ULP], 1) == ONE + 2 * HALF_ULP


def test_a_ring_adds_three_terms_in_one_step(run_op):
    # Chip 1 of four: chips 3, 0 in one chain, chip 2 in the other, which is not rounded before its own part is added.
    values = [ONE, HALF_ULP, HALF_ULP, 0.0]
    assert scattered(run_op, values, 1, topology="ring") == ONE + 2 * HALF_ULP
    assert scattered(run_op, values, 1, topology="linear") == ONE
    # An odd number of chips: one chip in each chain.
    assert scattered(run_op, [ONE, HALF_ULP, HALF_ULP], 1, topology="ring") == ONE + 2 * HALF_ULP


def test_exact_numerics_round_once(run_op):
    values = [ONE, HALF_ULP, HALF_ULP, 0.0]
    assert scattered(run_op, values, 2, numerics="exact") == ONE + 2 * HALF_ULP


def reduced(run_op, values, shape, **attributes) -> torch.Tensor:
    operands = {"input": shards(*values, shape=shape)}
    return run_op("ttnn.all_reduce", operands, shape, reduce_type="sum", cluster_axis=0, **attributes)


def test_all_reduce_has_the_parts_of_reduce_scatter_where_a_dimension_divides(run_op):
    values = [ONE, HALF_ULP, HALF_ULP, 0.0]
    total = reduced(run_op, values, (32, 128))
    for place, columns in enumerate(torch.chunk(total, 4, 1)):
        assert columns.unique().tolist() == [scattered(run_op, values, place)]
    assert len(total.unique()) == 2
    # No dimension has a multiple of four tiles, so all tensors are gathered and added at once.
    assert reduced(run_op, values, (32, 96)).unique().tolist() == [ONE + 2 * HALF_ULP]
    # Outer dimensions count in elements, and the last one that divides is taken.
    assert len(reduced(run_op, values, (4, 32, 32)).unique()) == 2


@pytest.mark.parametrize("dtype", [torch.int32, torch.float32])
def test_a_mean_divides_the_sum(run_op, dtype):
    operands = {"input": [torch.full((2, 2), value, dtype=dtype) for value in (1, 2, 6)]}
    label = {torch.int32: "si32", torch.float32: "f32"}[dtype]
    mean = run_op("ttnn.all_reduce", operands, (2, 2), label, reduce_type="mean", cluster_axis=0)
    assert mean.unique().tolist() == [3]


def test_other_reductions_are_refused(run_op):
    with pytest.raises(ValueError, match="it reduces by 'std'; expected sum, mean, max, min, prod"):
        run_op("ttnn.all_reduce", {"input": shards(1.0, 2.0)}, (1, 1), reduce_type="std", cluster_axis=0)
