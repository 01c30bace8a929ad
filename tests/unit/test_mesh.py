"""Tests of meshes and shardings as plain values."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tt_xla.ir.mesh import Mesh, Sharding, replicated

pytestmark = pytest.mark.quick

SHAPES = st.lists(st.integers(1, 4), min_size=1, max_size=3).map(tuple)


def mesh_of(shape: tuple[int, ...]) -> Mesh:
    return Mesh(shape, tuple("xyz"[: len(shape)]))


@given(SHAPES)
def test_positions_and_coordinates_are_row_major(shape: tuple[int, ...]) -> None:
    mesh = mesh_of(shape)
    assert mesh.size == math.prod(shape)
    for position in range(mesh.size):
        assert mesh.coordinates(position) == tuple(map(int, np.unravel_index(position, shape)))
        assert mesh.position(mesh.coordinates(position)) == position


def test_groups_differ_in_the_given_axes_only_and_the_last_axis_varies_fastest() -> None:
    mesh = mesh_of((2, 3))
    assert mesh.groups((1,)) == [[0, 1, 2], [3, 4, 5]]
    assert mesh.groups((0,)) == [[0, 3], [1, 4], [2, 5]]
    assert mesh.groups((1, 0)) == [[0, 3, 1, 4, 2, 5]]
    assert mesh.groups(()) == [[position] for position in range(6)]


@given(SHAPES, st.data())
def test_regions_of_the_chips_cover_a_tensor(shape: tuple[int, ...], data: st.DataObject) -> None:
    mesh = mesh_of(shape)
    order = data.draw(st.permutations(range(len(shape))))
    cut = data.draw(st.integers(0, len(order)))
    sharding = Sharding((tuple(order[:cut]), tuple(order[cut:]), ()))
    tensor_shape = tuple(data.draw(st.lists(st.integers(1, 13), min_size=3, max_size=3)))
    counts = np.zeros(tensor_shape, dtype=int)
    for position in range(mesh.size):
        region = sharding.region(mesh, tensor_shape, position)
        counts[region] += 1
        local = sharding.local_shape(mesh, tensor_shape)
        assert all(part.stop - part.start <= size for part, size in zip(region, local, strict=True))
    assert (counts == 1).all()  # every axis splits a dimension, so no element is on two chips


def test_the_major_axis_of_a_dimension_selects_the_larger_blocks() -> None:
    mesh = mesh_of((2, 2))
    sharding = Sharding(((1, 0),))
    assert [sharding.region(mesh, (8,), position)[0].start for position in range(4)] == [0, 4, 2, 6]


def test_a_replicated_tensor_is_whole_on_each_chip() -> None:
    mesh = mesh_of((2, 2))
    sharding = replicated(2)
    assert sharding.is_replicated
    assert sharding.axes == frozenset()
    assert sharding.region(mesh, (3, 5), 3) == (slice(0, 3), slice(0, 5))
