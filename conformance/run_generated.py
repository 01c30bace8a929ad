"""Runs the generated Python of the benchmark programs and examples with ``ttnn`` on the emulated card, at each level.

Programs for several chips run on an emulated n300-llmbox, those for one chip on a p150.

The results must have all bits of the compiled program's. ``make run-generated`` writes the table into docs/ttnn_api.md.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import jax
import numpy as np
import torch

from conformance.check_programs import arguments, to_torch
from docs.tables import write_between_marks

SYSTEM = "p150"
MESH_SYSTEM = "n300-llmbox"
"""System of the programs for several chips."""

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"

SCRIPTS = {
    "codegen.py": [],
    "mnist.py": ["--runs", "1"],
    "digits.py": ["--epochs", "1"],
    "minilm.py": [],
    "smollm2.py": ["--tokens", "2"],
    "lora.py": ["--steps", "1"],
    "pytorch/codegen/python/custom_module.py": [],
    "pytorch/codegen/python/resnet.py": [],
    "jax/codegen/python/custom_module.py": [],
    "jax/codegen/python/resnet.py": [],
    "train.py": ["--epochs", "1"],
    "pytorch/mnist_performant.py": [],
    "pytorch/opt_demo.py": [],
    "jax/mnist.py": ["--epochs", "1"],
    "jax/gpt_demo.py": [],
}
"""Examples for one chip, with arguments that shorten them."""

MESH_SCRIPTS = {"data_parallel.py": "n300-llmbox", "several_chips.py": "n300", "several_chips_jax.py": "n300"}
"""Examples for several chips, with the system that each is for."""


@dataclass
class Outcome:
    """The run of one program's generated source at one level."""

    program: str
    level: int
    results: int = 0
    different: int = 0
    """Number of results that differ in a bit."""
    predicted_us: float = 0.0
    """Predicted device time of the compiled program."""
    emulated_us: float = 0.0
    """Predicted device time of the calls that ``forward`` made."""
    failure: str = ""
    graphs: int = 0
    """Number of graphs of an example; 0 for a benchmark program."""

    @property
    def passed(self) -> bool:
        return not self.failure and not self.different


def run_source(folder: Path) -> tuple[list[np.ndarray], float]:
    """Runs ``forward`` of the ``main.py`` in a folder, and returns its results and its predicted device time."""
    import ttnn

    sys.path.insert(0, str(folder))
    try:
        main = _module("main", folder / "main.py")
        device = ttnn.open_device(device_id=0, l1_small_size=32768)
        try:
            weights = main.load_weights(device)
            if hasattr(main, "const_eval"):
                main.const_eval(device, weights)
            inputs = main.load_inputs(device)
            before = device.predicted_us
            results = main.forward(device, weights, *inputs)
            spent = device.predicted_us - before
            return [main.utils.array_of(result) for result in results], spent
        finally:
            ttnn.close_device(device)
    finally:
        sys.path.remove(str(folder))
        for name in ("main", "utils", "host_ops"):
            sys.modules.pop(name, None)


