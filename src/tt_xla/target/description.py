"""Reads system descriptions of upstream's tools: ``.ttsys``, a FlatBuffer with the identifier ``TTSY``.

Field numbers are those of tt-mlir's ``system_desc.fbs``. A file comes from outside, so every value in it is checked.
"""

from __future__ import annotations

import collections
import dataclasses
import os
import struct
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

from tt_xla.errors import SystemDescriptionError
from tt_xla.target.target import Link, Target

SUFFIX = ".ttsys"
IDENTIFIER = b"TTSY"
LARGEST = 1 << 22
"""Largest size of a file in bytes; a description of 32 chips takes 16 kB."""
MOST_CHIPS = 256

ARCHS = {0: "wormhole_b0", 1: "blackhole"}

_SYSTEM = 4
"""Field of the root table: the system."""
_CHIPS, _INDICES, _CAPABILITIES, _CHANNELS = 1, 2, 3, 5
"""Fields of the system: its different chips; for each chip of the system the index of its description, and what it can
do (0 without PCIe); the Ethernet channels between chips."""
_CHANNEL_BYTES = 24
"""Size of a channel: number of a chip and place of its Ethernet core, twice. All are 32-bit integers."""

_NUMBERS: dict[str, tuple[int, str, int, int]] = {
    "l1_size": (3, "Q", 1 << 16, 1 << 26),
    "dram_banks": (4, "I", 1, 64),
    "dram_bank_bytes": (5, "Q", 1 << 20, 1 << 40),
    "noc_l1_align": (6, "I", 1, 4096),
    "dram_align": (7, "I", 1, 4096),
    "pcie_align": (8, "I", 1, 4096),
    "l1_unreserved_base": (9, "I", 0, 1 << 26),
    "erisc_l1_unreserved_base": (10, "I", 0, 1 << 26),
    "dram_unreserved_base": (11, "I", 0, 1 << 32),
    "dram_unreserved_end": (12, "I", 1, 1 << 32),
    "dst_tiles": (15, "I", 1, 1024),
    "circular_buffers": (16, "I", 1, 1024),
}
"""Number of a chip's field, its type as in :mod:`struct`, and the least and greatest value that is accepted."""

_BASES = frozenset(name for name in _NUMBERS if name.endswith(("_base", "_align")))
"""Fields of which the greatest value holds for all chips of a system; of the others it is the least."""

_ARCH, _GRID, _OFFSETS, _TILES, _WORKERS = 0, 1, 2, 14, 20


