"""Implements ``tt-xla compile``: reports on each module, and writes its program and IR."""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from tt_xla.compiler import compile_module, read_module
from tt_xla.compiler.reading import on_mesh
from tt_xla.compiler.ttnn.layouts.explain import Choice, unsearched
from tt_xla.errors import OutputError, TTXLAError
from tt_xla.ir.mesh import Shape
from tt_xla.ir.program import Program
from tt_xla.options import CompileOptions
from tt_xla.publish import publish
from tt_xla.target import Target, load_target
from tt_xla.tools.estimate import by_op
from tt_xla.tools.explain import show, show_json
from tt_xla.tools.inputs import read_input
from tt_xla.tools.programs import program_name

# An op starts its line, after its results. Names such as ttnn.layout in attribute dictionaries do not start a line.
_OP = re.compile(r'^\s*(?:%[^=\n]*=\s*)?"?((?:ttir|ttnn)\.[a-z0-9_.]+)"?', re.MULTILINE)


@dataclass(frozen=True)
class Compiled:
    """A compiled module.

    Attributes:
        path: the module's file.
        name: name of the program.
        program: the program.
        seconds: wall-clock time of the compilation.
        texts: IR by stage, from the dialect of the module on: vhlo, shlo, ttir, ttnn.
        choices: forms of ops with their limits and reasons.
    """

    path: Path
    name: str
    program: Program
    seconds: float
    texts: dict[str, str]
    choices: list[Choice]


def compile_files(
    paths: Sequence[Path],
    arch: str,
    options: CompileOptions,
    out: Path | None,
    as_json: bool,
    report_error: Callable[[BaseException], None],
    explain: str = "",
    mesh: str = "",
) -> bool:
    """Compiles each file and prints a report. A file that fails does not affect the others.

    Args:
        paths: modules of StableHLO, TTIR or TTNN.
        arch: system to compile for.
        options: compile options.
        out: folder for programs and IR; None to write nothing.
        as_json: whether to print JSON.
        report_error: called with the error of a file.
        explain: ``table`` or ``json`` to show what bounds each op, and why it has its form.
        mesh: the mesh of TTIR text that names none, such as ``2x4``.

    Returns:
        Whether a file failed.
    """
    target, shape = load_target(arch), _shape(mesh)
    failed = False
    for path, folder in zip(paths, _folders(paths, out), strict=True):
        try:
            compiled = _compile(path, options, target, shape)
            irs = _write(compiled, folder) if folder is not None else None
        except (TTXLAError, OSError) as error:
            report_error(error)
            failed = True
            continue
        if as_json:
            click.echo(json.dumps(_record(compiled, target, options, irs)))
        else:
            _show(compiled, target, options, irs)
        if explain == "json":
            show_json(str(path), compiled.choices)
        elif explain:
            show(compiled.choices)
    return failed


def _shape(mesh: str) -> Shape:
    """Returns the shape of a mesh such as ``2x4``; nothing for an empty text.

    Raises:
        UsageError: the text is no shape.
    """
    sizes = mesh.split("x") if mesh else []
    if not all(size.isdecimal() and int(size) for size in sizes):
        raise click.UsageError(f"--mesh got {mesh!r}; expected the number of chips along each axis, as in 2x4.")
    return tuple(map(int, sizes))


def _folders(paths: Sequence[Path], out: Path | None) -> list[Path | None]:
    """Returns the folder of each module: ``out`` for a single module, otherwise a folder in it named after the
    module."""
    if out is None or len(paths) == 1:
        return [out] * len(paths)
    seen: Counter[str] = Counter()
    folders: list[Path | None] = []
    for path in paths:
        seen[path.stem] += 1
        count = seen[path.stem]
        folders.append(out / (path.stem if count == 1 else f"{path.stem}-{count}"))
    return folders


