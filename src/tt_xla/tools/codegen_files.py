"""Implements ``tt-xla codegen``: writes each program as a folder of source code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from tt_xla.codegen.export import check_arguments, check_folder, contents, generated, write
from tt_xla.codegen.generator import generate
from tt_xla.codegen.saved_graphs import manifest
from tt_xla.tools.explorer.subjects import Subject
from tt_xla.tools.named_programs import options_of, split_arguments, subjects_in, title_of
from tt_xla.tools.programs import compiled
from tt_xla.tools.running import for_each


def codegen_files(files: Sequence[str], options: Mapping[str, Any], out: Path, language: str) -> bool:
    """Writes the source of each program, for the selected system; see ``tt-xla codegen --help``.

    Arguments of the programs are ``ttnn.ones``.

    Returns:
        Whether a file failed, which does not affect the others.

    Raises:
        OutputError: ``out`` cannot be written.
    """
    check_folder(out)
    paths, arguments = split_arguments(files)
    subjects, failed = subjects_in(paths, arguments)
    several = len(paths) > 1 or len(subjects) > 1
    written: list[str] = []

    def work(item: tuple[int, tuple[Path, Subject]]) -> None:
        index, (path, subject) = item
        folder = out / f"graph_{index}" if several else out
        title = title_of(path, subject)
        modules: dict[str, str] = {}
        program = subject.program if subject.source is None else None
        if program is None:
            chosen = replace(options_of(subject, options), backend="codegen_py", export_path=str(out))
            program = compiled(subject.source or b"", subject.name, chosen, label=title, dumps=modules)
        check_arguments(program)
        source = generate(program, export_tensors=False, language=language)
        write(folder, contents(program, source, modules), gone=generated(folder))
        written.append(folder.name)
        host = f"; the host runs {', '.join(program.host_ops)}" if program.host_ops else ""
        click.echo(f"{title}: {source.language.label} codegen successful. Check {folder} for the results{host}.")

    failed = for_each(enumerate(subjects), work) or failed
    if several and written:
        write(out, {}, gone={*generated(out)} - {*written})
    if written:
        write(out, manifest(out))
    return failed
