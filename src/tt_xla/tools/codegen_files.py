"""Implements ``tt-xla codegen``: writes each program as a folder of source code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import click

from tt_xla.codegen.export import check_arguments, check_folder, contents, generated, write
from tt_xla.codegen.generator import generate
from tt_xla.codegen.saved_graphs import manifest
from tt_xla.errors import TTXLAError
from tt_xla.options import CompileOptions
from tt_xla.tools.programs import load_program


def codegen_files(
    paths: Sequence[Path],
    arch: str,
    options: CompileOptions,
    out: Path,
    language: str,
    report_error: Callable[[BaseException], None],
) -> bool:
    """Writes the source of each file; arguments of the programs are ``ttnn.ones``.

    Args:
        paths: modules of StableHLO, TTIR or TTNN, and ``.ttnn`` files.
        arch: system to compile modules for.
        options: compile options of modules.
        out: folder of the source, or of one folder per file.
        language: ``py`` or ``cpp``.
        report_error: called with the error of a file.

    Returns:
        Whether a file failed.

    Raises:
        OutputError: ``out`` cannot be written.
    """
    check_folder(out)
    failed = False
    written: list[str] = []
    for index, path in enumerate(paths):
        folder = out if len(paths) == 1 else out / f"graph_{index}"
        try:
            modules: dict[str, str] = {}
            program = load_program(path, arch, replace(options, backend="codegen_py", export_path=str(out)), modules)
            check_arguments(program)
            source = generate(program, export_tensors=False, language=language)
            write(folder, contents(program, source, modules), gone=generated(folder))
        except (TTXLAError, OSError) as error:
            report_error(error)
            failed = True
            continue
        written.append(folder.name)
        host = f"; the host runs {', '.join(program.host_ops)}" if program.host_ops else ""
        click.echo(f"{path}: {source.language.label} codegen successful. Check {folder} for the results{host}.")
    if len(paths) > 1 and written:
        write(out, {}, gone={*generated(out)} - {*written})
    if written:
        write(out, manifest(out))
    return failed
