"""Choices, fronts, files and pages of searches for options and precisions as text."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tt_xla.profiling import svg
from tt_xla.profiling.page import Cell, cards, table
from tt_xla.profiling.precision.report import HTML_NAME, label_of, write_results
from tt_xla.profiling.precision.search import PrecisionSearch, Trial
from tt_xla.profiling.precision.settings import Setting
from tt_xla.profiling.tune.choice import Choice, Outcome, pareto
from tt_xla.profiling.tune.page import unit, write_chosen, write_page

pytestmark = pytest.mark.quick

REFERENCE = Outcome(Choice(reference=True), 8.0, pcc=1.0)
FAST = Outcome(Choice(2, True, "bfp4", "lofi", 16, "a=bfp_bf4,b=bfp_bf4"), 4.0, 3.0, 2_500_000, 0.98, {"f1": 0.5})
SLOW = Outcome(Choice(batch=16), 8.0, pcc=0.999, metrics={"f1": 0.75})
WORSE = Outcome(Choice(1, batch=16), 10.0, pcc=0.97)
FAILED = Outcome(Choice(1, True, batch=16), error="no <room>")
OUTCOMES = [REFERENCE, SLOW, FAST, WORSE, FAILED]


def test_choices_and_outcomes() -> None:
    assert [outcome.choice.label for outcome in OUTCOMES] == [
        "reference",
        "level 0, bf16, default fidelity, batch 16",
        "level 2, bfp4, lofi, trace, batch 16",
        "level 1, bf16, default fidelity, batch 16",
        "level 1, bf16, default fidelity, trace, batch 16",
    ]
    assert Choice().label == "level 0, bf16, default fidelity"
    assert REFERENCE.choice.options() == {
        "numerics": "exact",
        "enable_bfp8_conversion": False,
        "enable_trace": False,
        "experimental_activation_dtype": "",
        "experimental_weight_dtype": "",
        "optimization_level": 0,
    }
    assert FAST.choice.options() == {
        "optimization_level": 2,
        "enable_trace": True,
        "enable_bfp8_conversion": False,
        "experimental_weight_dtype": "bfp_bf4",
        "experimental_weight_dtype_overrides": "a=bfp_bf4,b=bfp_bf4",
        "math_fidelity": "lofi",
    }
    formats = {"bf16": "", "bfp8": "bfp_bf8", "bfp4": "bfp_bf4", "mixed": "bfp_bf8"}
    for name, dtype in formats.items():
        assert Choice(weights=name).options()["experimental_weight_dtype"] == dtype
    assert (FAST.throughput, Outcome(Choice(), 4.0).throughput, FAILED.throughput) == (4000.0, 250.0, 0.0)
    assert (FAST.accuracy(""), FAST.accuracy("f1"), WORSE.accuracy("f1")) == (0.98, 0.5, None)
    assert (unit(FAST), unit(Outcome(Choice()))) == ("samples/s", "steps/s")
    assert REFERENCE.compared_with == "float32 on the CPU"
    assert replace(REFERENCE, inexact="why").compared_with == "the program in its own types (why)"


def test_the_front_is_more_accurate_than_all_that_is_faster() -> None:
    assert pareto(OUTCOMES) == [FAST, SLOW]
    assert pareto(OUTCOMES, "f1") == [FAST, SLOW]
    assert pareto([SLOW, replace(SLOW, pcc=1.0), FAST]) == [FAST, replace(SLOW, pcc=1.0)]
    assert pareto([FAST, replace(SLOW, pcc=0.98)]) == [FAST]
    assert pareto([replace(FAST, pcc=None), SLOW]) == [SLOW]


def test_the_chosen_options_as_json(tmp_path: Path) -> None:
    path = tmp_path / "chosen.json"
    write_chosen(path, FAST, "f1")
    assert json.loads(path.read_text()) == {
        "compile_options": {
            "optimization_level": 2,
            "enable_trace": True,
            "experimental_weight_dtype": "bfp_bf4",
            "experimental_weight_dtype_overrides": "a=bfp_bf4,b=bfp_bf4",
            "math_fidelity": "lofi",
        },
        "batch_size": 16,
        "throughput": 4000.0,
        "step_ms": 4.0,
        "pcc": 0.98,
        "metric": {"f1": 0.5},
        "dram_bytes": 2_500_000,
    }
    write_chosen(path, Outcome(Choice(), 4.0), "")
    record = json.loads(path.read_text())
    assert (record["compile_options"], record["batch_size"], record["metric"]) == ({}, None, None)


def test_the_page_of_a_search(tmp_path: Path) -> None:
    path = tmp_path / "tune.html"
    write_page(path, "folder/model.py", OUTCOMES, FAST, "")
    text = path.read_text()
    assert "<h1>Tuning of model.py</h1>" in text
    assert '<p class="soft">5 trials; accuracy is PCC with float32 on the CPU</p>' in text
    assert (
        cards(
            [
                ("chosen", FAST.choice.label),
                ("samples/s, predicted", "4k"),
                ("time of a step, predicted", "4 ms"),
                ("PCC", "0.98000"),
                ("peak of DRAM in use", "2.5MB"),
            ]
        )
        in text
    )
    x, y = svg.x_scale(0.0, 4400.0), svg.y_scale(0.97 - 0.05 * 0.029, 0.999 + 0.05 * 0.029)
    title = "level 2, bfp4, lofi, trace, batch 16\n4000 samples/s, 0.98000"
    assert svg.dot(x(4000.0), y(0.98), 9.0, svg.COLOURS["Compute"], title) in text
    title = "level 1, bf16, default fidelity, batch 16\n1600 samples/s, 0.97000"
    assert svg.dot(x(1600.0), y(0.97), 5.0, svg.COLOURS["Other"], title) in text
    assert svg.line(x, y, [(4000.0, 0.98), (2000.0, 0.999)], "#98a3af", "the Pareto front", steps=False) in text
    assert "predicted samples/s" in text
    rows = text.split("<tbody>")[1]
    fast = [Cell(FAST.choice.label), Cell("yes"), Cell("4000", 4000.0), Cell("4", 4.0), Cell("0.98000", 0.98)]
    fast += [Cell("2.5M", 2_500_000), Cell("a, b"), Cell("")]
    assert rows.startswith(table((), [fast]).split("<tbody>")[1].removesuffix("</tbody></table>"))
    failed = [Cell(FAILED.choice.label), Cell(""), Cell("0", 0.0), Cell("0", 0.0), Cell("", 0.0), Cell("0", 0)]
    failed += [Cell(""), Cell("no <room>")]
    assert rows.split("</tbody>")[0].endswith(table((), [failed]).split("<tbody>")[1].removesuffix("</tbody></table>"))


def test_pages_without_comparable_trials_or_a_choice(tmp_path: Path) -> None:
    path = tmp_path / "tune.html"
    write_page(path, "m.py", [FAILED, replace(WORSE, pcc=None)], None, "")
    text = path.read_text()
    assert "No trial could be compared with the reference." in text
    assert "accuracy is PCC with the reference" in text
    assert 'class="card"' not in text
    write_page(path, "m.py", OUTCOMES, replace(WORSE, choice=Choice()), "f1")
    text = path.read_text()
    assert "accuracy is f1" in text
    assert "<b>unknown</b><span>f1</span>" in text
    assert text.count("<circle") == 2
    write_page(path, "m.py", [SLOW], None, "")
    y = svg.y_scale(0.998, 1.0)
    axes = svg.axes(svg.x_scale(0.0, 2200.0), y, "predicted samples/s", "PCC")
    assert "".join(axes) in path.read_text()


# Precision

WIDE, NARROW = Setting("bf16", "hifi4", True), Setting("bfp_bf8", "lofi", False)
REST = Setting("", "hifi2", False, True)


def precision_search() -> PrecisionSearch:
    subject = SimpleNamespace(layers_elsewhere=["c"], has_several_programs=True)
    trials = [
        Trial((), 30.0, 0.9, 0.95),
        Trial((WIDE, WIDE, REST), 20.0, 0.99, 0.995),
        Trial((NARROW, WIDE, REST), 10.0, 0.98, 0.985),
        Trial((WIDE, NARROW, REST), 25.0, 0.97, 0.975),
        Trial((NARROW, NARROW, REST), error="no room"),
    ]
    search = PrecisionSearch(cast("Any", subject), lambda *_: 0.0, cast("Any", None), 0.975)
    search.groups, search.trials = [["a", "b"], ["d"]], {trial.assignment: trial for trial in trials}
    return search


def test_labels_of_settings() -> None:
    search = precision_search()
    assert [setting.label for setting in (WIDE, NARROW, REST)] == [
        "bf16-hifi4-32",
        "bfp_bf8-lofi-16",
        "hifi2-16-coarse",
    ]
    assert [label_of(search, trial) for trial in search.trials.values()] == [
        "the program's own options",
        "3 x bf16-hifi4-32, other ops hifi2-16-coarse",
        "2 x bfp_bf8-lofi-16, 1 x bf16-hifi4-32, other ops hifi2-16-coarse",
        "2 x bf16-hifi4-32, 1 x bfp_bf8-lofi-16, other ops hifi2-16-coarse",
        "3 x bfp_bf8-lofi-16, other ops hifi2-16-coarse",
    ]


def test_the_files_of_a_search_of_precisions(tmp_path: Path) -> None:
    search = precision_search()
    chosen = search.trials[NARROW, WIDE, REST]
    write_results(tmp_path, search, chosen, {"program": "folder/m.py", "measure": "top1"})
    assert (tmp_path / "precision.yaml").read_text() == (
        "version: 1\n"
        "made_from:\n"
        "  program: folder/m.py\n"
        "  measure: top1\n"
        "  accuracy: {required: 0.975, before: 0.9, after: 0.98}\n"
        "  pcc: {before: 0.95, after: 0.985}\n"
        "  predicted_us: {before: 30.0, after: 10.0}\n"
        "options: {math_fidelity: hifi2, fp32_dest_acc_en: false, fast_and_approximate_mode: true}\n"
        "layers:\n"
        "  a: {weights: bfp_bf8, math_fidelity: lofi, fp32_dest_acc_en: false}\n"
        "  b: {weights: bfp_bf8, math_fidelity: lofi, fp32_dest_acc_en: false}\n"
        "  d: {weights: bf16, math_fidelity: hifi4, fp32_dest_acc_en: true}\n"
        "  c: {}\n"
        "several_programs: true\n"
    )
    text = (tmp_path / HTML_NAME).read_text()
    assert "<h1>Precision of m.py</h1>" in text
    assert "4 trials; at least 0.975 of top1" in text
    assert (
        cards(
            [
                ("device time, predicted", "10.0 us"),
                ("before", "30.0 us"),
                ("top1", "0.98000"),
                ("before", "0.90000"),
            ]
        )
        in text
    )
    x, y = svg.x_scale(0.0, 33.0), svg.y_scale(0.9 - 0.05 * 0.09, 0.99 + 0.05 * 0.09)
    kinds = {0: ("Host", 5.0), 1: ("Compute", 5.0), 2: ("Compute", 9.0), 3: ("Other", 5.0)}
    for number, trial in enumerate([*search.trials.values()][:4]):
        kind, radius = kinds[number]
        title = f"{label_of(search, trial)}\n{trial.us:.1f} us, {trial.accuracy:.5f}"
        assert svg.dot(x(trial.us), y(trial.accuracy), radius, svg.COLOURS[kind], title) in text
    assert svg.line(x, y, [(10.0, 0.98), (20.0, 0.99)], "#98a3af", "the Pareto front", steps=False) in text
    rows = [(trial, label_of(search, trial)) for trial in sorted(search.trials.values(), key=lambda each: each.us)]
    lines = [
        [Cell(label), Cell(f"{trial.us:.1f}", trial.us), Cell(f"{trial.accuracy:.5f}", trial.accuracy)]
        for trial, label in rows
        if not trial.error
    ]
    assert table(["settings", "predicted us", "top1"], lines) in text
