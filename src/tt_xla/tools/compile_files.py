"""Implements ``tt-xla compile``: reports on each module, and writes its program and IR."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from tt_xla import stage_times
from tt_xla.compiler import compile_module, read_module
from tt_xla.compiler.reading import on_mesh
from tt_xla.compiler.ttnn.layouts.explain import Choice, unsearched
from tt_xla.environment import selected_system
from tt_xla.errors import MalformedModuleError
from tt_xla.ir.mesh import Shape
from tt_xla.ir.program import Program
from tt_xla.options import CompileOptions
from tt_xla.target import Target, load_target
from tt_xla.tools.estimate import by_op
from tt_xla.tools.explain import choice_records, show_choices
from tt_xla.tools.explorer.subjects import Subject
from tt_xla.tools.inputs import MODULE_KINDS, Kind, check_input
from tt_xla.tools.named_programs import options_of, split_arguments, subjects_in, title_of
from tt_xla.tools.output import console, print_json, publish_out, table
from tt_xla.tools.running import for_each

# An op starts its line, after its results. Names such as ttnn.layout in attribute dictionaries do not start a line.
_OP = re.compile(r'^\s*(?:%[^=\n]*=\s*)?"?((?:ttir|ttnn)\.[a-z0-9_.]+)"?', re.MULTILINE)


@dataclass(frozen=True)
class Compiled:
    """A compiled module."""

    title: str
    """The module's file, or the program of a script or folder."""
    options: CompileOptions
    program: Program
    seconds: float
    """Wall-clock time of the compilation, without that of its texts."""
    texts: dict[str, str]
    """IR by stage, from the dialect of the module on: vhlo, shlo, ttir, ttnn."""
    choices: list[Choice]
    """Forms of ops with their limits and reasons; empty unless they are asked for."""


def compile_files(
    files: Sequence[str],
    options: Mapping[str, Any],
    out: Path | None,
    *,
    as_json: bool,
    explain: bool,
    mesh: str,
) -> bool:
    """Compiles modules for the selected system and prints reports; see ``tt-xla compile --help``.

    Returns:
        Whether a file failed, which does not affect the others.
    """
    target, shape = load_target(selected_system()), _shape(mesh)
    paths, arguments = split_arguments(files)
    subjects, failed = subjects_in(paths, arguments)
    folders = _folders([subject.name for _, subject in subjects], out, several=len(paths) > 1 or len(subjects) > 1)

    def work(item: tuple[tuple[Path, Subject], Path | None]) -> None:
        (path, subject), folder = item
        compiled = _compile(path, subject, options, target, shape, explain=explain)
        irs = _write(compiled, folder) if folder is not None else None
        if as_json:
            choices = {"choices": choice_records(compiled.choices)} if explain else {}
            print_json(_record(compiled, target, irs) | choices)
            return
        _show(compiled, target, irs)
        if explain:
            show_choices(compiled.choices)

    return for_each(zip(subjects, folders, strict=True), work) or failed


def _shape(mesh: str) -> Shape:
    """Returns the shape of a mesh such as ``2x4``; nothing for an empty text.

    Raises:
        UsageError: the text is no shape.
    """
    sizes = mesh.split("x") if mesh else []
    if not all(size.isdecimal() and int(size) for size in sizes):
        raise click.UsageError(f"--mesh got {mesh!r}; expected the number of chips along each axis, as in 2x4.")
    return tuple(map(int, sizes))


def _folders(names: Sequence[str], out: Path | None, *, several: bool) -> list[Path | None]:
    """Returns the folder of each program: ``out`` for a single one, otherwise one in it named after the program."""
    if out is None or not several:
        return [out] * len(names)
    seen: Counter[str] = Counter()
    folders: list[Path | None] = []
    for name in names:
        seen[name] += 1
        folders.append(out / (name if seen[name] == 1 else f"{name}-{seen[name]}"))
    return folders


