"""One choice of options, and what a trial of it found."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from typing import Any

WEIGHTS = {"bf16": "", "bfp8": "bfp_bf8", "bfp4": "bfp_bf4"}
"""Names of weight formats that are the same for all weights, and the compile option of each."""

MIXED = "mixed"


@dataclass(frozen=True)
class Choice:
    """What one trial runs under. Empty fidelity is the compiler's own; batch 0 is the script's own."""

    optimization_level: int = 0
    enable_trace: bool = False
    weights: str = "bf16"
    math_fidelity: str = ""
    batch: int = 0
    overrides: str = ""
    """Formats of single weights, as the option ``experimental_weight_dtype_overrides`` has them."""
    reference: bool = False
    """Whether it computes as IEEE 754 does; the others are compared with its main program in float32."""

    @property
    def key(self) -> str:
        return json.dumps(dataclasses.asdict(self), sort_keys=True)

    @property
    def label(self) -> str:
        if self.reference:
            return "reference"
        parts = [f"level {self.optimization_level}", self.weights, self.math_fidelity or "default fidelity"]
        parts += ["trace"] * self.enable_trace + [f"batch {self.batch}"] * bool(self.batch)
        return ", ".join(parts)

    def options(self) -> dict[str, Any]:
        """Compile options, as ``torch_xla.set_custom_compile_options`` takes them."""
        if self.reference:
            return (
                {"numerics": "exact"}
                | dict.fromkeys(("enable_bfp8_conversion", "enable_trace"), False)
                | {
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
    """What a trial found. Times are predicted, of one steady step."""

    choice: Choice
    step_ms: float = 0.0
    """Device time, gaps between its ops, and transfers."""
    device_ms: float = 0.0
    dram_bytes: int = 0
    """The largest program's peak."""
    pcc: float | None = None
    """The smallest correlation of a result with the reference's; None where they cannot be compared."""
    metrics: dict[str, float] = dataclasses.field(default_factory=dict)
    weights: tuple[tuple[str, int], ...] = ()
    """Parameters that the programs take: names and elements."""
    inexact: str = ""
    """Why the reference is in the script's own types and not in float32; of the reference alone."""
    error: str = ""
    """Why there are no figures."""

    @property
    def compared_with(self) -> str:
        """What correlations are taken with; of the reference alone."""
        return f"the program in its own types ({self.inexact})" if self.inexact else "float32 on the CPU"

    @property
    def throughput(self) -> float:
        """Samples a second; steps a second where the batch is the script's own."""
        return 1e3 * max(self.choice.batch, 1) / self.step_ms if self.step_ms else 0.0

    def accuracy(self, metric: str) -> float | None:
        return self.metrics.get(metric) if metric else self.pcc

    def as_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @staticmethod
    def from_dict(data: dict[str, Any]) -> Outcome:
        weights = tuple((str(name), int(size)) for name, size in data["weights"])
        return Outcome(**(data | {"choice": Choice(**data["choice"]), "weights": weights}))


def pareto(outcomes: list[Outcome], metric: str = "") -> list[Outcome]:
    """Those that no other one beats in throughput without losing accuracy, fastest first."""
    found: list[Outcome] = []
    best = float("-inf")
    known = [each for each in outcomes if not each.error and not each.choice.reference]
    for each in sorted(known, key=lambda one: (-one.throughput, -(one.accuracy(metric) or 0.0))):
        accuracy = each.accuracy(metric)
        if accuracy is not None and accuracy > best:
            found.append(each)
            best = accuracy
    return found
