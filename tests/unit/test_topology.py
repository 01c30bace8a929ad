"""Tests of meshes on the links of systems: neighbours are linked, rings close, and what does not fit is an error."""

from __future__ import annotations

import dataclasses
import itertools
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tt_xla.errors import MeshError
from tt_xla.ir.mesh import Mesh
from tt_xla.target import Arrangement, Link, MeshAxis, Target, arrange, load_target, system_names, topology


def with_links(pairs: list[tuple[int, int]], chips: int) -> Target:
    """Returns a p150 system with one channel between pairs of chips."""
    links = tuple(Link((min(pair), max(pair)), 1) for pair in pairs)
    numbers = tuple(range(chips))
    return dataclasses.replace(
        load_target("p150"), name="made", chips=chips, chip_numbers=numbers, host_chips=numbers, links=links
    )


def check(target: Target, arrangement: Arrangement) -> None:
    """Checks that different chips are at the positions, and that each axis has the links it says."""
    channels = {link.chips: link.channels for link in target.links}
    mesh = Mesh(arrangement.shape, tuple(f"x{axis}" for axis in range(len(arrangement.shape))))
    assert len(set(arrangement.chips)) == mesh.size
    assert set(arrangement.chips) <= set(range(target.chips))
    for number, axis in enumerate(arrangement.axes):
        assert axis.size == arrangement.shape[number]
        for group in mesh.groups([number]):
            chips = [arrangement.chips[position] for position in group]
            hops = list(itertools.pairwise([*chips, chips[0]] if axis.ring else chips))
            if axis.stride == 1:
                assert all(channels[min(hop), max(hop)] >= axis.links for hop in hops)


@pytest.mark.parametrize(
    ("system", "shape", "rings"),
    [
        ("n300", (2,), (False,)),
        ("n300", (1, 2), (False, False)),
        ("n300-llmbox", (1, 8), (False, True)),
        ("n300-llmbox", (8,), (True,)),
        ("n300-llmbox", (2, 4), (False, False)),
        ("n300-llmbox", (4, 2), (False, False)),
        ("p150x4", (1, 4), (False, True)),
        ("p150x4", (2, 2), (False, False)),
        ("p300x2", (2, 2), (False, False)),
        ("p150x8", (2, 4), (False, True)),
        ("p150x8", (1, 8), (False, True)),
        ("galaxy-wh-6u", (8, 4), (False, False)),
        ("galaxy-wh-6u", (1, 32), (False, True)),
        ("galaxy-bh", (8, 4), (True, True)),
        ("galaxy-bh", (4, 8), (True, True)),
        ("galaxy-bh", (32,), (True,)),
    ],
)
def test_meshes_of_all_chips(system: str, shape: tuple[int, ...], rings: tuple[bool, ...]) -> None:
    target = load_target(system)
    arrangement = arrange(target, shape)
    check(target, arrangement)
    assert tuple(axis.ring for axis in arrangement.axes) == rings


def test_links_of_an_axis_are_those_of_its_weakest_hop() -> None:
    box = load_target("n300-llmbox")
    assert arrange(box, (4,)) == Arrangement((4,), (0, 1, 2, 3), (MeshAxis(4, ring=True, links=2, stride=1),))
    assert arrange(box, (8,)).axes[0].links == 1
    assert arrange(load_target("p150x4"), (1, 4)).axes[1].links == 4


@pytest.mark.parametrize("system", system_names())
def test_one_chip(system: str) -> None:
    assert arrange(load_target(system), ()) == Arrangement((), (0,), ())
    assert arrange(load_target(system), (1, 1)).chips == (0,)


def test_three_axes_are_placed_directly_where_links_allow_it() -> None:
    cube = arrange(load_target("p150x8"), (2, 2, 2))
    assert [axis.stride for axis in cube.axes] == [1, 1, 1]
    check(load_target("p150x8"), cube)


def test_three_axes_are_folded_into_two_dimensions() -> None:
    galaxy = load_target("galaxy-bh")
    folded = arrange(galaxy, (2, 4, 4))
    assert folded.axes == (
        MeshAxis(2, ring=False, links=2, stride=4),
        MeshAxis(4, ring=False, links=2, stride=1),
        MeshAxis(4, ring=True, links=2, stride=1),
    )
    check(galaxy, folded)
    # Neighbours along the first axis are four chips of the ring of eight apart.
    assert arrange(galaxy, (8, 4)).chips == folded.chips


