"""Compares the predicted throughput of models with what hand-tuned implementations reach on silicon.

The models are those of transformers with random weights, compiled with ``torch.compile`` for a described card in the
number formats of the hand-tuned implementation; nothing runs. ``make bench-hand-tuned`` writes the table into
docs/benchmarks.md. With ``--ops`` the time of each kind of op is printed too, and ``--modules`` keeps the StableHLO
modules for ``tt-xla compile``.
"""

from __future__ import annotations

import collections
import contextlib
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
import torch

from docs.tables import write_between_marks
from tt_xla.compiler.recording import Compilation, recorded_compilations
from tt_xla.ir.program import FunctionKind, Program
from tt_xla.profiling.hand_tuned import kernel_rate

MOVES = frozenset(
    f"ttnn.{name}"
    for name in (
        *("permute", "transpose", "reshape", "to_layout", "to_memory_config", "pad", "typecast", "slice_static"),
        *("convert_to_hwc", "embedding", "repeat"),
    )
)
"""Ops that only move or convert values."""

Inputs = dict[str, torch.Tensor]


def images(batch: int) -> Inputs:
    """Returns a batch of images of 224 by 224 points."""
    return {"pixel_values": torch.zeros(batch, 3, 224, 224, dtype=torch.bfloat16)}


def tokens(batch: int, length: int = 384) -> Inputs:
    """Returns a batch of sequences of tokens."""
    return {"input_ids": torch.zeros(batch, length, dtype=torch.int64)}


@dataclass(frozen=True)
class Formats:
    """The number formats of an implementation."""

    dtype: str = "bfp_bf8"
    """Element type of weights and of values between ops."""
    math_fidelity: str = "lofi"
    fp32_dest_acc_en: bool = False
    fast_and_approximate_mode: bool = False
    """Whether gelu is TT-NN's table of lines, as in the demos of BERT and ViT: ``fused_activation=(GELU, True)``."""

    def options(self) -> dict[str, Any]:
        """Returns the compile options that choose the formats."""
        return {
            "experimental_weight_dtype": self.dtype,
            "experimental_activation_dtype": self.dtype,
            "math_fidelity": self.math_fidelity,
            "fp32_dest_acc_en": self.fp32_dest_acc_en,
            "fast_and_approximate_mode": self.fast_and_approximate_mode,
        }

    def __str__(self) -> str:
        """Returns the formats as the table shows them."""
        gelu = ", gelu by lines" if self.fast_and_approximate_mode else ""
        return f"{self.dtype}, {self.math_fidelity}, {32 if self.fp32_dest_acc_en else 16}-bit sums{gelu}"


@dataclass(frozen=True)
class Case:
    """A model of transformers, a batch, and the throughput that was measured on a card."""

    config: str
    """Name of the configuration's class in transformers."""
    model: str
    """Name of the model's class in transformers."""
    batch: int
    inputs: Callable[[int], Inputs] = images
    silicon: float | None = None
    """Samples per second that a hand-tuned implementation reaches; None where no figure is public."""
    unit: str = "images/s"
    arguments: dict[str, Any] = field(default_factory=dict)
    """Arguments of the configuration."""
    card: str = "n150"
    formats: Formats = Formats()
    """Formats of the demo, in which products and convolutions of all four demos agree (``models/demos`` of tt-metal:
    ``WEIGHTS_DTYPE``, ``ACTIVATIONS_DTYPE`` and compute configs; TT-NN's default for products of block floats)."""

    def build(self) -> torch.nn.Module:
        """Returns the model with random weights."""
        import transformers

        torch.manual_seed(0)
        config = getattr(transformers, self.config)(**self.arguments)
        return getattr(transformers, self.model)(config).eval().to(torch.bfloat16)


