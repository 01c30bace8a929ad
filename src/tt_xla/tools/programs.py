"""Programs from files: compiled ones, and modules of StableHLO, TTIR or TTNN that are compiled now."""

from __future__ import annotations

import re
from pathlib import Path

from tt_xla.ir.program import MAGIC, Program
from tt_xla.options import CompileOptions
from tt_xla.target import load_target
from tt_xla.tools.inputs import read_input


def program_name(path: Path) -> str:
    """Returns the name of the program in a file: the file's name, without characters that do not fit in a name."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "_", path.stem) or "module"


def load_program(path: Path, arch: str, options: CompileOptions, dumps: dict[str, str] | None = None) -> Program:
    """Returns the program in a ``.ttnn`` file, or compiles a module of StableHLO, TTIR or TTNN.

    Args:
        path: the file. Its content, not its name, tells what it is.
        arch: system to compile modules for.
        options: compile options of modules; a ``.ttnn`` file takes ``trap`` alone.
        dumps: receives the text of a compiled module at each stage.

    Raises:
        TTXLAError: the file is damaged, or the module cannot be compiled.
        OSError: the file cannot be read.
    """
    data = read_input(path)
    if data.startswith(MAGIC):
        program = Program.from_bytes(data)
        return program.with_trap(options.trap) if options.trap else program
    from tt_xla.compiler import compile_module, read_module

    module = read_module(data, str(path))
    return compile_module(module, options, load_target(arch), name=program_name(path), dumps=dumps)
