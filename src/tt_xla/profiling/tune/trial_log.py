"""The file of a search's trials, from which the same search continues after it was interrupted.

A trial counts again only where nothing has changed that its outcome depends on: the contents of the program and of the
modules that it imports, its arguments, the system, the environment, the folder that it runs in, and this package.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec

import tt_xla
from tt_xla.disk_cache import key_of
from tt_xla.environment import selected_system, settings_of_libraries, variables_with_effect
from tt_xla.errors import OptionError

Record = TypeVar("Record")


class TrialLog(Generic[Record]):
    """Reads and writes the file.

    Args:
        path: The file.
        kind: Class of the records, a dataclass.
        program: Path of the program.
        facts: What else the outcomes depend on; their ``repr`` tells it.
    """

    def __init__(self, path: Path, kind: type[Record], program: str, facts: Sequence[object]) -> None:
        self._path, self._kind = path, kind
        self._program, self._facts = str(Path(program).resolve()), facts
        self.sources: tuple[str, ...] = ()
        """Files that the program consists of; :func:`sources_of` finds them in the process that ran it."""

    def is_current(self) -> bool:
        """Returns whether the file has the trials of this search.

        Raises:
            OptionError: The file has the trials of another program.
        """
        header = next(self._lines(), None)
        if not isinstance(header, dict) or "key" not in header:
            return False
        if header["program"] != self._program:
            raise OptionError(
                f"'{self._path}' has the trials of another program, {header['program']}.",
                hint="Give another folder with -o, or delete the file.",
            )
        return header["key"] == self._key(header["sources"])

    def read(self) -> list[Record]:
        """Returns the records of the file; of one that is not current none, and the file is removed.

        A line that was cut off, as by the end of the process that wrote it, is left out.

        Raises:
            OptionError: The file has the trials of another program.
        """
        if not self.is_current():
            self.clear()
            return []
        header, *lines = self._lines()
        self.sources = tuple(header["sources"])
        return [msgspec.convert(line, self._kind) for line in lines]

    def clear(self) -> None:
        """Removes the file."""
        self._path.unlink(missing_ok=True)

    def add(self, record: Record) -> None:
        """Writes a record at the end of the file, which is created if it does not exist."""
        if not self._path.exists():
            header = {"program": self._program, "key": self._key(self.sources), "sources": self.sources}
            self._path.write_text(f"{json.dumps(header)}\n")
        end = "" if self._path.read_text().endswith("\n") else "\n"  # of a line that was cut off
        with self._path.open("a") as file:
            file.write(f"{end}{json.dumps(msgspec.to_builtins(record))}\n")

    def _lines(self) -> Iterator[Any]:
        for line in self._path.read_text().splitlines() if self._path.is_file() else ():
            try:
                yield json.loads(line)
            except ValueError:
                continue

    def _key(self, sources: Sequence[str]) -> str:
        files = {path: _digest(Path(path)) for path in sorted({self._program, *sources})}
        machine = (selected_system(), variables_with_effect(), settings_of_libraries(), str(Path.cwd()))
        return key_of([files, self._facts, machine])


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""


def sources_of(script: str) -> tuple[str, ...]:
    """Returns a script and the modules in its folder and below that this process has imported.

    Args:
        script: Path of the script, which this process has run.
    """
    path, package = Path(script).resolve(), Path(tt_xla.__file__).parent
    imported = {Path(file) for module in list(sys.modules.values()) if (file := getattr(module, "__file__", None))}
    own = {
        str(file)
        for file in imported
        if file.is_relative_to(path.parent) and not file.is_relative_to(package) and "site-packages" not in file.parts
    }
    return tuple(sorted(own | {str(path)}))
