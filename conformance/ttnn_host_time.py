"""Measures the host time of a call whose argument is on the card, and writes the table of docs/ttnn_runtime.md.

    python -m conformance.ttnn_host_time

TT-NN is our own ``ttnn`` in a worker process, so that the table needs no card. A call is ``x = tanh(x)`` for 4x4
elements; host time is the CPU time of the user's process, in which the worker's time has no part.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from docs.tables import write_between_marks

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/ttnn_runtime.md"
WARM_UP, ROUNDS, CALLS = 200, 50, 40
"""Numbers of calls before the first round, of rounds, and of calls in a round; the worker may have 64 to answer."""

TEXT = """func.func public @main(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = stablehlo.tanh %x : tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}"""


def runtime() -> Callable[[Any], Any]:
    """the runtime: `Executable.run_keeping`"""
    from tt_xla.compiler import compile_module, parse_module
    from tt_xla.options import CompileOptions
    from tt_xla.runtime import get_device
    from tt_xla.target import load_target

    program = compile_module(parse_module(TEXT), CompileOptions(), load_target("p150"))
    executable = get_device("p150").load(program)
    return lambda x: executable.run_keeping([x], [None])[0]


def by_torch(backend: Any) -> Callable[[Any], Any]:
    import torch

    return torch.compile(lambda x: x.tanh(), backend=backend, dynamic=False)


def with_torch() -> Callable[[Any], Any]:
    """`torch.compile`"""
    return by_torch("tt")


def torch_alone() -> Callable[[Any], Any]:
    """PyTorch alone: `torch.compile` with `backend="aot_eager"` on the CPU"""
    return by_torch("aot_eager")


def with_jax() -> Callable[[Any], Any]:
    """`jax.jit`"""
    import jax
    import jax.numpy as jnp

    return jax.jit(jnp.tanh)


def jax_alone() -> Callable[[Any], Any]:
    """JAX alone: `jax.jit` on the CPU"""
    return with_jax()


PROGRAMS = {each.__name__: each for each in (runtime, with_torch, torch_alone, with_jax, jax_alone)}


def argument(name: str) -> Any:
    """Returns the first argument of a program, where the program takes it."""
    import numpy as np
    import torch

    x = np.full((4, 4), 0.5, "f4")
    if "jax" not in name:
        return torch.from_numpy(x).to("tt" if name == "with_torch" else "cpu")
    import jax

    return jax.device_put(x, jax.devices("cpu" if name == "jax_alone" else "tt")[0])


def measured(name: str) -> float:
    """Returns the host time of a call in this process, in microseconds: the median of the rounds."""
    from tt_xla.runtime.ttnn import launch

    call, x, rounds = PROGRAMS[name](), argument(name), list[float]()
    for _ in range(WARM_UP):
        x = call(x)
    for _ in range(ROUNDS):
        if not name.endswith("alone"):
            launch.wait()
        start = time.process_time()
        for _ in range(CALLS):
            x = call(x)
        rounds.append((time.process_time() - start) / CALLS * 1e6)
    return statistics.median(rounds)


@click.command(help=__doc__)
@click.option("--only", type=click.Choice(list(PROGRAMS)), help="Measure one program in this process.")
def main(only: str | None) -> None:
    if only is not None:
        click.echo(f"{measured(only):.0f}")
        return
    # The interpreter that runs this has our ttnn; any file stands for a simulator's.
    ttnn = {"TTXLA_RUNTIME": "ttnn", "TTXLA_TTNN_PYTHON": sys.executable, "TT_METAL_SIMULATOR": sys.executable}
    rows = ["| a call through | host time, us |", "|---|---|"]
    for name, program in PROGRAMS.items():
        command = [sys.executable, "-m", "conformance.ttnn_host_time", "--only", name]
        environment = {**os.environ, **ttnn, "TTXLA_SYSTEM": "p150"}
        done = subprocess.run(command, cwd=ROOT, check=True, env=environment, capture_output=True, text=True)
        rows.append(f"| {program.__doc__} | {done.stdout.strip()} |")
        click.echo(rows[-1])
    write_between_marks(PAGE, "host time", "\n".join(rows))


if __name__ == "__main__":
    main()
