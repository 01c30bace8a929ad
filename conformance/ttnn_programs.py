"""Runs programs of PyTorch and JAX on TT-NN, and compares the results with the emulated card's.

    python -m conformance.ttnn_programs digits training

TT-NN runs on a card, or on the simulator that TT_METAL_SIMULATOR names; TTXLA_SYSTEM names the chip. Each program runs
in three processes: on TT-NN, and on the emulated card with ``numerics=bit_exact`` and with the default.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import click
import torch
from torch import nn

from tt_xla.testing.divergence.distances import deviation

ROOT = Path(__file__).resolve().parents[1]


def digits(level: int) -> list[torch.Tensor]:
    """The digits network in bfloat16, on two images."""
    from examples.network import DigitsNetwork

    model = torch.compile(DigitsNetwork().eval().bfloat16(), backend="tt", options={"optimization_level": level})
    with torch.no_grad():
        return [model(torch.randn(2, 1, 28, 28).bfloat16())]


def mlp() -> list[torch.Tensor]:
    """Two linear layers, gelu and a norm, in float32."""
    model = nn.Sequential(nn.Linear(64, 128), nn.GELU(), nn.LayerNorm(128), nn.Linear(128, 10))
    with torch.no_grad():
        return [torch.compile(model, backend="tt")(torch.randn(8, 64))]


def trained(model: nn.Module, step: torch.optim.Optimizer, batch: torch.Tensor) -> list[torch.Tensor]:
    """Trains a classifier of ten classes for two steps. Returns the last loss, then weights and gradients."""
    labels = torch.randint(0, 10, (batch.shape[0],))
    compiled = torch.compile(model, backend="tt")
    loss = torch.zeros(())
    for _ in range(2):
        step.zero_grad()
        loss = nn.functional.cross_entropy(compiled(batch).float(), labels)
        loss.backward()
        step.step()
    parameters = list(model.parameters())
    return [loss, *parameters, *(p.grad for p in parameters if p.grad is not None)]


def training() -> list[torch.Tensor]:
    """Two steps of SGD in float32."""
    model = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 10))
    return trained(model, torch.optim.SGD(model.parameters(), 0.1), torch.randn(16, 32))


def training_with_adam() -> list[torch.Tensor]:
    """Two steps of Adam in float32, with weights and moments on the device."""
    model = nn.Sequential(nn.Linear(32, 64), nn.GELU(), nn.Linear(64, 10)).to("tt")
    step = torch.optim.Adam(model.parameters(), 0.01)
    batch, labels = torch.randn(16, 32).to("tt"), torch.randint(0, 10, (16,)).to("tt")

    @torch.compile(backend="tt")
    def update() -> torch.Tensor:
        loss = nn.functional.cross_entropy(model(batch), labels)
        loss.backward()
        step.step()
        step.zero_grad()
        return loss

    losses = [update() for _ in range(2)]
    return [*losses, *model.parameters()]


class Layer(nn.Module):
    """A transformer layer with a classifier of the mean of its positions."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm, self.last = nn.LayerNorm(width), nn.LayerNorm(width)
        self.joint, self.output = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down, self.classes = (
            nn.Linear(width, 2 * width),
            nn.Linear(2 * width, width),
            nn.Linear(width, 10),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        joint = self.joint(self.norm(x)).view(batch, length, 3, self.heads, width // self.heads)
        attended = nn.functional.scaled_dot_product_attention(*joint.permute(2, 0, 3, 1, 4), is_causal=True)
        x = x + self.output(attended.transpose(1, 2).reshape(x.shape))
        x = x + self.down(nn.functional.gelu(self.up(self.last(x))))
        return self.classes(x.mean(1))


def layer(dtype: torch.dtype, level: int) -> list[torch.Tensor]:
    """A transformer layer, two sequences of 64 positions."""
    model = torch.compile(Layer(128, 4).eval().to(dtype), backend="tt", options={"optimization_level": level})
    with torch.no_grad():
        return [model(torch.randn(2, 64, 128).to(dtype))]


def layer_training() -> list[torch.Tensor]:
    """Two steps of SGD of a transformer layer in float32."""
    model = Layer(64, 2)
    return trained(model, torch.optim.SGD(model.parameters(), 0.1), torch.randn(2, 32, 64))


def convolutional_training(dtype: torch.dtype) -> list[torch.Tensor]:
    """Two steps of SGD of a convolutional network."""
    model = nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(256, 10)
    ).to(dtype)
    return trained(model, torch.optim.SGD(model.parameters(), 0.1), torch.randn(4, 3, 8, 8).to(dtype))


def traced() -> list[torch.Tensor]:
    """Three runs of an MLP in bfloat16 whose dispatch is recorded and replayed."""
    model = nn.Sequential(nn.Linear(64, 128), nn.GELU(), nn.Linear(128, 10)).eval().bfloat16().to("tt")
    compiled = torch.compile(model, backend="tt", options={"optimization_level": 2, "enable_trace": True})
    with torch.no_grad():
        return [compiled(torch.randn(8, 64).bfloat16().to("tt")) for _ in range(3)]


class Decoder(nn.Module):
    """A transformer layer that writes one position of each user into a cache and attends to the cache."""

    def __init__(self, width: int, heads: int, groups: int) -> None:
        super().__init__()
        self.heads, self.groups, self.size = heads, groups, width // heads
        self.norm, self.last = nn.RMSNorm(width), nn.RMSNorm(width)
        self.query, self.output = (nn.Linear(width, width, bias=False) for _ in range(2))
        self.key, self.value = (nn.Linear(width, groups * self.size, bias=False) for _ in range(2))
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(
        self, x: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, position: torch.Tensor
    ) -> torch.Tensor:
        users = x.shape[0]
        normed = self.norm(x)
        query = self.query(normed).view(users, 1, self.heads, self.size).transpose(1, 2)
        for cache, projection in ((keys, self.key), (values, self.value)):
            cache.index_copy_(2, position, projection(normed).view(users, 1, self.groups, self.size).transpose(1, 2))
        seen = torch.arange(keys.shape[2], device=x.device) <= position
        mask = torch.where(seen, 0.0, -1e30).to(x.dtype).view(1, 1, 1, -1)
        attended = nn.functional.scaled_dot_product_attention(query, keys, values, mask, enable_gqa=True)
        x = x + self.output(attended.transpose(1, 2).reshape(users, 1, -1))
        return x + self.down(nn.functional.gelu(self.up(self.last(x))))


def decoding(users: int, length: int) -> list[torch.Tensor]:
    """Two steps of decoding in bfloat16 at level 2: the results, then the caches."""
    model = Decoder(256, 8, 2).eval().bfloat16().to("tt")
    step = torch.compile(model, backend="tt", options={"optimization_level": 2})
    caches = [torch.randn(users, 2, length, 32).bfloat16().to("tt") for _ in range(2)]
    with torch.no_grad():
        positions = [torch.tensor([place]).to("tt") for place in (length - 24, length - 23)]
        results = [step(torch.randn(users, 1, 256).bfloat16().to("tt"), *caches, place) for place in positions]
    return [*results, *caches]


def llama() -> list[torch.Tensor]:
    """Twenty tokens of a Llama of one block with a static cache, in float32: the probabilities of each, the caches."""
    from transformers import LlamaConfig, LlamaForCausalLM, StaticCache

    heads = {"num_hidden_layers": 1, "num_attention_heads": 4, "num_key_value_heads": 2}
    config = LlamaConfig(hidden_size=64, intermediate_size=128, vocab_size=96, max_position_embeddings=64, **heads)
    step = torch.compile(LlamaForCausalLM(config).eval().to("tt"), backend="tt")
    cache = StaticCache(config, max_batch_size=1, max_cache_len=64, device="tt", dtype=torch.float32)
    token, results = torch.tensor([[3]]).to("tt"), []
    with torch.no_grad():
        for place in range(20):
            position = torch.tensor([place]).to("tt")
            logits = step(token, past_key_values=cache, cache_position=position, use_cache=True).logits
            token = logits[:, -1].argmax(-1, keepdim=True)
            results.append(logits)
    return [*results, cache.layers[0].keys, cache.layers[0].values]


def host_op() -> list[torch.Tensor]:
    """A Cholesky factor, which the host computes, between programs of the device."""

    def function(x: torch.Tensor) -> torch.Tensor:
        positive = torch.relu(x @ x.T) + 100 * torch.eye(16)
        return torch.linalg.cholesky(positive) * 2 + x[:, :16]

    return [torch.compile(function, backend="tt")(torch.randn(16, 32))]


def jax_gradient() -> list[torch.Tensor]:
    """A loss and its gradients through jax.jit, in float32."""
    import jax
    import jax.numpy as jnp
    import numpy as np

    def loss(weights: Any, x: Any, y: Any) -> Any:
        return jnp.mean((jnp.tanh(x @ weights[0]) @ weights[1] - y) ** 2)

    x, up, down, y = (torch.randn(*shape).numpy() for shape in ((16, 32), (32, 64), (64, 4), (16, 4)))
    with jax.default_device(jax.devices("tt")[0]):
        value, gradients = jax.jit(jax.value_and_grad(loss))([up * 0.1, down * 0.1], x, y)
    return [torch.tensor(np.asarray(each)) for each in (value, *gradients)]


PROGRAMS: dict[str, Any] = {
    "digits": lambda: digits(0), "digits-level-2": lambda: digits(2), "mlp": mlp, "training": training,
    "training-with-adam": training_with_adam, "layer": lambda: layer(torch.bfloat16, 0),
    "layer-level-2": lambda: layer(torch.bfloat16, 2), "layer-float32": lambda: layer(torch.float32, 0),
    "layer-training": layer_training, "convolution-training": lambda: convolutional_training(torch.float32),
    "convolution-training-bfloat16": lambda: convolutional_training(torch.bfloat16), "traced": traced,
    "decoding": lambda: decoding(4, 64), "decoding-of-32": lambda: decoding(32, 512), "host-op": host_op,
    "jax": jax_gradient, "llama": llama,
}  # fmt: skip


def results(name: str, settings: dict[str, str]) -> list[torch.Tensor]:
    """Returns a program's results in a process with these environment variables."""
    with tempfile.NamedTemporaryFile() as file:
        command = [sys.executable, "-m", "conformance.ttnn_programs", name, "--save", file.name]
        subprocess.run(command, cwd=ROOT, check=True, env={**os.environ, **settings}, stdout=subprocess.DEVNULL)
        return torch.load(file.name)


def agreement(ours: list[torch.Tensor], theirs: list[torch.Tensor]) -> str:
    """Returns ``same bits``, or the smallest PCC of the results that have several elements."""
    pairs = list(zip(ours, theirs, strict=True))
    if all(torch.equal(*pair) for pair in pairs):
        return "same bits"
    return f"{min(deviation(*pair).pcc for pair in pairs if pair[0].numel() > 1):.7f}"


@click.command(help=__doc__)
@click.argument("names", nargs=-1, type=click.Choice(list(PROGRAMS)))
@click.option("--save", type=click.Path(path_type=Path), help="Run one program in this process; write its results.")
def main(names: tuple[str, ...], save: Path | None) -> None:
    if save is not None:
        torch.manual_seed(0)
        torch.save([tensor.detach().cpu() for tensor in PROGRAMS[names[0]]()], save)
        return
    for name in names or PROGRAMS:
        on_ttnn = results(name, {"TTXLA_RUNTIME": "ttnn"})
        exact, default = (
            agreement(results(name, {"TTXLA_RUNTIME": "emulated", "TTXLA_NUMERICS": numerics}), on_ttnn)
            for numerics in ("bit_exact", "silicon")
        )
        click.echo(f"| {name} | {exact} | {default} |")


if __name__ == "__main__":
    main()
