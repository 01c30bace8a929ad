"""Measures how much each number format, weight, compiler stage and rewrite contributes to a program's error."""

from __future__ import annotations

import math
from collections.abc import Container, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tt_xla.compiler.pipeline import OPTIONAL
from tt_xla.compiler.rewriting import Change, Changes
from tt_xla.compiler.stages import TTIR_STAGES, TTNN_STAGES
from tt_xla.errors import TTXLAError
from tt_xla.options import CompileOptions
from tt_xla.testing.divergence.modules import weight_in, weights, widened
from tt_xla.testing.divergence.parts import Error
from tt_xla.testing.divergence.runs import Array, on_card


@dataclass(frozen=True)
class Trial:
    """The program run with other options or other compiler stages.

    Attributes:
        label: what differs.
        error: error of the results; None if the program does not compile or run.
        failure: why it does not.
    """

    label: str
    error: Error | None
    failure: str = ""


@dataclass(frozen=True)
class Culprit:
    """The change of the compiler that raises the error.

    Attributes:
        changes: the change; several if the program does not compile with only some of them.
        before: error without these changes and all later ones.
        after: error with these changes, without later ones.
        position: position of the last of these changes among all changes, starting at 1.
        total: number of all changes.
    """

    changes: tuple[Change, ...]
    before: Error
    after: Error
    position: int
    total: int


_NO_ERROR = 1e-7
"""Relative error below which results count as equal."""

_MAX_TRIES = 6
"""Number of limits that a step of the bisection tries while the program does not compile."""


@dataclass(frozen=True)
class Bisection:
    """A program whose error is taken apart: it runs with other options and with other stages of the compiler.

    Attributes:
        module: the StableHLO module.
        inputs: its arguments.
        golden: its results in float32.
        options: compile options.
    """

    module: Any
    inputs: Sequence[Array]
    golden: Sequence[Array]
    options: CompileOptions

    def by_fusion(self) -> list[Trial]:
        """Runs the program unchanged, without each optional stage of the compiler, and without all of them."""
        enabled = {stage.name for stage in (*TTIR_STAGES, *TTNN_STAGES) if stage.when(self.options)}
        return [
            self._run("as it is"),
            *(self._run(f"without {name}", without=(name,)) for name in OPTIONAL if name in enabled),
            self._run("without all of these", without=OPTIONAL),
        ]

    def by_format(self) -> list[Trial]:
        """Runs the program with other number formats, with exact arithmetic, and with both.

        The error that is left with exact arithmetic in float32 is that of the compiler.
        """
        options = self.options
        plain = {"experimental_weight_dtype": ""}  # only bfloat16 weights become block floats
        changes: dict[str, dict[str, Any]] = {"as it is": {}}
        if options.experimental_weight_dtype:
            changes["weights as given"] = plain
        else:
            changes["weights in bfp8"] = {"experimental_weight_dtype": "bfp_bf8"}
        for on in (True, False):
            if options.fp32_dest_acc_en is not on:
                changes[f"accumulation in {32 if on else 16} bits"] = {"fp32_dest_acc_en": on}
        for fidelity in ("hifi4", "lofi"):
            default = "hifi4" if options.optimization_level == 0 else ""
            if (options.math_fidelity or default) != fidelity:
                changes[f"fidelity {fidelity}"] = {"math_fidelity": fidelity}
        exact = plain | {"numerics": "exact"}
        changes["exact arithmetic, types as given"] = exact
        trials = [self._run(label, options=replace(options, **own)) for label, own in changes.items()]
        wide = replace(self, module=widened(self.module))
        for label, own in (("the chip's arithmetic", plain), ("exact arithmetic", exact)):
            trials.append(wide._run(f"float32 throughout, {label}", options=replace(options, **own)))
        return trials

    def first_change(self) -> Culprit | None:
        """Finds the first change by an optional stage that raises the error, by bisection.

        A change raises the error if the error with it is nearer to that of the unchanged program than to that without
        any changes, by ratio.

        Returns:
            The change, or None if all changes together do not raise the error.
        """
        recorded = Changes()
        wrong = self._run(changes=recorded).error
        right = self._run(changes=Changes(0)).error
        if wrong is None or right is None or wrong.weight <= 2 * right.weight:
            return None
        threshold = math.sqrt(max(right.weight, _NO_ERROR) * wrong.weight)
        low, high, before, after = 0, len(recorded.applied), right, wrong
        while candidates := _from_the_middle(low, high):
            for limit in candidates[:_MAX_TRIES]:
                error = self._run(changes=Changes(limit)).error
                if error is not None:
                    break
            else:
                break  # the program compiles with none of the limits in between
            if error.weight < threshold:
                low, before = limit, error
            else:
                high, after = limit, error
        return Culprit(tuple(recorded.applied[low:high]), before, after, high, len(recorded.applied))

    def by_weight(self) -> list[Trial]:
        """Runs the program once per weight, with only that weight in the format of ``experimental_weight_dtype``.

        Weights whose argument has a format of its own keep it.

        Returns:
            The trials, the largest error first; empty if the options name no format.
        """
        weight_dtype = self.options.experimental_weight_dtype
        others = replace(self.options, experimental_weight_dtype="")
        trials: list[Trial] = []
        for index, name in weights(self.module).items() if weight_dtype not in ("", "bf16") else ():
            with weight_in(self.module, index, weight_dtype):
                trials.append(self._run(f"{name} alone in {weight_dtype}", options=others))
        return sorted(trials, key=lambda trial: -(trial.error.weight if trial.error else math.inf))

    def _run(
        self,
        label: str = "",
        *,
        options: CompileOptions | None = None,
        without: Container[str] = (),
        changes: Changes | None = None,
    ) -> Trial:
        try:
            results = on_card(self.module, self.inputs, options or self.options, without=without, changes=changes)
            return Trial(label, Error.of(results, self.golden))
        except TTXLAError as error:
            return Trial(label, None, str(error).splitlines()[0])


def _from_the_middle(low: int, high: int) -> list[int]:
    """Returns the integers between two others, which are excluded, starting in the middle."""
    middle = (low + high) // 2
    return sorted(range(low + 1, high), key=lambda number: abs(number - middle))


def verdict(trials: Sequence[Trial], required: float) -> str:
    """Returns a sentence about the cause of the error.

    Args:
        trials: the result of :meth:`Bisection.by_format`.
        required: the least correlation that counts as agreement.
    """
    first, last = trials[0], trials[-1]
    if first.error is not None and first.error.within(required):
        return "The program agrees with float32 on the CPU."
    if last.error is None or not last.error.within(required):
        return "It differs in float32 with exact arithmetic too, so the compiler is the cause. Try --bisect fusion."
    good = [trial for trial in trials[1:-1] if trial.error is not None and trial.error.within(required)]
    sufficient = "; ".join(trial.label for trial in good) or last.label
    return f"The number formats are the cause. Each of these is enough to agree: {sufficient}."
