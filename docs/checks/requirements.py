"""Checks the names of upstream's documents that requirements.yaml lists, and writes them to docs/requirements.md.

``make requirements`` writes the page. With ``DOCUMENTS=folder``, which has the four documents as text, it looks for
names that are not where the list says, and for names in the documents that the list lacks.
"""

from __future__ import annotations

import argparse
import importlib
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
LIST = Path(__file__).with_suffix(".yaml")
PAGE = ROOT / "docs/requirements.md"
DOCUMENTS = {
    "D": ("documentation.txt", "documentation of tt-xla"),
    "G": ("performance_guide_with_example.txt", "performance guide with its listing"),
    "O": ("performance_guide_older.md", "performance guide, older form"),
    "B": ("single_chip_benchmark.txt", "procedure of a single-chip benchmark"),
}
"""File and name of each document by its letter."""

STATUS = re.compile(r"works|replaced by .+|not applicable: .+", re.DOTALL)

COMMAND = re.compile(r"(?:python|pytest|pip|pre-commit|source|cd|cmake|\./\S+|tt-\w+) ")
"""Beginning of a name that is a command."""


@dataclass(frozen=True)
class Row:
    """A name in a document.

    Attributes:
        section: heading of the table.
        name: the name, as the document writes it.
        places: letter of the document and line, such as ``D265``.
        status: ``works``, ``replaced by ...`` or ``not applicable: ...``.
        note: what a reader must know as well.
        check: the check, by the names of :data:`CHECKS`; empty only for what does not apply.
    """

    section: str
    name: str
    places: tuple[str, ...]
    status: str
    note: str = ""
    check: str = ""


def rows() -> Iterator[Row]:
    """Yields the names of the list.

    Raises:
        ValueError: a row has a status of another form, or lacks its check, or a command's check is that a file exists.
    """
    for section, items in yaml.safe_load(LIST.read_text()).items():
        for item in items:
            places = item["at"] if isinstance(item["at"], list) else [item["at"]]
            row = Row(section, item["name"], tuple(places), item["is"], item.get("note", ""), item.get("check", ""))
            if not STATUS.fullmatch(row.status) or (row.status == "works" and not row.check):
                raise ValueError(f"{LIST.name}: {row.name}: the status is {row.status!r}, the check {row.check!r}")
            if row.status == "works" and COMMAND.match(row.name) and row.check.startswith("path "):
                raise ValueError(f"{LIST.name}: {row.name} is a command, so its check must run it or name its test")
            yield row


def _path(_: Checker, name: str) -> bool:
    return (ROOT / name).exists()


def _runs(checker: Checker, command: str) -> bool:
    return checker.runs(command)


def _absent(_: Checker, name: str) -> bool:
    return not (ROOT / name).exists()


def _contains(_: Checker, argument: str) -> bool:
    name, _, text = argument.partition(" ")
    return (ROOT / name).is_file() and text in (ROOT / name).read_text()


def _test(_: Checker, name: str) -> bool:
    path, _, function = name.partition("::")
    return (ROOT / path).is_file() and (not function or f"def {function}(" in (ROOT / path).read_text())


def _import(_: Checker, name: str) -> bool:
    module, _, attributes = name.partition(":")
    found: Any = importlib.import_module(module)
    for attribute in attributes.split("."):
        found = getattr(found, attribute)
    return True


def _option(_: Checker, name: str) -> bool:
    from tt_xla.options import COMPILE_OPTIONS

    return name in COMPILE_OPTIONS and COMPILE_OPTIONS[name].effective


def _torch(_: Checker, name: str) -> bool:
    from tt_xla.frontends.torch import torch_options

    return f'"{name.removeprefix("option ")}"' in Path(torch_options.__file__).read_text()


def _env(_: Checker, name: str) -> bool:
    from tt_xla.environment import ENVIRONMENT

    return name in ENVIRONMENT


def _pytest(_: Checker, name: str) -> bool:
    from tt_xla.testing.plugin import OPTIONS

    return name in OPTIONS


def _marker(_: Checker, name: str) -> bool:
    from tt_xla.testing.plugin import MARKERS

    return any(re.split(r"\W", marker)[0] == name for marker in MARKERS)


def _archs(_: Checker, names: str) -> bool:
    from tt_xla.testing.models.config import ARCHS

    return set(names.split()) <= set(ARCHS)


def _field(_: Checker, name: str) -> bool:
    from tt_xla.testing.models.config import FIELDS

    return name in FIELDS


def _pass(_: Checker, name: str) -> bool:
    from tt_xla.tools.passes import listed

    return any(line.split()[:1] == [name] for line in listed())


def _script(_: Checker, name: str) -> bool:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    module, _, function = project["scripts"].get(name, "none:none").partition(":")
    return callable(getattr(importlib.import_module(module), function))


def _command(checker: Checker, text: str) -> bool:
    return bool(checker.help_of(tuple(text.split())))


def _help(checker: Checker, text: str) -> bool:
    *command, option = text.split()
    return re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", checker.help_of(tuple(command))) is not None


CHECKS: Mapping[str, Callable[[Checker, str], bool]] = {
    "path": _path,
    "runs": _runs,
    "absent": _absent,
    "contains": _contains,
    "test": _test,
    "import": _import,
    "option": _option,
    "torch": _torch,
    "env": _env,
    "pytest": _pytest,
    "marker": _marker,
    "archs": _archs,
    "field": _field,
    "pass": _pass,
    "script": _script,
    "command": _command,
    "help": _help,
}
"""Checks by the first word of a row's check; each gets the rest and returns whether it holds."""


