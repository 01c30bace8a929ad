"""Finds weights of numbered modules that are loaded or prepared alike, so that one loop handles all of them."""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from collections.abc import Container, Sequence
from dataclasses import dataclass

from tt_xla.codegen.formatting import Group, Node, flat
from tt_xla.codegen.naming import block_of

FEWEST_NUMBERS = 3
"""Minimum number of modules for a loop; fewer modules have separate statements."""

COUNTER = "n"
"""Name of the loop variable."""

_FILE = re.compile(r'"arg(\d+)"')


@dataclass(frozen=True)
class WeightEntry:
    """One or several entries of the table of weights that one expression creates."""

    keys: tuple[str, ...]
    source: Node
    """The expression; it has one result for each key."""


@dataclass(frozen=True)
class Loop:
    """Entries that are alike for consecutive module numbers."""

    first: int
    """First module number."""
    end: int
    """Last module number plus 1."""
    body: tuple[WeightEntry, ...]
    """The entries of one number; their keys and sources contain ``{n}``."""


@dataclass(frozen=True)
class _Member:
    """An entry that may become part of a loop."""

    position: int
    """Index of the entry in the original order."""
    number: int
    """Module number."""
    file: int
    """Number in the name of the file ``arg<file>`` that the entry loads; -1 if it loads none."""


def gathered(entries: Sequence[WeightEntry], named: Container[str]) -> list[WeightEntry | Loop]:
    """Replaces entries of numbered modules that are alike by loops, at the position of the first of them.

    Args:
        entries: entries in order.
        named: keys that an entry in a loop may read; an entry that reads other keys stays in place.
    """
    groups: dict[tuple[tuple[str, ...], str], list[_Member]] = defaultdict(list)
    for position, entry in enumerate(entries):
        template = _template(entry)
        if template is not None and all(key in named for key in re.findall(r'w\["(.*?)"\]', flat(entry.source))):
            key, member = template
            groups[key].append(_Member(position, *member))
    loops: dict[tuple[str, int, int], list[tuple[int, WeightEntry]]] = defaultdict(list)
    replaced: set[int] = set()
    for (keys, _), members in groups.items():
        members.sort(key=lambda member: member.number)
        if not _regular(members):
            continue
        replaced |= {member.position for member in members}
        group = keys[0].partition(f"{{{COUNTER}}}")[0], members[0].number, members[-1].number + 1
        body = _counted(entries[members[0].position], members)
        loops[group].append((min(member.position for member in members), body))
    starts = {min(position for position, _ in body): (group, body) for group, body in loops.items()}
    result: list[WeightEntry | Loop] = []
    for position, entry in enumerate(entries):
        if position in starts:
            (_, first, end), body = starts[position]
            result.append(Loop(first, end, tuple(body_entry for _, body_entry in body)))
        elif position not in replaced:
            result.append(entry)
    return result


def _template(entry: WeightEntry) -> tuple[tuple[tuple[str, ...], str], tuple[int, int]] | None:
    """Returns the part that an entry shares with those of other modules, and its own module and file number.

    Returns None for an entry of a module without a number.
    """
    prefix = block_of(entry.keys[0])
    number = re.search(r"(\d+)\D*$", prefix)
    text = flat(entry.source)
    if number is None or any(not key.startswith(prefix) for key in entry.keys) or "{" in "".join((*entry.keys, text)):
        return None
    template = f"{prefix[: number.start()]}{{{COUNTER}}}{prefix[number.end(1) :]}"
    files = _FILE.findall(text)
    keys = tuple(template + key[len(prefix) :] for key in entry.keys)
    common = _FILE.sub('"arg"', text).replace(f'"{prefix}', f'"{template}')
    return (keys, common), (int(number[1]), int(files[0]) if len(files) == 1 else -1)


def _regular(members: Sequence[_Member]) -> bool:
    """Returns whether module numbers are consecutive and file numbers have a constant distance."""
    pairs = list(itertools.pairwise(members))
    distances = {other.file - member.file for member, other in pairs}
    numbers = all(other.number == member.number + 1 for member, other in pairs)
    return len(members) >= FEWEST_NUMBERS and numbers and len(distances) == 1


def _counted(entry: WeightEntry, members: Sequence[_Member]) -> WeightEntry:
    """Returns the entry of the first module, with the loop variable in place of its number."""
    prefix = block_of(entry.keys[0])
    ((keys, _), _) = _template(entry) or ((entry.keys, ""), (0, 0))
    template = keys[0][: len(keys[0]) - len(entry.keys[0]) + len(prefix)]
    distance = members[1].file - members[0].file
    offset = members[0].file - distance * members[0].number
    scaled = COUNTER if distance == 1 else f"{distance} * {COUNTER}"
    counter = f"{scaled} {'-' if offset < 0 else '+'} {abs(offset)}" if offset else scaled
    file = f'f"arg{{{counter}}}"' if distance else f'"arg{members[0].file}"'

    def counted(node: Node) -> Node:
        if isinstance(node, Group):
            items = tuple(map(counted, node.items))
            return Group(node.opening, items, node.closing, node.fill, node.prefixes)
        return _FILE.sub(file, node.replace(f'"{prefix}', f'f"{template}'))

    return WeightEntry(keys, counted(entry.source))