def _module(name: str, path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run_text(name: str, text: str, inputs: Sequence[Any], level: int, folder: Path) -> Outcome:
    """Compiles a StableHLO module, runs it, generates its source and runs that."""
    from tt_xla.codegen.export import exporting
    from tt_xla.compiler import compile_module, parse_module
    from tt_xla.options import CompileOptions
    from tt_xla.runtime import get_device
    from tt_xla.target import load_target

    options = {"optimization_level": level, "backend": "codegen_py", "export_path": str(folder)}
    try:
        program = compile_module(
            parse_module(text, name), CompileOptions.parse(options), load_target(SYSTEM), name=name
        )
        loaded = get_device(SYSTEM).load(program)
        expected = exporting(program, {}, loaded.run)([to_torch(value) for value in inputs], [None] * len(inputs), ())
        results, spent = run_source(folder)
    except Exception as error:  # one failure must not stop the sweep
        return Outcome(name, level, failure=f"{type(error).__name__}: {error}")
    specs = [program.functions[0].values[value] for value in program.functions[0].results]
    same = [
        np.array_equal(result, _on_device(tensor, spec), equal_nan=True)
        for result, tensor, spec in zip(results, expected, specs, strict=True)
    ]
    return Outcome(name, level, len(same), same.count(False), program.predicted_device_us, spent)


def run_on_mesh(name: str, level: int, folder: Path) -> Outcome:
    """Compiles a program for several chips, runs it, generates its source and runs ``main.py`` as it is."""
    from benchmarks.programs.meshes import MESH_PROGRAMS
    from tt_xla.codegen.export import exporting
    from tt_xla.compiler import compile_module, parse_module
    from tt_xla.ir.mesh import replicated
    from tt_xla.options import CompileOptions
    from tt_xla.runtime import get_device
    from tt_xla.runtime.mesh.shards import join, split
    from tt_xla.target import load_target

    options = {"optimization_level": level, "backend": "codegen_py", "export_path": str(folder)}
    try:
        module = parse_module(MESH_PROGRAMS[name]().stablehlo(), name)
        program = compile_module(module, CompileOptions.parse(options), load_target(MESH_SYSTEM), name=name)
        mesh, generator = program.mesh, torch.Generator().manual_seed(zlib.crc32(name.encode()))
        assert mesh is not None
        shards = [
            split(_drawn(argument, generator), argument.sharding or replicated(len(argument.shape)), mesh)
            for argument in program.arguments
        ]
        run = exporting(program, {}, get_device(MESH_SYSTEM).load(program).run, join=join)
        run(shards, [None] * len(shards), ())
        done = subprocess.run(
            [sys.executable, "main.py"], cwd=folder, env=environment(MESH_SYSTEM), capture_output=True, text=True
        )
        if done.returncode:
            return Outcome(name, level, failure=(done.stderr.strip().splitlines() or ["it failed"])[-1])
    except Exception as error:  # one failure must not stop the sweep
        return Outcome(name, level, failure=f"{type(error).__name__}: {error}")
    same = done.stdout.count("has all bits of")
    spent = float(re.findall(r"predicted device time: ([\d.]+) us", done.stdout)[0])
    different = len(program.results) - same
    return Outcome(name, level, len(program.results), different, program.predicted_device_us, spent)


def environment(system: str) -> dict[str, str]:
    return os.environ | {"TTXLA_SYSTEM": system, "PYTHONDONTWRITEBYTECODE": "1"}


def _drawn(argument: Any, generator: torch.Generator) -> torch.Tensor:
    """Returns values for an argument of a program for several chips, of its global shape."""
    from tt_xla.runtime.emulator.containers import DECLARED

    shape, dtype = argument.global_shape or argument.shape, DECLARED[argument.dtype]
    if not dtype.is_floating_point:
        return torch.randint(0, 8, shape, generator=generator).to(dtype)
    fan_in = np.prod(shape[:-1]) if len(shape) > 1 else 4
    values = torch.randn(shape, generator=generator) / float(np.sqrt(fan_in))
    return (values.abs() if len(shape) < 2 else values).to(dtype)


def _on_device(tensor: torch.Tensor, spec: Any) -> np.ndarray:
    """Returns an expected result as the array that the generated source returns."""
    return (tensor.float() if spec.layout.dtype.is_float else tensor).numpy().reshape(spec.shape)


def outcomes(names: Sequence[str], levels: Sequence[int]) -> Iterator[Outcome]:
    from benchmarks.programs import PROGRAMS

    for name in names:
        program = PROGRAMS[name]()
        text, inputs = program.stablehlo(), jax.tree.leaves(arguments(program, zlib.crc32(name.encode())))
        for level in levels:
            with tempfile.TemporaryDirectory() as scratch:
                yield run_text(name, text, inputs, level, Path(scratch, "generated"))


def on_meshes(names: Sequence[str], levels: Sequence[int]) -> Iterator[Outcome]:
    for name in names:
        for level in levels:
            with tempfile.TemporaryDirectory() as scratch:
                yield run_on_mesh(name, level, Path(scratch, "generated"))


def run_example(script: str, level: int) -> Outcome:
    """Runs an example so that it generates the source of all its graphs, and runs the source of each."""
    outcome = Outcome(script, level)
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch, "generated")
        forced = {"backend": "codegen_py", "export_path": str(root), "optimization_level": level}
        forced |= {"export_tensors": True, "target_module": True}
        variables = environment(MESH_SCRIPTS.get(script, SYSTEM)) | {"TTXLA_TTNN_PYTHON": sys.executable}
        script_variables = variables | {"TTXLA_COMPILE_OPTIONS": json.dumps(forced), "JAX_PLATFORMS": ""}
        command: list[str | Path] = [sys.executable, EXAMPLES / script, *SCRIPTS.get(script, [])]
        done = subprocess.run(command, env=script_variables, cwd=scratch, capture_output=True, text=True)
        folders = sorted(root.glob("graph_*"))
        if done.returncode or not folders:
            said = (done.stderr.strip().splitlines() or ["it generated nothing"])[-1]
            return Outcome(script, level, failure=f"the script failed: {said}")
        for folder in folders:
            done = subprocess.run([folder / "run"], env=variables, cwd=scratch, capture_output=True, text=True)
            if done.returncode:
                return Outcome(script, level, failure=(done.stderr.strip().splitlines() or ["it failed"])[-1])
            count = len(re.findall(r"^result \d+: ", done.stdout, re.MULTILINE))
            outcome.graphs += 1
            outcome.results += count
            outcome.different += count - done.stdout.count("has all bits of")
    return outcome


