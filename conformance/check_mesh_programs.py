"""Runs the programs for several chips on an emulated n300-llmbox, and compares the results with XLA's on 8 CPU devices.

The error of a result is its largest deviation relative to its largest value; the bounds are those of
``check_programs.py`` with exact numerics. ``make check-programs`` writes the table into docs/benchmarks.md.
"""

from __future__ import annotations

import math
import os
import zlib
from pathlib import Path
from typing import Any

os.environ["TTXLA_SYSTEM"] = "n300-llmbox"
os.environ["TTXLA_NUMERICS"] = "exact"
os.environ["JAX_PLATFORMS"] = "tt,cpu"

import click
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from rich.progress import track

from benchmarks.programs.meshes import MESH_PROGRAMS, MeshProgram
from conformance.check_programs import BOUNDS
from docs.tables import write_between_marks


def results(program: MeshProgram, platform: str, seed: int) -> list[np.ndarray]:
    """Runs a program on devices of a platform, with values that depend on the seed alone."""
    random = np.random.default_rng(seed)

    def value(shape: Any) -> Any:
        if jnp.issubdtype(shape.dtype, jnp.integer):
            return jax.device_put(random.integers(0, 8, shape.shape).astype(shape.dtype), shape.sharding)
        fan_in = math.prod(shape.shape[:-1]) if len(shape.shape) > 1 else 4
        drawn = random.standard_normal(shape.shape) / np.sqrt(fan_in)
        return jax.device_put((np.abs(drawn) if len(shape.shape) < 2 else drawn).astype(shape.dtype), shape.sharding)

    devices = np.array(jax.devices(platform)[: math.prod(program.mesh)]).reshape(program.mesh)
    outputs = program.run(Mesh(devices, ("x", "y")), lambda shapes: jax.tree.map(value, shapes))
    return [np.asarray(output) for output in jax.tree.leaves(outputs)]


def error(actual: np.ndarray, expected: np.ndarray) -> float:
    """Returns the largest deviation of a result, relative to its largest value."""
    wide, reference = actual.astype(np.float64), expected.astype(np.float64)
    return float(np.abs(wide - reference).max() / max(np.abs(reference).max(), 1e-6))


@click.command(help=__doc__)
@click.argument("names", nargs=-1, type=click.Choice(list(MESH_PROGRAMS)))
@click.option("--document", type=click.Path(path_type=Path, exists=True), help="Write the table into this document.")
def main(names: tuple[str, ...], document: Path | None) -> None:
    jax.config.update("jax_num_cpu_devices", 8)
    table, failed = ["| program | deviation |", "|---|---|"], []
    for name in track(names or list(MESH_PROGRAMS), "Checking"):
        program, seed = MESH_PROGRAMS[name](), zlib.crc32(name.encode())
        pairs = zip(results(program, "tt", seed), results(program, "cpu", seed), strict=True)
        errors = [(error(*pair), str(pair[1].dtype)) for pair in pairs]
        table.append(f"| {name} | {max(each for each, _ in errors):.1e} |")
        # A comparison with a NaN is false.
        if not all(each <= BOUNDS["exact"].get(dtype, 0.0) for each, dtype in errors):
            failed.append(name)
    text = "\n".join(table)
    click.echo(text)
    if document is not None:
        write_between_marks(document, "check-mesh-programs", text)
    if failed:
        raise click.ClickException(f"Results deviate too much: {', '.join(failed)}.")


if __name__ == "__main__":
    main()