def test_the_outermost_folded_axis_goes_around_with_its_ring() -> None:
    torus = [(row * 8 + column, row * 8 + (column + 1) % 8) for row in range(2) for column in range(8)]
    target = with_links([*torus, *((column, 8 + column) for column in range(8))], 16)
    assert arrange(target, (2, 1, 4, 2)).axes == (
        MeshAxis(2, ring=False, links=1, stride=1),
        MeshAxis(1, ring=False, links=1, stride=1),
        MeshAxis(4, ring=True, links=1, stride=2),
        MeshAxis(2, ring=False, links=1, stride=1),
    )


def test_axes_that_are_parts_of_a_ring_are_folded_into_it() -> None:
    ring = with_links([(chip, (chip + 1) % 8) for chip in range(8)], 8)
    assert arrange(ring, (1, 8, 1)).axes[1].ring
    assert arrange(ring, (4, 2)).axes == (
        MeshAxis(4, ring=True, links=1, stride=2),
        MeshAxis(2, ring=False, links=1, stride=1),
    )
    assert [axis.stride for axis in arrange(load_target("galaxy-wh-6u"), (2, 16)).axes] == [16, 1]


def test_chosen_chips() -> None:
    box = load_target("n300-llmbox")
    assert set(arrange(box, (2, 2), chips=[7, 4, 3, 2]).chips) == {2, 3, 4, 7}
    assert arrange(box, (2,), chips=[6, 5, 6]).chips == (5, 6)


@pytest.mark.parametrize(
    ("system", "shape", "message"),
    [
        ("n300", (2, 4), r"A mesh of 2x4 needs 8 chips; n300 has 2 chips\. .*TTXLA_SYSTEM"),
        ("n150", (2,), r"A mesh of 2 needs 2 chips; n150 has 1 chip\."),
        ("n300", (0, 2), "A mesh of 0x2 is none: each axis has at least one chip"),
        ("p150x4:0,1", (2,), r"A mesh of 2 does not fit the links of p150x4:0,1\. .*no link between chips 0 and 1"),
        ("n300-llmbox:0,1,4", (3,), r"A mesh of 3 does not fit the links of n300-llmbox:0,1,4\."),
    ],
)
def test_meshes_that_do_not_fit(system: str, shape: tuple[int, ...], message: str) -> None:
    with pytest.raises(MeshError, match=message):
        arrange(load_target(system), shape)


@pytest.mark.parametrize(
    ("chips", "message"),
    [
        ([0, 1], r"among its chips 0, 1\. For one, there is no link between chips 0 and 1\. Links are: 0-2, 0-3"),
        ([0], "A mesh of 2 needs 2 chips; 1 chip of p150x4 may be used"),
        ([0, 4], "is to use chip 4; p150x4 has chips 0 to 3"),
    ],
)
def test_chosen_chips_that_do_not_fit(chips: list[int], message: str) -> None:
    with pytest.raises(MeshError, match=message):
        arrange(load_target("p150x4"), (2,), chips=chips)


def test_a_missing_link_leaves_a_line() -> None:
    assert not arrange(with_links([(0, 1), (1, 2), (2, 3)], 4), (4,)).axes[0].ring
    with pytest.raises(MeshError, match="no link between chips 1 and 2"):
        arrange(with_links([(0, 1), (2, 3)], 4), (4,))


def test_large_systems_do_not_take_forever(monkeypatch: pytest.MonkeyPatch) -> None:
    """The search for a mesh that many links nearly allow gives up after a number of attempts."""
    chips = 64
    ladder = [(chip, chip + step) for chip in range(chips) for step in (1, 2, 3) if chip + step < chips]
    everything = with_links(list(itertools.combinations(range(256), 2)), 256)
    assert [axis.ring for axis in arrange(everything, (16, 16)).axes] == [True, True]
    counted: list[int] = []
    searched = topology._Search.placed

    def counting(self: topology._Search, *arguments: Any) -> tuple[int, ...] | None:
        found = searched(self, *arguments)
        counted.append(self.left)
        return found

    monkeypatch.setattr(topology._Search, "placed", counting)
    arrange(with_links(ladder, chips), (8, 8))
    assert counted == sorted(counted, reverse=True)
    assert all(
        before - after < topology._CANDIDATES + chips**2 + chips for before, after in itertools.pairwise(counted)
    )


@given(st.data())
def test_any_links_give_an_arrangement_or_an_error(data: st.DataObject) -> None:
    chips = data.draw(st.integers(1, 10))
    every_pair = list(itertools.combinations(range(chips), 2))
    pairs = data.draw(st.lists(st.sampled_from(every_pair), unique=True)) if every_pair else []
    shape = tuple(data.draw(st.lists(st.integers(1, 4), max_size=3)))
    target = with_links(pairs, chips)
    try:
        arrangement = arrange(target, shape)
    except MeshError:
        if len(pairs) == len(every_pair):  # every mesh that the chips fill fits where all chips are linked
            assert math.prod(shape) > chips
    else:
        check(target, arrangement)