def _compile(path: Path, options: CompileOptions, target: Target, mesh: Shape) -> Compiled:
    data = read_input(path)
    name = program_name(path)
    module = read_module(data, str(path))
    if mesh:
        on_mesh(module, mesh)
    start = time.perf_counter()
    program = compile_module(module, options, target, name=name)
    seconds = time.perf_counter() - start
    texts: dict[str, str] = {}  # a second compilation makes the texts and reasons, so that the time is without them
    choices: list[Choice] = []
    compile_module(module, options, target, name=name, dumps=texts, choices=choices)
    return Compiled(path, name, program, seconds, texts, choices or unsearched(program, target))


def _write(compiled: Compiled, folder: Path) -> Path:
    now = int(time.time() * 1000)
    files = {f"irs/{stage}_{compiled.name}_{now}.mlir": text.encode() for stage, text in compiled.texts.items()}
    try:
        publish(folder, files | {f"{compiled.name}.ttnn": compiled.program.to_bytes()}, keep_others=True)
    except OSError as error:
        raise OutputError(
            f"--out '{folder}' cannot be written: {error.strerror or error} ('{error.filename or folder}').",
            hint="Nothing was written. Give --out a folder that is writable or does not exist yet.",
        ) from error
    return folder / "irs"


def count_ops(text: str) -> dict[str, int]:
    """Returns the number of TTIR and TTNN ops of a module by full name, most frequent first."""
    return dict(Counter(match[1] for match in _OP.finditer(text)).most_common())


def _record(compiled: Compiled, target: Target, options: CompileOptions, irs: Path | None) -> dict[str, Any]:
    program = compiled.program
    return {
        "module": str(compiled.path),
        "arch": target.name,
        "level": options.optimization_level,
        "compile_seconds": compiled.seconds,
        "ttir": count_ops(compiled.texts.get("ttir", "")),
        "ttnn": count_ops(compiled.texts.get("ttnn", "")),
        "predicted_device_us": program.predicted_device_us,
        "dram_peak_bytes": program.memory.dram_peak_bytes,
        "l1_peak_bytes_per_core": program.memory.l1_peak_bytes_per_core,
        "host_ops": list(program.host_ops),
        "irs": str(irs) if irs is not None else None,
    }


def _show(compiled: Compiled, target: Target, options: CompileOptions, irs: Path | None) -> None:
    from rich.console import Console
    from rich.table import Table

    program, memory = compiled.program, compiled.program.memory
    lines, total = by_op(program.functions), program.predicted_device_us
    gaps = total - sum(line.us for line in lines.values())
    console = Console(highlight=False, soft_wrap=True)
    console.print(
        f"{compiled.path} for {target.name}, level {options.optimization_level}: compiled in {compiled.seconds:.3f} s, "
        f"predicted device time {program.predicted_device_us:.1f} us a call, {gaps:.1f} us of it between ops",
        markup=False,
    )
    table = Table("op", "count", "predicted us", "share", "bound by", box=None)
    for column in table.columns[1:4]:
        column.justify = "right"
    for op, line in lines.items():
        share = f"{100 * line.us / total:.0f} %" if total and line.us else ""
        table.add_row(op, str(line.count), f"{line.us:.1f}" if line.us else "", share, line.bound)
    if total:
        table.add_row("between ops", "", f"{gaps:.1f}", f"{100 * gaps / total:.0f} %", "")
    console.print(table)
    console.print(
        f"Memory: DRAM {_share(memory.dram_peak_bytes, target.dram_usable_bytes)} of a chip, "
        f"L1 {_share(memory.l1_peak_bytes_per_core, target.l1_usable_bytes)} of a core"
        + (f", trace {memory.trace_bytes} bytes" if memory.trace_bytes else ""),
        markup=False,
    )
    if program.host_ops:
        console.print(f"On the host: {_listed(program.host_ops)}", markup=False)
    if irs is not None:
        console.print(f"Written: {irs} and {irs.parent / (compiled.name + '.ttnn')}", markup=False)


def _share(used: int, available: int) -> str:
    return f"{used / (1 << 20):.2f} MiB ({100 * used / available:.1f} %)"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"{name} x {count}" if count > 1 else name for name, count in Counter(names).items())
