"""Writes the chosen precision file, and a page with the front of predicted time against accuracy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tt_xla.precision import LayerPrecision, Precision
from tt_xla.profiling.front import Dot, chart
from tt_xla.profiling.page import Cell, cards, page, section, table
from tt_xla.profiling.precision.search import PrecisionSearch, Trial, front_of
from tt_xla.profiling.precision.settings import precision_of
from tt_xla.publish import publish

FILE_NAME = "precision.yaml"
HTML_NAME = "precision.html"


def write_results(folder: Path, search: PrecisionSearch, chosen: Trial, made_from: dict[str, Any]) -> None:
    """Writes the precision file and the page of a search that has ended; both or none."""
    own = search.trials[()]
    figures = {
        "accuracy": {"required": search.budget, "before": own.accuracy, "after": chosen.accuracy},
        "pcc": {"before": own.pcc, "after": chosen.pcc},
        "predicted_us": {"before": own.us, "after": chosen.us},
    }
    precision = precision_of(chosen.assignment, search.groups, made_from | figures)
    others = dict.fromkeys(search.subject.layers_elsewhere, LayerPrecision())
    update = {"layers": precision.layers | others, "several_programs": search.subject.has_several_programs}
    precision = precision.model_copy(update=update)
    files = {
        FILE_NAME: yaml_of(precision).encode(),
        HTML_NAME: _page(search, chosen, made_from).encode(),
    }
    publish(folder, files)


def yaml_of(precision: Precision) -> str:
    """Returns the text of a precision file."""
    import yaml

    data = precision.model_dump(exclude_none=True, exclude_defaults=False)
    return yaml.safe_dump(data, sort_keys=False, default_flow_style=None, width=120, allow_unicode=True)


def label_of(search: PrecisionSearch, trial: Trial) -> str:
    """Returns how many layers have each setting."""
    if not trial.assignment:
        return "the program's own options"
    counts: dict[str, int] = {}
    for setting, names in zip(trial.assignment, search.groups, strict=False):
        counts[setting.label] = counts.get(setting.label, 0) + len(names)
    parts = [f"{count} x {label}" for label, count in sorted(counts.items(), key=lambda item: -item[1])]
    return ", ".join([*parts, f"other ops {trial.assignment[-1].label}"])


def _page(search: PrecisionSearch, chosen: Trial, made_from: dict[str, Any]) -> str:
    trials = [trial for trial in search.trials.values() if not trial.error]
    front, own = front_of(trials), search.trials[()]
    measure = str(made_from["measure"])
    dots = [
        Dot(
            trial.us,
            trial.accuracy,
            f"{label_of(search, trial)}\n{trial.us:.1f} us, {trial.accuracy:.5f}",
            "Compute" if trial in front else "Host" if trial is own else "Other",
            trial is chosen,
        )
        for trial in trials
    ]
    line = [(trial.us, trial.accuracy) for trial in front]
    figures = [
        ("device time, predicted", f"{chosen.us:,.1f} us"),
        ("before", f"{own.us:,.1f} us"),
        (measure, f"{chosen.accuracy:.5f}"),
        ("before", f"{own.accuracy:.5f}"),
    ]
    rows = [
        [
            Cell(label_of(search, trial)),
            Cell(f"{trial.us:,.1f}", trial.us),
            Cell(f"{trial.accuracy:.5f}", trial.accuracy),
        ]
        for trial in sorted(trials, key=lambda trial: trial.us)
    ]
    contents = [
        cards(figures),
        section("Time against accuracy", chart(dots, line, "predicted device time, us", measure), note=_NOTE),
        section("Trials", table(["settings", "predicted us", measure], rows)),
    ]
    title = f"Precision of {Path(str(made_from['program'])).name}"
    return page(title, f"{len(trials)} trials; at least {search.budget} of {measure}", contents)


_NOTE = (
    "Each dot is a run. The line joins the front, the large dot is the chosen run, the red one the program as it is."
)
