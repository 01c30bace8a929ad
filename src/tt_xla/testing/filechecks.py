"""Runs LLVM's FileCheck on IR with the ``filecheck`` package.

A pattern file is named ``<description>.<stage>.mlir``, where the stage is ``ttir`` or ``ttnn``. It is looked up in
``tests/filecheck`` of the project and in the test's folder.
"""

from __future__ import annotations

import io
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

FOLDER = Path("tests/filecheck")

CHECKED: weakref.WeakSet[Any] = weakref.WeakSet()
"""Tests of pytest whose IR was checked."""


def failed_check(path: Path, checks: str, output: str) -> str:
    """Runs FileCheck.

    Args:
        path: the pattern file, for messages.
        checks: the text of the pattern file.
        output: the IR.

    Returns:
        FileCheck's message with the pattern, its line and the position in the IR; empty if every pattern matches.
    """
    from filecheck.error import CheckError, ParseError
    from filecheck.finput import FInput
    from filecheck.matcher import Matcher
    from filecheck.options import Options
    from filecheck.parser import Parser, pattern_for_opts

    options = Options(str(path), check_prefixes="CHECK")  # pyright: ignore[reportArgumentType]
    parser = Parser(options, io.StringIO(checks), *pattern_for_opts(options))
    matcher = Matcher(options, FInput("output", output), parser)
    matcher.stderr = io.StringIO()
    try:
        return "" if matcher.run() == 0 else matcher.stderr.getvalue()
    except (CheckError, ParseError) as error:
        return str(error)


def patterns_of(marker: Any) -> list[str]:
    """Returns the file names in a ``filecheck`` marker.

    Raises:
        ValueError: the marker's argument is not one list of names.
    """
    names = marker.args[0] if len(marker.args) == 1 else None
    if not isinstance(names, (list, tuple)) or not all(isinstance(name, str) for name in names):
        raise ValueError(
            f"@pytest.mark.filecheck got {', '.join(map(repr, marker.args)) or 'no argument'}; expected one list of "
            "names of pattern files, as in @pytest.mark.filecheck(['add.ttnn.mlir'])."
        )
    return list(names)


def pattern_folders(request: Any) -> list[Path]:
    """Returns the folders where pattern files of a test are looked up, in order."""
    root, test = Path(request.config.rootpath), Path(request.node.path).parent
    return list(dict.fromkeys([root / FOLDER, Path.cwd() / FOLDER, test, test / "filecheck"]))


def run(names: Sequence[str], files: Mapping[str, Path], folders: Sequence[Path]) -> None:
    """Checks IR files with pattern files, and prints the outcome of each.

    Args:
        names: names of the pattern files.
        files: the IR files by stage.
        folders: folders where the pattern files are looked up.

    Raises:
        AssertionError: patterns do not match, or files are missing; the message lists all of them.
    """
    problems: list[str] = []
    for name in names:
        key = name.removesuffix(".mlir")
        print(f"Running FileCheck for {key} IR:")
        problem = _problem(name, key, files, folders)
        if problem:
            print(f"✗ FileCheck FAILED for {key}:\n{problem}")
            problems.append(f"FileCheck failed for pattern '{key}': {problem}")
        else:
            print(f"✓ FileCheck PASSED for {key}")
    if problems:
        raise AssertionError("\n\n".join(problems))


def _problem(name: str, key: str, files: Mapping[str, Path], folders: Sequence[Path]) -> str:
    """Returns why a pattern file does not match; empty if it does."""
    path = next((folder / name for folder in folders if (folder / name).is_file()), None)
    if path is None:
        print(f"WARNING: pattern file not found: {name}")
        return f"Pattern file not found: {name}. Looked in {', '.join(map(str, folders))}."
    stage = key.rpartition(".")[2]
    if stage not in files or not files[stage].is_file():
        return (
            f"No IR file found for type '{stage}' in {', '.join(map(str, files.values())) or 'the test'}. "
            f"A pattern file is named <description>.<stage>.mlir; stages are {', '.join(files)}."
        )
    print(f"  Pattern: {path}\n  IR file: {files[stage]}")
    output = files[stage].read_text()
    problem = failed_check(path, path.read_text(), output)
    if not problem:
        return ""
    lines = output.splitlines()
    shown = "\n".join(lines[:400]) + (
        f"\n... {len(lines) - 400} more lines in {files[stage]}" if len(lines) > 400 else ""
    )
    return f"{problem.rstrip()}\nThe IR ({files[stage]}):\n{shown}"
