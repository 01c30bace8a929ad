"""Files of expectations, records and pages of models: fields, refusals, and thresholds at their bounds."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tt_xla import disk_cache
from tt_xla.testing.models import records, summary
from tt_xla.testing.models.config import (
    ARCHS,
    BringupStatus,
    ExecutionPass,
    Expectation,
    Expectations,
    ModelTestStatus,
    config_files,
    read,
    read_beside,
)
from tt_xla.testing.models.discovery import Case, Discovery, LoaderFile
from tt_xla.testing.models.processes import Limits
from tt_xla.testing.models.records import Record, settled
from tt_xla.testing.models.suite import Suite, Task, read_suite


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
        ("required_pcc: true", "'required_pcc' of 'a-1' got True: Input should be a valid number"),
        ("required_pcc: high", "'required_pcc' of 'a-1' got 'high': Input should be a valid number"),
        ("required_pcc: .nan", "'required_pcc' of 'a-1' got nan: Input should be less than or equal to 1"),
        ("required_pcc: 1.5", "'required_pcc' of 'a-1' got 1.5: Input should be less than or equal to 1"),
        ("required_atol: .inf", "'required_atol' of 'a-1' got inf: Input should be a finite number"),
        ("allclose_rtol: -1", "'allclose_rtol' of 'a-1' got -1: Input should be greater than or equal to 0"),
        ("batch_size: true", "'batch_size' of 'a-1' got True: Input should be a valid integer"),
        ("batch_size: 1.5", "'batch_size' of 'a-1' got 1.5: Input should be a valid integer"),
        ("batch_size: -3", "'batch_size' of 'a-1' got -3: Input should be greater than or equal to 1"),
        ("assert_pcc: 1", "'assert_pcc' of 'a-1' got 1: Input should be a valid boolean"),
        ("optimization_level: 3", "'optimization_level' of 'a-1' got 3: Input should be less than or equal to 2"),
        ("optimization_level: true", "'optimization_level' of 'a-1' got True: Input should be a valid integer"),
        ("markers: push", "'markers' of 'a-1' got 'push': expected a list"),
        ("markers: [1]", "'markers' of 'a-1' got 1: Input should be a valid string"),
        ("supported_archs: [n151]", "'supported_archs' of 'a-1' got 'n151': no such arch. Did you mean 'n150'?"),
        (
            "status: EXPECTED_PASING",
            "'status' of 'a-1' got 'EXPECTED_PASING': no such ModelTestStatus. Did you mean 'EXPECTED_PASSING'?",
        ),
        (
            "execution_pass: zzz",
            "'execution_pass' of 'a-1' got 'zzz': no such ExecutionPass. Allowed: FORWARD, BACKWARD.",
        ),
        ("stats: x", "unknown field 'stats' of 'a-1'. Did you mean 'status'?"),
        ("listed: true", "unknown field 'listed' of 'a-1'. Allowed: status, "),
        ("status:", "'status' of 'a-1' got None: no such ModelTestStatus. Allowed: EXPECTED_PASSING, "),
        ("arch_overrides: 3", "'arch_overrides' of 'a-1' got 3: expected a mapping"),
        (
            "arch_overrides: {n151: {}}",
            "'arch_overrides.n151' of 'a-1' got 'n151': no such arch. Did you mean 'n150'?",
        ),
        ("arch_overrides: {n150: 3}", "'arch_overrides.n150' of 'a-1' got 3: expected a mapping of fields"),
        (
            "arch_overrides: {n150: {batch_size: x}}",
            "'arch_overrides.n150.batch_size' of 'a-1' got 'x': Input should be a valid integer",
        ),
    ],
)
def test_fields_that_are_refused(read_text: Any, tmp_path: Path, fields: str, message: str) -> None:
    """The other fields of the entry, and the other entries, stay."""
    expectations = read_text(f"test_config:\n  a-1:\n    reason: kept\n    {fields}\n  b-1: {{batch_size: 2}}\n")
    (problem,) = expectations.problems
    assert problem.startswith(f"{tmp_path}/test_config_a.yaml:4: {message}")
    assert expectations.of("a-1", "n150") == Expectation(reason="kept", listed=True)
    assert expectations.of("b-1") == Expectation(batch_size=2, listed=True)


def test_each_problem_of_an_entry_is_told(read_text: Any, tmp_path: Path) -> None:
    expectations = read_text(
        "test_config:\n  a:\n    statsu: x\n    batch_size: 0\n    arch_overrides: {n150: {z: 1}}\n"
    )
    lines = [problem.removeprefix(f"{tmp_path}/test_config_a.yaml:")[:15] for problem in expectations.problems]
    assert sorted(lines) == ["3: unknown fiel", "4: 'batch_size'", "5: unknown fiel"]


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        ("", []),
        ("5", ["{}: the file got 5: expected a mapping of fields"]),
        ("- a", ["{}: the file got ['a']: expected a mapping of fields"]),
        ("other: 1", ["{}:1: unknown field 'other'. Allowed: test_config, PLACEHOLDER_MODELS, models_root."]),
        ("test_confg: {a: {}}", ["{}:1: unknown field 'test_confg'. Did you mean 'test_config'?"]),
        ("test_config: [a]", ["{}:1: 'test_config' got ['a']: expected a mapping"]),
        ("test_config:", []),
        ("test_config:\n  a:", ["{}:2: 'test_config.a' got None: expected a mapping of fields"]),
        (
            "test_config:\n  a: {reason: x}\n  a: {reason: y}",
            ["{}:3: duplicate key 'a'; the first one, in line 2, counts."],
        ),
        (
            "PLACEHOLDER_MODELS:\n  a: [b]\n  c:\n  d: {required_pcc: x}",
            [
                "{}:2: 'PLACEHOLDER_MODELS.a' got ['b']: expected a mapping of fields",
                "{}:4: 'required_pcc' of 'd' got 'x': Input should be a valid number",
            ],
        ),
        ("a: &a [*a]", ["{}: cannot be read: found unconstructable recursive node in line 1, column 4"]),
        (
            "test_config:\n  a:\n\tstatus: unspecified",
            [
                "{}: cannot be read: while scanning for the next token found character that cannot start any token in "
                "line 3, column 1"
            ],
        ),
    ],
)
def test_files_that_are_refused(read_text: Any, tmp_path: Path, text: str, problems: list[str]) -> None:
    path = tmp_path / "test_config_a.yaml"
    expectations = read_text(text)
    assert expectations.problems == [each.format(path) for each in problems]
    assert expectations.files == [path]


MERGES = """
x-shared: &shared
  status: KNOWN_FAILURE_XFAIL
  reason: shared
