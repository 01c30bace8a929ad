"""The links along the axes of a mesh whose chips the user chose.

Where neighbours lack a link, TT-Fabric sends their packets over other chips, which need not be part of the mesh. A way
has as few links as possible.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections import Counter
from collections.abc import Sequence

from tt_xla.errors import MeshError
from tt_xla.target.mesh_axis import Arrangement, MeshAxis, links_text, shape_text
from tt_xla.target.target import Link, Target

Pair = tuple[int, int]
"""Two chips, the smaller number first."""


def routed(target: Target, shape: tuple[int, ...], chips: tuple[int, ...]) -> Arrangement:
    """Returns the links along each axis of a mesh with these chips.

    Args:
        target: the system.
        shape: number of chips along each axis of the mesh.
        chips: the chip at each position.

    Raises:
        MeshError: the links of the system form no way between two neighbours.
    """
    channels = {link.chips: link.channels for link in target.links}
    axes: list[MeshAxis] = []
    for number, size in enumerate(shape):
        stride = math.prod(shape[number + 1 :])
        starts = [position for position in range(len(chips)) if position // stride % size == 0]
        groups = [chips[start : start + size * stride : stride] for start in starts]
        axes.append(_axis(target, shape, groups, channels))
    return Arrangement(shape, chips, tuple(axes))


def links_along(target: Target, arrangement: Arrangement, number: int) -> tuple[Pair, ...]:
    """Returns the links that exchanges along an axis use, in the order of the chips of the axis.

    Args:
        target: the system.
        arrangement: the chips of a mesh on it.
        number: number of the axis.
    """
    shape, chips, axis = arrangement.shape, arrangement.chips, arrangement.axes[number]
    stride = math.prod(shape[number + 1 :])
    used: dict[Pair, None] = {}
    for start in range(len(chips)):
        if start // stride % axis.size:
            continue
        group = chips[start : start + axis.size * stride : stride]
        hops = [*itertools.pairwise(group), *([(group[-1], group[0])] if axis.ring else [])]
        for hop in hops:
            used |= dict.fromkeys(reversed(_way(target, shape, *hop)))
    return tuple(used)


def _axis(
    target: Target, shape: tuple[int, ...], groups: Sequence[tuple[int, ...]], channels: dict[Pair, int]
) -> MeshAxis:
    """Returns the links along an axis.

    Args:
        target: the system.
        shape: shape of the mesh, for the error.
        groups: the chips along the axis, for each place along the other axes.
        channels: number of channels by pair of linked chips.
    """
    size = len(groups[0])
    hops = [_pair(*hop) for group in groups for hop in itertools.pairwise(group)]
    if not hops:
        return MeshAxis(size, ring=False, links=1, stride=1)
    if all(hop in channels for hop in hops):
        closing = [_pair(group[0], group[-1]) for group in groups]
        ring = size > 2 and all(hop in channels for hop in closing)
        narrowest = min(hops + closing if ring else hops, key=lambda hop: (channels[hop], hop))
        return MeshAxis(size, ring, channels[narrowest], 1, narrowest)
    ways = [_way(target, shape, *hop) for hop in hops]
    crossings = Counter(itertools.chain.from_iterable(ways))
    busiest = max(sorted(crossings), key=lambda link: crossings[link] / channels[link])
    return MeshAxis(size, False, channels[busiest], max(map(len, ways)), busiest, crossings[busiest])


def _way(target: Target, shape: tuple[int, ...], first: int, second: int) -> list[Pair]:
    """Returns the links of a shortest way between two chips.

    Raises:
        MeshError: there is none.
    """
    before = _ways_from(target.links, first)
    if second not in before:
        raise MeshError(
            f"A mesh of {shape_text(shape)} has chips {first} and {second} of {target.name} as neighbours, and no "
            "links lead from one to the other.",
            hint=f"Links are: {links_text(target.links)}. Choose other devices, or make more chips visible "
            "(TT_VISIBLE_DEVICES).",
        )
    way: list[Pair] = []
    while second != first:
        way.append(_pair(second, before[second]))
        second = before[second]
    return way


@functools.lru_cache(maxsize=256)
def _ways_from(links: tuple[Link, ...], start: int) -> dict[int, int]:
    """Returns, for each chip that a chip reaches, the chip before it on a shortest way."""
    linked: dict[int, list[int]] = {}
    for link in links:
        first, second = link.chips
        linked.setdefault(first, []).append(second)
        linked.setdefault(second, []).append(first)
    before = {start: start}
    waiting = [start]
    for chip in waiting:
        for other in sorted(linked.get(chip, ())):
            if other not in before:
                before[other] = chip
                waiting.append(other)
    return before


def _pair(first: int, second: int) -> Pair:
    return min(first, second), max(first, second)
