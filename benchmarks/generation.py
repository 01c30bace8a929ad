"""Compares ``generate`` of transformers on the device with eager torch and inductor: ``make bench-generation``.

One prompt of 16 tokens, greedy. "Later tokens" are those after the fourth, without the prompt's own step. Eager torch
has its dynamic cache; inductor compiles ``model.forward`` and has a static cache, as transformers recommends; ``tt`` is
the plain call for a model on the device. A JAX decoder with donated caches is compared with JAX on the CPU. All take
turns, so that other load affects them equally. Medians of the rounds.
"""

from __future__ import annotations

import functools
import itertools
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")

import click
import torch

from benchmarks.turns import Call, Turns, measured_in_turns
from docs.tables import write_between_marks

WAYS = ("eager", "inductor", "tt")
PROMPT = 16
HEAD = (
    "| model | type | way | tokens/s | of inductor's | later tokens, ms | of inductor's | processor ms/token | graphs "
    "| programs | recompiled | same tokens |"
)

SMALL: dict[str, tuple[str, dict[str, Any]]] = {
    "Llama": ("Llama", {}),
    "Qwen2": ("Qwen2", {}),
    "Qwen3": ("Qwen3", {"head_dim": 32}),
    "Mistral": ("Mistral", {"sliding_window": 64}),
    "Gemma": ("Gemma", {"head_dim": 32}),
    "Phi3": ("Phi3", {}),
    "Mamba": ("Mamba", {}),
}
"""Class of transformers and further arguments of its configuration by name."""


def model_of(name: str, dtype: torch.dtype) -> torch.nn.Module:
    """Returns a small model with random weights, or SmolLM2 with trained ones."""
    import transformers

    if name == "SmolLM2-135M":
        from examples.smollm2 import load

        return load()[0].to(dtype)
    kind, more = SMALL[name]
    sizes = {"vocab_size": 4096, "hidden_size": 256, "num_hidden_layers": 4, "pad_token_id": 0, "eos_token_id": None}
    if kind != "Mamba":
        sizes |= {"intermediate_size": 768, "num_attention_heads": 8, "num_key_value_heads": 4}
    torch.manual_seed(0)
    config = getattr(transformers, f"{kind}Config")(**sizes, **more)
    return getattr(transformers, f"{kind}ForCausalLM")(config).eval().to(dtype)


class Generation:
    """A call of ``generate``, with a report of its tokens and of what was compiled.

    Args:
        name: the model.
        dtype: element type of its weights.
        way: one of :data:`WAYS`.
        count: tokens to generate.
        threads: threads of torch; 0 for as many as there are cores.
        rounds: number of the last calls that are reported.
    """

    def __init__(self, name: str, dtype: torch.dtype, way: str, count: int, threads: int, rounds: int) -> None:
        import tt_torch  # noqa: F401

        torch.set_num_threads(threads or len(os.sched_getaffinity(0)))
        self.model = model_of(name, dtype)
        self.rounds = rounds
        device = "tt" if way == "tt" else "cpu"
        if way == "inductor":
            self.model.forward = torch.compile(self.model.forward)
            self.model.generation_config.cache_implementation = "static" if name != "Mamba" else None
        self.model.to(device)
        self.options = {"max_new_tokens": count, "min_new_tokens": count, "do_sample": False}
        self.prompt = torch.randint(1, 4096, (1, PROMPT), generator=torch.Generator().manual_seed(1)).to(device)
        self.tokens: list[int] = []
        self.graphs_after: list[int] = []
        self.stamps: list[float] = []
        self.later: list[float] = []
        self._prepare = self.model.prepare_inputs_for_generation
        self.model.prepare_inputs_for_generation = self._stamped

    def _stamped(self, *args: Any, **kwargs: Any) -> Any:
        self.stamps.append(time.perf_counter())
        return self._prepare(*args, **kwargs)

    def __call__(self) -> None:
        self.stamps.clear()
        self.tokens = self.model.generate(self.prompt, **self.options).tolist()[0]
        self.later.append(statistics.median(b - a for a, b in itertools.pairwise(self.stamps[3:])))
        self.graphs_after.append(self._graphs())

    def _graphs(self) -> int:
        return torch._dynamo.utils.counters["stats"].get("unique_graphs", 0)

    def report(self) -> dict[str, Any]:
        from tt_xla.frontends.torch.backend import compiled_programs
        from tt_xla.ir.program import Role

        programs = compiled_programs()
        of_model = [item for item in programs if any(x.role is not Role.INPUT for x in item.arguments)]
        return {
            "tokens": self.tokens,
            "later": statistics.median(self.later[-self.rounds :]),
            "graphs": self._graphs(),
            "programs": f"{len(of_model)} + {len(programs) - len(of_model)}",
            "recompiled": self._graphs() - self.graphs_after[1],
        }