def _compile(
    path: Path, subject: Subject, given: Mapping[str, Any], target: Target, mesh: Shape, *, explain: bool
) -> Compiled:
    if subject.source is None:
        check_input(path, *MODULE_KINDS, Kind.SCRIPT, Kind.MODULES)
        raise MalformedModuleError(
            subject.error or f"{title_of(path, subject)} is compiled already, and its module is not beside it."
        )
    title, options = title_of(path, subject), options_of(subject, given)
    module = read_module(subject.source, title)
    if mesh:
        on_mesh(module, mesh)
    texts: dict[str, str] = {}
    choices: list[Choice] = []
    with stage_times.counted_apart():
        program = compile_module(
            module, options, target, name=subject.name, dumps=texts, choices=choices if explain else None
        )
        seconds = stage_times.spent()[stage_times.COMPILING].wall_s
    if explain:
        choices = choices or unsearched(program, target)
    return Compiled(title, options, program, seconds, texts, choices)


def _write(compiled: Compiled, folder: Path) -> Path:
    now = int(time.time() * 1000)
    files = {f"irs/{stage}_{compiled.program.name}_{now}.mlir": text.encode() for stage, text in compiled.texts.items()}
    publish_out(folder, files | {f"{compiled.program.name}.ttnn": compiled.program.to_bytes()})
    return folder / "irs"


def count_ops(text: str) -> dict[str, int]:
    """Returns the number of TTIR and TTNN ops of a module by full name, most frequent first."""
    return dict(Counter(match[1] for match in _OP.finditer(text)).most_common())


def _record(compiled: Compiled, target: Target, irs: Path | None) -> dict[str, Any]:
    program = compiled.program
    return {
        "module": compiled.title,
        "arch": target.name,
        "level": compiled.options.optimization_level,
        "compile_seconds": compiled.seconds,
        "ttir": count_ops(compiled.texts.get("ttir", "")),
        "ttnn": count_ops(compiled.texts.get("ttnn", "")),
        "predicted_device_us": program.predicted_device_us,
        "dram_peak_bytes": program.memory.dram_peak_bytes,
        "l1_peak_bytes_per_core": program.memory.l1_peak_bytes_per_core,
        "host_ops": list(program.host_ops),
        "irs": str(irs) if irs is not None else None,
    }


def _show(compiled: Compiled, target: Target, irs: Path | None) -> None:
    program, memory = compiled.program, compiled.program.memory
    lines, total = by_op(program.functions), program.predicted_device_us
    gaps = total - sum(line.us for line in lines.values())
    click.echo(
        f"{compiled.title} for {target.name}, level {compiled.options.optimization_level}: compiled in "
        f"{compiled.seconds:.3f} s, predicted device time {total:.1f} us a call, {gaps:.1f} us of it between ops"
    )
    ops = table("op", ">count", ">predicted us", ">share", "bound by")
    for op, line in lines.items():
        share = f"{100 * line.us / total:.0f} %" if total and line.us else ""
        ops.add_row(op, str(line.count), f"{line.us:.1f}" if line.us else "", share, line.bound)
    if total:
        ops.add_row("between ops", "", f"{gaps:.1f}", f"{100 * gaps / total:.0f} %", "")
    console().print(ops)
    click.echo(
        f"Memory: DRAM {_share(memory.dram_peak_bytes, target.dram_usable_bytes)} of a chip, "
        f"L1 {_share(memory.l1_peak_bytes_per_core, target.l1_usable_bytes)} of a core"
        + (f", trace {memory.trace_bytes} bytes" if memory.trace_bytes else "")
    )
    if program.host_ops:
        click.echo(f"On the host: {_listed(program.host_ops)}")
    if irs is not None:
        click.echo(f"Written: {irs} and {irs.parent / (compiled.program.name + '.ttnn')}")


def _share(used: int, available: int) -> str:
    return f"{used / (1 << 20):.2f} MiB ({100 * used / available:.1f} %)"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"{name} x {count}" if count > 1 else name for name, count in Counter(names).items())
