"""Runs the benchmark programs on the emulated card at each level and compares the results with JAX's CPU backend.

The error of a result is its largest deviation relative to its largest value. The bound depends on the element type and
the numerics. ``make check-programs`` writes the table into docs/benchmarks.md.
"""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any

import click
import jax
import jax.numpy as jnp
import numpy as np
from rich.progress import track

from benchmarks.programs import PROGRAMS, Program
from docs.tables import write_between_marks

BOUNDS = {"exact": {"bfloat16": 2**-4, "float32": 2**-10}, "silicon": {"bfloat16": 2**-4, "float32": 2**-5}}


def arguments(program: Program, seed: int) -> list[Any]:
    """Draws values for a program's arguments, scaled so that activations keep their magnitude."""
    random = np.random.default_rng(seed)

    def value(shape: jax.ShapeDtypeStruct) -> Any:
        if jnp.issubdtype(shape.dtype, jnp.integer):
            return jnp.asarray(random.integers(0, 8, shape.shape), shape.dtype)
        fan_in = np.prod(shape.shape[:-1]) if len(shape.shape) > 1 else 4
        values = random.standard_normal(shape.shape) / np.sqrt(fan_in)
        return jnp.asarray(np.abs(values) if len(shape.shape) < 2 else values, shape.dtype)

    return jax.tree.map(value, list(program.shapes))


def run(text: str, inputs: list[Any], level: int, numerics: str) -> list[np.ndarray]:
    """Compiles a StableHLO module, runs it on the emulated card and returns the results."""
    from tt_xla.compiler import compile_module, parse_module
    from tt_xla.options import CompileOptions
    from tt_xla.runtime import get_device
    from tt_xla.target import load_target

    options = CompileOptions.parse({"optimization_level": level, "numerics": numerics})
    program = compile_module(parse_module(text), options, load_target("n150"))
    loaded = get_device().load(program)
    return [to_numpy(value) for value in loaded.run([to_torch(value) for value in inputs], [None] * len(inputs))]


def to_torch(value: Any) -> Any:
    import torch

    array = np.asarray(value)
    if array.dtype == jnp.bfloat16:
        return torch.from_numpy(array.view(np.int16).copy()).view(torch.bfloat16)
    return torch.from_numpy(array.copy())


def to_numpy(value: Any) -> np.ndarray:
    import torch

    return value.float().numpy() if value.dtype is torch.bfloat16 else value.numpy()


def error(result: np.ndarray, expected: np.ndarray) -> float:
    """Returns the largest absolute deviation relative to the largest expected magnitude."""
    wide = np.asarray(expected, np.float64)
    if wide.size == 0:
        return 0.0
    return float(np.max(np.abs(result - wide)) / max(np.max(np.abs(wide)), 1e-6))


def check(name: str, level: int, numerics: str) -> tuple[float, float]:
    """Returns the largest error of a program's results divided by its bound, and the largest error itself."""
    program = PROGRAMS[name]()
    inputs = arguments(program, zlib.crc32(name.encode()))
    expected = jax.tree.leaves(jax.jit(program.function)(*inputs))
    flat = jax.tree.leaves(inputs)
    text = jax.jit(program.function, keep_unused=True).lower(*program.shapes).as_text()
    results = run(text, flat, level, numerics)
    errors = [(error(r, np.asarray(e)), str(e.dtype)) for r, e in zip(results, expected, strict=True)]
    bounds = BOUNDS[numerics]
    return max(e / bounds.get(dtype, 2**-10) for e, dtype in errors), max(e for e, _ in errors)


@click.command(help=__doc__)
@click.argument("names", nargs=-1)
@click.option("--level", "levels", multiple=True, type=int, default=(0, 1, 2), show_default=True)
@click.option("--numerics", "kinds", multiple=True, default=("exact", "silicon"), show_default=True)
@click.option("--document", type=click.Path(path_type=Path, exists=True), help="Write the table into this document.")
def main(names: tuple[str, ...], levels: tuple[int, ...], kinds: tuple[str, ...], document: Path | None) -> None:
    heads = [f"level {level}, {kind}" for kind in kinds for level in levels]
    lines = [f"| program | {' | '.join(heads)} |", f"|{'---|' * (len(heads) + 1)}"]
    failed = 0
    for name in track(names or list(PROGRAMS), "programs"):
        cells = []
        for kind in kinds:
            for level in levels:
                part, worst = check(name, level, kind)
                failed += part > 1
                cells.append(f"{worst:.1e}{' too large' if part > 1 else ''}")
        lines.append(f"| {name} | {' | '.join(cells)} |")
    click.echo("\n".join(lines))
    if document is not None:
        write_between_marks(document, "check-programs", "\n".join(lines))
    raise SystemExit(failed > 0)


if __name__ == "__main__":
    main()
