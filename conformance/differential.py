"""Compares the emulated card with TT-NN, op by op and for small models: ``make differential``.

A case is a JAX function of random arguments. It is compiled once; the program runs on the emulated card and on TT-NN,
and the distance of two elements is the number of values of their type between them. TT-NN runs on the simulator that
TT_METAL_SIMULATOR names, or on a card; TTXLA_SYSTEM names the chip, and TTXLA_NUMERICS how the emulated card computes.
``--mock`` reports what TT-NN's mock mode accepts, and compares nothing. The table goes into docs/numerics.md.
"""

from __future__ import annotations

import functools
import os
import re
import subprocess
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import jax
import jax.numpy as jnp
import torch
from jax import lax

from docs.tables import write_between_marks
from tt_xla.codegen.mock import ttnn_python
from tt_xla.compiler import compile_module, parse_module
from tt_xla.environment import selected_system, variable
from tt_xla.errors import RuntimeUnavailableError, TTXLAError
from tt_xla.ir.program import Program
from tt_xla.options import CompileOptions
from tt_xla.runtime import get_device
from tt_xla.runtime.executable import Executable
from tt_xla.runtime.ttnn.executable import TTNNExecutable
from tt_xla.target import load_target
from tt_xla.testing.divergence.distances import Deviation, deviation

Function = Callable[..., Any]
Shapes = Sequence[tuple[int, ...]]

FLOATS = ("bfloat16", "float32")
SMALL, ODD = (32, 64), (3, 40, 50)
"""Shapes of full tiles and of partial tiles."""


@dataclass(frozen=True)
class Case:
    """One op or model on arguments of one element type."""

    name: str
    function: Function
    shapes: Shapes
    dtype: str
    low: float = -4.0
    high: float = 4.0

    @property
    def label(self) -> str:
        return f"{self.name} {self.dtype} {' '.join('x'.join(map(str, shape)) for shape in self.shapes)}"

    def arguments(self) -> list[torch.Tensor]:
        generator = torch.Generator().manual_seed(zlib.crc32(self.label.encode()))
        dtype = getattr(torch, self.dtype)
        if not dtype.is_floating_point:
            return [
                torch.randint(int(self.low), int(self.high), s, generator=generator, dtype=dtype) for s in self.shapes
            ]
        width = self.high - self.low
        return [(torch.rand(s, generator=generator) * width + self.low).to(dtype) for s in self.shapes]


def norm(x: Any) -> Any:
    wide = x.astype(jnp.float32)
    centred = wide - wide.mean(-1, keepdims=True)
    return (centred * lax.rsqrt((centred * centred).mean(-1, keepdims=True) + 1e-5)).astype(x.dtype)


def attention(q: Any, k: Any, v: Any) -> Any:
    scores = jnp.einsum("bhqd,bhkd->bhqk", q, k) / 8
    return jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(scores, -1), v)


