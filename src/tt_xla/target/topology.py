"""Places the chips of a system on a mesh, so that neighbours in the mesh are linked.

A mesh is placed directly if all neighbours along each axis can be linked. Otherwise neighbouring axes are folded,
row-major, into one physical dimension, as few of them as possible.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tt_xla.errors import MeshError
from tt_xla.target.target import Link, Target


@dataclass(frozen=True)
class MeshAxis:
    """The links along one axis of a mesh."""

    size: int
    """Number of chips along the axis."""
    ring: bool
    """Whether the last chip is linked with the first one too; an axis of one or two chips is a line."""
    links: int
    """Number of channels between neighbours that a collective uses: those of the weakest hop of the axis."""
    stride: int
    """Number of chips between neighbours along the physical dimension, whose links they share; 1 if neighbours are
    linked directly."""
    narrowest: tuple[int, int] | None = field(default=None, compare=False)
    """Chips of a hop with the fewest channels; None for an axis of one chip."""


@dataclass(frozen=True)
class Arrangement:
    """The chips of a mesh, and the links along each of its axes."""

    shape: tuple[int, ...]
    """Number of chips along each axis."""
    chips: tuple[int, ...]
    """Index of the chip at each position; positions count row-major."""
    axes: tuple[MeshAxis, ...]


def arrange(target: Target, shape: Sequence[int], chips: Sequence[int] | None = None) -> Arrangement:
    """Returns chips for each position of a mesh, with as many rings and channels as the links allow.

    Args:
        target: the system.
        shape: number of chips along each axis of the mesh.
        chips: indices of the chips that the mesh may use; all chips of the system by default.

    Raises:
        MeshError: the system has too few chips, or lacks a link.
    """
    shape = tuple(shape)
    usable = tuple(range(target.chips)) if chips is None else tuple(dict.fromkeys(chips))
    _check(target, shape, usable)
    arrangement = _arranged(target.links, shape, usable)
    if arrangement is None:
        raise _missing_link(target, shape, usable)
    return arrangement


def describe_axis(axis: MeshAxis, bytes_per_second: float) -> str:
    """Returns the links along an axis in words.

    Args:
        axis: the axis.
        bytes_per_second: line rate of a channel.
    """
    apart = f", {axis.stride} chips apart" if axis.stride > 1 else ""
    kind = "ring" if axis.ring else "line"
    return f"{kind} of {_chips(axis.size)}{apart} with {axis.links} x {bytes_per_second * 8e-9:.0f} Gbit/s"


def _check(target: Target, shape: tuple[int, ...], chips: tuple[int, ...]) -> None:
    """Checks that the mesh is one, and that there are enough chips.

    Raises:
        MeshError: a check failed.
    """
    if any(size < 1 for size in shape):
        raise MeshError(f"A mesh of {_text(shape)} is none: each axis has at least one chip.")
    absent = [chip for chip in chips if not 0 <= chip < target.chips]
    if absent:
        raise MeshError(
            f"A mesh of {_text(shape)} is to use chip {absent[0]}; {target.name} has chips 0 to {target.chips - 1}."
        )
    count = math.prod(shape)
    if count > len(chips):
        has = f"{target.name} has {_chips(target.chips)}"
        chosen = has if len(chips) == target.chips else f"{_chips(len(chips))} of {target.name} may be used"
        raise MeshError(
            f"A mesh of {_text(shape)} needs {_chips(count)}; {chosen}.",
            hint="Make the mesh smaller, or set TTXLA_SYSTEM to a system with more chips (tt-xla info lists them).",
        )


def _chips(count: int) -> str:
    return f"{count} chip" if count == 1 else f"{count} chips"


def _text(shape: tuple[int, ...]) -> str:
    return "x".join(map(str, shape)) or "one chip"


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
    search = _Search(channels)
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
    """Returns what an arrangement may reach, the largest bandwidth first: which dimensions are rings, and the number
    of channels that each hop has at least."""
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


_CANDIDATES = 15_000
"""Number of chips that are considered for a position before a search gives up: many times more than meshes on 32
chips take."""
_ALL_CANDIDATES = 600_000
"""The same for all searches for one mesh."""


class _Search:
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
        end = self.left - _CANDIDATES - len(linked) ** 2  # If all chips are linked, about half the square are seen.
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


def _missing_link(target: Target, shape: tuple[int, ...], chips: tuple[int, ...]) -> MeshError:
    """Returns the error for a mesh whose chips are not all linked; it names two chips without a link."""
    linked = {link.chips for link in target.links}
    order = sorted(chips)
    missing = next((pair for pair in itertools.pairwise(order) if pair not in linked), None)
    among = f" among its chips {', '.join(map(str, order))}" if len(order) < target.chips else ""
    example = f" For one, there is no link between chips {missing[0]} and {missing[1]}." if missing else ""
    pairs = ", ".join("-".join(map(str, link.chips)) for link in target.links) or "none"
    return MeshError(
        f"A mesh of {_text(shape)} does not fit the links of {target.name}{among}.{example}",
        hint=f"Links are: {pairs}. Choose another shape or other chips.",
    )
