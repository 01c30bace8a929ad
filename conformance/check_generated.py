"""Generates source for programs, runs each ``main.py`` in TT-NN's mock mode, and checks the C++ with g++.

The programs are those of ``programs``, StableHLO files, and what the scripts of examples/ compile (``smollm2.py``), at
each level; with ``--meshes`` also programs for several chips. Mock mode computes nothing: ``main.py`` runs to its end
when TT-NN accepts every call. Host ops need torch in TT-NN's interpreter. ``make check-generated`` writes the tables
into docs/codegen.md.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import click
import jax

from docs.tables import write_between_marks
from tests.codegen.declarations import header
from tt_xla.codegen import UTILS
from tt_xla.codegen.export import contents, write
from tt_xla.codegen.generator import generate
from tt_xla.codegen.mock import Mock, mock, ttnn_python
from tt_xla.compiler import compile_module, parse_module
from tt_xla.errors import UnsupportedOpError
from tt_xla.ir.program import Program
from tt_xla.options import CompileOptions
from tt_xla.target import load_target

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"

SCRIPTS = {
    "codegen.py": [],
    "mnist.py": ["--runs", "1"],
    "digits.py": ["--epochs", "1"],
    "minilm.py": [],
    "smollm2.py": ["--tokens", "2"],
    "lora.py": ["--steps", "1"],
}
"""Examples, with arguments that shorten them."""

MESHES = (("p300", (1, 2)), ("p150x4", (2, 2)), ("p150x4", (1, 4)))
"""Systems of several chips that mock mode supports, each with a mesh."""

MESH_PROGRAMS = (
    *("dp_digits_cnn_2x4", "dp_resnet_1x8", "dp_cnn_train_1x8", "dp_mlp_train_2x4"),
    *("dp_tp_mlp_2x4", "dp_tp_bert_2x4", "dp_tp_llama_prefill_2x4", "dp_tp_llama_decode_2x4", "dp_tp_gpt_train_2x4"),
    *("fsdp_mlp_train_2x4", "fsdp_gpt_train_1x8"),
    *("sequence_parallel_2x4", "context_parallel_1x8", "ring_attention_1x8", "experts_2x4", "switch_1x8"),
    *("dot_psum_2x4", "dot_psum_scatter_2x4_gspmd", "pmean_2x4", "all_gather_2x4", "psum_scatter_1x8"),
    *("all_to_all_1x8", "ppermute_1x8", "collective_matmul_1x8"),
    *("reshard_2x4", "transposed_axes_2x4", "all_gather_both_axes_2x4"),
)
"""Programs for several chips, each compiled for all of :data:`MESHES`."""

RUN = """
import runpy, sys, ttnn
folder, *packages = sys.argv[1:]
sys.path[:0], sys.path[len(sys.path):], sys.argv[1:] = [folder], packages, []
for name in ("begin_trace_capture", "end_trace_capture", "execute_trace", "release_trace"):
    setattr(ttnn, name, lambda *positional, **named: 0)