class JAXDecoder:
    """Steps of a plain JAX decoder whose caches are donated.

    Args:
        platform: platform of JAX.
        count: steps per call.
    """

    LAYERS, HEADS, WIDTH, LENGTH, WORDS = 4, 8, 256, 128, 4096

    def __init__(self, platform: str, count: int) -> None:
        import jax
        import jax.numpy as jnp

        self.count, self.device = count, jax.devices(platform)[0]
        head = self.WIDTH // self.HEADS
        keys = iter(jax.random.split(jax.random.key(0, impl="threefry2x32"), 2 + 3 * self.LAYERS))

        def weight(*shape: int) -> Any:
            return jax.random.normal(next(keys), shape) * shape[0] ** -0.5

        with jax.default_device(jax.devices("cpu")[0]):
            weights = {
                "words": weight(self.WORDS, self.WIDTH),
                "layers": [
                    {
                        "qkv": weight(self.WIDTH, 3 * self.WIDTH),
                        "up": weight(self.WIDTH, 768),
                        "down": weight(768, self.WIDTH),
                    }
                    for _ in range(self.LAYERS)
                ],
            }

        def step(weights: Any, caches: Any, token: Any, position: Any) -> tuple[Any, Any]:
            x, mask = weights["words"][token], jnp.arange(self.LENGTH) <= position
            written = []
            for layer, (keys, values) in zip(weights["layers"], caches, strict=True):
                query, key, value = (x @ layer["qkv"]).reshape(3, self.HEADS, 1, head)
                keys = jax.lax.dynamic_update_slice(keys, key, (0, position, 0))
                values = jax.lax.dynamic_update_slice(values, value, (0, position, 0))
                scores = jnp.where(mask, query @ keys.swapaxes(1, 2) * head**-0.5, -jnp.inf)
                x = x + (jax.nn.softmax(scores) @ values).reshape(self.WIDTH)
                x = x + jax.nn.silu(x @ layer["up"]) @ layer["down"]
                written.append((keys, values))
            return written, jnp.argmax(x @ weights["words"].T)

        self.step = jax.jit(step, donate_argnums=1)
        self.weights = jax.device_put(weights, self.device)
        self.tokens: list[int] = []

    def __call__(self) -> None:
        import jax
        import numpy as np

        zeros = np.zeros((self.HEADS, self.LENGTH, self.WIDTH // self.HEADS), np.float32)
        caches = jax.device_put([(zeros.copy(), zeros.copy()) for _ in range(self.LAYERS)], self.device)
        token = jax.device_put(np.int32(1), self.device)
        tokens = []
        for position in range(self.count):
            caches, token = self.step(self.weights, caches, token, np.int32(position))
            tokens.append(int(token))
        self.tokens = tokens

    def report(self) -> dict[str, Any]:
        return {"tokens": self.tokens, "graphs": self.step._cache_size(), "programs": "1", "recompiled": 0}


def rows(name: str, dtype: str, turns: dict[str, Turns], count: int, beside: str) -> list[str]:
    """Returns the rows of a table. ``beside`` is the way that ratios refer to; tokens are compared with the first."""
    reference = statistics.median(turns[beside].wall)
    first = next(iter(turns.values())).report["tokens"]
    lines = []
    for way, turn in turns.items():
        wall, processor = statistics.median(turn.wall), statistics.median(turn.processor)
        same = sum(a == b for a, b in zip(turn.report["tokens"][-count:], first[-count:], strict=True))
        graphs, programs = turn.report["graphs"] if way != "eager" else "", turn.report["programs"]
        cells = [f"{count / wall:.1f}", f"{reference / wall:.2f}"]
        later, beside_later = (turns[each].report.get("later") for each in (way, beside))
        cells += [f"{later * 1e3:.2f}", f"{beside_later / later:.2f}"] if later else ["", ""]
        cells += [f"{processor / count * 1e3:.1f}", graphs]
        cells += [programs if way == "tt" else "", turn.report["recompiled"] if way != "eager" else ""]
        lines.append(f"| {name} | {dtype} | {way} | {' | '.join(map(str, cells))} | {same} of {count} |")
    return lines


@click.command(help=__doc__)
@click.argument("names", nargs=-1)
@click.option("--tokens", default=32, help="Tokens per call (default 32).")
@click.option("--rounds", default=5, help="Rounds (default 5).")
@click.option("--threads", default=0, help="Threads of torch (default: as many as there are cores).")
@click.option("--dtype", type=click.Choice(["float32", "bfloat16"]), default="float32")
@click.option("--document", type=click.Path(path_type=Path, exists=True), help="Write the table into this document.")
def main(names: tuple[str, ...], tokens: int, rounds: int, threads: int, dtype: str, document: Path | None) -> None:
    lines = [HEAD, "|---|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|"]
    click.echo("\n".join(lines))

    def add(name: str, dtype: str, makers: dict[str, Callable[[], Call]], beside: str) -> None:
        new = rows(name, dtype, measured_in_turns(makers, rounds, number=1, warmups=3), tokens, beside)
        lines.extend(new)
        click.echo("\n".join(new))

    for name in names or [*SMALL, "JAX decoder", "SmolLM2-135M"]:
        if name == "JAX decoder":
            platforms = {"JAX on the CPU": "cpu", "tt": "tt"}
            makers = {way: functools.partial(JAXDecoder, platform, tokens) for way, platform in platforms.items()}
            add(name, "float32", makers, "JAX on the CPU")
        else:
            makers = {
                way: functools.partial(Generation, name, getattr(torch, dtype), way, tokens, threads, rounds)
                for way in WAYS
            }
            add(name, dtype, makers, "inductor")
    if document is not None:
        write_between_marks(document, "generation", "\n".join(lines))


if __name__ == "__main__":
    main()
