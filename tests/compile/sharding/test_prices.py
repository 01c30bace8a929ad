"""Golden numbers of elements that a chip receives when the sharding of a [32, 16] tensor on 4 x 2 x 4 chips changes."""

from __future__ import annotations

import pytest

from tt_xla.compiler.sharding.reshard import axes_before, moved_elements
from tt_xla.ir.mesh import Mesh, Sharding

MESH = Mesh((4, 2, 4), ("x", "y", "z"))
Dims = tuple[tuple[int, ...], ...]


@pytest.mark.parametrize(
    ("old", "new", "elements"),
    [
        (((0,), ()), ((0,), ()), 0),
        (((0,), ()), ((2,), ()), 8 * 16),  # chips exchange their shards
        (((), ()), ((0,), ()), 0),  # each chip drops what it has too much of
        (((0,), ()), ((0, 1), ()), 0),
        (((0,), ()), ((), ()), 4 * 8 * 16),  # gathered
        (((0, 1), ()), ((0,), ()), 2 * 4 * 16),
        (((0, 1), ()), ((1,), ()), 4 * 16 + 4 * 4 * 16),  # y comes to the front, and x is gathered
        (((0,), ()), ((), (0,)), 8 * 16),  # all_to_all
        (((0,), (1,)), ((), (0,)), 8 * 8 + 2 * 8 * 8),  # and gathered along y
    ],
)
def test_elements_that_a_chip_receives(old: Dims, new: Dims, elements: int) -> None:
    assert moved_elements(MESH, (32, 16), Sharding(old), Sharding(new)) == elements


def test_axes_before_others() -> None:
    assert axes_before((2, 0, 1), {0, 1}) == (2,)
    assert axes_before((2, 0, 1), {3}) == (2, 0, 1)
    assert axes_before((2, 0, 1), {2}) == ()
