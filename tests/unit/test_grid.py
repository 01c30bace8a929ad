"""Chips that hold the same shard, chips of workers, cores of a group norm, and links in words."""

from __future__ import annotations

import pytest

from tt_xla.ir.mesh import Mesh
from tt_xla.ir.program import Instruction
from tt_xla.spmd.collectives import group_axes, written_value
from tt_xla.spmd.grid import NO_AXES, Grid, shares, union
from tt_xla.target import Link
from tt_xla.target.group_norm_cores import chosen_grid, virtual_columns
from tt_xla.target.mesh_axis import MeshAxis, chips_text, describe_axis, links_text, shape_text

pytestmark = pytest.mark.quick

MESH = Mesh((2, 1, 3), ("a", "b", "c"))
A, C = frozenset({0}), frozenset({2})


def test_representatives_of_shards() -> None:
    grid = Grid(MESH)
    assert grid.axes == {0, 2}
    assert [grid.representative(C, position) for position in range(6)] == [0, 1, 2, 0, 1, 2]
    assert [grid.representatives(axes) for axes in (NO_AXES, A, C, A | C)] == [[0], [0, 3], [0, 1, 2], [*range(6)]]
    assert grid.key(A, 4) == (1,)
    assert (grid.members(4, (0,)), grid.members(4, (2, 0))) == ([1, 4], [0, 3, 1, 4, 2, 5])
    assert (grid.moved(4, {0: 0, 2: 2}), grid.along(4, [2, 0])) == (2, {2: 1, 0: 1})
    assert [grid.is_last(A, position, A | C) for position in range(6)] == [False, False, True, False, False, True]
    assert union([A, C, A]) == {0, 2}


def test_shards_of_workers() -> None:
    first = Grid(MESH, [[2, 1, 0], [5, 4, 3]])
    second = first.of(1)
    assert (first.own, second.own, [*first.workers]) == ([0, 1, 2], [3, 4, 5], [0, 1])
    assert (first.of(0), second.of(0).own, [first.owner(position) for position in (2, 3)]) == (first, [0, 1, 2], [0, 1])
    assert second.representative(C, 1) == 4
    assert (second.holds(C, 1), second.holds(A, 1)) == (True, False)
    assert (second.missing(A, [0, 3, 1]), second.missing(A | C, [2, 0])) == ([1], [0, 2])


def test_a_part_of_a_grid() -> None:
    grid = Grid(MESH, [[0, 1, 2], [3, 4, 5]], 1)
    assert grid.narrowed({}) is grid
    assert grid.narrowed({0: 1}) is grid.narrowed({0: 1})
    assert (grid.narrowed({0: 1}).own, grid.narrowed({0: 0}).own, grid.narrowed({2: 2}).own) == ([0, 1, 2], [], [3])


@pytest.mark.parametrize(
    ("shape", "workers", "expected"),
    [
        ((4, 2), 2, [[0, 1, 2, 3], [4, 5, 6, 7]]),
        ((4, 1), 3, [[0], [1], [2, 3]]),
        ((2, 3), 2, [[0, 1, 2], [3, 4, 5]]),
        ((2, 3), 3, [[0, 1, 2], [3], [4, 5]]),
        ((2, 2), 9, [[0], [1], [2], [3]]),
        ((2, 2), 1, [[0, 1, 2, 3]]),
    ],
)
def test_boxes_of_workers(shape: tuple[int, int], workers: int, expected: list[list[int]]) -> None:
    assert shares(Mesh(shape, ("a", "b")), workers) == expected


def test_groups_and_written_values() -> None:
    def instruction(results: tuple[int, ...] = (), op: str = "ttnn.copy", **operands: int) -> Instruction:
        return Instruction(op, operands, results, {})

    assert group_axes(Instruction("ttnn.all_gather", {}, (), {"cluster_axis": 0}), MESH) == (0,)
    assert group_axes(Instruction("ttnn.all_gather", {}, (), {}), MESH) == (0, 1, 2)
    assert written_value(instruction(src=4, dst=5)) == 5
    assert written_value(instruction(input=4, cache=6)) == 6
    assert written_value(instruction((7,), src=4, dst=5)) is None
    assert written_value(instruction(op="ttnn.deallocate", dst=4)) is None
    assert written_value(instruction(input=4)) is None


@pytest.mark.parametrize(
    ("columns", "groups", "channels", "expected"),
    [(8, 32, 320, 2), (8, 4, 256, 4), (3, 4, 256, 2), (8, 3, 96, 3), (8, 2, 33, 0), (8, 1, 32, 1), (4, 4, 160, 1)],
)
def test_columns_of_cores_that_share_groups(columns: int, groups: int, channels: int, expected: int) -> None:
    assert virtual_columns(columns, groups, channels) == expected


@pytest.mark.parametrize(
    ("cores", "channels", "groups", "tiles", "batches", "expected"),
    [
        ((8, 8), 256, 4, 8, 1, (8, 4)),
        ((8, 8), 256, 4, 6, 1, (8, 3)),
        ((7, 2), 128, 2, 4, 1, (4, 2)),
        ((8, 8), 64, 2, 6, 3, (6, 2)),
        ((4, 4), 40, 2, 4, 1, None),
    ],
)
def test_cores_of_a_group_norm(
    cores: tuple[int, int], channels: int, groups: int, tiles: int, batches: int, expected: tuple[int, int] | None
) -> None:
    assert chosen_grid(cores, channels, groups, tiles, batches) == expected


@pytest.mark.parametrize(
    ("axis", "text"),
    [
        (MeshAxis(4, True, 2, 1), "ring of 4 chips with 2 x 100 Gbit/s"),
        (MeshAxis(1, False, 1, 1), "line of 1 chip with 1 x 100 Gbit/s"),
        (MeshAxis(2, False, 1, 3), "line of 2 chips, 3 chips apart with 1 x 100 Gbit/s"),
        (
            MeshAxis(2, False, 1, 3, routes=4),
            "line of 2 chips, neighbours up to 3 links apart, 4 of their ways over one link with 1 x 100 Gbit/s",
        ),
    ],
)
def test_axes_in_words(axis: MeshAxis, text: str) -> None:
    assert describe_axis(axis, 12.5e9) == text
    assert axis.sharing == (4 if axis.routes else axis.stride)


def test_chips_and_links_in_words() -> None:
    assert [chips_text(1), chips_text(2), shape_text((2, 4)), shape_text(())] == [
        "1 chip",
        "2 chips",
        "2x4",
        "one chip",
    ]
    assert [links_text((Link((0, 1), 2), Link((0, 2), 1))), links_text(())] == ["0-1, 0-2", "none"]
