"""Compares the shardings that ``auto_sharding`` chooses with splits by hand, by predicted time.

Data parallel: the batch is split over all chips. Tensor parallel: heads, inner dimensions of MLPs and the vocabulary of
the output are split over all chips, or over the columns of the mesh where all chips are too many for the heads. Both:
the batch over the rows, the weights over the columns. FSDP: the batch, and all parameters of two dimensions or more,
over all chips. ``make bench-shardings`` writes the table into docs/benchmarks.md.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import click
import jax
import jax.numpy as jnp
from jaxlib.mlir import ir
from rich.progress import track

from benchmarks.programs import language, training, vision
from benchmarks.programs.language import block_parameters
from benchmarks.programs.layers import attention, dense, layer_norm
from benchmarks.programs.parameters import fc, norm
from docs.tables import write_between_marks
from tt_xla.compiler import compile_module, parse_module
from tt_xla.compiler.auto_sharding.modules import mesh_of, with_mesh, with_shardings
from tt_xla.compiler.pipeline import search_shardings
from tt_xla.compiler.stablehlo.signature import entry_function
from tt_xla.cost import predicted_device_us
from tt_xla.errors import CompileError, ResourceExhaustedError
from tt_xla.ir.mesh import Mesh, Sharding
from tt_xla.options import CompileOptions
from tt_xla.target import load_target

BF16, F32 = jnp.bfloat16, jnp.float32
SHAPE = (2, 4)
ALL, ROWS, COLUMNS = (0, 1), (0,), (1,)

COLUMN_SPLIT = ("q", "k", "v", "gate", "up", "head")
"""Weights whose columns tensor parallelism splits; those of :data:`ROW_SPLIT` have their rows split."""
ROW_SPLIT = ("o", "out", "down")


def array(*shape: int, dtype: Any = BF16) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, dtype)


@dataclass(frozen=True)
class Case:
    """A program, with the numbers of its arguments that are parameters."""

    function: Callable[..., Any]
    parameters: Sequence[Any]
    """Trees of parameters, or of what is like them; the first arguments."""
    inputs: Sequence[Any]
    constant: bool = True
    """Whether the parameters stay the same, so that what depends on them alone is computed once."""
    heads: int = math.gcd(*SHAPE)
    """Greatest number of chips over which heads can be split."""
    batched: Callable[[tuple[int, ...]], bool] = lambda shape: len(shape) > 0
    """Whether an input of this shape has the batch as its first dimension."""


def vit(params: Any, images: Any) -> Any:
    """Runs a vision transformer on patches of 16 x 16."""
    batch, size, _, channels = images.shape
    patches = images.reshape(batch, size // 16, 16, size // 16, 16, channels).transpose(0, 1, 3, 2, 4, 5)
    x = dense(params["patches"], patches.reshape(batch, -1, 256 * channels)) + params["positions"]
    for block in params["blocks"]:
        x = x + attention(block["attention"], layer_norm(block["norm1"], x), 12)
        x = x + dense(block["down"], jax.nn.gelu(dense(block["up"], layer_norm(block["norm2"], x))))
    return dense(params["head"], layer_norm(params["norm"], x).mean(1))


def vit_parameters(layers: int = 4, width: int = 768) -> Any:
    return {
        "patches": fc(768, width, BF16),
        "positions": array(196, width),
        "blocks": [block_parameters(width, BF16) for _ in range(layers)],
        "norm": norm(width),
        "head": fc(width, 1000, BF16),
    }


def mlp(params: Any, x: Any) -> Any:
    """Runs residual blocks of two layers."""
    for layer in params:
        x = x + dense(layer["down"], jax.nn.gelu(dense(layer["up"], x)))
    return x


def mlp_parameters(layers: int = 4, width: int = 1024) -> Any:
    return [{"up": fc(width, 4 * width, BF16), "down": fc(4 * width, width, BF16)} for _ in range(layers)]


LLAMA = {"layers": 4, "width": 2048, "heads": 32, "kv_heads": 8, "hidden": 8192, "vocabulary": 32000}


def llama_decode(batch: int) -> Case:
    caches = language.cache_shapes(BF16, LLAMA["layers"], LLAMA["kv_heads"], 1024, 64, batch)
    step = partial(language.llama_decode, heads=LLAMA["heads"], kv_heads=LLAMA["kv_heads"])
    inputs = (caches, array(batch, 1, dtype=jnp.int32), array(dtype=jnp.int32))
    return Case(step, [language.llama_parameters(BF16, **LLAMA)], inputs, heads=8)


def llama_prefill(batch: int) -> Case:
    function = partial(language.llama_prefill, heads=LLAMA["heads"], kv_heads=LLAMA["kv_heads"])
    return Case(function, [language.llama_parameters(BF16, **LLAMA)], [array(batch, 512, dtype=jnp.int32)], heads=8)


def bert(batch: int) -> Case:
    function = partial(language.bert, heads=12)
    tokens = array(batch, 128, dtype=jnp.int32)
    return Case(function, [language.bert_parameters(BF16, 4, 768, 30528)], [tokens, tokens], heads=4)


def training_step() -> Case:
    parameters = language.gpt_parameters(F32, 4, 2048, 32000)

    def forward(params: Any, tokens: Any) -> Any:
        return language.gpt(params, tokens, heads=16)[:, -1]

    inputs = (array(dtype=jnp.int32), array(32, 128, dtype=jnp.int32), array(32, dtype=jnp.int32))
    return Case(training.adam_step(forward), [parameters] * 3, inputs, constant=False, heads=8)


CASES: dict[str, Callable[[], Case]] = {
    "MLP of width 1024, batch 1": lambda: Case(mlp, [mlp_parameters()], [array(1, 1024)], heads=8),
    "MLP, batch 4096": lambda: Case(mlp, [mlp_parameters()], [array(4096, 1024)], heads=8),
    "Llama of 4 layers, prefill of 512": lambda: llama_prefill(1),
    "Llama, prefill of 32 x 512": lambda: llama_prefill(32),
    "Llama, decode": lambda: llama_decode(1),
    "Llama, decode of 32": lambda: llama_decode(32),
    "BERT of 4 layers, batch 1": lambda: bert(1),
    "BERT, batch 32": lambda: bert(32),
    "ViT of 4 layers, batch 1": lambda: Case(vit, [vit_parameters()], [array(1, 224, 224, 3)], heads=4),
    "ViT, batch 32": lambda: Case(vit, [vit_parameters()], [array(32, 224, 224, 3)], heads=4),
    "ResNet, batch 32": lambda: Case(vision.resnet, [vision.resnet_parameters(BF16)], [array(32, 128, 128, 3)]),
    "GPT of 4 layers of 2048, Adam step, batch 32": training_step,
}


def splits_by_hand(case: Case, mesh: Mesh) -> dict[str, dict[int, Sharding]]:
    """Returns the shardings of arguments by the name of the split; splits that do not divide evenly are left out."""
    parameters = [
        (_name(path), leaf.shape) for path, leaf in jax.tree_util.tree_leaves_with_path(list(case.parameters))
    ]
    inputs = [leaf.shape for leaf in jax.tree.leaves(list(case.inputs))]
    wide = ALL if case.heads % mesh.size == 0 else COLUMNS
    splits = {
        "data parallel": ((), ALL, ()),
        "tensor parallel": (wide, (), ()),
        "both": (COLUMNS, ROWS, ()),
        "FSDP": ((), ALL, ALL),
    }
    shardings: dict[str, dict[int, Sharding]] = {}
    for name, (weights, batch, stored) in splits.items():
        chosen = [_weight(case_name, shape, weights, stored, mesh) for case_name, shape in parameters]
        chosen += [_input(case, shape, batch, weights) for shape in inputs]
        local = zip(chosen, [shape for _, shape in parameters] + inputs, strict=True)
        even = all(size % count == 0 for sharding, shape in local for size, count in _parts(sharding, shape, mesh))
        if even and any(sharding.axes for sharding in chosen):
            shardings[name] = dict(enumerate(chosen))
    return shardings


def _parts(sharding: Sharding, shape: tuple[int, ...], mesh: Mesh) -> Sequence[tuple[int, int]]:
    return list(zip(shape, sharding.counts(mesh), strict=True))


def _name(path: Any) -> str:
    """Returns the name of the layer of a parameter, followed by ``.bias`` for a bias."""
    keys = [str(key.key) for key in path if hasattr(key, "key")]
    bias = ".bias" if keys[-1:] == ["bias"] else ""
    return next((key for key in reversed(keys) if key not in ("kernel", "bias", "scale")), "") + bias


def _weight(name: str, shape: tuple[int, ...], axes: tuple[int, ...], stored: tuple[int, ...], mesh: Mesh) -> Sharding:
    dims: list[tuple[int, ...]] = [()] * len(shape)
    layer, _, is_bias = name.partition(".")
    if layer in COLUMN_SPLIT and shape[-1] % math.prod(mesh.shape[axis] for axis in axes) == 0:
        dims[-1] = axes
    elif layer in ROW_SPLIT and not is_bias:
        dims[0] = axes
    if stored and len(shape) > 1:
        even = [dim for dim, size in enumerate(shape) if size % mesh.size == 0]
        if even:
            dims[max(even, key=lambda dim: shape[dim])] = stored
    return Sharding(tuple(dims))


def _input(case: Case, shape: tuple[int, ...], batch: tuple[int, ...], weights: tuple[int, ...]) -> Sharding:
    """Returns the sharding of an input. A cache, of four dimensions with heads second, is split like the heads."""
    dims: list[tuple[int, ...]] = [()] * len(shape)
    if shape:
        dims[0] = batch
    if len(shape) == 4 and shape[1] == LLAMA["kv_heads"]:
        dims[1] = weights
    return Sharding(tuple(dims))


def row(name: str, case: Case, system: str) -> tuple[str, bool]:
    """Returns a line of the table, and whether the search is as good as the best split by hand."""
    target, options = load_target(system), CompileOptions()
    module = module_of(case)
    start = time.perf_counter()
    outcome = search_shardings(module, SHAPE, options, target).run()
    seconds = time.perf_counter() - start
    base = with_mesh(module, SHAPE, target)
    mesh_name, mesh = mesh_of(base)
    times: dict[str, float] = {}
    for split, shardings in splits_by_hand(case, mesh).items():
        try:
            program = compile_module(with_shardings(base, mesh_name, mesh, shardings), options, target)
        except (CompileError, ResourceExhaustedError):
            continue
        times[split] = predicted_device_us(program.functions[0], target, program.functions, program.mesh)
    one = next((trial.us for trial in outcome.trials if all(s.is_replicated for s in trial.shardings)), math.inf)
    best = min(times.values(), default=math.inf)
    found = outcome.chosen
    figures = [one, *(times.get(split, math.inf) for split in ("data parallel", "tensor parallel", "both", "FSDP"))]
    cells = ["-" if math.isinf(us) else f"{us:,.0f}" for us in figures]
    cells += [f"**{found.us:,.0f}**", f"{found.link_us / found.us:.0%}", f"{found.us / best:.2f} x"]
    cells += [f"{found.dram_bytes / 1e6:,.0f}", str(len(outcome.trials)), f"{seconds:.1f}"]
    return f"| {name} | {' | '.join(cells)} |", found.us <= best * 1.0001


def module_of(case: Case) -> Any:
    """Returns the module of a program, whose parameters are marked as such if they stay the same."""
    module = parse_module(jax.jit(case.function).lower(*case.parameters, *case.inputs).as_text(), "program")
    if case.constant:
        entry = entry_function(module)
        count = len(jax.tree.leaves(list(case.parameters)))
        with module.context:
            kind = ir.DictAttr.get({"ttcore.argument_type": ir.StringAttr.get("parameter")})
            own = [ir.DictAttr.get({})] * len(entry.arguments)
            entry.arg_attrs = ir.ArrayAttr.get([kind if i < count else each for i, each in enumerate(own)])
    return module


HEADER = (
    "| program | one chip | data parallel | tensor parallel | both | FSDP | found | of it links | "
    "to the best by hand | MB on each chip | trials | search, s |"
)


@click.command(help=__doc__)
@click.option("--system", default="n300-llmbox", show_default=True)
@click.option("--only", default="", help="Runs the cases whose name contains this.")
@click.option("--document", type=click.Path(path_type=Path, exists=True), help="Writes the table between its marks.")
def main(system: str, only: str, document: Path | None) -> None:
    names = [name for name in CASES if only in name]
    rows = [row(name, CASES[name](), system) for name in track(names, "searching")]
    lines = [HEADER, "|---|" + "---:|" * (HEADER.count("|") - 2), *(line for line, _ in rows)]
    click.echo("\n".join(lines))
    if document is not None:
        write_between_marks(document, "shardings", "\n".join(lines))
    worse = [name for name, (_, good) in zip(names, rows, strict=True) if not good]
    if worse:
        raise click.ClickException(f"A split by hand is faster for {', '.join(worse)}.")


if __name__ == "__main__":
    main()