class Checker:
    """Checks rows; each command runs once, and is asked for its help once."""

    def __init__(self) -> None:
        self._helps: dict[tuple[str, ...], str] = {}
        self._runs: dict[str, bool] = {}

    def runs(self, command: str) -> bool:
        """Returns whether a shell command, run in the root with this environment's commands, ends with status 0."""
        if command not in self._runs:
            path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
            run = subprocess.run(
                command, shell=True, cwd=ROOT, env=os.environ | {"PATH": path}, capture_output=True, check=False
            )
            self._runs[command] = run.returncode == 0
        return self._runs[command]

    def help_of(self, command: tuple[str, ...]) -> str:
        """Returns the help of ``tt-xla NAME`` or ``python -m tracy``; empty if there is no such command."""
        if command not in self._helps:
            module = "tracy" if command[0] == "python" else "tt_xla"
            rest = command[3:] if command[0] == "python" else command[1:]
            run = subprocess.run(
                [sys.executable, "-m", module, *rest, "--help"], capture_output=True, text=True, check=False
            )
            self._helps[command] = run.stdout if run.returncode == 0 else ""
        return self._helps[command]

    def problem(self, row: Row) -> str:
        """Returns why a row does not hold; empty if it does."""
        if not row.check:
            return ""
        kind, _, argument = row.check.partition(" ")
        try:
            holds = CHECKS[kind](self, argument)
        except Exception as error:
            return f"{row.name}: {row.check}: {type(error).__name__}: {error}"
        return "" if holds else f"{row.name}: {row.check} does not hold"


def page() -> str:
    """Returns docs/requirements.md."""
    found = list(rows())
    counts = {kind: sum(row.status.startswith(kind) for row in found) for kind in ("works", "replaced", "not")}
    lines = [
        "# What upstream's documents name",
        "",
        "Each file, command, option, import, environment variable and marker that four of upstream's documents name,",
        "and what becomes of it here. A letter and a number are a document and its line. A test checks every row",
        "(`tests/unit/test_requirements.py`), and `make requirements` writes this page from",
        "`docs/checks/requirements.yaml`.",
        "",
        *(f"- **{letter}**: {name}" for letter, (_, name) in DOCUMENTS.items()),
        "",
        f"{len(found)} names: {counts['works']} work, {counts['replaced']} are replaced, {counts['not']} do not apply.",
    ]
    for section in dict.fromkeys(row.section for row in found):
        lines += ["", f"## {section[:1].upper()}{section[1:]}", "", "| name | where | here |", "|---|---|---|"]
        lines += [_line(row) for row in found if row.section == section]
    return "\n".join(lines) + "\n"


def _line(row: Row) -> str:
    here = f"{row.status}; {row.note}" if row.note else row.status
    return "| " + " | ".join((f"`{row.name}`", ", ".join(row.places), here)).replace("\n", " ") + " |"


NAMES = (
    re.compile(r"[\w.*<>-]+(?:/[\w.*<>-]+)+\.(?:py|ya?ml|mlir|md|json|sh|txt|csv|png|tracy|so)\b"),
    re.compile(r"(?<![\w-])--[a-z][a-z-]+"),
    re.compile(r"\b(?:TT|TTXLA|TTMLIR|IRD|PJRT|WANDB|HERMETIC|BENCH)_[A-Z_]+\b"),
    re.compile(r"pytest\.mark\.\w+"),
    re.compile(r"^(?:from|import) ([\w.]+)", re.MULTILINE),
)
"""Forms of names that the documents are searched for: paths, options, variables, markers and imports."""

PARTS_OF_OTHERS = {
    *("--device", "--rm", "--init", "--recursive", "--build", "--remote", "--extra-index-url", "--version", "--gtest"),
    *("--no-deps", "--all-files", "--debug", "--no-advice", "--csv", "--help", "--xla", "--docker-image"),
    *("--collect-onlyand", "pytest.mark.parametrize", "torch.nn.functional"),
}
"""Options of git, docker, pip, gdb and tt-perf-report in lines that the list has as commands, and names of pytest and
PyTorch themselves."""


def misplaced(folder: Path) -> Iterator[str]:
    """Yields names of the list that are not on the lines of the documents that it gives."""
    texts = {letter: (folder / file).read_text().splitlines() for letter, (file, _) in DOCUMENTS.items()}
    for row in rows():
        words = re.findall(r"[\w]{3,}", row.name)
        for place in row.places:
            line = int(place[1:])
            near = " ".join(texts[place[0]][max(line - 3, 0) : line + 6]).lower()
            if not any(word.lower() in near for word in words):
                yield f"{place} has no {row.name}"


def unlisted(folder: Path) -> Iterator[str]:
    """Yields names in the documents that no row of the list mentions."""
    listed = LIST.read_text()
    for file, _ in DOCUMENTS.values():
        text = (folder / file).read_text()
        names = {found.group(found.lastindex or 0) for form in NAMES for found in form.finditer(text)}
        for name in sorted(names - PARTS_OF_OTHERS):
            if name not in listed and name.rpartition("/")[2] not in listed and name.rpartition(".")[2] not in listed:
                yield f"{file} names {name}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=Path, help="folder with the four documents")
    arguments = parser.parse_args()
    PAGE.write_text(page())
    print(f"{PAGE.relative_to(ROOT)} is written.")
    checker = Checker()
    problems = [problem for row in rows() if (problem := checker.problem(row))]
    if arguments.documents:
        problems += [*misplaced(arguments.documents), *unlisted(arguments.documents)]
    print("\n".join(problems), end="\n" if problems else "")
    raise SystemExit(bool(problems))


if __name__ == "__main__":
    main()
