"""Places the chips of a system on a mesh, so that neighbours in the mesh are linked.

A mesh is placed directly if all neighbours along each axis can be linked. Otherwise neighbouring axes are folded,
row-major, into one physical dimension, as few of them as possible.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import math
from collections.abc import Iterator, Sequence

from tt_xla.errors import MeshError
from tt_xla.target.mesh_axis import Arrangement, MeshAxis, chips_text, links_text, shape_text
from tt_xla.target.routes import routed
from tt_xla.target.target import Link, Target


def arrange(target: Target, shape: Sequence[int], devices: Sequence[int] = ()) -> Arrangement:
    """Returns the chip at each position of a mesh, with as many rings and channels as the links allow.

    Args:
        target: the system.
        shape: number of chips along each axis of the mesh.
        devices: number of the device at each position, where the user chose them. Neighbours without a link then
            exchange over other chips. By default any chips are used, and neighbours are linked.

    Raises:
        MeshError: the system has too few chips, lacks a link, or has no way between two of the chosen chips.
    """
    shape = tuple(shape)
    _check(target, shape, devices)
    if devices:
        numbers = device_chips(target)
        return routed(target, shape, tuple(numbers[device] for device in devices))
    arrangement = _arranged(target.links, shape, tuple(range(target.chips)))
    if arrangement is None:
        raise _missing_link(target, shape)
    return arrangement


def bound_devices(target: Target, shape: Sequence[int], devices: Sequence[int] = ()) -> tuple[int, ...]:
    """Returns the devices that a mesh is bound to; none where the system chooses chips for it.

    The system chooses chips for a mesh of its first devices in order. If its links allow no such mesh, as where
    TT_VISIBLE_DEVICES left a star of chips, the mesh is bound to these devices, whose packets take ways over others.

    Args:
        target: the system.
        shape: number of chips along each axis of the mesh.
        devices: number of the device at each position; by default the first ones, in order.

    Raises:
        MeshError: the devices do not fill the mesh, the system has too few chips, or there are no ways between them.
    """
    shape = tuple(shape)
    first = tuple(range(math.prod(shape)))
    if devices and tuple(devices) != first:
        arrange(target, shape, devices)
        return tuple(devices)
    _check(target, shape, first)
    try:
        arrange(target, shape)
    except MeshError:
        with contextlib.suppress(MeshError):
            arrange(target, shape, first)
            return first
        raise
    return ()


def natural_shape(target: Target, chips: int) -> tuple[int, int]:
    """Returns the rows and columns of a mesh of some chips, the nearest to a square that the links allow."""
    for rows in range(math.isqrt(chips), 1, -1):
        if chips % rows == 0:
            with contextlib.suppress(MeshError):
                arrange(target, (rows, chips // rows))
                return rows, chips // rows
    return 1, chips


@functools.lru_cache(maxsize=64)
def device_chips(target: Target) -> tuple[int, ...]:
    """Returns the chip of each device that front ends show: devices count row-major on the system's natural mesh.

    Devices are numbered as chips where the links allow no mesh of all chips.
    """
    try:
        return arrange(target, natural_shape(target, target.chips)).chips
    except MeshError:
        return tuple(range(target.chips))


def _check(target: Target, shape: tuple[int, ...], devices: Sequence[int]) -> None:
    """Checks that the mesh is one, that there are enough chips, and that the chosen devices fill it.

    Raises:
        MeshError: a check failed.
    """
    if any(size < 1 for size in shape):
        raise MeshError(f"A mesh of {shape_text(shape)} is none: each axis has at least one chip.")
    count = math.prod(shape)
    if count > target.chips:
        raise MeshError(
            f"A mesh of {shape_text(shape)} needs {chips_text(count)}; {target.name} has {chips_text(target.chips)}.",
            hint="Make the mesh smaller, or set TTXLA_SYSTEM to a system with more chips (tt-xla info lists them).",
        )
    absent = [device for device in devices if not 0 <= device < target.chips]
    if absent:
        raise MeshError(
            f"A mesh of {shape_text(shape)} is to use device {absent[0]}; {target.name} has devices 0 to "
            f"{target.chips - 1}."
        )
    if devices and (len(devices) != count or len(set(devices)) != count):
        raise MeshError(f"A mesh of {shape_text(shape)} has {chips_text(count)}; got devices {list(devices)}.")


Channels = dict[int, dict[int, int]]
"""Number of channels to each linked chip, by chip."""


@functools.lru_cache(maxsize=256)
def _arranged(links: tuple[Link, ...], shape: tuple[int, ...], chips: tuple[int, ...]) -> Arrangement | None:
    """Returns the best arrangement; None if the links allow none."""
    channels: Channels = {chip: {} for chip in chips}
    for link in links:
        first, second = link.chips
        if first in channels and second in channels:
            channels[first][second] = channels[second][first] = link.channels
    search = Search(channels)
    for groups in _foldings(tuple(size for size in shape if size > 1)):
        dimensions = tuple(math.prod(sizes) for sizes in groups)
        for rings, least in _choices(dimensions, sorted({link.channels for link in links})):
            if search.left <= 0:
                return None
            order = search.placed(dimensions, rings, least)
            if order is not None:
                hops = [_weakest(channels, order, dimensions, axis, ring) for axis, ring in enumerate(rings)]
                axes = itertools.chain.from_iterable(map(_axes, groups, rings, hops))
                return Arrangement(shape, order, tuple(next(axes) if size > 1 else _ONE_CHIP for size in shape))
    return None


_ONE_CHIP = MeshAxis(1, ring=False, links=1, stride=1)


def _foldings(shape: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], ...]]:
    """Yields groups of consecutive axes, each of which becomes one physical dimension; the most dimensions first."""
    if not shape:
        yield ()
    for dimensions in range(len(shape), 0, -1):
        for cuts in itertools.combinations(range(1, len(shape)), dimensions - 1):
            yield tuple(shape[start:end] for start, end in itertools.pairwise((0, *cuts, len(shape))))


def _choices(dimensions: tuple[int, ...], counts: list[int]) -> list[tuple[tuple[bool, ...], int]]:
    """Returns the links that an arrangement may have, the largest bandwidth first: which dimensions are rings, and the
    number of channels that each hop has at least."""
    can_close = [(True, False) if size > 2 else (False,) for size in dimensions]
    choices = itertools.product(itertools.product(*can_close), counts or [1])
    bandwidth = {choice: 2 ** sum(choice[0]) * choice[1] ** len(dimensions) for choice in choices}
    return sorted(bandwidth, key=lambda choice: -bandwidth[choice])


def _axes(sizes: tuple[int, ...], ring: bool, hop: tuple[int, tuple[int, int]]) -> Iterator[MeshAxis]:
    """Yields the axes that are folded into one physical dimension.

    The outermost one goes around with the dimension; an inner one is a piece of it.
    """
    for number, size in enumerate(sizes):
        yield MeshAxis(size, ring and number == 0 and size > 2, hop[0], math.prod(sizes[number + 1 :]), hop[1])


def _weakest(
    channels: Channels, order: tuple[int, ...], dimensions: tuple[int, ...], axis: int, ring: bool
) -> tuple[int, tuple[int, int]]:
    """Returns the number of channels of the weakest hop along a dimension, and its chips."""
    size = dimensions[axis]
    stride = math.prod(dimensions[axis + 1 :])
    hops: list[tuple[int, tuple[int, int]]] = []
    for position, chip in enumerate(order):
        outermost = position // stride % size == 0
        if outermost and not ring:
            continue
        other = order[position + (size - 1) * stride if outermost else position - stride]
        hops.append((channels[chip][other], (min(chip, other), max(chip, other))))
    return min(hops)


CANDIDATES = 15_000
"""Number of chips that are considered for a position before a search gives up: many times more than meshes on 32
chips take."""
_ALL_CANDIDATES = 600_000
"""The same for all searches for one mesh."""


class Search:
    """The search for chips at the positions of a mesh, which gives up after a number of attempts."""

    def __init__(self, channels: Channels) -> None:
        self.channels = channels
        self.left = _ALL_CANDIDATES

    def placed(self, dimensions: tuple[int, ...], rings: tuple[bool, ...], least: int) -> tuple[int, ...] | None:
        """Returns a chip for each position, so that neighbours are linked by at least ``least`` channels.

        The search goes through positions row-major and prefers chips with few free neighbours, which become
        unreachable first, then low numbers. It returns None if there is no arrangement, or attempts ran out.
        """
        linked = {
            chip: {other for other, count in others.items() if count >= least} for chip, others in self.channels.items()
        }
        earlier = _earlier_neighbours(dimensions, rings)
        order: list[int] = []
        used: set[int] = set()
        attempts = [iter(sorted(linked))]
        end = self.left - CANDIDATES - len(linked) ** 2  # If all chips are linked, about half the square are seen.
        while self.left > end:
            self.left -= 1
            chip = next(attempts[-1], None)
            if chip is None:
                attempts.pop()
                if not order:
                    return None
                used.remove(order.pop())
                continue
            order.append(chip)
            if len(order) == len(earlier):
                return tuple(order)
            used.add(chip)
            free = set.intersection(*(linked[order[place]] for place in earlier[len(order)])) - used
            self.left -= len(free)
            ranked = sorted((len(linked[candidate] - used), candidate) for candidate in free)
            attempts.append(iter([candidate for _, candidate in ranked]))
        return None


def _earlier_neighbours(dimensions: tuple[int, ...], rings: tuple[bool, ...]) -> list[list[int]]:
    """Returns the neighbours of each position that come before it; the first position has none."""
    neighbours: list[list[int]] = []
    for position in range(math.prod(dimensions)):
        places: list[int] = []
        stride = 1
        for size, ring in zip(reversed(dimensions), reversed(rings), strict=True):
            coordinate = position // stride % size
            if coordinate:
                places.append(position - stride)
            if ring and coordinate == size - 1:
                places.append(position - coordinate * stride)
            stride *= size
        neighbours.append(places)
    return neighbours


def _missing_link(target: Target, shape: tuple[int, ...]) -> MeshError:
    """Returns the error for a mesh whose chips are not all linked; it names two chips without a link."""
    linked = {link.chips for link in target.links}
    missing = next((pair for pair in itertools.pairwise(range(target.chips)) if pair not in linked), None)
    example = f" For one, there is no link between chips {missing[0]} and {missing[1]}." if missing else ""
    return MeshError(
        f"A mesh of {shape_text(shape)} does not fit the links of {target.name}.{example}",
        hint=f"Links are: {links_text(target.links)}. Choose another shape or other chips.",
    )
