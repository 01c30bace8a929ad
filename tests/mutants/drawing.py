"""Draws mutants: lines at random over the packages, in proportion to their lines of code, and a mutation for each."""

from __future__ import annotations

import hashlib
import random
import re
import subprocess
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import click

from tests.mutants import operators
from tests.mutants.operators import Edit, Mutation
from tests.mutants.sources import PACKAGE, Source

_SHOWN = 100
"""Characters of a changed line that tables show."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """A fault in one source."""

    package: str
    file: str
    line: int
    kind: str
    start: int
    end: int
    text: str
    """What replaces the characters from start to end."""
    scope: str
    """Qualified name of the function or class around the change; empty in a module's body."""
    in_function: bool
    """Whether a call evaluates the changed place, and not an import."""
    lines: tuple[int, int]
    """First and last line of the statement, by which its tests are found."""
    old: str
    new: str

    @property
    def edit(self) -> Edit:
        return Edit(self.start, self.end, self.text)

    @property
    def id(self) -> str:
        """Stays when lines around the mutant change."""
        return hashlib.sha256(repr((self.file, self.scope, self.kind, self.old, self.new)).encode()).hexdigest()[:12]

    @property
    def place(self) -> str:
        return f"{self.file.removeprefix(f'{PACKAGE}/')}:{self.line}"

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Mutant:
        return cls(**{**fields, "lines": tuple(fields["lines"])})


def mutant(source: Source, mutation: Mutation) -> Mutant:
    edit, line = mutation.edit, source.line_of(mutation.edit.start)
    changed = operators.apply(source, edit)
    first, rest = source.text.rfind("\n", 0, edit.start) + 1, source.text[edit.end :].partition("\n")[0]
    old, new = source.text[first : edit.end] + rest, changed[first : edit.start + len(edit.text)] + rest
    old, new = _shortened(" ".join(old.split()), " ".join(new.split()))
    place = mutation.place
    return Mutant(
        *(source.package, source.file, line, mutation.kind, edit.start, edit.end, edit.text),
        *(place.scope, place.function is not None, place.lines, old, new),
    )


def find(known: Mapping[str, Source], earlier: Mutant) -> Mutant | None:
    """Returns a mutant of earlier sources in later ones; None where its line has changed."""
    source = known.get(earlier.file)
    if source is None:
        return None
    mutants = (mutant(source, each) for each in operators.mutations(source) if each.kind == earlier.kind)
    return next((each for each in mutants if each.id == earlier.id), None)


def _shortened(old: str, new: str) -> tuple[str, str]:
    """Cuts what two texts have in common until both are short, and keeps the words beside the difference."""
    longest = max(len(old), len(new))
    if longest <= _SHOWN:
        return old, new
    common = next((i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
    first = max(0, min(common - _SHOWN // 2, longest - _SHOWN))

    def cut(text: str) -> str:
        return ("… " if first else "") + text[first : first + _SHOWN] + (" …" if len(text) > first + _SHOWN else "")

    return cut(old), cut(new)


def shares(sizes: Mapping[str, int], count: int) -> dict[str, int]:
    """Returns how many of ``count`` mutants each package gets: its share of the lines, by largest remainder."""
    total = sum(sizes.values())
    exact = {package: count * size / total for package, size in sizes.items()}
    numbers = {package: int(share) for package, share in exact.items()}
    by_remainder = sorted(exact, key=lambda package: (numbers[package] - exact[package], package))
    for package in by_remainder[: count - sum(numbers.values())]:
        numbers[package] += 1
    return numbers


def draw(
    sources: Mapping[str, Source],
    count: int,
    seed: str,
    packages: Sequence[str] = (),
    changed: Mapping[str, Collection[int]] | None = None,
) -> list[Mutant]:
    """Draws mutants, the same ones for the same sources and seed.

    Args:
        sources: the sources by file.
        count: number of mutants. There are fewer where the lines do not suffice.
        seed: what the drawing depends on.
        packages: packages to draw from; all by default.
        changed: by file, the lines to draw from; all by default.
    """
    generator = random.Random(seed)
    required = operators.required_parameters(sources.values())
    lines: dict[str, list[tuple[Source, int]]] = defaultdict(list)
    for source in sources.values():
        if not packages or source.package in packages:
            kept = source.lines_of_code if changed is None else changed.get(source.file, ())
            lines[source.package].extend((source, line) for line in kept)
    by_line: dict[str, dict[int, list[Mutation]]] = {}
    drawn: list[Mutant] = []
    for package, number in sorted(shares({key: len(value) for key, value in lines.items()}, count).items()):
        order = generator.sample(lines[package], len(lines[package]))
        for source, line in order:
            if number == 0:
                break
            if source.file not in by_line:
                by_line[source.file] = _by_line(source, required)
            chosen = _choose(source, by_line[source.file].get(line, ()), generator)
            if chosen is not None:
                drawn.append(mutant(source, chosen))
                number -= 1
    return drawn


def _by_line(source: Source, required: Mapping[str, frozenset[str]]) -> dict[int, list[Mutation]]:
    found: dict[int, list[Mutation]] = defaultdict(list)
    for mutation in operators.mutations(source, required):
        found[source.line_of(mutation.edit.start)].append(mutation)
    return found


def _choose(source: Source, mutations: Sequence[Mutation], generator: random.Random) -> Mutation | None:
    """Returns a valid mutation of a line: a kind at random, then one of that kind."""
    kinds: dict[str, list[Mutation]] = defaultdict(list)
    for mutation in mutations:
        kinds[mutation.kind].append(mutation)
    for kind in generator.sample(sorted(kinds), len(kinds)):
        for mutation in generator.sample(kinds[kind], len(kinds[kind])):
            if operators.is_valid(source, mutation.edit):
                return mutation
    return None


def changed_lines(root: Path, base: str) -> dict[str, set[int]]:
    """Returns the lines of the package that differ from a commit, by file.

    Raises:
        ClickException: git does not know the commit.
    """
    command = ["git", "-C", str(root), "diff", "--unified=0", "--no-color", base, "--", PACKAGE]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode:
        raise click.ClickException(f"git cannot compare with {base}: {result.stderr.strip()}")
    lines: dict[str, set[int]] = defaultdict(set)
    file = ""
    for row in result.stdout.splitlines():
        if row.startswith("+++ "):
            file = row.removeprefix("+++ b/")
        elif hunk := re.match(r"@@ -\S+ \+(\d+)(?:,(\d+))? @@", row):
            first, number = int(hunk[1]), int(hunk[2] or 1)
            lines[file].update(range(first, first + number))
    return dict(lines)
