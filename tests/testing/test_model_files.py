"""Files of expectations, records and pages of models: fields, refusals, and thresholds at their bounds."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tt_xla.testing.models import records, summary
from tt_xla.testing.models.campaign import Task
from tt_xla.testing.models.config import (
    ALLOWED,
    ARCHS,
    BringupStatus,
    ExecutionPass,
    Expectation,
    Expectations,
    ModelTestStatus,
    config_files,
    default_folders,
    read,
    validate,
)
from tt_xla.testing.models.discovery import Case
from tt_xla.testing.models.records import Record, settled


@pytest.fixture
def read_text(tmp_path: Path) -> Any:
    """Returns a function that reads a file with a text."""

    def read_text(text: str) -> Expectations:
        path = tmp_path / "test_config_a.yaml"
        path.write_text(text)
        return read([path])

    return read_text


FIELDS = """
test_config:
  a-1:
    status: expected_passing
    reason: why
    bringup_status: INCORRECT_RESULT
    required_pcc: 0.5
    assert_pcc: false
    required_atol: 2
    assert_atol: true
    assert_allclose: true
    allclose_rtol: 0.25
    allclose_atol: 0.125
    markers: [push, large]
    supported_archs: [n150, galaxy-bh]
    batch_size: 3
    execution_pass: backward
    filechecks: [a.mlir]
    enable_weight_bfp8_conversion: true
    optimization_level: 2
    inject_custom_moe: true
    emitpy_assert_exact: false
    arch_overrides:
      p150:
        required_pcc: 0.75
        status: KNOWN_FAILURE_XFAIL
      n150:
  a-2: {}
PLACEHOLDER_MODELS:
  later:
  started: {bringup_status: unknown, reason: soon}
