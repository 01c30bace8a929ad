"""Units of the search: groups of dimensions that are split alike, those of repeated layers together."""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tt_xla.compiler.auto_sharding.graph import Graph
from tt_xla.ir.mesh import Mesh, Sharding

Axes = tuple[int, ...]
"""Mesh axes, major first."""

STORED_BYTES = 1 << 16
"""Least size of an argument that is split for its storage alone."""


@dataclass(frozen=True)
class Unit:
    """Groups of dimensions that the search splits along the same mesh axes."""

    places: tuple[tuple[int, int], ...]
    """Argument and dimension of each argument's dimension in it."""
    granularity: int
    """Greatest number of parts into which all dimensions can be split evenly."""


@dataclass(frozen=True)
class Units:
    """The units of a module."""

    units: tuple[Unit, ...]
    by_group: Mapping[int, int]
    """Number of the unit of each group that has one."""
    fixed: Mapping[int, Axes]
    """Axes of the units that the user's shardings split or leave whole."""


def find_units(graph: Graph, stated: Mapping[int, Sharding], mesh: Mesh) -> Units:
    """Returns the units of a module.

    Layers that repeat have arguments of the same shapes, types and names, apart from numbers in the names. Groups with
    the same dimensions of such arguments form one unit; but where two of them are dimensions of one tensor, as in a
    chain of square weights, they form two, because one axis splits only one dimension of a tensor.

    Args:
        graph: the ops of the module.
        stated: shardings that the user states, by argument.
        mesh: the chips.
    """
    places: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
    for number in range(len(graph.arguments)):
        for dim, group in enumerate(graph.groups[number]):
            places[group].append((number, dim))
    alike: defaultdict[tuple[frozenset[object], int], list[int]] = defaultdict(list)
    for group, own in places.items():
        kinds = Counter((*_kind(graph, number), dim, number in stated) for number, dim in own)
        alike[frozenset(kinds.items()), graph.granularity[group]].append(group)
    together = _neighbours(graph)
    units: list[Unit] = []
    by_group: dict[int, int] = {}
    for (_, granularity), groups in alike.items():
        for part in _independent(groups, together):
            by_group.update(dict.fromkeys(part, len(units)))
            units.append(Unit(tuple(itertools.chain.from_iterable(places[group] for group in part)), granularity))
    fixed = {
        number: axes for number, unit in enumerate(units) if (axes := _stated_axes(unit, stated, mesh)) is not None
    }
    return Units(tuple(units), by_group, fixed)


def _kind(graph: Graph, number: int) -> tuple[object, ...]:
    """Returns the properties that an argument shares with those of repeated layers."""
    argument = graph.arguments[number]
    return re.sub(r"\d+", "#", argument.name), argument.shape, argument.dtype, argument.role


def _neighbours(graph: Graph) -> dict[int, set[int]]:
    """Returns for each group the other groups that are dimensions of a tensor with it."""
    together: defaultdict[int, set[int]] = defaultdict(set)
    for groups in set(graph.groups):
        for first, second in itertools.permutations(set(groups), 2):
            together[first].add(second)
    return together


def _independent(groups: Iterable[int], together: Mapping[int, set[int]]) -> list[list[int]]:
    """Returns the groups in as few parts as a greedy choice finds, without two groups of one tensor in a part."""
    parts: list[list[int]] = []
    for group in groups:
        others = together.get(group, set[int]())
        part = next((part for part in parts if not others.intersection(part)), None)
        if part is None:
            parts.append([group])
        else:
            part.append(group)
    return parts


def _stated_axes(unit: Unit, stated: Mapping[int, Sharding], mesh: Mesh) -> Axes | None:
    """Returns the axes along which the user splits a unit: the first ones stated, or none; None if nothing is."""
    axes = [stated[number].dims[dim] for number, dim in unit.places if number in stated]
    if not axes:
        return None
    split = next((each for each in axes if each), ())
    return split if unit.granularity % math.prod(mesh.shape[axis] for axis in split) == 0 else ()


@dataclass(frozen=True)
class Plan:
    """A state of the search: the mesh axes that split each unit."""

    axes: tuple[Axes, ...]
    stored: Axes = ()
    """Axes that split all large arguments further, for their storage alone: FSDP."""

    def with_unit(self, unit: int, axes: Axes) -> Plan:
        """Returns the plan in which some axes split a unit."""
        return Plan((*self.axes[:unit], axes, *self.axes[unit + 1 :]), self.stored)


def shardings(plan: Plan, units: Units, graph: Graph, mesh: Mesh, stated: Mapping[int, Sharding]) -> list[Sharding]:
    """Returns the sharding of each argument; that of the user where one is stated."""
    dims = [[()] * len(argument.shape) for argument in graph.arguments]
    dims = [list[Axes](each) for each in dims]
    for unit, axes in zip(units.units, plan.axes, strict=True):
        for number, dim in unit.places:
            dims[number][dim] = axes
    for number, argument in enumerate(graph.arguments):
        used: set[int] = set()
        for dim, axes in enumerate(dims[number]):
            dims[number][dim] = tuple(axis for axis in axes if axis not in used)
            used.update(axes)
        if graph.tensors[number].bytes >= STORED_BYTES:
            _store(dims[number], argument.shape, [axis for axis in plan.stored if axis not in used], mesh)
    return [stated.get(number, Sharding(tuple(each))) for number, each in enumerate(dims)]


def _store(dims: list[Axes], shape: tuple[int, ...], axes: Iterable[int], mesh: Mesh) -> None:
    """Splits a tensor along further axes, along the dimension with the largest parts that they split evenly.

    If no dimension can take all of the axes, each axis splits one.
    """
    together = tuple(axes)
    for added in (together, *((axis,) for axis in together)):
        parts = [size // math.prod(mesh.shape[each] for each in split) for size, split in zip(shape, dims, strict=True)]
        count = math.prod(mesh.shape[axis] for axis in added)
        even = [dim for dim, size in enumerate(parts) if size % count == 0]
        if even and added:
            dim = max(even, key=lambda dim: parts[dim])
            dims[dim] = (*dims[dim], *added)
            if added == together:
                return


def conflicts(plan: Plan, units: Units, graph: Graph, stated: Mapping[int, Sharding]) -> bool:
    """Whether an axis would split two dimensions of an argument."""
    used: defaultdict[int, list[int]] = defaultdict(list)
    for unit, axes in zip(units.units, plan.axes, strict=True):
        if axes:
            for number, _ in unit.places:
                if number not in stated:
                    used[number] += axes
    return any(len(axes) > len(set(axes)) for axes in used.values())
