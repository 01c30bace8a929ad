"""Compares the predicted throughput of a plain JAX decoder with what hand-tuned decoders reach on silicon.

The decoder is that of ``programs/language.py``: one new token for each of 32 users, a static cache of 1,024 positions
that the caller gives up, weights in bfloat16 that are marked as parameters. Weights and cache are stored in bfloat8_b.
Shapes alone are compiled. One layer and two are compiled; each further layer takes as long as the second.
``make bench-hand-tuned`` writes the table into docs/benchmarks.md. With ``--ops`` the time of each kind of op of a
layer is printed too.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import jax
import jax.numpy as jnp
from jaxlib.mlir import ir

from benchmarks.hand_tuned import MOVES, times
from benchmarks.programs import language
from docs.tables import write_between_marks
from tt_xla.compiler.pipeline import compile_module
from tt_xla.compiler.stablehlo import parse_module
from tt_xla.ir.program import Program
from tt_xla.options import CompileOptions
from tt_xla.profiling.hand_tuned import kernel_rate
from tt_xla.target import load_target

BF16 = jnp.bfloat16


@dataclass(frozen=True)
class Decoder:
    """Sizes of a decoder, and the throughput that was measured on a card."""

    layers: int
    width: int
    heads: int
    kv_heads: int
    hidden: int
    silicon: float | None = None
    """Tokens per second and user of a hand-tuned implementation with 32 users; None where no figure is public."""
    vocabulary: int = 128256
    users: int = 32
    length: int = 1024
    card: str = "n150"

    def stablehlo(self, layers: int) -> str:
        """Returns the StableHLO module of a step with some number of layers."""

        def step(params: Any, caches: Any, tokens: Any, position: Any) -> Any:
            return language.llama_decode(params, caches, tokens, position, self.heads, self.kv_heads)

        head = self.width // self.heads
        shapes = (
            language.llama_parameters(
                BF16, layers, self.width, self.heads, self.kv_heads, self.hidden, self.vocabulary
            ),
            language.cache_shapes(BF16, layers, self.kv_heads, self.length, head, self.users),
            jax.ShapeDtypeStruct((self.users, 1), jnp.int32),
            jax.ShapeDtypeStruct((), jnp.int32),
        )
        lowered = jax.jit(step, donate_argnums=1, keep_unused=True).lower(*shapes)
        return _with_parameters(lowered.compiler_ir("stablehlo"), len(jax.tree.leaves(shapes[0])))

    def compiled(self, layers: int, level: int) -> Program:
        """Compiles a step with some number of layers."""
        options = CompileOptions.parse(
            {
                "optimization_level": level,
                "enable_bfp8_conversion": True,
                "experimental_kv_cache_dtype": "bfp_bf8",
                "enable_trace": True,
            }
        )
        return compile_module(parse_module(self.stablehlo(layers)), options, load_target(self.card))


def _with_parameters(module: ir.Module, count: int) -> str:
    """Returns a module whose first ``count`` arguments are parameters. ``tt_jax.mark_parameters`` needs the plugin."""
    (function,) = (op for op in module.body.operations if op.attributes["sym_name"].value == "main")
    with module.context:
        role = {"ttcore.argument_type": ir.StringAttr.get("parameter")}
        attributes = [{each.name: each.attr for each in argument} for argument in function.attributes["arg_attrs"]]
        marked = [(role if index < count else {}) | each for index, each in enumerate(attributes)]
        function.attributes["arg_attrs"] = ir.ArrayAttr.get([ir.DictAttr.get(each) for each in marked])
    return str(module)


DECODERS = {
    "Llama-3.1-8B": Decoder(32, 4096, 32, 8, 14336, silicon=kernel_rate("llama-3.1-8b-decode", "n150", 32)),
    "Llama-3.2-1B": Decoder(16, 2048, 32, 8, 8192, silicon=kernel_rate("llama-3.2-1b-decode", "n150", 32)),
}
"""The decoders by name. Figures of silicon are those of tt-metal's ``models/tt_transformers/PERF.md``."""

HEAD = (
    "| decoder | card | users | silicon | predicted | ratio | a layer | of it in moves | all but the layers |",
    "|---|---|---:|---:|---:|---:|---:|---:|---:|",
)


def row(name: str, decoder: Decoder, programs: tuple[Program, Program]) -> tuple[str, dict[str, float]]:
    """Returns a row of the table, and the microseconds of each kind of op in a layer."""
    one, two = programs
    by_op = [times(program) for program in programs]
    ops = {op: total - by_op[0].get(op, (0, 0.0))[1] for op, (_, total) in by_op[1].items()}
    layer = two.predicted_device_us - one.predicted_device_us
    rest = one.predicted_device_us - layer
    moved = sum(total for op, total in ops.items() if op in MOVES)
    predicted = 1e6 / (rest + decoder.layers * layer)
    cells = (
        name,
        decoder.card,
        decoder.users,
        f"{decoder.silicon:.1f} tokens/s a user" if decoder.silicon else "",
        f"{predicted:.1f} tokens/s a user",
        f"{predicted / decoder.silicon:.2f}" if decoder.silicon else "",
        f"{layer / 1e3:.2f} ms",
        f"{100 * moved / layer:.0f} %",
        f"{rest / 1e3:.2f} ms",
    )
    return f"| {' | '.join(map(str, cells))} |", ops


@click.command(help=__doc__)
@click.argument("names", nargs=-1)
@click.option("--level", type=click.IntRange(0, 2), default=2, show_default=True)
@click.option("--ops", is_flag=True, help="Print the time of each kind of op in a layer.")
@click.option("--length", type=click.IntRange(32), default=1024, show_default=True, help="Positions of the cache.")
@click.option("--document", type=click.Path(path_type=Path, exists=True), help="Write the table into this document.")
def main(names: tuple[str, ...], level: int, ops: bool, length: int, document: Path | None) -> None:
    unknown = set(names) - set(DECODERS)
    if unknown:
        raise click.ClickException(f"No decoder is named {sorted(unknown)}; known are {', '.join(DECODERS)}.")
    lines = [*HEAD]
    for name in names or DECODERS:
        decoder = dataclasses.replace(DECODERS[name], length=length)
        line, layer = row(name, decoder, (decoder.compiled(1, level), decoder.compiled(2, level)))
        lines.append(line)
        click.echo(line, err=True)
        for op, total in sorted(layer.items(), key=lambda item: -item[1]) if ops else ():
            click.echo(f"    {op:45}{total:10.1f} us", err=True)
    click.echo("\n".join(lines))
    if document is not None:
        write_between_marks(document, "hand-tuned-decoders", "\n".join(lines))


if __name__ == "__main__":
    main()
