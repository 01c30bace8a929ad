"""Throughput that tt-metal's own, hand-tuned models reach on silicon, with the source of each figure.

``tt-xla report --beside`` and ``make bench-hand-tuned`` compare predictions with these figures.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from tt_xla.errors import OptionError

_PERF = "tt_transformers/PERF.md"
_README = "README.md of November 2025"
_VISION = "demos/vision/classification"
IMAGES, SENTENCES, TOKENS = "images/s", "sentences/s", "tokens/s a user"


@dataclass(frozen=True)
class Figure:
    """A throughput that was measured on cards."""

    model: str
    """Name of the model, such as ``resnet-50``."""
    system: str
    """Name of the system, as for ``TTXLA_SYSTEM``."""
    batch: int
    """Samples, or users, in a step."""
    rate: float
    """Units in a second."""
    unit: str
    kernels: bool
    """Whether the figure counts the durations of kernels alone, as a profiler sums them; else all time of a step."""
    source: str
    """File or folder below ``models`` of tenstorrent/tt-metal that has the figure."""

    def predicted(self, device_us: float, gaps_us: float, batch: int | None = None) -> float:
        """Returns the throughput of a step in the figure's unit.

        Args:
            device_us: time of the step's kernels.
            gaps_us: time between them, which counts unless the figure counts kernels alone.
            batch: samples or users in the step; None for those of the figure.
        """
        step_us = device_us if self.kernels else device_us + gaps_us
        units = 1 if self.unit == TOKENS else self.batch if batch is None else batch
        return 1e6 * units / step_us


def _decoder(model: str, batch: int, rates: dict[str, float]) -> list[Figure]:
    """Returns the figures of a decoder: a token for each user in a step, after 128 tokens of input."""
    return [Figure(model, system, batch, rate, TOKENS, False, _PERF) for system, rate in rates.items()]


FIGURES = (
    Figure("resnet-50", "n150", 16, 5311, IMAGES, True, f"{_VISION}/resnet50/wormhole (CI)"),
    Figure("resnet-50", "n150", 16, 4700, IMAGES, False, _README),
    Figure("resnet-50", "p150", 16, 10610, IMAGES, True, f"{_VISION}/resnet50/blackhole (CI)"),
    Figure("resnet-50", "p150", 32, 12960, IMAGES, True, f"{_VISION}/resnet50/blackhole (CI)"),
    Figure("resnet-50", "n300", 32, 9200, IMAGES, False, _README),
    Figure("resnet-50", "n300-llmbox", 128, 35800, IMAGES, False, _README),
    Figure("resnet-50", "galaxy-wh-6u", 512, 96800, IMAGES, False, _README),
    Figure("vit-b-16", "n150", 8, 1450, IMAGES, True, f"{_VISION}/vit/wormhole (CI)"),
    Figure("vit-b-16", "n150", 8, 1370, IMAGES, False, _README),
    Figure("vit-b-16", "n300", 16, 1900, IMAGES, False, _README),
    Figure("vit-b-16", "n300-llmbox", 64, 7700, IMAGES, False, _README),
    Figure("vit-b-16", "p150", 10, 3700, IMAGES, False, _README),
    Figure("mobilenet-v2", "n150", 10, 3730, IMAGES, True, f"{_VISION}/mobilenetv2 (CI)"),
    Figure("mobilenet-v2", "n150", 10, 3030, IMAGES, False, _README),
    Figure("mobilenet-v2", "n150", 1, 728, IMAGES, True, "demos/mobilenetv2 (CI in early 2025)"),
    Figure("mobilenet-v2", "n300", 20, 5280, IMAGES, False, _README),
    Figure("bert-large-384", "n150", 8, 360, SENTENCES, True, "demos/metal_BERT_large_11 (CI)"),
    Figure("bert-large-384", "n150", 8, 270, SENTENCES, False, _README),
    *_decoder("llama-3.2-1b-decode", 1, {"n150": 87.8, "n300": 105.9, "n300-llmbox": 119.8}),
    *_decoder("llama-3.2-1b-decode", 32, {"n150": 54.7, "n300": 64.2, "n300-llmbox": 69.9}),
    *_decoder("llama-3.2-3b-decode", 1, {"n150": 54.0, "n300": 68.0, "n300-llmbox": 68.5}),
    *_decoder("llama-3.2-3b-decode", 32, {"n150": 36.5, "n300": 45.8, "n300-llmbox": 47.8}),
    *_decoder("llama-3.1-8b-decode", 1, {"n150": 28.3, "n300": 44.2, "n300-llmbox": 64.3, "p100": 29.5, "p150": 33.6}),
    *_decoder("llama-3.1-8b-decode", 32, {"n150": 22.3, "n300": 33.5, "n300-llmbox": 45.6}),
    *_decoder("llama-3.1-70b-decode", 1, {"n300-llmbox": 16.6}),
    *_decoder("llama-3.1-70b-decode", 32, {"n300-llmbox": 14.8}),
    *_decoder("mistral-7b-decode", 1, {"n150": 29.75, "n300": 47.01, "n300-llmbox": 67.82}),
)
"""The figures by model. Those of CI are targets of tests, which compare the sum of a profiler's kernel durations."""

MODELS = tuple(dict.fromkeys(figure.model for figure in FIGURES))
"""Names of the models that have figures."""


def figures_of(model: str) -> list[Figure]:
    """Returns the figures of a model, whose name may be written without hyphens and dots, and in capitals.

    Raises:
        OptionError: no figure is known; the hint lists the models.
    """
    figures = [figure for figure in FIGURES if _plain(figure.model) == _plain(model)]
    if not figures:
        near = difflib.get_close_matches(model, MODELS, n=3, cutoff=0.4)
        hint = f"Similar names are {', '.join(near)}." if near else f"Known are {', '.join(MODELS)}."
        raise OptionError(f"No hand-tuned figure is known of a model '{model}'.", hint=hint)
    return figures


def _plain(name: str) -> str:
    """Returns a name's letters and digits, in lower case."""
    return "".join(filter(str.isalnum, name.lower()))


def kernel_rate(model: str, system: str, batch: int) -> float:
    """Returns the throughput of a model by kernel durations alone, or by all time where only that is public.

    Raises:
        OptionError: there is no figure of this model, system and batch.
    """
    figures = [each for each in figures_of(model) if (each.system, each.batch) == (system, batch)]
    if not figures:
        raise OptionError(
            f"No hand-tuned figure is known of '{model}' on {system} with a batch of {batch}.",
            hint="Known are "
            + ", ".join(dict.fromkeys(f"{each.system} with {each.batch}" for each in figures_of(model)))
            + ".",
        )
    return max(figures, key=lambda each: each.kernels).rate
