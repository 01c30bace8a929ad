"""Golden texts: what programs, messages and commands printed when somebody last agreed with it.

A file below ``tests/goldens`` has one or more texts, each under a line with its name. ``make goldens`` records them
anew.
"""

from __future__ import annotations

import difflib
import functools
import importlib.metadata
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "tests" / "goldens"
COMMAND = "make goldens"
_REMOVE = f"If its test is gone for good: {COMMAND}"
_MARK = "==== "
"""Start of the line that names a text."""
_DIFF_LINES = 60
"""Largest number of lines of a difference in a message."""


@functools.cache
def jax_of_goldens() -> str:
    """Returns the version of JAX whose programs the golden texts are of: that of ``constraints-dev.txt``."""
    (version,) = re.findall("^jax==(.*)$", (ROOT / "constraints-dev.txt").read_text(), re.MULTILINE)
    return version


def read_texts(path: Path) -> dict[str, str]:
    """Returns the texts of a file by name; none if the file does not exist."""
    texts: dict[str, list[str]] = {}
    for line in path.read_text().splitlines() if path.exists() else ():
        if line.startswith(_MARK):
            lines = texts[line.removeprefix(_MARK)] = []
        else:
            lines.append(line)
    return {name: "\n".join(lines).strip("\n") for name, lines in texts.items()}


def write_texts(path: Path, texts: Mapping[str, str]) -> None:
    """Writes the texts of a file in the order of their names."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(f"{_MARK}{name}\n{texts[name]}\n" for name in sorted(texts)))


class Goldens:
    """The golden texts that tests compare with, or record with ``--update-goldens``."""

    def __init__(self, *, update: bool, folder: Path = FOLDER) -> None:
        self.update = update
        self.folder = folder
        self._files: dict[str, dict[str, str]] = {}
        """Texts by name of each file that a test has asked for."""

    def check(self, file: str, name: str, text: Iterable[str] | str, *, lowered_by_jax: bool = False) -> None:
        """Compares a text with its golden one, or records it.

        Args:
            file: path of the file below ``tests/goldens`` without its suffix.
            name: name of the text within the file, which has one line.
            text: the text, or its lines.
            lowered_by_jax: whether the text is of a program that JAX lowers. Another version of JAX than that of the
                golden texts may lower it in another way: the test is skipped then, so others judge what it computes.
        """
        changes = self._changes(file, {name: text})
        version = importlib.metadata.version("jax")
        if changes and lowered_by_jax and version != jax_of_goldens():
            pytest.skip(
                f"JAX {version} lowers '{name}' in another way than JAX {jax_of_goldens()}, of the golden texts"
            )
        self._fail_with(changes)

    def check_all(self, file: str, texts: Mapping[str, Iterable[str] | str]) -> None:
        """Compares all texts of a file with the golden ones, or records them; the file has no others."""
        self._fail_with([*self._changes(file, texts), *self._stale(file, texts)])

    def has_only(self, folder: str, names: Mapping[str, Iterable[str]]) -> None:
        """Checks that a folder of golden files has no file and no text that no test asks for, or removes them.

        Args:
            folder: path of the folder below ``tests/goldens``.
            names: names of the texts of each file in the folder.
        """
        self.has_files(folder, names)
        self._fail_with([line for file, known in names.items() for line in self._stale(f"{folder}/{file}", known)])

    def has_files(self, folder: str, files: Iterable[str]) -> None:
        """Checks that a folder has no golden file that no test asks for, or removes it."""
        known = set(files)
        stale = [path for path in sorted((self.folder / folder).glob("*.txt")) if path.stem not in known]
        if self.update:
            for path in stale:
                path.unlink()
        else:
            self._fail_with([f"No test asks for {self._shown(path)}. {_REMOVE}" for path in stale])

    def has_texts(self, file: str, names: Iterable[str]) -> None:
        """Checks that a file has no text that no test asks for, or removes it."""
        self._fail_with(self._stale(file, names))

    def write(self) -> None:
        """Writes the files that tests have recorded."""
        for file, texts in self._files.items():
            if self.update and texts:
                write_texts(self._path(file), texts)

    def _texts(self, file: str) -> dict[str, str]:
        if file not in self._files:
            self._files[file] = read_texts(self._path(file))
        return self._files[file]

    def _changes(self, file: str, texts: Mapping[str, Iterable[str] | str]) -> list[str]:
        """Records texts, or returns a message for each that differs from its golden text."""
        goldens, messages = self._texts(file), []
        for name, given in texts.items():
            text = (given if isinstance(given, str) else "\n".join(given)).strip("\n")
            if self.update:
                goldens[name] = text
            elif name not in goldens:
                messages.append(f"{self._shown(self._path(file))} has no text '{name}'. If the test is new: {COMMAND}")
            elif goldens[name] != text:
                messages.append(self._difference(file, name, goldens[name], text))
        return messages

    def _stale(self, file: str, names: Iterable[str]) -> list[str]:
        """Removes the texts of a file with other names, or returns a message for each."""
        goldens = self._texts(file)
        stale = sorted(goldens.keys() - set(names))
        if self.update:
            for name in stale:
                del goldens[name]
            return []
        return [f"No test asks for '{name}' of {self._shown(self._path(file))}. {_REMOVE}" for name in stale]

    def _fail_with(self, messages: list[str]) -> None:
        if messages:
            pytest.fail("\n\n".join(messages), pytrace=False)

    def _path(self, file: str) -> Path:
        return self.folder / f"{file}.txt"

    def _shown(self, path: Path) -> Path:
        return path.relative_to(self.folder.parent.parent)

    def _difference(self, file: str, name: str, golden: str, text: str) -> str:
        before, after = golden.splitlines(), text.splitlines()
        lines = list(difflib.unified_diff(before, after, "golden", "now", n=0, lineterm=""))
        more = [f"... and {len(lines) - _DIFF_LINES} lines more"] if len(lines) > _DIFF_LINES else []
        title = f"'{name}' of {self._shown(self._path(file))} has changed:"
        return "\n".join([title, *lines[:_DIFF_LINES], *more, f"If the change is meant: {COMMAND}, and read its diff."])


GOLDENS = pytest.StashKey[Goldens]()
"""Key of the session's golden texts among the data of pytest's configuration."""
