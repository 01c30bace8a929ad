"""Tests of meshes on the links of systems: neighbours are linked, rings close, and what does not fit is an error."""

from __future__ import annotations

import dataclasses
import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tt_xla.errors import MeshError
from tt_xla.ir.mesh import Mesh
from tt_xla.target import (
    Arrangement,
    Link,
    MeshAxis,
    Target,
    arrange,
    bound_devices,
    device_chips,
    load_target,
    natural_shape,
    system_names,
    topology,
)
from tt_xla.target.mesh_axis import describe_axis

pytestmark = pytest.mark.quick


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


def test_devices_count_along_the_natural_mesh() -> None:
    """Devices that are neighbours in a row of the natural mesh are linked, whatever their chips' numbers are."""
    box = load_target("n300-llmbox")
    assert natural_shape(box, 8) == (2, 4)
    assert device_chips(box) == arrange(box, (2, 4)).chips == (4, 3, 0, 6, 7, 2, 1, 5)
    row = arrange(box, (4,), devices=[4, 5, 6, 7])
    assert row.chips == (7, 2, 1, 5)
    assert row.axes == (MeshAxis(4, ring=False, links=1, stride=1),)
    assert row.axes[0].narrowest == (1, 5)


def test_chosen_devices_with_links() -> None:
    box = load_target("n300-llmbox")
    assert arrange(box, (2, 2), devices=[5, 6, 1, 2]).axes == (
        MeshAxis(2, ring=False, links=2, stride=1),
        MeshAxis(2, ring=False, links=2, stride=1),
    )
    assert arrange(box, (4,), devices=[1, 2, 6, 5]).axes == (MeshAxis(4, ring=True, links=2, stride=1),)


def test_neighbours_without_a_link_exchange_over_other_chips() -> None:
    box = load_target("n300-llmbox")
    (axis,) = arrange(box, (2,), devices=[0, 3]).axes  # chips 4 and 6: 4-3-0-6, or 4-7-2-1-5...
    assert (axis.stride, axis.routes, axis.ring, axis.links) == (3, 1, False, 1)
    # Two pairs on one line: both ways cross the link in the middle.
    line = with_links([(chip, chip + 1) for chip in range(4)], 5)
    pairs = arrange(line, (2, 2), devices=[0, 2, 1, 3]).axes[1]
    assert (pairs.stride, pairs.routes, pairs.sharing, pairs.narrowest) == (2, 2, 2, (1, 2))
    assert describe_axis(pairs, 12.5e9) == (
        "line of 2 chips, neighbours up to 2 links apart, 2 of their ways over one link with 1 x 100 Gbit/s"
    )


def test_the_busiest_link_counts_its_channels() -> None:
    links = (Link((0, 1), 4), Link((1, 2), 1), Link((1, 3), 4))
    star = dataclasses.replace(with_links([], 4), links=links)
    (axis,) = arrange(star, (3,), devices=[0, 3, 2]).axes
    assert (axis.links, axis.routes, axis.narrowest) == (1, 1, (1, 2))


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
    ("system", "devices", "message"),
    [
        (
            "n300-llmbox:0,1,4",
            [2, 0],
            r"chips 0 and 2 of n300-llmbox:0,1,4 as neighbours, and no links .*Links are: 0-1\. .*TT_VISIBLE",
        ),
        ("p150x4", [1], r"A mesh of 2 has 2 chips; got devices \[1\]"),
        ("p150x4", [1, 1], r"A mesh of 2 has 2 chips; got devices \[1, 1\]"),
        ("p150x4", [0, 4], "is to use device 4; p150x4 has devices 0 to 3"),
    ],
)
def test_chosen_devices_that_do_not_fit(system: str, devices: list[int], message: str) -> None:
    with pytest.raises(MeshError, match=message):
        arrange(load_target(system), (2,), devices=devices)


def test_a_mesh_that_the_links_do_not_place_is_bound_to_the_first_devices() -> None:
    star = load_target("n300-llmbox:0,1,3,6")
    with pytest.raises(MeshError, match="does not fit the links"):
        arrange(star, (4,))
    assert bound_devices(star, (4,)) == bound_devices(star, (4,), range(4)) == (0, 1, 2, 3)
    assert bound_devices(star, (2, 2), [1, 0, 2, 3]) == (1, 0, 2, 3)
    assert bound_devices(star, (3,)) == ()  # chips 1, 0 and 2 are a line
    assert bound_devices(load_target("n300-llmbox"), (2, 4), range(8)) == ()


@pytest.mark.parametrize(
    ("system", "devices", "message"),
    [
        ("p150x4:0,1", (0, 1), "A mesh of 2 does not fit the links of p150x4:0,1"),
        ("n300-llmbox", (0,), "A mesh of 2 has 2 chips; got devices"),
    ],
)
def test_devices_in_order_without_a_way_between_them(system: str, devices: tuple[int, ...], message: str) -> None:
    with pytest.raises(MeshError, match=message):
        bound_devices(load_target(system), (2,), devices)


def test_a_missing_link_leaves_a_line() -> None:
    assert not arrange(with_links([(0, 1), (1, 2), (2, 3)], 4), (4,)).axes[0].ring
    with pytest.raises(MeshError, match="no link between chips 1 and 2"):
        arrange(with_links([(0, 1), (2, 3)], 4), (4,))


def test_large_systems_do_not_take_forever() -> None:
    """The search for a mesh that many links nearly allow gives up after a number of attempts."""
    chips = 64
    ladder = [(chip, chip + step) for chip in range(chips) for step in (1, 2, 3) if chip + step < chips]
    everything = with_links(list(itertools.combinations(range(256), 2)), 256)
    assert [axis.ring for axis in arrange(everything, (16, 16)).axes] == [True, True]
    channels: topology.Channels = {chip: {} for chip in range(chips)}
    for first, second in ladder:
        channels[first][second] = channels[second][first] = 1
    search = topology.Search(channels)
    considered: list[int] = []
    for rings in itertools.product((True, False), repeat=2):
        before = search.left
        search.placed((8, 8), rings, 1)
        considered.append(before - search.left)
    assert topology.CANDIDATES < max(considered) < topology.CANDIDATES + chips**2 + chips


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
