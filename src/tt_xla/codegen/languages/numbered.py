"""Weights of numbered modules that are loaded or prepared alike, so that a loop over the numbers does it."""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass

from tt_xla.codegen.formatting import Group, Node, flat
from tt_xla.codegen.naming import block_of

FEWEST_NUMBERS = 3
"""Fewer modules than these are written one by one."""

COUNTER = "n"

_FILE = re.compile(r'"arg(\d+)"')


@dataclass(frozen=True)
class Made:
    """Entries of the table of weights, and what makes them."""

    keys: tuple[str, ...]
    source: Node


@dataclass(frozen=True)
class Loop:
    """What is made for each number from ``first`` on, as the body of a loop: keys and sources have ``{n}`` in them."""

    first: int
    end: int
    body: tuple[Made, ...]


@dataclass(frozen=True)
class _Member:
    position: int
    number: int
    file: int
    """Of ``arg<file>``; -1 where none is read."""


def gathered(entries: Sequence[Made], named: Container[str]) -> list[Made | Loop]:
    """Entries in order, those of numbered modules as loops where the first of them was.

    Args:
        named: keys that an entry may read; one that reads others stays where it is.
    """
    groups: dict[tuple[tuple[str, ...], str], list[_Member]] = defaultdict(list)
    for position, entry in enumerate(entries):
        found = _template(entry)
        if found is not None and all(key in named for key in re.findall(r'w\["(.*?)"\]', flat(entry.source))):
            key, member = found
            groups[key].append(_Member(position, *member))
    loops: dict[tuple[str, int, int], list[tuple[int, Made]]] = defaultdict(list)
    gone: set[int] = set()
    for (keys, _), members in groups.items():
        members.sort(key=lambda member: member.number)
        if not _regular(members):
            continue
        gone |= {member.position for member in members}
        place = keys[0].partition(f"{{{COUNTER}}}")[0], members[0].number, members[-1].number + 1
        body = _counted(entries[members[0].position], members)
        loops[place].append((min(member.position for member in members), body))
    starts = {min(position for position, _ in body): (place, body) for place, body in loops.items()}
    return list(_in_order(entries, starts, gone))


def _in_order(
    entries: Sequence[Made], starts: dict[int, tuple[tuple[str, int, int], list[tuple[int, Made]]]], gone: set[int]
) -> Iterator[Made | Loop]:
    for position, entry in enumerate(entries):
        if position in starts:
            (_, first, end), body = starts[position]
            yield Loop(first, end, tuple(made for _, made in body))
        elif position not in gone:
            yield entry


def _template(entry: Made) -> tuple[tuple[tuple[str, ...], str], tuple[int, int]] | None:
    """What an entry has in common with those of other numbers, and its own number and file."""
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
    """Whether numbers follow each other, and files at one distance."""
    pairs = list(itertools.pairwise(members))
    distances = {other.file - member.file for member, other in pairs}
    numbers = all(other.number == member.number + 1 for member, other in pairs)
    return len(members) >= FEWEST_NUMBERS and numbers and len(distances) == 1


def _counted(entry: Made, members: Sequence[_Member]) -> Made:
    """The entry of the first number as text of the loop."""
    prefix = block_of(entry.keys[0])
    ((keys, _), _) = _template(entry) or ((entry.keys, ""), (0, 0))
    template = keys[0][: len(keys[0]) - len(entry.keys[0]) + len(prefix)]
    distance = members[1].file - members[0].file
    offset = members[0].file - distance * members[0].number
    place = COUNTER if distance == 1 else f"{distance} * {COUNTER}"
    counter = f"{place} {'-' if offset < 0 else '+'} {abs(offset)}" if offset else place
    file = f'f"arg{{{counter}}}"' if distance else f'"arg{members[0].file}"'

    def counted(node: Node) -> Node:
        if isinstance(node, Group):
            items = tuple(map(counted, node.items))
            return Group(node.opening, items, node.closing, node.fill, node.prefixes)
        return _FILE.sub(file, node.replace(f'"{prefix}', f'f"{template}'))

    return Made(keys, counted(entry.source))
