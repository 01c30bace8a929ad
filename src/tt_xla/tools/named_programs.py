"""The programs that a command line names: those of files and folders, or those that a script compiles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from tt_xla.errors import CompileError
from tt_xla.options import CompileOptions
from tt_xla.tools.explorer.subjects import Subject, subjects_of
from tt_xla.tools.inputs import Kind, kind_of_name
from tt_xla.tools.running import for_each


def subjects_in(paths: Sequence[Path], arguments: Sequence[str]) -> tuple[list[tuple[Path, Subject]], bool]:
    """Returns the programs of modules, ``.ttnn`` files, folders and scripts, which are run, and whether a path failed.

    Errors are reported. A script, run with the arguments, that ends early fails; what it has compiled by then counts.
    """
    found: list[tuple[Path, Subject]] = []

    def collect(path: Path) -> None:
        subjects = subjects_of(path, arguments)
        found.extend((path, subject) for subject in subjects)
        for warning in filter(None, (subject.warning for subject in subjects)):
            raise CompileError(warning)

    failed = for_each(paths, collect)
    return found, failed


def options_of(subject: Subject, given: Mapping[str, Any]) -> CompileOptions:
    """Returns the compile options of a program: those that its script set, and over them those of the command."""
    return CompileOptions.parse({**subject.options, **given})


def title_of(path: Path, subject: Subject) -> str:
    """Returns the words for a program in messages: its path, and its name where the path may have several."""
    return str(path) if path.is_file() and path.suffix != ".py" else f"{subject.name} of {path}"


def split_arguments(files: Sequence[str]) -> tuple[list[Path], list[str]]:
    """Returns the files of a command line, and the arguments of the script if the first one is a script."""
    if kind_of_name(files[0]) is Kind.SCRIPT:
        click.echo(f"Running {files[0]} to record the programs that it compiles.", err=True)
        return [Path(files[0])], list(files[1:])
    return [Path(name) for name in files], []