runpy.run_path(folder + "/main.py", run_name="__main__")
"""
"""Script that runs one ``main.py``. Mock mode records no traces, so what would be recorded runs directly."""


@dataclass(frozen=True)
class Outcome:
    """Result of checking one program at one level."""

    program: str
    level: int
    lines: int = 0
    ops: int = 0
    """Number of TTNN ops, const-eval included, ``deallocate`` excluded."""
    generated_s: float = 0.0
    ran_s: float = 0.0
    refused: str = ""
    """Reason why ``main.py`` failed; empty on success."""
    cpp: str = ""
    """Message of g++, or the reason why there is no C++; empty on success."""

    @property
    def per_op(self) -> float:
        return self.lines / max(self.ops, 1)


@dataclass(frozen=True)
class Checker:
    """Checks generated programs with one TT-NN interpreter, one output folder and one set of C++ headers."""

    interpreter: Mock
    folder: Path
    headers: Path | None
    timeout_s: float
    packages: Sequence[str] = ()
    """Folders of packages that TT-NN's interpreter lacks."""

    def check(self, name: str, level: int, program: Program) -> Outcome:
        folder = self.folder / f"{name}-{level}"
        start = time.perf_counter()
        try:
            source = generate(program, export_tensors=False)
        except Exception as error:  # one failure must not stop the sweep
            return Outcome(name, level, refused=f"not generated: {type(error).__name__}: {error}")
        generated_s = time.perf_counter() - start
        folder.parent.mkdir(parents=True, exist_ok=True)
        write(folder, contents(program, source, {}))
        ran_s, refused = self.run(folder)
        cpp = self.compile(folder, program) if self.headers is not None else ""
        return Outcome(name, level, len(source.main.splitlines()), ops_of(program), generated_s, ran_s, refused, cpp)

    def run(self, folder: Path) -> tuple[float, str]:
        """Runs ``main.py`` of a folder. Returns the seconds it took, and the reason for a failure or ''."""
        command = [self.interpreter.python, "-c", RUN, str(folder), *self.packages]
        start = time.perf_counter()
        try:
            done = subprocess.run(
                command,
                cwd=folder,  # TT-NN writes files about the fabric there
                env=self.interpreter.environment | {"PYTHONDONTWRITEBYTECODE": "1"},
                capture_output=True,
                text=True,
                timeout=self.timeout_s,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return self.timeout_s, f"did not end within {self.timeout_s:.0f} s"
        (folder / "output.txt").write_text(done.stdout + done.stderr)
        seconds = time.perf_counter() - start
        return seconds, "" if done.returncode == 0 else reason(done.stderr) or "failed without a message"

    def compile(self, folder: Path, program: Program) -> str:
        """Writes the program as C++ and returns the first error of g++, or ''."""
        try:
            source = generate(program, export_tensors=False, language="cpp")
        except UnsupportedOpError as error:
            return str(error)
        (folder / "main.cpp").write_text(source.main)
        command = ["g++", "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror"]
        done = subprocess.run(
            [*command, f"-I{self.headers}", str(folder / "main.cpp")], capture_output=True, text=True, check=False
        )
        errors = [line for line in done.stderr.splitlines() if "error:" in line]
        return "" if done.returncode == 0 else (errors or ["error"])[0].partition("main.cpp:")[2]


def ops_of(program: Program) -> int:
    return sum(step.op != "ttnn.deallocate" for function in program.functions for step in function.body)


def reason(stderr: str) -> str:
    """Extracts from a traceback the line of ``main.py`` that failed, and TT-NN's message."""
    before = stderr.partition("backtrace:")[0]
    lines = [line.strip() for line in before.splitlines() if line.strip()]
    places = [index for index, line in enumerate(lines) if "main.py" in line and line.startswith("File ")]
    call = lines[places[-1] + 1] if places and places[-1] + 1 < len(lines) else ""
    said = next(
        (lines[index + 1] for index, line in enumerate(lines) if line == "info:" and index + 1 < len(lines)), ""
    )
    errors = [line for line in lines if "Error" in line or "Exit" in line or "TT_" in line]
    return f"{call}: {said or (errors or lines or [''])[-1]}"[:300]


def compiled(name: str, text: str | bytes, level: int, system: str = "p150") -> Program:
    options = CompileOptions.parse({"optimization_level": level})
    return compile_module(parse_module(text, name), options, load_target(system), name=name)


def check_text(checker: Checker, name: str, text: str, level: int, system: str = "p150") -> Outcome:
    """Compiles a program and checks its source."""
    try:
        program = compiled(name, text, level, system)
    except Exception as error:  # one failure must not stop the sweep
        return Outcome(name, level, refused=f"not compiled: {type(error).__name__}: {error}")
    return checker.check(name, level, program)


def files_of(names: Sequence[str], folder: Path | None) -> Iterator[tuple[str, str]]:
    """Yields the name and StableHLO text of each program, read from a file or from ``folder``, or generated."""
    from benchmarks.programs import PROGRAMS

    for name in names or list(PROGRAMS):
        if name.endswith(".mlir"):
            yield Path(name).stem, Path(name).read_text()
        elif folder is not None and (folder / f"{name}.mlir").exists():
            yield name, (folder / f"{name}.mlir").read_text()
        else:
            yield name, PROGRAMS[name]().stablehlo()


def check_files(
    checker: Checker, names: Sequence[str], levels: Sequence[int], folder: Path | None
) -> Iterator[Outcome]:
    for name, text in files_of(names, folder):
        for level in levels:
            yield check_text(checker, name, text, level)


def check_meshes(
    checker: Checker, names: Sequence[str], levels: Sequence[int]
) -> Iterator[tuple[str, Iterator[Outcome]]]:
    """Yields for each system and mesh its label and the outcomes of the programs for several chips."""
    from benchmarks.programs.meshes import MESH_PROGRAMS as BY_NAME

    def outcomes(on_mesh: Checker, system: str, mesh: tuple[int, int]) -> Iterator[Outcome]:
        for name in names:
            text = replace(BY_NAME[name](), mesh=mesh).stablehlo()
            for level in levels:
                yield replace(check_text(on_mesh, name, text, level, system), program=_without_mesh(name))

    for system, mesh in MESHES:
        label = f"{system}, {mesh[0]}x{mesh[1]}"
        on_mesh = replace(checker, interpreter=mock(ttnn_python(), system), folder=checker.folder / label)
        yield label, outcomes(on_mesh, system, mesh)


def _without_mesh(name: str) -> str:
    """Returns a program's name without the mesh that other benchmarks run it on."""
    return re.sub(r"_\d+x\d+", "", name)


def check_example(checker: Checker, script: str, level: int) -> Iterator[Outcome]:
    """Runs an example with options under which it generates every program and computes nothing."""
    root = checker.folder / f"{script}-{level}"
    shutil.rmtree(root, ignore_errors=True)
    forced = {
        **{"backend": "codegen_py", "export_path": str(root), "export_tensors": False, "dry_run": True},
        "optimization_level": level,
    }
    done = subprocess.run(
        [sys.executable, EXAMPLES / script, *SCRIPTS[script]],
        env=os.environ | {"TTXLA_COMPILE_OPTIONS": json.dumps(forced), "TTXLA_SYSTEM": "p150"},
        cwd=checker.folder,
        capture_output=True,
        text=True,
        check=False,
    )
    # The parts of a staged model run as part of the model.
    mains = [main for main in sorted(root.rglob("main.py")) if not (main.parent.parent / "programs.py").exists()]
    if done.returncode or not mains:
        said = (done.stderr.strip().splitlines() or ["it generated nothing"])[-1]
        yield Outcome(script, level, refused=f"the script failed: {said}")
    for main in mains:
        name = script if len(mains) == 1 else f"{script} {main.parent.name}"
        ran_s, refused = checker.run(main.parent)
        ttnn = [line for path in main.parent.rglob("irs/ttnn_*.mlir") for line in path.read_text().splitlines()]
        ops = sum('"ttnn.' in line and '"ttnn.deallocate"' not in line for line in ttnn)
        lines = sum(len(path.read_text().splitlines()) for path in main.parent.rglob("main.py"))
        yield Outcome(name, level, lines, ops, 0.0, ran_s, refused)


def table(outcomes: Sequence[Outcome], levels: Sequence[int], *, scripts: bool) -> str:
    """Returns a Markdown table: lines, ops and lines per op of each program, and what was refused.

    Args:
        outcomes: results of all programs and levels.
        levels: levels of the columns.
        scripts: whether the programs come from example scripts, which generate only Python.
    """
    heads = ["program", *(f"level {level}: lines / ops" for level in levels)]
    heads += ["`main.py`"] if scripts else ["generated in s", "`main.py`", "C++"]
    lines = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    for name in dict.fromkeys(outcome.program for outcome in outcomes):
        by_level = {outcome.level: outcome for outcome in outcomes if outcome.program == name}
        cells = [_counts(by_level[level]) if level in by_level else "" for level in levels]
        refused = [f"level {outcome.level}: {outcome.refused}" for outcome in by_level.values() if outcome.refused]
        cpp = [outcome.cpp for outcome in by_level.values() if outcome.cpp]
        seconds = max(outcome.generated_s for outcome in by_level.values())
        main = "; ".join(refused) or "accepted"
        cells += [main] if scripts else [f"{seconds:.1f}", main, cpp[0] if cpp else "accepted"]
        lines.append(f"| {name} | {' | '.join(cell.replace('|', '/') for cell in cells)} |")
    return "\n".join(lines)


def mesh_table(outcomes: Mapping[str, Sequence[Outcome]]) -> str:
    """Returns a Markdown table of programs for several chips: lines and ops at the highest level on each mesh.

    Args:
        outcomes: results of all programs and levels, by system and mesh.
    """
    together = [outcome for of_mesh in outcomes.values() for outcome in of_mesh]
    heads = ["program", *(f"{label}: lines / ops" for label in outcomes), "`main.py`", "C++"]
    lines = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    for name in dict.fromkeys(outcome.program for outcome in together):
        highest = [
            max((one for one in of_mesh if one.program == name), key=lambda one: one.level)
            for of_mesh in outcomes.values()
        ]
        refused = [
            f"{label}, level {one.level}: {one.refused}"
            for label, of_mesh in outcomes.items()
            for one in of_mesh
            if one.program == name and one.refused
        ]
        cpp = [one.cpp for one in together if one.program == name and one.cpp]
        cells = [*map(_counts, highest), "; ".join(refused) or "accepted", cpp[0] if cpp else "accepted"]
        lines.append(f"| {name} | {' | '.join(cell.replace('|', '/') for cell in cells)} |")
    return "\n".join(lines)


def _counts(outcome: Outcome) -> str:
    return f"{outcome.lines} / {outcome.ops} = {outcome.per_op:.2f}"


def shown(outcomes: Iterable[Outcome]) -> list[Outcome]:
    """Prints each outcome as it arrives, and returns all of them."""
    collected: list[Outcome] = []
    for outcome in outcomes:
        collected.append(outcome)
        click.echo(
            f"{outcome.program:20} {outcome.level}  {outcome.lines:6} lines {outcome.ops:6} ops {outcome.per_op:5.2f}  "
            f"{outcome.generated_s:5.2f} s  {outcome.ran_s:6.1f} s  {outcome.refused or 'accepted'}"
            + (f"  C++: {outcome.cpp}" if outcome.cpp else "")
        )
    return collected


@click.command(help=__doc__)
@click.argument("names", nargs=-1)
@click.option("--level", "levels", multiple=True, type=int, default=(0, 1, 2), show_default=True)
@click.option("--folder", type=click.Path(path_type=Path), help="Folder with the programs as StableHLO text.")
@click.option("--examples/--no-examples", default=False, help="Also check what the scripts of examples/ compile.")
@click.option("--meshes/--no-meshes", default=False, help="Also check programs for several chips.")
@click.option("--cpp/--no-cpp", default=True, help="Check the C++ with g++.")
@click.option("--packages", multiple=True, help="Folder of packages that TT-NN's interpreter lacks, such as torch.")
@click.option("--timeout", "timeout_s", default=600.0, show_default=True, help="Seconds that one main.py may take.")
@click.option("--keep", type=click.Path(path_type=Path), help="Keep the generated sources in this folder.")
@click.option("--document", type=click.Path(path_type=Path, exists=True), help="Write the tables into this document.")
def main(
    names: tuple[str, ...],
    levels: tuple[int, ...],
    folder: Path | None,
    examples: bool,
    meshes: bool,
    cpp: bool,
    packages: tuple[str, ...],
    timeout_s: float,
    keep: Path | None,
    document: Path | None,
) -> None:
    jax.config.update("jax_num_cpu_devices", 8)  # programs for meshes need them, before any program uses JAX
    interpreter = mock(ttnn_python(), "p150")
    with tempfile.TemporaryDirectory() as scratch:
        headers = Path(scratch, "headers") if cpp and shutil.which("g++") else None
        if headers is not None:
            headers.mkdir()
            (headers / "ttnn.hpp").write_text(header())
            (headers / "utils.hpp").write_bytes(UTILS.with_name("utils.hpp").read_bytes())
        root = (keep or Path(scratch, "generated")).resolve()
        root.mkdir(parents=True, exist_ok=True)
        checker = Checker(interpreter, root, headers, timeout_s, packages)
        scripts = [name for name in names if name in SCRIPTS] or (list(SCRIPTS) if examples else [])
        on_meshes = [name for name in names if name in MESH_PROGRAMS] or (MESH_PROGRAMS if meshes else [])
        files = [name for name in names if name not in (*SCRIPTS, *MESH_PROGRAMS)]
        outcomes = shown(check_files(checker, files, levels, folder)) if files or not names else []
        tables = {"check-generated": [table(outcomes, levels, scripts=False)]} if outcomes else {}
        if scripts:
            of_examples = shown(
                outcome for script in scripts for level in levels for outcome in check_example(checker, script, level)
            )
            tables.setdefault("check-generated", []).append(table(of_examples, levels, scripts=True))
            outcomes += of_examples
        if on_meshes:
            by_mesh = {label: shown(of_mesh) for label, of_mesh in check_meshes(checker, on_meshes, levels)}
            tables["check-generated-meshes"] = [mesh_table(by_mesh)]
            outcomes += [outcome for of_mesh in by_mesh.values() for outcome in of_mesh]
    if document is not None:
        for mark, own in tables.items():
            write_between_marks(document, mark, "\n\n".join(own))
    raise SystemExit(any(outcome.refused for outcome in outcomes))


if __name__ == "__main__":
    main()
