"""Implements ``tt-xla show``: prints a ``.ttnn`` file as text, without torch or xDSL."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import msgspec

from tt_xla.ir.container import read_constants, sections
from tt_xla.ir.program import FORMAT_VERSION, Program
from tt_xla.ir.program_text import program_lines
from tt_xla.tools.inputs import Kind, read_input
from tt_xla.tools.output import print_json
from tt_xla.tools.programs import read_program


def show_file(path: Path, as_json: bool) -> None:
    """Prints the content of a ``.ttnn`` file.

    Raises:
        ProgramFormatError: the file is damaged, or has another format or version.
    """
    data = read_input(path, Kind.PROGRAM)
    read_program(data, path)  # makes all checks; the stored form, read below, has names of constants instead of bytes
    document, tensors = sections(data)
    stored = msgspec.msgpack.decode(document, type=Program)
    constants = {name: len(value) for name, value in read_constants(tensors).items()} if tensors else {}
    if as_json:
        print_json(_record(stored, constants))
        return
    for line in _lines(path, stored, constants, len(data)):
        click.echo(line)


def _record(program: Program, constants: dict[str, int]) -> dict[str, Any]:
    record: dict[str, Any] = msgspec.to_builtins(program)
    return {"format_version": FORMAT_VERSION} | record | {"constants": constants}


def _lines(path: Path, program: Program, constants: dict[str, int], size: int) -> Iterator[str]:
    yield f"{path}: program {program.name} for {program.target}, format {FORMAT_VERSION}, {size:,} bytes"
    yield "options: " + ", ".join(f"{name}={value}" for name, value in program.options.items() if value != "")
    for name, length in constants.items():
        yield f"constant {name}: {length:,} B"
    yield from program_lines(program)
