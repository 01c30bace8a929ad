"""Groups of chips as axes of a mesh."""

from __future__ import annotations

import itertools
import random

import pytest

from tt_xla.compiler import meshes
from tt_xla.ir.mesh import Mesh

pytestmark = pytest.mark.quick

CUBE = Mesh((2, 3, 4), ("a", "b", "c"))


@pytest.mark.parametrize("axes", [axes for count in (1, 2, 3) for axes in itertools.permutations(range(3), count)])
def test_the_groups_of_axes_are_recognised_in_any_order_of_groups(axes: tuple[int, ...]) -> None:
    groups = CUBE.groups(axes)
    random.Random(0).shuffle(groups)
    assert meshes.axes_of(CUBE, groups) == meshes.GroupAxes(axes)


def test_groups_of_one_chip_are_no_axis() -> None:
    assert meshes.axes_of(CUBE, [[position] for position in range(24)]) == meshes.GroupAxes(())


def test_members_in_an_order_of_their_own() -> None:
    groups = [[group[2], group[0], group[1]] for group in CUBE.groups([1])]
    assert meshes.axes_of(CUBE, groups) == meshes.GroupAxes((1,), (2, 0, 1))


def test_groups_that_order_their_members_differently_are_no_axes() -> None:
    first, *others = CUBE.groups([2])
    assert meshes.axes_of(CUBE, [first[::-1], *others]) is None


@pytest.mark.parametrize("group", [[0, 1], [0, 5], [0, 1, 2, 3, 4, 5]])
def test_parts_of_axes_and_mixtures_are_no_axes(group: list[int]) -> None:
    groups = [[position + start for position in group] for start in range(0, 24, max(group) + 1)]
    assert meshes.axes_of(CUBE, groups) is None


@pytest.mark.parametrize(
    ("shape", "groups", "expected"),
    [
        ((8,), [[0, 1], [2, 3], [4, 5], [6, 7]], (4, 2)),
        ((8,), [[0, 4], [1, 5], [2, 6], [3, 7]], (2, 4)),
        ((8,), [[0, 2], [1, 3], [4, 6], [5, 7]], (2, 2, 2)),
        ((8,), [[5, 1, 4, 0], [2, 3, 6, 7]], (2, 2, 2)),
        ((2, 4), [[0, 1], [2, 3], [4, 5], [6, 7]], (2, 2, 2)),
        ((2, 4), [[0, 1, 4, 5], [2, 3, 6, 7]], (2, 2, 2)),
        ((4, 2), [[0, 1, 2, 3], [4, 5, 6, 7]], (2, 2, 2)),
    ],
)
def test_a_mesh_is_split_so_that_groups_become_axes(
    shape: tuple[int, ...], groups: list[list[int]], expected: tuple[int, ...]
) -> None:
    mesh = Mesh(shape, tuple("xyz"[: len(shape)]))
    refined = meshes.split(mesh, groups)
    assert refined is not None
    assert refined.shape == expected
    assert meshes.axes_of(refined, [sorted(group) for group in groups]) is not None
    parts = meshes.parts_of(mesh, refined)
    assert [axis for axes in parts for axis in axes] == list(range(len(expected)))
    for axis, axes in enumerate(parts):
        assert mesh.groups([axis]) == refined.groups(axes)


@pytest.mark.parametrize("groups", [[[0, 1], [2, 4], [3, 5], [6, 7]], [[0, 3], [1, 2], [4, 7], [5, 6]]])
def test_groups_that_no_split_makes_to_axes(groups: list[list[int]]) -> None:
    assert meshes.split(Mesh((8,), ("x",)), groups) is None


def test_axes_of_size_one_stay() -> None:
    mesh = Mesh((1, 4, 1), ("a", "b", "c"))
    refined = meshes.split(mesh, [[0, 1], [2, 3]])
    assert refined == Mesh((1, 2, 2, 1), ("a", "b_0", "b_1", "c"))
    assert meshes.parts_of(mesh, refined) == [(0,), (1, 2), (3,)]
