"""LLVM's FileCheck on IR, through the ``filecheck`` package.

A pattern file is named ``<description>.<stage>.mlir``, stage ``ttir`` or ``ttnn``, and is looked for in
``tests/filecheck`` of the project and beside the test.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

FOLDER = Path("tests/filecheck")


def failed_check(path: Path, checks: str, output: str) -> str:
    """What FileCheck has to say: the pattern, its line, and where matching stood. Empty when all is well."""
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
    """The file names that a ``filecheck`` marker names.

    Raises:
        ValueError: it does not hold one list of names.
    """
    given = marker.args[0] if len(marker.args) == 1 else None
    if not isinstance(given, (list, tuple)) or not all(isinstance(name, str) for name in given):
        raise ValueError(
            f"@pytest.mark.filecheck was given {', '.join(map(repr, marker.args)) or 'nothing'}; it takes one list of "
            "names of pattern files, as in @pytest.mark.filecheck(['add.ttnn.mlir'])."
        )
    return list(given)


def pattern_folders(request: Any) -> list[Path]:
    root, test = Path(request.config.rootpath), Path(request.node.path).parent
    return list(dict.fromkeys([root / FOLDER, Path.cwd() / FOLDER, test, test / "filecheck"]))


def run(names: Sequence[str], files: Mapping[str, Path], folders: Sequence[Path]) -> None:
    """Holds pattern files against IR files, and tells of each.

    Args:
        files: the IR, by stage.

    Raises:
        AssertionError: a pattern does not match, or a file is missing; all of them are in the message.
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