test_config:
  a: &a
    <<: *shared
    required_pcc: 0.5
  b:
    reason: mine
    <<: *shared
  c: {<<: [*a, *shared], arch_overrides: {n150: {<<: *shared}}}
  d: {<<: *a, reason: one, reason: two}
"""


def test_merges(read_text: Any, tmp_path: Path) -> None:
    expectations = read_text(MERGES)
    assert expectations.problems == [
        f"{tmp_path}/test_config_a.yaml:13: duplicate key 'reason'; the first one, in line 13, counts."
    ]
    assert expectations.of("a") == replace(XFAIL, reason="shared", required_pcc=0.5)
    assert expectations.of("b") == replace(XFAIL, reason="mine")
    assert expectations.of("c", "n150") == replace(XFAIL, reason="shared", required_pcc=0.5)
    assert expectations.of("d") == replace(XFAIL, reason="one", required_pcc=0.5)
    assert [expectations.entries[name].where.rpartition(":")[2] for name in "abcd"] == ["6", "9", "12", "13"]


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


def test_files_about_other_loaders_are_not_read(tmp_path: Path) -> None:
    files: dict[str, Path] = {}
    for name, text in {"here": "models_root: models", "there": "models_root: third_party/forge", "any": ""}.items():
        files[name] = tmp_path / name / "test_config" / "test_config_a.yaml"
        files[name].parent.mkdir(parents=True)
        files[name].write_text(f"{text}\ntest_config:\n  {name}: {{}}\n")
    parents = [path.parents[1] for path in files.values()]
    assert set(read_beside(tmp_path / "models", *parents).entries) == {"here"}
    there = read_beside(tmp_path / "third_party/forge", *parents)
    assert (set(there.entries), there.files) == ({"there"}, [files["there"]])
    other = read_beside(tmp_path / "forge", *parents)
    assert set(other.entries) == {"any"}
    assert read_beside(tmp_path / "forge", *parents[:2]) == Expectations(
        other_files={files["here"]: "models", files["there"]: "third_party/forge"}
    )
    assert set(read(list(files.values())).entries) == {"here", "there", "any"}


def suite(expectations: Expectations, *loaders: LoaderFile, unreadable: tuple[str, ...] = ()) -> Suite:
    return Suite(Discovery(Path("root"), list(loaders), dict.fromkeys(unreadable, "no such package")), expectations)


def test_entries_without_a_test_and_tests_without_an_entry(read_text: Any, tmp_path: Path) -> None:
    names = (
        "bert/pytorch-base-single_device-training",
        "bert/pytorch-base-llm_decode-seq_1-batch_1-single_device-mesh_default-inference",
        "zzz-training",
        "bert/pytorch-bas-single_device-inference",
        "later/pytorch-x-single_device-inference",
    )
    expectations = read_text("test_config:\n" + "".join(f"  {name}: {{}}\n" for name in names))
    found = suite(expectations, LoaderFile("bert/pytorch", ("base",)), unreadable=("later/pytorch",))
    path = tmp_path / "test_config_a.yaml"
    assert len(found.unlisted) == 5
    assert "bert/pytorch-base-single_device-inference" in found.unlisted
    assert found.unknown == [
        f"{path}:4: no test is named 'zzz-training'.",
        f"{path}:5: no test is named 'bert/pytorch-bas-single_device-inference'. Did you mean: "
        "bert/pytorch-base-single_device-inference, bert/pytorch-base-single_device-training?",
    ]
    assert found.validation()[-3:] == [
        "WARNING: Cannot import path: root/later/pytorch/loader.py: no such package",
        "WARNING: no entry for bert/pytorch-base-data_parallel-inference, bert/pytorch-base-data_parallel-training, "
        "bert/pytorch-base-single_device-inference and 2 others",
        "5 entries in 1 files, 6 tests of 1 loaders: 2 errors, 2 warnings.",
    ]
    assert [task.case.id for task in found.tasks][-1] == names[1]


def test_a_root_without_files_of_its_own_is_told(tmp_path: Path) -> None:
    other = Expectations(other_files={tmp_path / "a.yaml": "models", tmp_path / "b.yaml": "models"})
    (warning,) = suite(other).warnings
    assert warning.startswith("No file of expectations is about root: 2 are about models. --test-config names")


def test_upstreams_entries_serve_upstreams_loaders(tmp_path: Path) -> None:
    """Where a project has both, next to its own entries for its own loaders."""
    test = "a/pytorch-single_device-inference"
    texts = {
        "third_party/tt_forge_models/a/pytorch/loader.py": "class ModelLoader: pass",
        "tests/runner/test_config/test_config_a.yaml": f"models_root: models\ntest_config: {{{test}: {{}}}}",
        "third_party/tt-xla/tests/runner/test_config/torch/test_config_a.yaml": (
            f"test_config: {{{test}: {{status: EXPECTED_PASSING}}}}"
        ),
    }
    for name, text in texts.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True)
        path.write_text(text)
    read = read_suite(None, [], tmp_path, tmp_path / "tests/runner")
    passing = [task.case.id for task in read.tasks if task.expectation.status is ModelTestStatus.EXPECTED_PASSING]
    assert passing == [test]
    assert read.errors == read.warnings == []


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
        file.write('[1]\n{"test": "c", "unknown": 1}\n{"cut\n')
    with path.open("ab") as file:
        file.write(b'{"test": "\xff"}\n')
    assert records.load(path) == {"a": Record("a", "passed"), "b": Record("b", pcc=0.5)}
    assert json.loads(path.read_bytes().splitlines()[1])["pcc"] == 0.5


def test_options_of_a_task() -> None:
    case = Case("a/pytorch", None, "single_device", "inference")
    task = Task(Path("root"), case, replace(LISTED, optimization_level=1))
    assert task.with_options(None, golden_f32=False) == task
    changed = task.with_options(2, golden_f32=True, emitpy=True)
    assert changed.expectation == replace(task.expectation, optimization_level=2, golden_f32=True, emitpy=True)
    assert task.with_options(0, golden_f32=False).expectation.optimization_level == 0
    skipped = replace(task, expectation=replace(LISTED, status=ModelTestStatus.NOT_SUPPORTED_SKIP))
    assert skipped.with_options(None, golden_f32=False).expectation.status is ModelTestStatus.NOT_SUPPORTED_SKIP
    forced = skipped.with_options(None, golden_f32=False, forced=True)
    assert forced.expectation.status is ModelTestStatus.UNSPECIFIED
    kept = replace(task, expectation=XFAIL).with_options(None, golden_f32=False, forced=True)
    assert kept.expectation.status is ModelTestStatus.KNOWN_FAILURE_XFAIL


def test_the_key_of_a_record(monkeypatch: pytest.MonkeyPatch) -> None:
    """Anything on which an outcome depends makes another key; what changes nothing does not."""
    task = Task(Path("root"), Case("a/pytorch", None, "single_device", "inference"), LISTED, digest="0")
    limits = Limits(60, 0, jobs=1)

    def key(task: Task = task, limits: Limits = limits, lenient: bool = False) -> str:
        return task.key(limits, lenient=lenient)

    keys = [
        key(),
        key(task.with_options(2, golden_f32=False)),
        key(task.with_options(None, golden_f32=True)),
        key(task.with_options(None, golden_f32=False, emitpy=True)),
        key(replace(task, expectation=XFAIL)),
        key(replace(task, case=replace(task.case, variant="small"))),
        key(replace(task, digest="1")),
        key(limits=Limits(61, 0, jobs=1)),
        key(limits=Limits(60, 1 << 30, jobs=1)),
        key(lenient=True),
    ]
    for name, value in {"TTXLA_SYSTEM": "p150", "TTXLA_NUMERICS": "exact", "TTXLA_COMPILE_OPTIONS": "{}"}.items():
        with monkeypatch.context() as patch:
            patch.setenv(name, value)
            keys.append(key())
    with monkeypatch.context() as patch:
        patch.setattr(disk_cache, "version_digest", lambda: "another version")
        keys.append(key())
    assert len(set(keys)) == len(keys)
    monkeypatch.setenv("TTXLA_LOGGER_LEVEL", "DEBUG")
    assert key(replace(task, root=Path("moved"), group="red"), replace(limits, jobs=2)) == keys[0]


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
