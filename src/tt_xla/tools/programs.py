"""Programs from files: compiled ones, and modules of StableHLO, TTIR or TTNN that are compiled now."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tt_xla.environment import selected_system
from tt_xla.errors import CompileError, ProgramFormatError
from tt_xla.ir.container import MAGIC
from tt_xla.ir.program import Program
from tt_xla.options import CompileOptions
from tt_xla.target import load_target
from tt_xla.tools.inputs import MODULE_KINDS, Kind, read_input
from tt_xla.tools.running import for_each

if TYPE_CHECKING:
    from tt_xla.tools.explorer.subjects import Subject


def program_name(path: Path) -> str:
    """Returns the name of the program in a file: the file's name, without characters that do not fit in a name."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "_", path.stem) or "module"


def load_program(path: Path, options: CompileOptions) -> Program:
    """Returns the program in a ``.ttnn`` file, or compiles a module of StableHLO, TTIR or TTNN.

    Args:
        path: the file. Its content, not its name, tells what it is.
        options: compile options of modules; a ``.ttnn`` file takes ``trap`` alone.

    Raises:
        TTXLAError: the file is damaged, or the module cannot be compiled.
        OSError: the file cannot be read.
    """
    data = read_input(path, *MODULE_KINDS, Kind.PROGRAM)
    if is_program(data, path):
        program = read_program(data, path)
        return program.with_trap(options.trap) if options.trap else program
    return compiled(data, program_name(path), options, label=str(path))


def is_program(data: bytes, path: Path) -> bool:
    """Whether a file is a compiled program, damaged or not, rather than a module."""
    return data.startswith(MAGIC) or path.suffix == ".ttnn"


def read_program(data: bytes, path: Path) -> Program:
    """Returns the program in the content of a ``.ttnn`` file.

    Raises:
        ProgramFormatError: the file is damaged, or has another format or version.
    """
    try:
        return Program.from_bytes(data)
    except ProgramFormatError as error:
        raise ProgramFormatError(f"'{path}': {error.message}", hint=error.hint) from error


def compiled(
    source: str | bytes, name: str, options: CompileOptions, *, label: str = "", dumps: dict[str, str] | None = None
) -> Program:
    """Compiles a module for the selected system.

    Args:
        source: text or bytecode of the module.
        name: name of the program.
        options: compile options.
        label: name of the module in errors, such as a path; by default that of the program.
        dumps: receives the text of the module at each stage.
    """
    from tt_xla.compiler import compile_module, read_module

    module = read_module(source, label or name)
    return compile_module(module, options, load_target(selected_system()), name=name, dumps=dumps)


def subjects_in(paths: Sequence[Path], arguments: Sequence[str]) -> tuple[list[tuple[Path, Subject]], bool]:
    """Returns the programs of modules, ``.ttnn`` files, folders and scripts, which are run, and whether a path failed.

    Errors are reported. A script that ends early fails, and the programs that it has compiled by then count.

    Args:
        paths: the files and folders.
        arguments: command-line arguments of a script.
    """
    from tt_xla.tools.explorer.subjects import subjects_of

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
    from tt_xla.tools.inputs import kind_of_name

    if kind_of_name(files[0]) is Kind.SCRIPT:
        click.echo(f"Running {files[0]} to record the programs that it compiles.", err=True)
        return [Path(files[0])], list(files[1:])
    return [Path(name) for name in files], []
