"""Programs from files: compiled ones, and modules of StableHLO, TTIR or TTNN that are compiled now."""

from __future__ import annotations

import re
from pathlib import Path

from tt_xla.environment import selected_system
from tt_xla.errors import ProgramFormatError
from tt_xla.ir.container import MAGIC
from tt_xla.ir.program import Program
from tt_xla.options import CompileOptions
from tt_xla.target import load_target
from tt_xla.tools.inputs import MODULE_KINDS, Kind, read_input


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
        source, name: text or bytecode of the module, and name of the program.
        options: compile options.
        label: name of the module in errors, such as a path; by default that of the program.
        dumps: receives the text of the module at each stage.
    """
    from tt_xla.compiler import compile_module, read_module

    module = read_module(source, label or name)
    return compile_module(module, options, load_target(selected_system()), name=name, dumps=dumps)
