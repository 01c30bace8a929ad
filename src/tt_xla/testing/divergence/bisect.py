"""What of the error each number format and each stage of the compiler brings."""

from __future__ import annotations

import dataclasses
from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import Any

from tt_xla.compiler.pipeline import TTIR_STAGES, TTNN_STAGES
from tt_xla.errors import TTXLAError
from tt_xla.options import CompileOptions
from tt_xla.testing.divergence.modules import widened
from tt_xla.testing.divergence.parts import Error
from tt_xla.testing.divergence.runs import Array, on_card

OPTIONAL = (
    "ttir-fold",
    "ttir-fuse",
    "ttir-sink-permutes",
    "ttir-cse",
    "ttnn-fuse",
    "ttnn-propagate-row-major",
    "ttnn-hoist-loop-invariants",
    "ttnn-hoist-const-eval",
    "ttnn-choose-layouts",
)
"""Stages without which a program still compiles, as a rule."""


@dataclass(frozen=True)
class Trial:
    """The program run another way."""

    what: str
    error: Error | None
    failure: str = ""


def by_fusion(module: Any, inputs: Sequence[Array], golden: Sequence[Array], options: CompileOptions) -> list[Trial]:
    """The program as it is, and without each of the stages that it could do without."""
    ran = {stage.name for stage in (*TTIR_STAGES, *TTNN_STAGES) if stage.when(options)}
    trials = [_tried("as it is", module, inputs, golden, options)]
    for name in OPTIONAL:
        if name in ran:
            trials.append(_tried(f"without {name}", module, inputs, golden, options, without=(name,)))
    trials.append(_tried("without all of these", module, inputs, golden, options, without=OPTIONAL))
    return trials


def by_format(module: Any, inputs: Sequence[Array], golden: Sequence[Array], options: CompileOptions) -> list[Trial]:
    """The program with exact arithmetic, with other formats, and with both: what the compiler itself brings."""
    exact = dataclasses.replace(options, numerics="exact", experimental_weight_dtype="")
    trials = [("as it is", module, options)]
    if options.experimental_weight_dtype:
        trials.append(("weights as given", module, dataclasses.replace(options, experimental_weight_dtype="")))
    else:
        eight_bits = dataclasses.replace(options, experimental_weight_dtype="bfp_bf8")
        trials.append(("weights in bfp8", module, eight_bits))
    for on in (True, False):
        if options.fp32_dest_acc_en is not on:
            what = "accumulation in 32 bits" if on else "accumulation in 16 bits"
            trials.append((what, module, dataclasses.replace(options, fp32_dest_acc_en=on)))
    for fidelity in ("hifi4", "lofi"):
        default = "hifi4" if options.optimization_level == 0 else ""
        if (options.math_fidelity or default) != fidelity:
            trials.append((f"fidelity {fidelity}", module, dataclasses.replace(options, math_fidelity=fidelity)))
    wide = widened(module)
    trials.append(("exact arithmetic, types as given", module, exact))
    trials.append(("float32 throughout, the chip's arithmetic", wide, options))
    trials.append(("float32 throughout, exact arithmetic", wide, exact))
    return [_tried(what, each, inputs, golden, settings) for what, each, settings in trials]


def verdict(trials: Sequence[Trial], required: float) -> str:
    """What ``by_format`` says of the cause."""
    first, last = trials[0], trials[-1]
    if first.error is not None and first.error.within(required):
        return "The program agrees with float32 on the CPU."
    if last.error is None or not last.error.within(required):
        return "It differs in float32 with exact arithmetic too: that is the compiler's doing. Try --bisect fusion."
    good = [trial for trial in trials[1:-1] if trial.error is not None and trial.error.within(required)]
    return f"The number formats are the cause; enough is: {'; '.join(trial.what for trial in good) or last.what}."


def _tried(
    what: str,
    module: Any,
    inputs: Sequence[Array],
    golden: Sequence[Array],
    options: CompileOptions,
    *,
    without: Container[str] = (),
) -> Trial:
    try:
        return Trial(what, Error.of(on_card(module, inputs, options, without=without), golden))
    except TTXLAError as error:
        return Trial(what, None, str(error).splitlines()[0])
