"""One choice of options, and the outcome of its trial."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from tt_xla.profiling.front import front_of

WEIGHTS = {"bf16": "", "bfp8": "bfp_bf8", "bfp4": "bfp_bf4"}
"""Compile option ``experimental_weight_dtype`` by name of a format that all weights share."""

MIXED = "mixed"
"""Name of the choice of formats weight by weight."""


@dataclass(frozen=True)
class Choice:
    """Options of one trial. An empty fidelity leaves it to the compiler; batch 0 leaves it to the script."""

    optimization_level: int = 0
    enable_trace: bool = False
    weights: str = "bf16"
    math_fidelity: str = ""
    batch: int = 0
    overrides: str = ""
    """Formats of single weights, in the form of the option ``experimental_weight_dtype_overrides``."""
    reference: bool = False
    """Whether numerics are ``exact``. Results of other trials are compared with this one's main program in float32."""

    @property
    def label(self) -> str:
        """Description for people."""
        if self.reference:
            return "reference"
        parts = [f"level {self.optimization_level}", self.weights, self.math_fidelity or "default fidelity"]
        parts += ["trace"] * self.enable_trace + [f"batch {self.batch}"] * bool(self.batch)
        return ", ".join(parts)

    def options(self) -> dict[str, Any]:
        """Returns the compile options, as ``torch_xla.set_custom_compile_options`` takes them."""
        if self.reference:
            return (
                {"numerics": "exact"}
                | dict.fromkeys(("enable_bfp8_conversion", "enable_trace"), False)
                | {
                    "experimental_activation_dtype": "",
                    "experimental_weight_dtype": "",
                    "optimization_level": 0,
                }
            )
        uniform = WEIGHTS.get(self.weights, "bfp_bf8")
        return {
            "optimization_level": self.optimization_level,
            "enable_trace": self.enable_trace,
            "enable_bfp8_conversion": False,
            "experimental_weight_dtype": uniform,
            "experimental_weight_dtype_overrides": self.overrides,
            "math_fidelity": self.math_fidelity,
        }


@dataclass(frozen=True)
class Outcome:
    """The outcome of a trial. Times are predictions for one steady step."""

    choice: Choice
    step_ms: float = 0.0
    """Sum of device time, gaps between ops, and transfers."""
    device_ms: float = 0.0
    """Device time."""
    dram_bytes: int = 0
    """Greatest peak of DRAM in use of a program."""
    pcc: float | None = None
    """Least correlation of a result with the reference's; None if they cannot be compared."""
    metrics: dict[str, float] = dataclasses.field(default_factory=dict)
    """Metrics that the script reported, by name."""
    weights: tuple[tuple[str, int], ...] = ()
    """Name and number of elements of each parameter of the programs."""
    sources: tuple[str, ...] = ()
    """Files that the program consists of, for the reference's outcome."""
    inexact: str = ""
    """Reason why the reference is in the script's own types instead of float32; empty for other choices."""
    error: str = ""
    """Reason why there are no figures; empty if there are."""

    @property
    def compared_with(self) -> str:
        """Description of the reference's results, for the reference's outcome."""
        return f"the program in its own types ({self.inexact})" if self.inexact else "float32 on the CPU"

    @property
    def throughput(self) -> float:
        """Samples a second, or steps a second if the batch is left to the script."""
        return 1e3 * max(self.choice.batch, 1) / self.step_ms if self.step_ms else 0.0

    def accuracy(self, metric: str) -> float | None:
        """Returns a metric, or the correlation if the metric's name is empty; None if it is unknown."""
        return self.metrics.get(metric) if metric else self.pcc


def pareto(outcomes: Iterable[Outcome], metric: str = "") -> list[Outcome]:
    """Returns the outcomes that are more accurate than every faster one, fastest first."""
    valid = [outcome for outcome in outcomes if not outcome.error and not outcome.choice.reference]
    return front_of(valid, lambda outcome: -outcome.throughput, lambda outcome: outcome.accuracy(metric))