class _File:
    """The tables and vectors of a FlatBuffer; every offset is checked before it is followed."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def number(self, kind: str, place: int) -> int:
        """Returns the number of a :mod:`struct` type at a byte offset.

        Raises:
            ValueError: the offset is outside the file.
        """
        size = struct.calcsize(f"<{kind}")
        if not 0 <= place <= len(self.data) - size:
            raise ValueError(f"offset {place} is outside its {len(self.data)} bytes")
        return struct.unpack_from(f"<{kind}", self.data, place)[0]

    def referenced(self, place: int) -> int:
        """Returns the byte offset that the reference at ``place`` points to."""
        return place + self.number("I", place)

    def table(self, place: int) -> dict[int, int]:
        """Returns the byte offset of each field that the table at ``place`` has, by field number."""
        index = place - self.number("i", place)
        count = (self.number("H", index) - 4) // 2
        offsets = {field: self.number("H", index + 4 + 2 * field) for field in range(count)}
        return {field: place + offset for field, offset in offsets.items() if offset}

    def vector(self, place: int, size: int) -> range:
        """Returns the byte offsets of a vector's elements of ``size`` bytes.

        Raises:
            ValueError: the vector is longer than the file.
        """
        start = self.referenced(place)
        count = self.number("I", start)
        if count * size > len(self.data) - start - 4:
            raise ValueError(f"a vector of {count} elements does not fit into its {len(self.data)} bytes")
        return range(start + 4, start + 4 + count * size, size)

    def pair(self, place: int) -> tuple[int, int]:
        """Returns the two 32-bit integers of a struct."""
        return self.number("i", place), self.number("i", place + 4)


def read_description(path: str | os.PathLike[str], known: Iterable[Target]) -> Target:
    """Returns the facts of the system that a file describes.

    The file says nothing about speed, so the speeds are those of the most similar known system.

    Args:
        path: the file.
        known: the known systems; if the file describes one of them, that one is returned.

    Raises:
        SystemDescriptionError: the file cannot be read, is no description, or has a value that no chip has.
    """
    path = Path(path)
    try:
        size = path.stat().st_size
        if size > LARGEST:
            raise ValueError(f"it has {size} bytes, more than any description")
        data = path.read_bytes()
        facts = _facts(_File(data))
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise SystemDescriptionError(
            f"'{path}' is not a system description: {reason}.",
            hint=f"TT_COMPILE_ONLY_SYSTEM_DESC takes a {SUFFIX} file, as upstream's tools write it for a card.",
        ) from error
    same_arch = [target for target in known if target.arch == facts["arch"]]
    differences = partial(_differences, facts)
    nearest = min(same_arch, key=differences)
    if not differences(nearest):
        return nearest
    return dataclasses.replace(nearest, name=str(path.resolve()), **facts)


def _differences(facts: dict[str, Any], target: Target) -> int:
    """Returns the number of facts that differ from those of a target."""
    return sum(getattr(target, name) != value for name, value in facts.items())


def _facts(file: _File) -> dict[str, Any]:
    """Returns the facts of a description, by field of :class:`Target`: those that hold for all its chips.

    The cores nearest to DRAM banks differ from chip to chip; they are those of the first chip.

    Raises:
        ValueError: the file is no description, or has a value that no chip has.
    """
    if file.data[8:12] != IDENTIFIER:  # The size of the file and the offset of its root come first.
        raise ValueError(f"it lacks the identifier {IDENTIFIER.decode()} at byte 8")
    root = file.table(4 + file.number("I", 4))
    system = file.table(file.referenced(_needed(root, _SYSTEM)))
    chips = file.vector(_needed(system, _CHIPS), 4)
    indices = [file.number("I", place) for place in file.vector(_needed(system, _INDICES), 4)]
    if not chips or not indices or max(indices) >= len(chips):
        raise ValueError(f"its system refers to chips {indices[:9]}, expected indices of its {len(chips)} chips")
    if len(indices) > MOST_CHIPS:
        raise ValueError(f"it has {len(indices)} chips, expected at most {MOST_CHIPS}")
    facts = _chip(file, file.table(file.referenced(chips[indices[0]])))
    for index in sorted(set(indices[1:])):
        other = _chip(file, file.table(file.referenced(chips[index])))
        if (other["arch"], other["grid"]) != (facts["arch"], facts["grid"]):
            raise ValueError("its chips differ in architecture or grid; no supported system mixes chips")
        facts |= {name: (max if name in _BASES else min)(facts[name], other[name]) for name in _NUMBERS}
    _check_regions(facts)
    count = len(indices)
    system_facts = {"chips": count, "chip_numbers": tuple(range(count))}
    return facts | system_facts | {"host_chips": _host_chips(file, system, count), "links": _links(file, system, count)}


def _host_chips(file: _File, system: dict[int, int], count: int) -> tuple[int, ...]:
    """Returns the chips that have PCIe; all if the system says nothing about it.

    Raises:
        ValueError: the file does not say it of each of the ``count`` chips.
    """
    if _CAPABILITIES not in system:
        return tuple(range(count))
    capabilities = [file.number("I", place) for place in file.vector(system[_CAPABILITIES], 4)]
    if len(capabilities) != count:
        raise ValueError(f"it has capabilities of {len(capabilities)} chips, expected {count}")
    return tuple(chip for chip, capability in enumerate(capabilities) if capability)


def _links(file: _File, system: dict[int, int], count: int) -> tuple[Link, ...]:
    """Returns the links between the ``count`` chips, with the number of channels of each.

    Raises:
        ValueError: a channel does not join two chips of the system.
    """
    if _CHANNELS not in system:
        return ()
    channels: collections.Counter[tuple[int, int]] = collections.Counter()
    for place in file.vector(system[_CHANNELS], _CHANNEL_BYTES):
        first, second = file.number("I", place), file.number("I", place + _CHANNEL_BYTES // 2)
        if first == second or max(first, second) >= count:
            raise ValueError(f"a channel joins chips {first} and {second}, expected two of its {count} chips")
        channels[min(first, second), max(first, second)] += 1
    return tuple(Link(chips, number) for chips, number in sorted(channels.items()))


def _chip(file: _File, chip: dict[int, int]) -> dict[str, Any]:
    """Returns the facts of a chip, by field of :class:`Target`.

    Raises:
        ValueError: a field is missing, or has a value that no chip has.
    """
    kind = file.number("I", chip[_ARCH]) if _ARCH in chip else 0
    if kind not in ARCHS:
        raise ValueError(
            f"its architecture is {kind}, expected {' or '.join(f'{n} ({arch})' for n, arch in ARCHS.items())}"
        )
    facts: dict[str, Any] = {"arch": ARCHS[kind]}
    for name, (field, type_, least, most) in _NUMBERS.items():
        value = facts[name] = file.number(type_, _needed(chip, field))
        if not least <= value <= most:
            raise ValueError(f"{name} is {value}, expected {least} to {most}")
    rows, columns = facts["grid"] = file.pair(_needed(chip, _GRID))
    if not (1 <= rows <= 64 and 1 <= columns <= 64):
        raise ValueError(f"its grid is {rows} x {columns}, expected 1 to 64 rows and columns")
    facts["coord_translation_offsets"] = file.pair(_needed(chip, _OFFSETS))
    facts["tile_shapes"] = tuple(file.pair(place) for place in file.vector(_needed(chip, _TILES), 8))
    facts["dram_bank_workers"] = tuple(file.pair(place) for place in file.vector(_needed(chip, _WORKERS), 8))
    return facts


def _check_regions(facts: dict[str, Any]) -> None:
    """Checks that reserved regions leave memory to programs.

    Raises:
        ValueError: they leave none.
    """
    if facts["l1_unreserved_base"] >= facts["l1_size"] or facts["dram_unreserved_base"] >= facts["dram_unreserved_end"]:
        raise ValueError("its reserved regions leave no memory in L1 or DRAM")


def _needed(table: dict[int, int], field: int) -> int:
    """Returns the byte offset of a required field.

    Raises:
        ValueError: the table lacks the field.
    """
    if field not in table:
        raise ValueError(f"field {field} is missing")
    return table[field]