def convolution(x: Any, k: Any) -> Any:
    return lax.conv_general_dilated(x, k, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def pool(x: Any) -> Any:
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


UNARY: dict[str, Function] = {
    "abs": jnp.abs, "neg": jnp.negative, "exp": jnp.exp, "expm1": jnp.expm1, "tanh": jnp.tanh, "sin": jnp.sin,
    "cos": jnp.cos, "tan": jnp.tan, "atan": jnp.arctan, "sigmoid": jax.nn.sigmoid, "relu": jax.nn.relu,
    "relu6": jax.nn.relu6, "gelu": functools.partial(jax.nn.gelu, approximate=False), "silu": jax.nn.silu,
    "mish": jax.nn.mish, "softplus": jax.nn.softplus, "erf": lax.erf, "ceil": jnp.ceil, "floor": jnp.floor,
    "sign": jnp.sign, "round": jnp.round, "square": jnp.square, "isfinite": jnp.isfinite,
}  # fmt: skip
POSITIVE: dict[str, Function] = {
    "log": jnp.log, "log1p": jnp.log1p, "sqrt": jnp.sqrt, "rsqrt": lax.rsqrt, "cbrt": lax.cbrt,
    "reciprocal": lambda x: 1 / x,
}  # fmt: skip
BINARY: dict[str, Function] = {
    "add": jnp.add, "subtract": jnp.subtract, "multiply": jnp.multiply, "divide": jnp.divide, "maximum": jnp.maximum,
    "minimum": jnp.minimum, "atan2": jnp.arctan2, "remainder": lax.rem, "eq": jnp.equal, "lt": jnp.less,
    "ge": jnp.greater_equal, "where": lambda x, y: jnp.where(x > y, x, y * 2),
}  # fmt: skip
INTEGERS: dict[str, Function] = {
    "add": jnp.add, "multiply": jnp.multiply, "maximum": jnp.maximum, "bitwise_and": jnp.bitwise_and,
    "bitwise_xor": jnp.bitwise_xor, "eq": jnp.equal,
}  # fmt: skip
ALONG_ROWS: dict[str, Function] = {
    "sum": lambda x: x.sum(-1), "mean": lambda x: x.mean(-1), "max": lambda x: x.max(-1), "min": lambda x: x.min(-1),
    "argmax": lambda x: x.argmax(-1), "softmax": jax.nn.softmax, "layer_norm": norm,
    "cumsum": lambda x: jnp.cumsum(x, -1),
}  # fmt: skip
MOVEMENT: dict[str, Function] = {
    "transpose": lambda x: jnp.swapaxes(x, -1, -2), "reshape": lambda x: x.reshape(-1, 10),
    "slice": lambda x: x[..., 1:-1, 2:-3], "strided slice": lambda x: x[..., ::2],
    "concat": lambda x: jnp.concatenate([x, x * 2], -1),
    "pad": lambda x: jnp.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, 5)]),
    "broadcast": lambda x: jnp.broadcast_to(x, (2, *x.shape)) * 2,
    "flip": lambda x: jnp.flip(x, -1), "repeat": lambda x: jnp.tile(x, 2),
}  # fmt: skip
PRODUCTS: dict[str, tuple[Function, Shapes]] = {
    "matmul": (jnp.matmul, [(64, 128), (128, 96)]),
    "matmul of parts of tiles": (jnp.matmul, [(7, 50), (50, 33)]),
    "batched matmul": (jnp.matmul, [(3, 32, 64), (3, 64, 40)]),
    "linear": (lambda x, w, b: x @ w + b, [(64, 128), (128, 96), (96,)]),
    "convolution": (convolution, [(2, 14, 14, 32), (3, 3, 32, 32)]),
    "max pool": (pool, [(2, 16, 16, 32)]),
    "attention": (attention, [(1, 2, 64, 64)] * 3),
    "embedding": (lambda table: table[jnp.arange(7) * 3], [(40, 64)]),
}


def cases() -> Iterator[Case]:
    """Yields every op with each element type and shape."""
    for dtype in FLOATS:
        for shape in (SMALL, ODD):
            yield from (Case(name, function, [shape], dtype) for name, function in {**UNARY, **ALONG_ROWS}.items())
            yield from (Case(name, function, [shape], dtype, low=0.01) for name, function in POSITIVE.items())
            yield from (Case(name, function, [shape, shape], dtype) for name, function in BINARY.items())
        yield from (Case(name, function, [ODD], dtype) for name, function in MOVEMENT.items())
        yield from (Case(name, function, shapes, dtype) for name, (function, shapes) in PRODUCTS.items())
    for shape in (SMALL, ODD):
        yield from (Case(name, function, [shape, shape], "int32", -99, 99) for name, function in INTEGERS.items())


def mlp(x: Any, up: Any, down: Any) -> Any:
    return x + jax.nn.gelu(norm(x) @ up, approximate=False) @ down


def cnn(x: Any, first: Any, second: Any, head: Any) -> Any:
    features = pool(jax.nn.relu(convolution(pool(jax.nn.relu(convolution(x, first))), second)))
    return features.reshape(x.shape[0], -1) @ head


def block(x: Any, q: Any, k: Any, v: Any, out: Any, up: Any, down: Any) -> Any:
    heads = [(norm(x) @ weight).reshape(1, -1, 2, 64).transpose(0, 2, 1, 3) for weight in (q, k, v)]
    mixed = attention(*heads).transpose(0, 2, 1, 3).reshape(x.shape)
    return mlp(x + mixed @ out, up, down)


