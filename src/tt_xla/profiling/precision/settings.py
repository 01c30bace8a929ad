"""Settings of one layer, and assignments of a setting to each group of layers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from tt_xla.precision import LayerPrecision, Precision


@dataclass(frozen=True)
class Setting:
    """Precision of a group of layers, or of all ops that belong to no layer."""

    weights: str
    """Format of the weights; empty where it cannot change."""
    math_fidelity: str
    fp32_dest_acc_en: bool
    fast_and_approximate_mode: bool = False
    """Whether functions that have a coarse, fast form are computed by it."""

    @property
    def label(self) -> str:
        """Description for people."""
        parts = (self.weights, self.math_fidelity, "32" if self.fp32_dest_acc_en else "16")
        return "-".join(filter(None, (*parts, "coarse" if self.fast_and_approximate_mode else "")))


FORMATS = ("bf16", "bfp_bf8", "bfp_bf4")
FIDELITIES = ("hifi4", "hifi2", "lofi")
ACCUMULATION = (True, False)

Assignment = tuple[Setting, ...]
"""Setting of each group of layers, and at the end of all other ops."""


def settings(formats: Sequence[str], *, coarse: bool) -> list[Setting]:
    """Returns every setting with one of some formats of weights, the most precise one first.

    With ``coarse``, coarse forms of functions may be chosen.
    """
    modes = (False, True) if coarse else (False,)
    return [Setting(*values) for values in product(formats, FIDELITIES, ACCUMULATION, modes)]


def precision_of(
    assignment: Assignment, groups: Sequence[Iterable[str]], made_from: dict[str, Any] | None = None
) -> Precision:
    """Returns the precision file of an assignment to groups of layers, given by the layers' names."""
    layers: dict[str, LayerPrecision] = {}
    for setting, names in zip(assignment, groups, strict=False):
        fields = _fields(setting) | ({"weights": setting.weights} if setting.weights else {})
        layers |= dict.fromkeys(names, LayerPrecision.model_validate(fields))
    return Precision(made_from=made_from or {}, options=_fields(assignment[-1]), layers=layers)


def _fields(setting: Setting) -> dict[str, Any]:
    """Returns the fields of a setting in a precision file, except the weights; functions that stay exact need none."""
    fields: dict[str, Any] = {"math_fidelity": setting.math_fidelity, "fp32_dest_acc_en": setting.fp32_dest_acc_en}
    return fields | ({"fast_and_approximate_mode": True} if setting.fast_and_approximate_mode else {})


@dataclass(frozen=True)
class Candidate:
    """A setting of one group, with its expected time and error."""

    setting: Setting
    us: float
    """Predicted microseconds of the group."""
    error: float
    """Correlation that the setting is expected to cost the program's results."""


def upgrades(candidates: Sequence[Sequence[Candidate]]) -> list[tuple[int, Setting]]:
    """Returns the steps from the most precise to the fastest assignment: the group and its new setting.

    Only settings count that no mixture of two others beats, so that each step of a group gains less time per error than
    the one before. The steps of all groups are merged by this ratio, the largest first: after any number of steps, no
    other assignment with the same expected error is expected to be faster.

    Args:
        candidates: Settings of each group; the first is the one that the search starts from.
    """
    steps: list[tuple[float, int, int, Setting]] = []
    for group, options in enumerate(candidates):
        current, number = options[0], 0
        while better := [option for option in options if option.us < current.us]:
            chosen = max(better, key=lambda option: (_ratio(current, option), -option.us))
            steps.append((-_ratio(current, chosen), number, group, chosen.setting))
            current, number = chosen, number + 1
    return [(group, setting) for _, _, group, setting in sorted(steps, key=lambda step: step[:3])]


def _ratio(before: Candidate, after: Candidate) -> float:
    """Returns the microseconds that are gained per lost correlation; infinity if nothing is lost."""
    lost = after.error - before.error
    return (before.us - after.us) / lost if lost > 0 else float("inf")
