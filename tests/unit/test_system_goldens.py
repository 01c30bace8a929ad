"""Golden facts of each system: its resources and rates, and the chips and links of its meshes."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.golden import Goldens
from tt_xla.errors import MeshError
from tt_xla.ir.program_text import number
from tt_xla.target import Target, load_target, system_names
from tt_xla.target.mesh_axis import Arrangement, describe_axis, links_text
from tt_xla.target.topology import arrange, bound_devices, device_chips, natural_shape

pytestmark = pytest.mark.quick

SYSTEMS = (*system_names(), "n300-llmbox:0,1,2", "n300-llmbox:3,1,0,2,7")
"""Systems, some of which have not all their chips visible."""
FILES = {path.name: path for path in sorted((Path(__file__).parents[1] / "data" / "systems").glob("*.ttsys"))}
"""Descriptions of systems in files."""


def fact(value: Any) -> str:
    return number(value) if isinstance(value, float) else str(value)


def shapes(chips: int) -> Iterator[tuple[int, ...]]:
    """Yields the meshes of two axes of at most some chips, by powers of two, and one that no system has."""
    sizes = [1 << power for power in range(chips.bit_length())]
    yield from ((rows, columns) for rows in sizes for columns in sizes if rows * columns <= chips)
    yield (chips, 2)


def arranged(target: Target, shape: tuple[int, ...], devices: tuple[int, ...]) -> str:
    """Returns the chips of a mesh and the links of its axes, or why the system does not form it."""
    try:
        arrangement: Arrangement = arrange(target, shape, devices)
    except MeshError as error:
        return str(error)
    axes = "; ".join(describe_axis(axis, target.ethernet_bytes_per_second) for axis in arrangement.axes)
    return f"chips {arrangement.chips}; {axes}; sharing {[axis.sharing for axis in arrangement.axes]}"


def facts(target: Target) -> Iterator[str]:
    for field in dataclasses.fields(target):
        value = getattr(target, field.name)
        if isinstance(value, Mapping):
            yield from (f"{field.name} {name}: {fact(each)}" for name, each in value.items())
        elif field.name != "links":
            yield f"{field.name}: {fact(value)}"
    yield f"links: {links_text(target.links)}"
    yield f"channels: {[link.channels for link in target.links]}"
    yield f"natural shape {natural_shape(target, target.chips)}, devices {device_chips(target)}"
    for shape in shapes(target.chips):
        yield f"{shape}: {arranged(target, shape, ())}"
        count = math.prod(shape)
        if 1 < count <= target.chips:
            reverse, odd = (
                tuple(reversed(range(count))),
                tuple((5 * place + 2) % target.chips for place in range(count)),
            )
            yield f"{shape} of {reverse}: {arranged(target, shape, reverse)}; bound {bound_devices(target, shape)}"
            yield f"{shape} of {odd}: {arranged(target, shape, odd)}"


@pytest.mark.parametrize("name", SYSTEMS)
def test_facts(name: str, goldens: Goldens) -> None:
    goldens.check("systems/systems", name, facts(load_target(name)))


@pytest.mark.parametrize("name", FILES)
def test_facts_of_a_description(name: str, goldens: Goldens) -> None:
    goldens.check("systems/descriptions", name, facts(load_target(str(FILES[name]))))


def test_every_golden_text_is_of_a_system(goldens: Goldens) -> None:
    goldens.has_only("systems", {"systems": SYSTEMS, "descriptions": FILES})