_BERT_LARGE = {"hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16, "intermediate_size": 4096}

CASES = {
    "ResNet-50": Case("ResNetConfig", "ResNetForImageClassification", 16, silicon=kernel_rate("resnet-50", "n150", 16)),
    "MobileNetV2": Case(
        "MobileNetV2Config", "MobileNetV2ForImageClassification", 10, silicon=kernel_rate("mobilenet-v2", "n150", 10)
    ),
    "ViT-B/16": Case(
        "ViTConfig",
        "ViTForImageClassification",
        8,
        silicon=kernel_rate("vit-b-16", "n150", 8),
        formats=Formats(fast_and_approximate_mode=True),
    ),
    "BERT-large, 384 tokens": Case(
        "BertConfig",
        "BertForQuestionAnswering",
        8,
        tokens,
        kernel_rate("bert-large-384", "n150", 8),
        "sentences/s",
        arguments=_BERT_LARGE,
        formats=Formats(fast_and_approximate_mode=True),
    ),
    "RegNet-Y": Case("RegNetConfig", "RegNetForImageClassification", 8),
    "EfficientNet-B0": Case(
        "EfficientNetConfig",
        "EfficientNetForImageClassification",
        8,
        arguments={"width_coefficient": 1.0, "depth_coefficient": 1.0, "image_size": 224, "hidden_dim": 1280},
    ),
    "ConvNeXt-T": Case("ConvNextConfig", "ConvNextForImageClassification", 8),
}
"""The models by name. Figures of silicon are those of the demos of tt-metal (``tt_xla.profiling.hand_tuned``)."""


@contextlib.contextmanager
def recorded(card: str) -> Generator[list[Compilation]]:
    """Records what is compiled for a card."""
    from tt_xla.environment import set_variable

    set_variable("TTXLA_SYSTEM", card)
    with recorded_compilations(texts=True) as compilations:
        yield compilations


def compiled(case: Case, level: int) -> Compilation:
    """Compiles a case and returns its longest program.

    Raises:
        ClickException: nothing was compiled.
    """
    options = {"optimization_level": level, "enable_trace": True, "dry_run": True} | case.formats.options()
    model = case.build()
    with recorded(case.card) as compilations, torch.no_grad():
        torch.compile(model, backend="tt", options=options)(**case.inputs(case.batch))
    programs = [item for item in compilations if item.program is not None]
    if not programs:
        raise click.ClickException(f"{case.model} compiled no program: {[item.error for item in compilations]}.")
    return max(programs, key=lambda item: item.program.predicted_device_us if item.program else 0.0)


def times(program: Program) -> dict[str, tuple[int, float]]:
    """Returns the number of instructions and the predicted microseconds of each kind of op."""
    found: dict[str, tuple[int, float]] = collections.defaultdict(lambda: (0, 0.0))
    kinds = (FunctionKind.FORWARD, FunctionKind.TRACE, FunctionKind.SUBPROGRAM)
    for function in program.functions:
        if function.kind in kinds:
            for instruction in function.body:
                if instruction.cost.total_us:
                    number, total = found[instruction.op]
                    found[instruction.op] = (number + 1, total + instruction.cost.total_us)
    return dict(sorted(found.items(), key=lambda item: -item[1][1]))


def row(name: str, case: Case, program: Program) -> str:
    """Returns a row of the table."""
    by_op = times(program)
    moved = sum(total for op, (_, total) in by_op.items() if op in MOVES)
    number = sum(count for op, (count, _) in by_op.items() if op in MOVES)
    predicted = case.batch / program.predicted_device_us * 1e6
    measured = f"{case.silicon:,.0f} {case.unit}" if case.silicon else ""
    ratio = f"{predicted / case.silicon:.2f}" if case.silicon else ""
    share = 100 * moved / program.predicted_device_us
    rate = f"{predicted:,.0f} {case.unit}"
    cells = (name, case.card, case.batch, case.formats, measured, rate, ratio, f"{share:.0f} %", number)
    return f"| {' | '.join(map(str, cells))} |"


HEAD = (
    "| model | card | batch | formats | silicon | predicted | ratio | time in moves | moves |",
    "|---|---|---:|---|---:|---:|---:|---:|---:|",
)


@click.command(help=__doc__)
@click.argument("names", nargs=-1)
@click.option("--level", type=click.IntRange(0, 2), default=2, show_default=True)
@click.option("--ops", is_flag=True, help="Print the time of each kind of op.")
@click.option("--modules", type=click.Path(path_type=Path, file_okay=False), help="Folder for the StableHLO modules.")
@click.option("--document", type=click.Path(path_type=Path, exists=True), help="Write the table into this document.")
def main(names: tuple[str, ...], level: int, ops: bool, modules: Path | None, document: Path | None) -> None:
    unknown = set(names) - set(CASES)
    if unknown:
        raise click.ClickException(f"No model is named {sorted(unknown)}; known are {', '.join(CASES)}.")
    lines = [*HEAD]
    for name in names or CASES:
        compilation = compiled(CASES[name], level)
        assert compilation.program is not None
        lines.append(row(name, CASES[name], compilation.program))
        click.echo(lines[-1], err=True)
        if ops:
            for op, (number, total) in times(compilation.program).items():
                click.echo(f"    {op:40}{number:5}{total:12.1f} us", err=True)
        if modules is not None:
            modules.mkdir(parents=True, exist_ok=True)
            (modules / f"{name.split(',')[0].replace('/', '-')}.mlir").write_text(compilation.source)
        torch.compiler.reset()
    click.echo("\n".join(lines))
    if document is not None:
        write_between_marks(document, "hand-tuned", "\n".join(lines))


if __name__ == "__main__":
    main()
