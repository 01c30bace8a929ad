"""The files and tests of pytorch/xla's suite, and what ``torch_xla_tests.toml`` declares about them."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from types import CodeType
from typing import Any

DECLARED = Path(__file__).with_name("torch_xla_tests.toml")
SCRIPT = "script"
"""Name of the only test of a file without cases: it passes if the script ends without an error."""


@dataclass(frozen=True)
class Declaration:
    """Tests that share a reason."""

    reason: str
    tests: Sequence[str]
    """Globs of ``file.py``, or of ``file.py::Class.method``."""
    systems: Sequence[str] = ()
    """Systems on which the declaration holds; all if empty."""

    def names(self, file: str, test: str, system: str) -> bool:
        """Returns whether the declaration is about a test."""
        return (not self.systems or system in self.systems) and any(
            fnmatchcase(f"{file}::{test}" if "::" in glob else file, glob) for glob in self.tests
        )


@dataclass(frozen=True)
class Declarations:
    """What is declared about the suite."""

    not_applicable: Sequence[Declaration] = ()
    known_failures: Sequence[Declaration] = ()
    several_devices: Sequence[str] = ()
    """Globs of the files that run on several chips as well as on one."""
    stablehlo_export: Sequence[str] = ()
    """Globs of the files whose tests need the export of StableHLO."""
    modules: Sequence[str] = ()
    """Files that import their neighbours by relative names, and run as ``python -m folder.file``."""
    torchrun: Sequence[str] = ()
    """Globs of the files that torchrun starts: as one process on one chip, as two on several."""
    environment: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Environment variables by file, as upstream's ``run_tests.sh`` sets them."""
    without_module: Mapping[str, str] = field(default_factory=dict)
    """A module that is not used by the main part of a file: its statements that name the module are left out."""
    arguments: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Arguments of a file, as upstream's ``run_tests.sh`` gives them."""
    seconds: Mapping[str, int] = field(default_factory=dict)
    """Limits of processor time for each test of a file, where it is not the usual one."""

    def applies(self, file: str, test: str, system: str) -> bool:
        """Returns whether a test applies to a back end that is neither TPU nor CUDA."""
        return reason_of(self.not_applicable, file, test, system) is None


def load(path: Path = DECLARED) -> Declarations:
    """Reads declarations."""
    content: dict[str, Any] = tomllib.loads(path.read_text())
    for kind in ("not_applicable", "known_failures"):
        content[kind] = [Declaration(**entry) for entry in content.get(kind, [])]
    return Declarations(**content)


def reason_of(declarations: Iterable[Declaration], file: str, test: str, system: str) -> str | None:
    """Returns the reason of the first declaration about a test; None if there is none."""
    return next((each.reason for each in declarations if each.names(file, test, system)), None)


def matches(file: str, globs: Iterable[str]) -> bool:
    """Returns whether one of the globs matches a file."""
    return any(fnmatchcase(file, glob) for glob in globs)


def files_of_tests(checkout: Path) -> list[str]:
    """Returns the files of tests, as paths below the checkout's folder ``test``."""
    root = checkout / "test"
    found = {*root.rglob("test_*.py"), *root.rglob("*_test.py")}
    programs = [path for path in found if has_main_part(path) or static_names(path) != [SCRIPT]]
    return sorted(path.relative_to(root).as_posix() for path in programs)


def has_main_part(path: Path) -> bool:
    """Returns whether a file does something as a script. Others have cases, which ``python -m unittest`` runs."""
    return re.search(r"^if __name__ == ['\"]__main__", path.read_text(), re.MULTILINE) is not None


def code_without(path: Path, module: str) -> CodeType:
    """Returns the code of a file whose main part lacks the statements that name a module."""
    tree = ast.parse(path.read_text(), str(path))
    for node in tree.body:
        if isinstance(node, ast.If) and "__main__" in ast.unparse(node.test):
            node.body = [each for each in node.body if not re.search(rf"\b{re.escape(module)}\b", ast.unparse(each))]
    return compile(tree, str(path), "exec")


def static_names(path: Path) -> list[str]:
    """Returns the tests that a file defines, read without running it: a test with parameters is one."""
    classes = [node for node in ast.parse(path.read_text()).body if isinstance(node, ast.ClassDef)]
    cases = [
        f"{each.name}.{node.name}"
        for each in classes
        for node in each.body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test")
    ]
    return list(dict.fromkeys(cases)) or [SCRIPT]
