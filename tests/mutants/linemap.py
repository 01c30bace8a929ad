"""The map from lines to the tests that execute them, in one SQLite file.

Tests that execute the same lines of a file share a row. The map holds the text of each source as it was recorded: lines
of a later text are looked up at the place where they stood.
"""

from __future__ import annotations

import difflib
import pickle
import sqlite3
import weakref
import zlib
from array import array
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from tests.mutants.sources import Source

_TABLES = """
create table sources (file text primary key, text text);
create table tests (number integer primary key, name text, processor_s real, lines integer);
create table executed (file text, lines blob, tests blob);
create index files on executed (file);
"""


Record = tuple[str, str, float, dict[str, list[int]]]
"""What the recorder writes: kind, test, processor time, and lines by file."""


IMPORT = ""
"""Stands for a test where imports execute lines while tests are collected."""


@dataclass(frozen=True, slots=True)
class RecordedTest:
    """A recorded test."""

    name: str
    processor_s: float
    lines: int
    """Number of lines of the package that the test executes: few where it judges one thing."""

    @property
    def file(self) -> str:
        return self.name.partition("::")[0]

    @property
    def function(self) -> str:
        """The test's name without its parameters."""
        return self.name.partition("[")[0]


def records(folder: Path) -> Iterator[Record]:
    """Yields what the recorder's processes have written."""
    for path in sorted(folder.glob("*.bin")):
        data = memoryview(path.read_bytes())
        while len(data) >= 8:
            size = int.from_bytes(data[:8], "little")
            if len(data) < 8 + size:
                break  # the process was killed while it wrote
            yield pickle.loads(zlib.decompress(data[8 : 8 + size]))
            data = data[8 + size :]
    for path in sorted(folder.glob("*.lines")):
        test, *entries = path.read_text().splitlines()
        executed: dict[str, list[int]] = defaultdict(list)
        for entry in entries:
            line, _, file = entry.partition(" ")
            executed[file].append(int(line))
        yield "child", test, 0.0, executed


def _bits(lines: Iterable[int]) -> bytes:
    """Returns a bit for each line, the first byte first."""
    bits = 0
    for line in lines:
        bits |= 1 << line
    return bits.to_bytes(-(-bits.bit_length() // 8), "little")


@cache
def _positions(before: str, after: str) -> Mapping[int, int]:
    """Returns where the lines of a text are in a later text, by number; those that changed are nowhere."""
    matcher = difflib.SequenceMatcher(None, before.splitlines(), after.splitlines(), autojunk=False)
    blocks = matcher.get_matching_blocks()
    return {block.a + line: block.b + line for block in blocks for line in range(1, block.size + 1)}


def moved(lines: Collection[int], before: str, after: str) -> Collection[int]:
    """Returns where lines of a text are in a later text; those that changed are nowhere."""
    if before == after:
        return lines
    positions = _positions(before, after)
    return [positions[line] for line in lines if line in positions]


def write(path: Path, recorded: Iterable[Record], sources: Mapping[str, Source]) -> int:
    """Writes a map and returns the number of tests in it.

    Args:
        path: the map's file, which is replaced.
        recorded: records, whose files are paths in ``src``.
        sources: the recorded sources, by path from the repository's root.
    """
    numbers: dict[str, int] = {}
    processor_s: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    groups: dict[str, dict[bytes, array[int]]] = defaultdict(lambda: defaultdict(lambda: array("I")))
    counts: dict[str, int] = defaultdict(int)
    for kind, test, seconds, lines in recorded:
        number = numbers.setdefault(test, len(numbers))
        processor_s[test][kind] += seconds
        for file, numbers_of_lines in lines.items():
            counts[test] += len(numbers_of_lines)
            groups[file][_bits(numbers_of_lines)].append(number)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".part")
    temporary.unlink(missing_ok=True)
    with sqlite3.connect(temporary) as database:
        database.executescript(_TABLES)
        database.executemany("insert into sources values (?, ?)", [(file, each.text) for file, each in sources.items()])
        rows = [(number, test, _cost(processor_s[test]), counts[test]) for test, number in numbers.items()]
        database.executemany("insert into tests values (?, ?, ?, ?)", rows)
        for file, sets in groups.items():
            packed = [
                (f"src/{file}", zlib.compress(bits), zlib.compress(tests.tobytes())) for bits, tests in sets.items()
            ]
            database.executemany("insert into executed values (?, ?, ?)", packed)
    database.close()
    temporary.replace(path)
    return len(numbers.keys() - {IMPORT})


def _cost(seconds: Mapping[str, float]) -> float:
    """Returns the processor time of a test and its processes: a fork server's children are waited for by the server."""
    return seconds["test"] + max(seconds["reaped"], seconds["child"])


class LineMap:
    """A recorded map, read a file at a time."""

    def __init__(self, path: Path) -> None:
        self._database = sqlite3.connect(path)
        weakref.finalize(self, self._database.close)
        self._groups = cache(self._read_groups)

    @cached_property
    def tests(self) -> list[RecordedTest]:
        rows = self._database.execute("select name, processor_s, lines from tests order by number")
        return [RecordedTest(*row) for row in rows]

    def _read_groups(self, file: str) -> list[tuple[int, frozenset[int]]]:
        rows = self._database.execute("select lines, tests from executed where file = ?", (file,))
        return [
            (int.from_bytes(zlib.decompress(lines), "little"), frozenset(array("I", zlib.decompress(tests))))
            for lines, tests in rows
        ]

    def recorded_text(self, file: str) -> str:
        row = self._database.execute("select text from sources where file = ?", (file,)).fetchone()
        return row[0] if row else ""

    def without(self, files: Collection[str], sources: Mapping[str, Source]) -> Iterator[Record]:
        """Yields records of the tests that are in none of some files or folders, with the lines of later sources."""
        kept = {
            number: test.name
            for number, test in enumerate(self.tests)
            if not any(test.file == file or test.file.startswith(f"{file}/") for file in files)
        }
        for number, name in kept.items():
            yield "test", name, self.tests[number].processor_s, {}
        for (file,) in self._database.execute("select distinct file from executed").fetchall():
            if file in sources:
                for bits, tests in self._groups(file):
                    lines = [line for line in range(bits.bit_length()) if bits >> line & 1]
                    present = moved(lines, self.recorded_text(file), sources[file].text)
                    for number in tests & kept.keys():
                        yield "child", kept[number], 0.0, {file.removeprefix("src/"): list(present)}

    def executing(self, source: Source, lines: Collection[int]) -> frozenset[int]:
        """Returns the numbers of the tests that execute one of these lines of a source."""
        return self._executing(source, lines) - self._import

    def is_imported(self, source: Source, lines: Collection[int]) -> bool:
        """Returns whether an import executes one of these lines."""
        return bool(self._executing(source, lines) & self._import)

    @cached_property
    def _import(self) -> frozenset[int]:
        return frozenset(number for number, test in enumerate(self.tests) if test.name == IMPORT)

    def _executing(self, source: Source, lines: Collection[int]) -> frozenset[int]:
        wanted = 0
        for line in moved(lines, source.text, self.recorded_text(source.file)):
            wanted |= 1 << line
        tests = [tests for executed, tests in self._groups(source.file) if executed & wanted]
        return frozenset().union(*tests)
