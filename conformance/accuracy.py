"""Measures what the number formats of hand-tuned models cost in accuracy, on the emulated n150 against float32.

Models of the hand-tuned table have random weights and one random sample, of 64 tokens in BERT; the figure is the
correlation (PCC) of their logits with those of float32 on the CPU. SmolLM2 and MiniLM have trained weights: the figure
is how often the next token of a text, or the nearest of some sentences, is the same. ``--document`` writes the table.
"""

from __future__ import annotations

import os

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")

import copy
import dataclasses
import functools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import torch

from benchmarks.hand_tuned import CASES, Formats, tokens
from docs.tables import write_between_marks

sys.path.insert(0, str(Path(__file__).parent.parent / "examples"))

COLUMNS: dict[str, dict[str, Any]] = {
    "bf16": {},
    "bfloat8_b": {"enable_bfp8_conversion": True},
    "bfloat8_b, lofi, 16-bit sums": Formats().options(),
    "the same, gelu by lines": Formats(fast_and_approximate_mode=True).options(),
}
"""Compile options by heading."""

TOKENS = 64
"""Length of a sequence for models of the hand-tuned table, whose emulation takes minutes at full length."""

TEXT = (
    "The city of Paris lies on the river Seine. In the spring its gardens fill with people who read, talk and eat "
    "bread with cheese."
)

SENTENCES = (
    *("A man is eating food.", "Someone has a meal.", "The girl is carrying a baby.", "A nurse holds a newborn."),
    *("A woman is playing the violin.", "A musician plays the cello.", "A cheetah chases its prey."),
    *("A wild cat hunts.", "The train leaves at noon.", "Our bus departs in an hour.", "It rained all night."),
    *("The storm brought much water.", "He repairs old clocks.", "She mends broken watches."),
)


def pcc(one: torch.Tensor, other: torch.Tensor) -> float:
    """Returns the correlation of two tensors."""
    return float(torch.corrcoef(torch.stack([one.flatten().double(), other.flatten().double()]))[0, 1])


def agreement(one: torch.Tensor, other: torch.Tensor) -> float:
    """Returns how often the largest element along the last axis is the same."""
    return float((one.argmax(-1) == other.argmax(-1)).double().mean())


class Logits(torch.nn.Module):
    """A model of transformers whose result is its logits alone."""

    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, **inputs: torch.Tensor) -> torch.Tensor:
        """Returns the logits; of an answer's two ends, the first."""
        result = self.model(**inputs)
        return result.logits if hasattr(result, "logits") else result.start_logits


def on_the_card(model: torch.nn.Module, inputs: dict[str, torch.Tensor], options: dict[str, Any]) -> torch.Tensor:
    """Returns the result of a bfloat16 copy of a model on the emulated card, in float32."""
    torch.compiler.reset()
    narrow = copy.deepcopy(model).to(torch.bfloat16)
    sample = {name: x.to(torch.bfloat16) if x.is_floating_point() else x for name, x in inputs.items()}
    with torch.no_grad():
        compiled = torch.compile(narrow, backend="tt", options={"optimization_level": 2} | options)
        return compiled(**sample).float()


def random_model(name: str) -> tuple[torch.nn.Module, dict[str, torch.Tensor]]:
    """Returns a model of the hand-tuned table in float32, and one random sample."""
    case = CASES[name]
    if "QuestionAnswering" not in case.model:  # whose two labels are the ends of an answer
        case = dataclasses.replace(case, arguments=case.arguments | {"num_labels": 1000})
    sample = tokens(1, TOKENS) if case.inputs is tokens else case.inputs(1)
    generator = torch.Generator().manual_seed(1)
    inputs = {
        name: torch.randn(x.shape, generator=generator)
        if x.is_floating_point()
        else torch.randint(0, 30000, x.shape, generator=generator)
        for name, x in sample.items()
    }
    return Logits(case.build().float()), inputs


def smollm2() -> tuple[torch.nn.Module, dict[str, torch.Tensor]]:
    """Returns SmolLM2 and the tokens of a text."""
    from smollm2 import load

    model, tokenizer = load()
    return Logits(model), {"input_ids": tokenizer(TEXT, return_tensors="pt")["input_ids"]}


def minilm() -> tuple[torch.nn.Module, dict[str, torch.Tensor]]:
    """Returns MiniLM as similarities of sentences, and the sentences' tokens."""
    from minilm import SentenceEncoder, folder
    from transformers import AutoTokenizer

    encoder = SentenceEncoder(folder()).eval()
    batch = AutoTokenizer.from_pretrained(folder())(list(SENTENCES), padding=True, return_tensors="pt")
    return encoder, {"input_ids": batch["input_ids"], "attention_mask": batch["attention_mask"]}


def similarities(vectors: torch.Tensor) -> torch.Tensor:
    """Returns the similarity of each sentence with each other one."""
    return (vectors @ vectors.T).fill_diagonal_(-1)


def unchanged(logits: torch.Tensor) -> torch.Tensor:
    """Returns the logits, which are compared as they are."""
    return logits


Build = Callable[[], tuple[torch.nn.Module, dict[str, torch.Tensor]]]

TRAINED: dict[str, tuple[Build, Callable[[torch.Tensor], torch.Tensor]]] = {
    "SmolLM2-135M, next tokens": (smollm2, unchanged),
    "MiniLM, nearest sentences": (minilm, similarities),
}
"""Function that builds a model with trained weights, and what of its result is compared."""


def row(name: str) -> str:
    """Returns a row of the table."""
    trained = name in TRAINED
    build, result = TRAINED[name] if trained else (functools.partial(random_model, name), unchanged)
    measure, label = (agreement, "top-1") if trained else (pcc, "PCC")
    model, inputs = build()
    with torch.no_grad():
        expected = result(model(**inputs).float())
    figures: list[str] = []
    for options in COLUMNS.values():
        value = measure(expected, result(on_the_card(model, inputs, options)))
        figures.append(f"{100 * value:.0f} %" if trained else f"{value:.4f}")
        click.echo(f"{name}: {figures[-1]}", err=True)
    return f"| {name} | {label} | {' | '.join(figures)} |"


@click.command(help=__doc__)
@click.argument("names", nargs=-1)
@click.option("--document", type=click.Path(path_type=Path, exists=True), help="Write the table into this document.")
def main(names: tuple[str, ...], document: Path | None) -> None:
    known = [*(name for name in CASES if CASES[name].silicon), *TRAINED]
    unknown = set(names) - set(known)
    if unknown:
        raise click.ClickException(f"No model is named {sorted(unknown)}; known are {', '.join(known)}.")
    head = f"| model | measure | {' | '.join(COLUMNS)} |"
    lines = [head, f"|---|---|{'---:|' * len(COLUMNS)}", *map(row, names or known)]
    click.echo("\n".join(lines))
    if document is not None:
        write_between_marks(document, "accuracy", "\n".join(lines))


if __name__ == "__main__":
    main()
