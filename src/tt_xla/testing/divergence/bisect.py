"""What of the error each number format, each weight, each stage of the compiler and each rewrite brings."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import Any

from tt_xla.compiler.pipeline import OPTIONAL, TTIR_STAGES, TTNN_STAGES
from tt_xla.compiler.rewriting import Change, Changes
from tt_xla.errors import TTXLAError
from tt_xla.options import CompileOptions
from tt_xla.testing.divergence.modules import weight_in, weights, widened
from tt_xla.testing.divergence.parts import Error
from tt_xla.testing.divergence.runs import Array, on_card


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
    plain = dataclasses.replace(options, experimental_weight_dtype="")  # block floats are made of bfloat16 alone
    trials.append(("float32 throughout, the chip's arithmetic", wide, plain))
    trials.append(("float32 throughout, exact arithmetic", wide, exact))
    return [_tried(what, each, inputs, golden, settings) for what, each, settings in trials]


@dataclass(frozen=True)
class Culprit:
    """What of the compiler's changes raises the error.

    Attributes:
        changes: one; more where a program with some of them and not all does not compile.
        before: the error without them and all that come after, ``after`` with them.
        place: of the last one among all ``total``, from 1.
    """

    changes: tuple[Change, ...]
    before: Error
    after: Error
    place: int
    total: int


def first_change(
    module: Any, inputs: Sequence[Array], golden: Sequence[Array], options: CompileOptions
) -> Culprit | None:
    """The change by an optional stage that first raises the error, by bisection; None where all together do not.

    An error is raised where it is nearer to that of the program as it is than to that without any of the changes, by
    the ratio.
    """
    recorded = Changes()
    wrong = _tried("", module, inputs, golden, options, changes=recorded).error
    right = _tried("", module, inputs, golden, options, changes=Changes(0)).error
    if wrong is None or right is None or wrong.weight <= 2 * right.weight:
        return None
    threshold = math.sqrt(max(right.weight, _NO_ERROR) * wrong.weight)
    low, high, before, after = 0, len(recorded.made), right, wrong
    while untried := _from_the_middle(low, high):
        for limit in untried[:_NEIGHBOURS]:
            error = _tried("", module, inputs, golden, options, changes=Changes(limit)).error
            if error is not None:
                break
        else:
            break  # nothing between compiles
        if error.weight < threshold:
            low, before = limit, error
        else:
            high, after = limit, error
    return Culprit(tuple(recorded.made[low:high]), before, after, high, len(recorded.made))


_NO_ERROR = 1e-7
_NEIGHBOURS = 6


def _from_the_middle(low: int, high: int) -> list[int]:
    """The numbers between two, both not in, the middle first."""
    middle = (low + high) // 2
    return sorted(range(low + 1, high), key=lambda number: abs(number - middle))


def by_weight(module: Any, inputs: Sequence[Array], golden: Sequence[Array], options: CompileOptions) -> list[Trial]:
    """The program with one weight alone in the format that the options ask for, for each weight; the worst first.

    Empty where they ask for none; what arguments say of themselves counts as given.
    """
    wanted = options.experimental_weight_dtype
    others = dataclasses.replace(options, experimental_weight_dtype="")
    found: list[Trial] = []
    for index, name in weights(module).items() if wanted not in ("", "bf16") else ():
        with weight_in(module, index, wanted):
            found.append(_tried(f"{name} alone in {wanted}", module, inputs, golden, others))
    return sorted(found, key=lambda trial: -(trial.error.weight if trial.error else math.inf))


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
    changes: Changes | None = None,
) -> Trial:
    try:
        return Trial(what, Error.of(on_card(module, inputs, options, without=without, changes=changes), golden))
    except TTXLAError as error:
        return Trial(what, None, str(error).splitlines()[0])