"""


def test_every_field_of_a_file(read_text: Any) -> None:
    expectations = read_text(FIELDS.replace("      n150:\n", ""))
    assert expectations.problems == []
    plain = Expectation(
        status=ModelTestStatus.EXPECTED_PASSING,
        reason="why",
        bringup_status=BringupStatus.INCORRECT_RESULT,
        required_pcc=0.5,
        assert_pcc=False,
        required_atol=2.0,
        assert_atol=True,
        assert_allclose=True,
        allclose_rtol=0.25,
        allclose_atol=0.125,
        markers=("push", "large"),
        supported_archs=("n150", "galaxy-bh"),
        batch_size=3,
        execution_pass=ExecutionPass.BACKWARD,
        filechecks=("a.mlir",),
        enable_weight_bfp8_conversion=True,
        optimization_level=2,
        inject_custom_moe=True,
        emitpy_assert_exact=False,
        listed=True,
    )
    assert expectations.of("a-1") == expectations.of("a-1", "n150") == plain
    assert expectations.of("a-1", "p150") == replace(
        plain, required_pcc=0.75, status=ModelTestStatus.KNOWN_FAILURE_XFAIL
    )
    assert (expectations.of("a-2"), expectations.of("b")) == (Expectation(listed=True), Expectation())
    assert expectations.placeholders == {
        "later": Expectation(bringup_status=BringupStatus.NOT_STARTED),
        "started": Expectation(bringup_status=BringupStatus.UNKNOWN, reason="soon"),
    }
    config = plain.comparison()
    assert (config.assert_on_failure, config.pcc.enabled, config.pcc.required_pcc) == (False, False, 0.5)
    assert (config.atol.enabled, config.atol.required_atol) == (True, 2.0)
    assert (config.allclose.enabled, config.allclose.rtol, config.allclose.atol) == (True, 0.25, 0.125)
    assert (config.equal.enabled, config.rel_l2.enabled) == (False, False)


def test_defaults_of_an_expectation() -> None:
    assert Expectation() == Expectation(
        status=ModelTestStatus.UNSPECIFIED,
        reason="",
        bringup_status=None,
        required_pcc=0.99,
        assert_pcc=True,
        required_atol=0.16,
        assert_atol=False,
        assert_allclose=False,
        allclose_rtol=0.01,
        allclose_atol=0.01,
        markers=(),
        supported_archs=("n150", "p150"),
        batch_size=None,
        execution_pass=None,
        filechecks=(),
        enable_weight_bfp8_conversion=False,
        optimization_level=0,
        inject_custom_moe=False,
        emitpy_assert_exact=True,
        listed=False,
        golden_f32=False,
        emitpy=False,
    )
    assert ARCHS == (
        "n150",
        "p150",
        "n300",
        "n300-llmbox",
        "galaxy-wh-6u",
        "galaxy-bh",
        "qb2-blackhole",
        "lb-blackhole",
    )


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ("required_pcc: true", "'required_pcc' in {}: expected a number, got True"),
        ("required_pcc: high", "'required_pcc' in {}: expected a number, got 'high'"),
        ("batch_size: true", "'batch_size' in {}: expected an integer, got True"),
        ("batch_size: 1.5", "'batch_size' in {}: expected an integer, got 1.5"),
        ("assert_pcc: 1", "'assert_pcc' in {}: expected true or false, got 1"),
        (
            "optimization_level: 3",
            "'optimization_level' in {}: optimization_level must be 0, 1, or 2 (got 3)",
        ),
        (
            "optimization_level: true",
            "'optimization_level' in {}: optimization_level must be 0, 1, or 2 (got True)",
        ),
        ("markers: push", "'markers' in {}: expected a list of strings, got 'push'"),
        ("markers: [1]", "'markers' in {}: expected a list of strings, got [1]"),
        (
            "supported_archs: [n151]",
            f"'supported_archs' in {{}}: unknown arch 'n151'. Allowed: {sorted(ARCHS)}",
        ),
        (
            "status: EXPECTED_PASING",
            "'status' in {}: Invalid ModelTestStatus: 'EXPECTED_PASING'. Did you mean EXPECTED_PASSING?",
        ),
        (
            "execution_pass: zzz",
            "'execution_pass' in {}: Invalid ExecutionPass: 'zzz'. Expected one of FORWARD, BACKWARD.",
        ),
        ("stats: x", f"Unknown field 'stats' in {{}}. Did you mean 'status'? Allowed: {ALLOWED}"),
        ("zzz: x", f"Unknown field 'zzz' in {{}}. Allowed: {ALLOWED}"),
        ("status:", "Missing 'status' field or empty value in {}."),
        ("arch_overrides: 3", "arch_overrides of {} is not a mapping of archs to fields: 3"),
        (
            "arch_overrides: {n151: {}}",
            f"Unknown arch 'n151' in arch_overrides of {{}}. Allowed: {sorted(ARCHS)}",
        ),
        ("arch_overrides: {n150: 3}", "arch_overrides['n150'] of {} is not a mapping of fields: 3"),
        (
            "arch_overrides: {n150: {batch_size: x}}",
            "'batch_size' in arch_overrides['n150'] of {}: expected an integer, got 'x'",
        ),
    ],
)
def test_fields_that_are_refused(read_text: Any, tmp_path: Path, fields: str, message: str) -> None:
    expectations = read_text(f"test_config:\n  a-1:\n    reason: kept\n    {fields}\n")
    context = f"test 'a-1' in {tmp_path.name}/test_config_a.yaml"
    assert expectations.problems == [f"{tmp_path}/test_config_a.yaml:2: {message.format(context)}"]
    assert expectations.of("a-1") == Expectation(reason="kept", listed=True)


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        ("", []),
        ("- a", ["{}: expected 'test_config:' or 'PLACEHOLDER_MODELS:' at the top, got a list"]),
        ("other: 1", ["{}: expected 'test_config:' or 'PLACEHOLDER_MODELS:' at the top, got 'other'"]),
        ("test_config: [a]", ["{}: expected a mapping of tests, got a list"]),
        ("test_config:", []),
        (
            "test_config:\n  a:",
            [
                "{}:2: expected fields of test 'a' in FOLDER/test_config_a.yaml, got None. Missing 'status' field or "
                "empty value."
            ],
        ),
        (
            "test_config:\n  a: {reason: x}\n  a: {reason: y}",
            ["{}:3: duplicate key 'a'; the first one, in line 2, counts."],
        ),
    ],
)
def test_files_that_are_refused(read_text: Any, tmp_path: Path, text: str, problems: list[str]) -> None:
    path = tmp_path / "test_config_a.yaml"
    expectations = read_text(text)
    assert expectations.problems == [each.format(path).replace("FOLDER", tmp_path.name) for each in problems]
    assert expectations.files == [path]


def test_the_first_entry_of_several_files_counts(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    first, second = tmp_path / "b/test_config_x.yaml", tmp_path / "test_config_y.yaml"
    first.write_text("test_config:\n  a: {reason: one}\n")
    second.write_text("test_config:\n\n  a: {reason: two}\n  b: {}\n")
    (tmp_path / "other.yaml").write_text("")
    assert config_files([tmp_path, tmp_path / "b"]) == [first, second]
    expectations = read([first, second])
    assert expectations.problems == [
        f"{second}:3: duplicate test 'a'; the first entry counts, in {first}:2. Remove one of them."
    ]
    assert (expectations.of("a").reason, expectations.of("b").listed) == ("one", True)
    assert default_folders(tmp_path / "b", tmp_path) == []
    for folder in (tmp_path, tmp_path / "b"):
        (folder / "test_config").mkdir()
    assert default_folders(tmp_path / "b", tmp_path) == [tmp_path / "b/test_config"]


def test_entries_without_a_test_and_tests_without_an_entry(read_text: Any, tmp_path: Path) -> None:
    names = ("bert/pytorch-base-training", "bert/pytorch-phase", "zzz", "bert/pytorch-bas-inference")
    expectations = read_text("test_config:\n" + "".join(f"  {name}: {{}}\n" for name in names))
    found = validate(
        expectations,
        ["bert/pytorch-base-training", "bert/pytorch-base-inference", "alone"],
        ["bert/pytorch-phase", "bert/pytorch-other"],
    )
    path = tmp_path / "test_config_a.yaml"
    assert found.unlisted == ["alone", "bert/pytorch-base-inference"]
    assert found.unknown == [
        f"{path}:4: no test is named 'zzz'.",
        f"{path}:5: no test is named 'bert/pytorch-bas-inference'. Did you mean: bert/pytorch-base-inference?",
    ]


LISTED = Expectation(listed=True)
XFAIL = replace(LISTED, status=ModelTestStatus.KNOWN_FAILURE_XFAIL)


@pytest.mark.parametrize(
    ("outcome", "pcc", "expectation", "suggestions"),
    [
        ("passed", 0.994, replace(LISTED, assert_pcc=False, required_pcc=0.99), ["ENABLE_PCC_099"]),
        ("passed", 0.9939, replace(LISTED, assert_pcc=False, required_pcc=0.9), ["ENABLE_PCC"]),
        ("passed", 0.9041, replace(LISTED, assert_pcc=False, required_pcc=0.9), ["ENABLE_PCC"]),
        ("passed", 0.9039, replace(LISTED, assert_pcc=False, required_pcc=0.9), []),
        ("passed", 0.994, replace(LISTED, required_pcc=0.9), ["RAISE_PCC_099"]),
        ("passed", 0.9141, replace(LISTED, required_pcc=0.9), ["RAISE_PCC"]),
        ("passed", 0.9139, replace(LISTED, required_pcc=0.9), []),
        ("passed", 0.999, LISTED, []),
        ("passed", None, replace(LISTED, assert_pcc=False), []),
        ("passed", math.nan, replace(LISTED, assert_pcc=False), []),
        ("passed", 1.0, Expectation(), ["ADD_CONFIG"]),
        ("failed", 1.0, Expectation(), []),
        ("xpassed", 1.0, LISTED, ["RM_XFAIL"]),
    ],
)
def test_suggestions(outcome: str, pcc: float | None, expectation: Expectation, suggestions: list[str]) -> None:
    assert Record("a", outcome, pcc=pcc, comparison_passed=True).guidance(expectation) == suggestions


def test_no_suggestion_to_raise_a_threshold_that_was_missed() -> None:
    assert Record("a", pcc=0.95, comparison_passed=False).guidance(replace(LISTED, required_pcc=0.9)) == []


@pytest.mark.parametrize(
    ("outcome", "expectation", "lenient", "expected"),
    [
        ("passed", LISTED, False, "passed"),
        ("failed", LISTED, False, "failed"),
        ("failed", XFAIL, False, "xfailed"),
        ("failed", XFAIL, True, "xfailed"),
        ("passed", XFAIL, False, "xpassed"),
        ("passed", XFAIL, True, "xfailed"),
        ("skipped", XFAIL, False, "skipped"),
    ],
)
def test_outcomes_in_view_of_the_expectation(
    outcome: str, expectation: Expectation, lenient: bool, expected: str
) -> None:
    own = replace(expectation, reason="mine", bringup_status=BringupStatus.FAILED_RUNTIME)
    record = settled(Record("a", outcome, reason="its own", error="x"), own, lenient=lenient)
    assert record.outcome == expected
    takes_over = expected in ("passed", "xfailed")
    assert record.bringup_status == ("FAILED_RUNTIME" if takes_over else "UNKNOWN")
    assert record.reason == ("mine" if expected in ("passed", "xfailed", "xpassed") else "its own")
    message = "The test passed, but its entry says KNOWN_FAILURE_XFAIL; remove that status from the entry."
    assert record.error == (message if expected == "xpassed" else "x")
    plain = settled(Record("a", outcome, reason="its own"), expectation, lenient=lenient)
    assert (plain.reason, plain.bringup_status) == ("its own", "UNKNOWN")


def test_the_properties_of_a_report() -> None:
    case = Case("bert/pytorch", None, "data_parallel", "training", "prefill")
    expectation = replace(LISTED, required_pcc=0.5, required_atol=0.25, assert_atol=True, batch_size=4)
    record = Record("t", error="e", reason="r", pcc=0.4, atol=0.3, comparison_passed=False, info={"name": "n"})
    assert record.tags(case, replace(expectation, execution_pass=ExecutionPass.BACKWARD), "n150") == {
        "test_name": "test_all_models",
        "specific_test_case": "test_all_models[t]",
        "category": "model_test",
        "model_name": "n",
        "model_info": {"name": "n"},
        "run_mode": "training",
        "run_phase": "prefill",
        "parallelism": "data_parallel",
        "arch": "n150",
        "batch_size": 4,
        "bringup_status": "UNKNOWN",
        "model_test_status": "UNSPECIFIED",
        "failing_reason": {"name": "UNKNOWN", "description": "e", "summary": "r"},
        "execution_pass": "BACKWARD",
        "pcc": 0.4,
        "atol": 0.3,
        "comparison_passed": False,
        "comparison_error_message": "e",
        "pcc_threshold": 0.5,
        "atol_threshold": 0.25,
        "pcc_assertion_enabled": True,
        "atol_assertion_enabled": True,
        "guidance": [],
    }
    tags = Record("t", error="e", comparison_passed=True).tags(replace(case, phase=""), expectation, None)
    assert (tags["model_name"], tags["run_phase"], tags["arch"]) == (case.model, "default", None)
    assert (tags["comparison_error_message"], tags["execution_pass"]) == (None, None)


def test_messages_of_any_length_are_cut(tmp_path: Path) -> None:
    assert Record("a", error="\ud800x").error == "\\ud800x"
    assert len(Record("a", error="x" * 10_001).error) == 10_000
    path = tmp_path / "below" / "records.jsonl"
    assert records.load(path) == {}
    for record in (Record("a", "failed"), Record("b", pcc=0.5), Record("a", "passed")):
        records.append(path, record)
    with path.open("a") as file:
        file.write('[1]\n{"test": "c", "unknown": 1}\n{"cut')
    assert records.load(path) == {"a": Record("a", "passed"), "b": Record("b", pcc=0.5)}
    assert json.loads(path.read_text().splitlines()[1])["pcc"] == 0.5


def test_options_of_a_task() -> None:
    task = Task(Case("a/pytorch", None, "single_device", "inference"), replace(LISTED, optimization_level=1))
    assert task.with_options(None, golden_f32=False) == task
    changed = task.with_options(2, golden_f32=True, emitpy=True)
    assert changed.expectation == replace(task.expectation, optimization_level=2, golden_f32=True, emitpy=True)
    assert task.with_options(0, golden_f32=False).expectation.optimization_level == 0
    skipped = Task(task.case, replace(LISTED, status=ModelTestStatus.NOT_SUPPORTED_SKIP))
    assert skipped.with_options(None, golden_f32=False).expectation.status is ModelTestStatus.NOT_SUPPORTED_SKIP
    forced = skipped.with_options(None, golden_f32=False, forced=True)
    assert forced.expectation.status is ModelTestStatus.UNSPECIFIED
    kept = Task(task.case, XFAIL).with_options(None, golden_f32=False, forced=True)
    assert kept.expectation.status is ModelTestStatus.KNOWN_FAILURE_XFAIL


BEFORE = Record("a", "passed", pcc=0.99, device_us=100.0, compile_s=10.0)


@pytest.mark.parametrize(
    ("changes", "worse"),
    [
        ({}, []),
        ({"outcome": "failed"}, ["passed before, failed now"]),
        ({"outcome": "xfailed"}, ["passed before, xfailed now"]),
        ({"outcome": "skipped"}, []),
        ({"pcc": 0.9851}, []),
        ({"pcc": 0.9849}, ["PCC 0.9900 before, 0.9849 now"]),
        ({"pcc": None}, ["PCC 0.9900 before, none now"]),
        ({"pcc": math.nan}, ["PCC 0.9900 before, nan now"]),
        ({"device_us": 110.0}, []),
        ({"device_us": 110.1}, ["predicted 100.0 us before, 110.1 us now"]),
        ({"device_us": None}, []),
        ({"compile_s": 12.0}, []),
        ({"compile_s": 12.1}, ["compiled in 10.0 s before, 12.1 s now"]),
        ({"compile_s": None}, []),
    ],
)
def test_regressions(changes: dict[str, Any], worse: list[str]) -> None:
    now = replace(BEFORE, **changes)
    assert summary.regressions({"a": now, "new": now}, {"a": BEFORE}) == [("a", text) for text in worse]


def test_what_was_not_known_before_is_no_regression() -> None:
    before = Record("a", "failed")
    now = replace(BEFORE, outcome="xpassed")
    assert summary.regressions({"a": now}, {"a": before}) == []
    assert summary.regressions({"a": Record("a")}, {"a": before}) == []


def test_the_page_of_a_run(tmp_path: Path) -> None:
    now = {
        "b": Record("b<", "failed", "FAILED_<RUNTIME>", reason="r", error="e<\nmore>"),
        "a": replace(BEFORE, samples_per_s=1234.5, seconds=3.25, outcome="failed"),
    }
    text = summary.page(now, {"a": BEFORE})
    assert "<h1>2 tests of models</h1><p><b class=failed>2 failed</b></p>" in text
    assert "<h2>1 regressions</h2><table><tr><td>a<td>passed before, failed now</table>" in text
    assert (
        "<tr><td>a<td class=failed>failed<td>UNKNOWN<td class=n>0.9900<td class=n>1,234<td class=n>10.00"
        "<td class=n>100.0<td class=n>3.2<td>\n"
        "<tr><td>b&lt;<td class=failed>failed<td>FAILED_&lt;RUNTIME&gt;<td class=n><td class=n><td class=n><td class=n>"
        "<td class=n>0.0<td><details><summary>r</summary>e&lt;\nmore&gt;</details>\n</table>\n"
    ) in text
    assert "regressions" not in summary.page(now)
    path = summary.write(tmp_path / "out", now, {"a": BEFORE})
    assert (path, path.read_text()) == (tmp_path / "out" / "index.html", text)
    outcomes = {name: Record(name, name) for name in records.OUTCOMES}
    assert (
        "<b class=passed>1 passed</b>, <b class=failed>1 failed</b>, <b class=skipped>1 skipped</b>, "
        "<b class=xfailed>1 xfailed</b>, <b class=xpassed>1 xpassed</b>"
    ) in summary.page(outcomes)
