"""Compares losses of training on the emulated card with the CPU's, for a convolutional network and a transformer.

Both start from the same weights and see the same batches. The CPU trains in float32. On the card forward and backward
passes are compiled, in bfloat16 under autocast or in float32, and the optimizer steps in float32. Controls apply the
card's roundings on the CPU.
"""

from __future__ import annotations

import argparse
import copy
import statistics
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "examples"))

import torch
from torch import nn
from torch.nn import functional

Batch = tuple[torch.Tensor, torch.Tensor]


def digits(steps: int) -> tuple[nn.Module, list[Batch]]:
    """Returns the digits network without dropout, and batches of 32 of scikit-learn's digits."""
    from digits import load_digits
    from network import DigitsNetwork

    torch.manual_seed(0)
    model = DigitsNetwork()
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
    images, labels = load_digits()[0].tensors
    order = torch.randperm(len(labels))
    picks = [order[torch.arange(step * 32, step * 32 + 32) % len(order)] for step in range(steps)]
    return model, [(images[pick], labels[pick]) for pick in picks]


class Transformer(nn.Module):
    """Predicts the next character with two encoder layers and learned positions."""

    def __init__(self, symbols: int, length: int, width: int = 64) -> None:
        super().__init__()
        self.embed = nn.Embedding(symbols, width)
        self.place = nn.Parameter(torch.randn(length, width) * 0.02)
        layer = nn.TransformerEncoderLayer(width, 4, 4 * width, dropout=0.0, batch_first=True, norm_first=True)
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(width, symbols)
        self.register_buffer("mask", nn.Transformer.generate_square_subsequent_mask(length))

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        hidden = self.layers(self.embed(tokens) + self.place, mask=self.mask, is_causal=True)
        return functional.log_softmax(self.head(hidden), -1).flatten(0, 1)


def characters(steps: int, length: int = 32) -> tuple[nn.Module, list[Batch]]:
    """Returns the transformer, and batches of 16 pieces of the Zen of Python."""
    import codecs
    import contextlib
    import io

    with contextlib.redirect_stdout(io.StringIO()):
        import this
    text = codecs.decode(this.s, "rot13")
    symbols = sorted(set(text))
    tokens = torch.tensor([symbols.index(symbol) for symbol in text])
    torch.manual_seed(0)
    model = Transformer(len(symbols), length)
    data = []
    for _ in range(steps):
        starts = torch.randint(len(tokens) - length - 1, (16,))
        pieces = torch.stack([tokens[start : start + length + 1] for start in starts])
        data.append((pieces[:, :-1], pieces[:, 1:].reshape(-1)))
    return model, data


MODELS: dict[str, Callable[[int], tuple[nn.Module, list[Batch]]]] = {"digits": digits, "transformer": characters}


class PoolInBfloat16(nn.Module):
    """Pools in bfloat16, as the chip does for every element type."""

    def __init__(self, pool: nn.Module) -> None:
        super().__init__()
        self.pool = pool

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.pool(x.bfloat16()).to(x.dtype)


def pooling_in_bfloat16(model: nn.Module) -> nn.Module:
    """Returns a copy of the model whose pooling layers round their inputs to bfloat16."""
    model = copy.deepcopy(model)
    for parent in list(model.modules()):
        for name, child in parent.named_children():
            if isinstance(child, nn.MaxPool2d):
                setattr(parent, name, PoolInBfloat16(child))
    return model


def moved_by_a_bit(model: nn.Module) -> nn.Module:
    """Returns a copy of the model with each weight replaced by the next larger float32."""
    model = copy.deepcopy(model)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.nextafter(parameter, torch.full_like(parameter, torch.inf)))
    return model


def losses(
    model: nn.Module,
    data: list[Batch],
    device: str,
    dtype: torch.dtype = torch.float32,
    *,
    lazy: bool = False,
    options: dict[str, str] | None = None,
) -> list[float]:
    """Trains a copy of the model and returns the loss of each step before the update.

    On the card the model is compiled, or with ``lazy`` recorded as lazy tensors.
    """
    model = copy.deepcopy(model).to(device)
    call = torch.compile(model, backend="tt", options=options) if device == "tt" and not lazy else model
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    step_losses = []
    for inputs, targets in data:
        with torch.autocast(device, dtype=dtype, enabled=dtype is not torch.float32):
            output = call(inputs.to(device))
        loss = functional.nll_loss(output.float(), targets.to(device))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        step_losses.append(loss.item())
    return step_losses


def furthest(one: list[float], other: list[float]) -> float:
    """Returns the largest difference of two curves, relative to the first loss."""
    return max(abs(a - b) for a, b in zip(one, other, strict=True)) / one[0]


def curves(model: nn.Module, data: list[Batch]) -> Iterator[tuple[str, list[float]]]:
    """Yields each way of training with its losses: on the card, and controls on the CPU with the card's roundings."""
    yield "tt, float32", losses(model, data, "tt")
    yield "tt, bfloat16", losses(model, data, "tt", torch.bfloat16)
    yield "tt, float32, not compiled", losses(model, data, "tt", lazy=True)
    yield "tt, float32, `numerics=exact`", losses(model, data, "tt", options={"numerics": "exact"})
    yield "control: CPU, float32, weights moved by a last bit", losses(moved_by_a_bit(model), data, "cpu")
    yield "control: CPU, bfloat16", losses(model, data, "cpu", torch.bfloat16)
    if any(isinstance(module, nn.MaxPool2d) for module in model.modules()):
        yield "control: CPU, float32, pooling in bfloat16", losses(pooling_in_bfloat16(model), data, "cpu")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=200, help="optimizer steps (default 200)")
    parser.add_argument("--model", choices=[*MODELS], nargs="*", default=[*MODELS])
    parser.add_argument("--document", type=Path, help="write the table into this document")
    arguments = parser.parse_args()
    import tt_torch  # noqa: F401

    lines = [
        "| model | trained | first loss | last | last, CPU float32 | largest difference | mean |",
        "|---|---|---|---|---|---|---|",
    ]
    print(*lines, sep="\n")
    for name in arguments.model:
        model, data = MODELS[name](arguments.steps)
        expected = losses(model, data, "cpu")
        for way, got in curves(model, data):
            apart = [abs(one - other) / expected[0] for one, other in zip(expected, got, strict=True)]
            lines.append(
                f"| {name} | {way} | {got[0]:.3f} | {got[-1]:.3f} | {expected[-1]:.3f} | {max(apart):.2%} | "
                f"{statistics.mean(apart):.2%} |"
            )
            print(lines[-1], flush=True)
    if arguments.document:
        from docs.tables import write_between_marks

        write_between_marks(arguments.document, "training", "\n".join(lines))


if __name__ == "__main__":
    main()
