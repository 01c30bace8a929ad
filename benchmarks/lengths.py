"""Counts the programs that many lengths take: generation with a growing cache, prompts of drawn lengths, image sizes.

Models are small and have random weights. Tokens are compared with those of the CPU under numerics=exact.
"""

from __future__ import annotations

import copy
import functools
import random
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import click
import torch
from torch import nn

from tt_xla.frontends.torch.backend import clear_programs, compiled_programs


def language_model() -> Any:
    """Returns a Llama of 2 layers."""
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=512,
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=1024,
        bos_token_id=None,
        eos_token_id=511,
        pad_token_id=0,
    )
    return LlamaForCausalLM(config).eval()


class VisionTransformer(nn.Module):
    """An encoder layer over patches of 8x8 pixels."""

    def __init__(self) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, 32, 8, 8)
        self.layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True, dropout=0.0)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return self.layer(self.patches(images).flatten(2).transpose(1, 2)).mean(1)


def convolutions() -> nn.Module:
    """Returns a small network of convolutions, norms and pooling."""
    return nn.Sequential(
        *(nn.Conv2d(3, 8, 3, 2, 1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(3, 2, 1)),
        *(nn.Conv2d(8, 8, 3, 1, 1), nn.AvgPool2d(2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 4)),
    )


def prompts_of(count: int, longest: int) -> list[torch.Tensor]:
    """Returns prompts of drawn lengths, each [1, length]."""
    lengths = random.Random(0)
    return [torch.randint(1, 511, (1, lengths.randint(1, longest))) for _ in range(count)]


def generations(prompts: Sequence[torch.Tensor], tokens: int, *, is_compiled: bool) -> Iterator[tuple[int, bool]]:
    """Yields, for each prompt, how many programs there are after it, and whether the tokens are the CPU's."""
    from transformers import DynamicCache

    torch.manual_seed(0)
    model = language_model()
    there = copy.deepcopy(model).to("tt")
    if is_compiled:
        there.forward = torch.compile(there.forward, backend="tt")
    clear_programs()
    for prompt in prompts:
        settings = {"max_new_tokens": tokens, "do_sample": False}
        expected = model.generate(prompt, attention_mask=torch.ones_like(prompt), **settings)
        ids, mask = prompt.to("tt"), torch.ones_like(prompt).to("tt")
        result = there.generate(ids, attention_mask=mask, past_key_values=DynamicCache(), **settings)
        yield len(compiled_programs()), torch.equal(result.cpu(), expected)


def images(make: Callable[[], nn.Module], count: int) -> Iterator[tuple[int, bool]]:
    """Yields the same for images of drawn sizes."""
    torch.manual_seed(0)
    model, sizes = make().eval(), random.Random(0)
    compiled = torch.compile(copy.deepcopy(model).to("tt"), backend="tt")
    clear_programs()
    for _ in range(count):
        image = torch.randn(1, 3, sizes.randint(24, 128), sizes.randint(24, 128))
        with torch.no_grad():
            same = torch.allclose(compiled(image.to("tt")).cpu(), model(image), rtol=1e-3, atol=1e-4)
        yield len(compiled_programs()), same


@click.command(help=__doc__)
@click.option("--tokens", default=200, show_default=True, help="Tokens of the long generation, which runs twice.")
@click.option("--prompts", default=50, show_default=True, help="Prompts of drawn lengths.")
@click.option("--longest", default=200, show_default=True, help="Length of the longest of them.")
@click.option("--sizes", default=20, show_default=True, help="Sizes of images.")
def main(tokens: int, prompts: int, longest: int, sizes: int) -> None:
    """Prints a table."""
    from tt_xla.frontends.torch import settings

    settings.set_compile_options({"numerics": "exact"})
    prompt, drawn = torch.randint(1, 511, (1, 37)), prompts_of(prompts, longest)
    cases: dict[str, Callable[[], Iterator[tuple[int, bool]]]] = {}
    for way in "compiled", "recorded":
        generated = functools.partial(generations, is_compiled=way == "compiled")
        cases[f"{tokens} tokens from a prompt of 37, twice, {way}"] = functools.partial(generated, [prompt] * 2, tokens)
        cases[f"{prompts} prompts of up to {longest}, {way}"] = functools.partial(generated, drawn, 8)
    cases[f"{sizes} sizes of images, convolutions"] = functools.partial(images, convolutions, sizes)
    cases[f"{sizes} sizes of images, transformer"] = functools.partial(images, VisionTransformer, sizes)
    print("| case | programs | of these for the last call | as on the CPU | s |\n|---|---:|---:|---|---:|")
    for name, run in cases.items():
        torch.compiler.reset()
        start = time.perf_counter()
        counts, same = zip(*run(), strict=True)
        last = counts[-1] - counts[-2]
        seconds = time.perf_counter() - start
        print(f"| {name} | {counts[-1]} | {last} | {sum(same)} of {len(same)} | {seconds:.0f} |", flush=True)


if __name__ == "__main__":
    main()