def models() -> Iterator[Case]:
    """Yields small models whose weights keep the magnitude of activations."""
    near = {"low": -0.15, "high": 0.15}
    for dtype in FLOATS:
        yield Case("model: mlp", mlp, [(64, 128), (128, 256), (256, 128)], dtype, **near)
        yield Case("model: cnn", cnn, [(2, 16, 16, 16), (3, 3, 16, 32), (3, 3, 32, 32), (512, 10)], dtype, **near)
        square = [(128, 128)] * 4
        yield Case("model: decoder layer", block, [(64, 128), *square, (128, 256), (256, 128)], dtype, **near)


def compiled(case: Case, options: dict[str, Any]) -> Program:
    """Compiles a case for the selected system."""
    shapes = [jax.ShapeDtypeStruct(shape, case.dtype) for shape in case.shapes]
    module = parse_module(jax.jit(case.function).lower(*shapes).as_text(), case.label)
    return compile_module(module, CompileOptions.parse(options), load_target(selected_system()), name=case.name)


def run(case: Case, level: int = 0) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """Runs a case and returns the results of the emulated card and of TT-NN.

    Raises:
        TTXLAError: TT-NN is not available, or refuses the program.
    """
    device = get_device(selected_system())
    arguments = case.arguments()
    program = compiled(case, {"optimization_level": level})
    versions = [None] * len(arguments)
    emulated = Executable(device, program).run(arguments, versions)
    return emulated, TTNNExecutable(device, program).run(arguments, versions)


def row(case: Case, *, compare: bool) -> str:
    """Runs a case and returns its line of the table."""
    try:
        emulated, reference = run(case)
    except RuntimeUnavailableError as error:
        raise click.ClickException(str(error)) from error
    except TTXLAError as error:
        return f"| {case.label} | {stopped(error.message)} ||||"
    if not compare:
        same = all(
            one.shape == other.shape and one.dtype is other.dtype
            for one, other in zip(emulated, reference, strict=True)
        )
        return f"| {case.label} | {'accepted' if same else 'other shapes or types'} ||||"
    worst = max((deviation(*pair) for pair in zip(emulated, reference, strict=True)), key=lambda each: each.largest)
    figures = f"{worst.largest} | {worst.mean:.3g} | {worst.beyond_one:.2%} | {worst.pcc:.6f}"
    return f"| {case.label} | {verdict(worst)} | {figures} |"


def verdict(found: Deviation) -> str:
    """Returns in three words at most how near two results are."""
    if not found.largest:
        return "same bits"
    return "other bits" if found.beyond_one else "within 1 ULP"


def stopped(message: str) -> str:
    """Returns why a program gave no result: for the simulator's errors, the instruction that it lacks."""
    lacks = re.search(r"\w+Functionality: (.*)", message)
    return f"the simulator stops: {lacks[1]}" if lacks else f"refused: {message}"


def _versions(judge: str) -> str:
    """Returns the sentence that names TT-NN's version and what it ran on."""
    asked = "import importlib.metadata; print(importlib.metadata.version('ttnn'))"
    found = subprocess.run([ttnn_python(), "-c", asked], check=True, capture_output=True, text=True).stdout.strip()
    return f"TT-NN {found} on {judge}, system {selected_system()}, numerics {variable('TTXLA_NUMERICS')}."


@click.command(help=__doc__)
@click.argument("names", nargs=-1)
@click.option("--mock", is_flag=True, help="Use TT-NN's mock mode.")
@click.option("--document", type=click.Path(path_type=Path, exists=True), help="Write the table into this document.")
@click.option("--judge", default="a card", help="Name and version of the simulator, for the document.")
def main(names: tuple[str, ...], mock: bool, document: Path | None, judge: str) -> None:
    if not mock and not os.environ.get("TT_METAL_SIMULATOR") and not Path("/dev/tenstorrent").exists():
        raise click.ClickException(
            "TT_METAL_SIMULATOR names no simulator, and there is no card. Set it, or use --mock, which needs neither."
        )
    os.environ["TTXLA_RUNTIME"] = "ttnn-mock" if mock else "ttnn"
    lines = ["| op, type, shapes | | max ULP | mean ULP | beyond 1 ULP | PCC |", "|---|---|---|---|---|---|"]
    for case in (*cases(), *models()):
        if not names or case.name in names:
            lines.append(row(case, compare=not mock))
            click.echo(lines[-1])
    if document is not None:
        write_between_marks(document, "differential", "\n".join([_versions(judge), "", *lines]))


if __name__ == "__main__":
    main()