def table(all_outcomes: Sequence[Outcome], levels: Sequence[int]) -> str:
    lines = [f"| program |{''.join(f' level {level} |' for level in levels)}", f"|{'---|' * (len(levels) + 1)}"]
    for name in dict.fromkeys(outcome.program for outcome in all_outcomes):
        by_level = {outcome.level: outcome for outcome in all_outcomes if outcome.program == name}
        lines.append(f"| {name} |{''.join(f' {_cell(by_level[level])} |' for level in levels)}")
    return "\n".join(lines)


def _cell(outcome: Outcome) -> str:
    if outcome.failure:
        return outcome.failure.replace("|", "/")[:120]
    state = "same bits" if outcome.passed else f"{outcome.different} of {outcome.results} differ"
    if outcome.graphs:
        return f"{state}, {outcome.graphs} graph{'s' if outcome.graphs > 1 else ''}"
    return f"{state}, {outcome.emulated_us:.0f} us of {outcome.predicted_us:.0f} us"


@click.command(help=__doc__)
@click.argument("names", nargs=-1)
@click.option("--level", "levels", multiple=True, type=int, default=(0, 1, 2), show_default=True)
@click.option("--document", type=click.Path(path_type=Path, exists=True), help="Write the table into this document.")
def main(names: tuple[str, ...], levels: tuple[int, ...], document: Path | None) -> None:
    from benchmarks.programs import PROGRAMS
    from conformance.check_generated import MESH_PROGRAMS
    from tt_xla.environment import set_variable

    jax.config.update("jax_num_cpu_devices", 8)  # programs for meshes need them, before any program uses JAX
    set_variable("TTXLA_SYSTEM", SYSTEM)
    chosen = names or (*PROGRAMS, *MESH_PROGRAMS, *SCRIPTS, *MESH_SCRIPTS)
    single = shown(outcomes([name for name in chosen if name in PROGRAMS], levels))
    several = shown(on_meshes([name for name in chosen if name in MESH_PROGRAMS], levels))
    scripts = [name for name in chosen if name in SCRIPTS or name in MESH_SCRIPTS]
    examples = shown(run_example(name, level) for name in scripts for level in levels)
    total = len(single) + len(several) + len(examples)
    passed = sum(outcome.passed for outcome in (*single, *several, *examples))
    click.echo(f"{passed} of {total} have the same bits.")
    if document is not None:
        tables = {"run-generated": single, "run-generated-meshes": several, "run-generated-examples": examples}
        for mark, collected in tables.items():
            if collected:
                write_between_marks(document, mark, table(collected, levels))
    raise SystemExit(passed != total)


def shown(all_outcomes: Iterator[Outcome]) -> list[Outcome]:
    """Prints each outcome as it arrives, and returns all of them."""
    collected: list[Outcome] = []
    for outcome in all_outcomes:
        collected.append(outcome)
        start = time.strftime("%H:%M:%S")
        click.echo(f"{start} {outcome.program:28} {outcome.level}  {outcome.failure or _cell(outcome)}")
    return collected


if __name__ == "__main__":
    main()
