"""Measures what a call of a program costs beside its kernels on TT-NN, and writes the table of docs/ttnn_runtime.md.

    python -m conformance.ttnn_crossing

TT-NN is our own ``ttnn`` in a worker process, so that the table needs no card: bytes that cross and the time in the
user's process are those of a card, and the results must be those of the emulated card with ``numerics=bit_exact``. On
a simulator, which TT_METAL_SIMULATOR names, with the interpreter in TTXLA_TTNN_PYTHON, rows are printed and no table is
written.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import torch
from torch import nn

from docs.tables import write_between_marks

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/ttnn_runtime.md"
WARM_UP, CALLS = 4, 16

Call = Callable[[], torch.Tensor]


def _compiled(model: nn.Module) -> Any:
    return torch.compile(model.to("tt"), backend="tt", dynamic=False)


def digits() -> Call:
    """digits: classes of 2 images by a convolutional network in bfloat16"""
    from examples.network import DigitsNetwork

    model, images = _compiled(DigitsNetwork().eval().bfloat16()), torch.randn(2, 1, 28, 28).bfloat16()
    return lambda: model(images.to("tt")).argmax(1)


def bert() -> Call:
    """a BERT block: embeddings of 64 positions in bfloat16"""
    model = _compiled(nn.TransformerEncoderLayer(64, 4, 128, batch_first=True).eval().bfloat16())
    x = torch.randn(1, 64, 64).bfloat16()
    return lambda: model(x.to("tt"))


def llama() -> Call:
    """a token of two Llama blocks with a static cache in float32"""
    from transformers import LlamaConfig, LlamaForCausalLM, StaticCache

    heads = {"num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2}
    config = LlamaConfig(hidden_size=64, intermediate_size=128, vocab_size=96, max_position_embeddings=64, **heads)
    step = _compiled(LlamaForCausalLM(config).eval())
    cache = StaticCache(config, max_batch_size=1, max_cache_len=64, device="tt", dtype=torch.float32)
    state = {"token": torch.tensor([[3]]).to("tt"), "position": 0}

    def call() -> torch.Tensor:
        position = torch.tensor([state["position"]]).to("tt")
        result = step(state["token"], past_key_values=cache, cache_position=position, use_cache=True)
        state.update(token=result.logits[:, -1].argmax(-1, keepdim=True), position=state["position"] + 1)
        return state["token"]

    return call


def training() -> Call:
    """a training step with AdamW, batch of 32: the loss"""
    model = nn.Sequential(nn.Linear(64, 128), nn.GELU(), nn.Linear(128, 10)).to("tt")
    compiled, update = _compiled(model), torch.optim.AdamW(model.parameters(), lr=0.01)
    images, classes = torch.randn(32, 64), torch.randint(0, 10, (32,))

    def call() -> torch.Tensor:
        update.zero_grad()
        loss = nn.functional.cross_entropy(compiled(images.to("tt")), classes.to("tt"))
        loss.backward()
        update.step()
        return loss.detach()

    return call


def jax_training(columns: Any = None, rows: Any = None) -> Call:
    """a training step in JAX, parameters donated, batch of 32: the loss"""
    import jax
    import jax.numpy as jnp
    import numpy as np

    def loss(parameters: Any, x: Any, y: Any) -> Any:
        return jnp.mean((jnp.tanh(x @ parameters[0]) @ parameters[1] - y) ** 2)

    def step(parameters: Any, x: Any, y: Any) -> Any:
        value, gradients = jax.value_and_grad(loss)(parameters, x, y)
        return value, [each - 0.1 * change for each, change in zip(parameters, gradients, strict=True)]

    device = jax.devices("tt")[0]
    columns, rows = columns or device, rows or device
    run, draw = jax.jit(step, donate_argnums=0), np.random.default_rng(0)
    shapes = ((64, 128), (128, 8), (32, 64), (32, 8))
    first, second, x, y = (draw.standard_normal(shape).astype("f4") * 0.1 for shape in shapes)
    state = {"parameters": jax.device_put([first, second], [columns, rows])}

    def call() -> torch.Tensor:
        value, state["parameters"] = run(state["parameters"], *jax.device_put((x, y), rows))
        return torch.tensor(np.asarray(value))

    return call


def spmd_training() -> Call:
    """a training step with AdamW in torch_xla SPMD over 8 chips, weights and batch split, batch of 32: the loss"""
    import numpy as np
    import torch_xla
    import torch_xla.distributed.spmd as xs
    import torch_xla.runtime as xr

    xr.use_spmd()
    mesh, device = xs.Mesh(np.arange(8), (2, 4), ("data", "model")), torch_xla.device()
    model = nn.Sequential(nn.Linear(64, 128), nn.GELU(), nn.Linear(128, 10)).to(device)
    xs.mark_sharding(model[0].weight, mesh, ("model", None))
    xs.mark_sharding(model[2].weight, mesh, (None, "model"))
    update = torch.optim.AdamW(model.parameters(), lr=0.01)
    images, classes = torch.randn(32, 64), torch.randint(0, 10, (32,))

    def call() -> torch.Tensor:
        batch = images.to(device)
        xs.mark_sharding(batch, mesh, ("data", None))
        update.zero_grad()
        loss = nn.functional.cross_entropy(model(batch), classes.to(device))
        loss.backward()
        update.step()
        torch_xla.sync()
        return loss.detach()

    return call


def jax_mesh_training() -> Call:
    """a training step in JAX over 2 chips, weights and batch split, parameters donated, batch of 32: the loss"""
    import jax
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    mesh = Mesh(jax.devices("tt")[:2], ("chips",))
    return jax_training(*(NamedSharding(mesh, PartitionSpec(*dims)) for dims in ((None, "chips"), ("chips",))))


SYSTEMS = {"spmd_training": "p150x8", "jax_mesh_training": "p300"}
"""The system of each program for several chips."""

PROGRAMS = {
    each.__name__: each for each in (digits, bert, llama, training, jax_training, spmd_training, jax_mesh_training)
}


def measured(name: str) -> dict[str, Any]:
    """Runs a program in this process. Returns its results, and what a call costs."""
    from tt_xla.runtime.ttnn import launch

    torch.manual_seed(0)
    with torch.enable_grad() if "training" in name else torch.no_grad():
        call = PROGRAMS[name]()
        results = [call().cpu() for _ in range(WARM_UP)]
        worker = launch.worker() if os.environ["TTXLA_RUNTIME"] == "ttnn" else None
        sent, received = (worker.sent_bytes, worker.received_bytes) if worker else (0, 0)
        cpu = time.process_time()
        results += [call().cpu() for _ in range(CALLS)]
        cpu = time.process_time() - cpu
    if worker is not None:
        sent, received = worker.sent_bytes - sent, worker.received_bytes - received
    return {"results": results, "sent": sent / CALLS, "received": received / CALLS, "ms": cpu / CALLS * 1e3}


def in_a_process(name: str, **variables: str) -> dict[str, Any]:
    """Runs a program in a process of its own, with these environment variables."""
    own = {"TTXLA_SYSTEM": SYSTEMS.get(name, "p150"), "TTXLA_NUMERICS": "bit_exact"}
    with tempfile.NamedTemporaryFile() as file:
        command = [sys.executable, "-m", "conformance.ttnn_crossing", name, "--save", file.name]
        subprocess.run(command, cwd=ROOT, check=True, env={**os.environ, **own, **variables})
        return torch.load(file.name)


@click.command(help=__doc__)
@click.argument("names", nargs=-1, type=click.Choice(list(PROGRAMS)))
@click.option("--save", type=click.Path(path_type=Path), help="Run one program in this process; write the results.")
def main(names: tuple[str, ...], save: Path | None) -> None:
    if save is not None:
        torch.save(measured(names[0]), save)
        return
    simulator = os.environ.get("TT_METAL_SIMULATOR")
    # The interpreter that runs this has our ttnn; any file stands for a simulator's.
    ours = {"TTXLA_TTNN_PYTHON": sys.executable, "TT_METAL_SIMULATOR": sys.executable}
    ttnn = {} if simulator else ours
    rows = ["| a call | bytes sent | received | host time, ms | beside `bit_exact` |", "|---|---|---|---|---|"]
    for name in names or PROGRAMS:
        on_ttnn, emulated = (
            in_a_process(name, TTXLA_RUNTIME="ttnn", **ttnn),
            in_a_process(name, TTXLA_RUNTIME="emulated"),
        )
        pairs = zip(on_ttnn["results"], emulated["results"], strict=True)
        verdict = "same bits" if all(torch.equal(*pair) for pair in pairs) else "different"
        figures = f"{on_ttnn['sent']:,.0f} | {on_ttnn['received']:,.0f} | {on_ttnn['ms']:.2f}"
        rows.append(f"| {PROGRAMS[name].__doc__} | {figures} | {verdict} |")
        click.echo(rows[-1])
    if not names and not simulator:
        write_between_marks(PAGE, "crossing", "\n".join(rows))


if __name__ == "__main__":
    main()
