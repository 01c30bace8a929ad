"""Cores in the order in which TT-NN lists them."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.quick


def places(cores: Any) -> list[tuple[int, int]]:
    return [(core.x, core.y) for core in cores]


@pytest.mark.parametrize(
    ("row_wise", "between", "first"),
    [
        (True, [(1, 2), (2, 2), (1, 3), (2, 3)], [(0, 0), (1, 0), (2, 0), (3, 0), (0, 1)]),
        (False, [(1, 2), (1, 3), (2, 2), (2, 3)], [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0)]),
    ],
)
def test_cores_of_a_grid(ttnn: Any, row_wise: bool, between: list[Any], first: list[Any]) -> None:
    corners = ttnn.CoreCoord(1, 2), ttnn.CoreCoord(2, 3)
    assert places(ttnn.grid_to_cores(start=corners[0], end=corners[1], row_wise=row_wise)) == between
    assert places(ttnn.grid_to_cores(5, 4, 2, row_wise)) == first
    ranges = ttnn.CoreRangeSet({ttnn.CoreRange(*corners)})
    assert places(ttnn.corerange_to_cores(ranges, 3, row_wise)) == between[:3]


def test_neither_number_nor_corners_is_an_error(ttnn: Any) -> None:
    with pytest.raises(TypeError, match=r"grid_to_cores\(start: CoreCoord, end: CoreCoord, row_wise: bool=False\)"):
        ttnn.grid_to_cores(start=ttnn.CoreCoord(0, 0))
