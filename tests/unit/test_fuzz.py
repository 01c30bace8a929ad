"""The generator's frame: its judge, its bounds, its processes and its tables."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from tests.fuzz import __main__ as command
from tests.fuzz import kinds, noise, running, summary, unreached, worker
from tests.fuzz.cases import Case
from tests.fuzz.judge import Judge, Module, defined, differing, same
from tests.unit.fuzz_kinds import faults
from tt_xla.compiler import parse_module

FAULTS = "tests.unit.fuzz_kinds.faults"


def module(body: str, *inputs: np.ndarray, special: bool = False) -> Module:
    """Returns a module of functions of %x: tensor<4xf32>."""
    text = f"func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {{\n{body}\n return %y : tensor<4xf32>\n}}"
    return Module(text, inputs or (np.array([1.0, 2.0, -3.0, 0.5], np.float32),), special)


ADD = module("%y = stablehlo.add %x, %x : tensor<4xf32>")
EXP = module("%y = stablehlo.exponential %x : tensor<4xf32>")
CANCELLED = module("""
  %c = stablehlo.constant dense<1.0e6> : tensor<4xf32>
  %a = stablehlo.add %x, %c : tensor<4xf32>
  %y = stablehlo.subtract %a, %c : tensor<4xf32>""")


@pytest.mark.parametrize(("subject", "expected"), [(ADD, True), (EXP, False), (CANCELLED, True)])
def test_bits_are_defined_where_no_op_rounds_otherwise(subject: Module, expected: bool):
    assert defined(subject.module) == [expected]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("%y = stablehlo.reduce(%x init: %z) applies stablehlo.maximum across dimensions = [0]", True),
        ("%y = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [0]", False),
    ],
)
def test_bits_of_reductions(text: str, expected: bool):
    source = f"""func.func @main(%x: tensor<4xf32>) -> tensor<f32> {{
      %z = stablehlo.constant dense<0.0> : tensor<f32>
      {text} : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
      return %y : tensor<f32>
    }}"""
    assert defined(parse_module(source)) == [expected]


def test_noise_is_as_large_as_rounding_makes_the_result():
    x = CANCELLED.inputs[0].astype(np.float64)
    spread = [np.abs(results[0] - x).max() for results in noise.spread(CANCELLED.module, CANCELLED.inputs, 2.0**-8)]
    assert max(spread) > 1e3
    exact = [np.abs(results[0] - x).max() for results in noise.spread(CANCELLED.module, CANCELLED.inputs, 2.0**-40)]
    assert 0 < max(exact) < 1e-3
    again = noise.spread(CANCELLED.module, CANCELLED.inputs, 2.0**-8)
    assert [np.abs(results[0] - x).max() for results in again] == spread


def test_noise_carries_pooling_past_elements_that_are_equal_in_bfloat16():
    text = """func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
      %one = stablehlo.constant dense<1.0> : tensor<1xf32>
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %y = "stablehlo.select_and_scatter"(%x, %one, %zero) <{window_dimensions = array<i64: 2>}> ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %c = stablehlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
        stablehlo.return %c : tensor<i1>
      }, {
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %c = stablehlo.add %a, %b : tensor<f32>
        stablehlo.return %c : tensor<f32>
      }) : (tensor<2xf32>, tensor<1xf32>, tensor<f32>) -> tensor<2xf32>
      return %y : tensor<2xf32>
    }"""
    near = np.array([1.0, 1.0 + 2.0**-7.1], np.float32)
    places = {int(result.argmax()) for (result,) in noise.spread(parse_module(text), [near], 2.0**-8, 40)}
    assert places == {0, 1}
    (exact,) = noise.spread(parse_module(text), [near], 2.0**-21, 1)[0]
    assert int(exact.argmax()) == 1


def test_programs_that_are_right_pass():
    for subject in (ADD, EXP, CANCELLED):
        assert list(subject.check()) == []


@pytest.mark.parametrize(
    ("subject", "factor", "found"),
    [(EXP, 1 + 2.0**-22, False), (EXP, 1 + 2.0**-14, True), (CANCELLED, 1 + 2.0**-14, True)],
)
def test_a_result_beyond_the_noise_is_a_difference(subject: Module, factor: float, found: bool):
    wrong = [(value * np.float64(factor)).astype(np.float32) for value in subject.expected]
    differences = list(Judge(subject).compare("exact", wrong, subject.expected, defined(subject.module), 2.0**-21))
    assert bool(differences) == found


def test_a_result_of_another_type_is_a_difference():
    wrong = [value.astype(np.float64) for value in ADD.expected]
    (difference,) = Judge(ADD).compare("exact", wrong, ADD.expected, [True], 2.0**-21)
    assert "float64(4,), expected float32(4,)" in difference.text


@pytest.mark.parametrize(("adds_zeros", "count"), [(False, 1), (True, 0)])
def test_sums_with_zeros_have_no_negative_zero(adds_zeros: bool, count: int):
    subject = module("%y = stablehlo.add %x, %x : tensor<4xf32>", np.array([-0.0, 1, 2, 3], np.float32))
    judge = Judge(subject, adds_zeros=adds_zeros)
    got = [value + np.float32(0) for value in subject.expected]
    assert len(list(judge.compare("exact", got, subject.expected, [True], 2.0**-21))) == count


def test_the_same_bits():
    one = np.array([0.0, 0.0, np.nan, 1e-40, 1.0, np.inf], np.float32)
    other = np.array([0.0, -0.0, -np.nan, -1e-41, 1.0 + 2**-23, np.inf], np.float32)
    assert same(one, other).tolist() == [True, False, True, True, False, True]
    (difference,) = differing("exact", one, other, ~same(one, other))
    assert difference.text.startswith("2 of 6 elements")
    assert "[1]: np.float32(0.0), expected np.float32(-0.0)" in difference.text


def test_64_bits_may_be_32():
    source = """func.func @main(%x: tensor<2xi64>, %y: tensor<2xf64>) -> (tensor<2xi64>, tensor<2xf64>) {
      %p = stablehlo.multiply %x, %x : tensor<2xi64>
      %q = stablehlo.divide %y, %y : tensor<2xf64>
      return %p, %q : tensor<2xi64>, tensor<2xf64>
    }"""
    subject = Module(source, (np.array([3, 1 << 20]), np.array([3.0, 7.0])))
    assert subject.expected[0].tolist() == [9, 1 << 40]
    assert subject.expected_in_32_bits[0].tolist() == [9, 0]
    assert [value.dtype.name for value in subject.expected_in_32_bits] == ["int64", "float64"]


@pytest.mark.nightly
@pytest.mark.parametrize("kind", kinds.SHARES)
def test_a_case_is_the_same_in_each_run(kind: str):
    first, second = (kinds.load(kind)(Case(kind, "3", 5).generator()).text for _ in range(2))
    assert first == second
    assert Case.parse(str(Case(kind, "3", 5))) == Case(kind, "3", 5)


def test_each_kind_has_its_share():
    total = sum(kinds.SHARES.values())
    cases = [case for case, _ in zip(kinds.cases("1"), range(2 * total), strict=False)]
    assert len(set(map(str, cases))) == 2 * total
    for kind, share in kinds.SHARES.items():
        assert sum(case.kind == kind for case in cases) == 2 * share


def test_processes_that_crash_or_hang_are_verdicts(tmp_path: Path):
    judge = running.Worker(tmp_path / "log", limit=1)
    try:
        entries = judge.entries()
        verdicts = [judge.judge(Case(FAULTS, "0", number)) for number in range(len(faults.WAYS))]
    finally:
        judge.end()
    found = {way: verdict["verdict"] for way, verdict in zip(faults.WAYS, verdicts, strict=True)}
    same = ("passed", "different", "error", "crash", "hang", "refused", "undrawn")
    assert found == {way: way for way in same} | {
        "too large": "refused",
        "hang that catches": "hang",
        "crash of XLA": "undrawn",
    }
    by_way = dict(zip(faults.WAYS, verdicts, strict=True))
    assert "ZeroDivisionError: a fault of the product" in by_way["error"]["details"]
    assert "status -6" in by_way["crash"]["details"]
    assert "time.sleep(60)" in by_way["hang"]["details"]
    for table, reasons in unreached.UNREACHED.items():
        assert set(reasons) <= set(entries[table])


def test_a_second_process_must_get_the_same():
    first = {"verdict": "passed", "results": "1", "details": ""}
    assert running.compared(first, first) == first
    assert running.compared(first, {**first, "results": "2"})["verdict"] == "different"
    wrong = {**first, "verdict": "error"}
    assert running.compared(wrong, first) == wrong


def test_the_command_lists_faults_and_what_was_not_reached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(command, "FOLDER", tmp_path)
    monkeypatch.setattr(kinds, "SHARES", {FAULTS: 1})
    result = CliRunner().invoke(command.main, ["run", "--seed", "0", "--count", "2", "--jobs", "1"])
    assert result.exit_code == 1, result.output
    assert f"different {FAULTS}:0:1" in result.output
    assert f"| `{FAULTS}` | 1 | 0 | 1 |" in result.output
    assert "| converters |" in result.output
    records = [json.loads(line) for line in (tmp_path / "0/records.jsonl").read_text().splitlines()]
    assert [record["verdict"] for record in records] == ["passed", "different"]


def test_a_run_goes_on_where_it_ended_and_judges_its_faults_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(command, "FOLDER", tmp_path)
    monkeypatch.setattr(kinds, "SHARES", {FAULTS: 1})
    path = tmp_path / "0/records.jsonl"
    path.parent.mkdir()
    held = {"case": f"{FAULTS}:0:0", "verdict": "passed", "details": "of the first run", "seconds": 1, "reached": {}}
    path.write_text("".join(json.dumps(record) + "\n" for record in (held, {**held, "verdict": "crash"})))
    result = CliRunner().invoke(command.main, ["run", "--seed", "0", "--count", "2", "--jobs", "1", "--resume"])
    assert result.exit_code == 1, result.output
    records = [json.loads(line) for line in path.read_text().splitlines()]
    assert records[0] == held
    assert [record["case"] for record in records] == [f"{FAULTS}:0:0", f"{FAULTS}:0:1"]


def test_a_tally_counts_what_was_reached(tmp_path: Path):
    tally = summary.Tally()
    tally.add({"case": "ops:1:0", "verdict": "passed", "details": "", "reached": {"converters:stablehlo.add": 3}})
    tally.add({"case": "ops:1:1", "verdict": "refused", "details": "not 7 sizes", "reached": {}})
    assert "| `ops` | 1 | 1 | 0 | 0 | 0 | 0 | 0 |" in tally.table()
    entries = {"converters": ["stablehlo.add", "stablehlo.tan"]}
    assert tally.coverage(entries)[-1] == "| converters | 2 | 1 | `stablehlo.tan` |"
    assert "1 not N sizes" in tally.text("1", entries)
    page = tmp_path / "page.md"
    page.write_text("<!-- fuzz -->\n<!-- /fuzz -->\n")
    summary.write(page, tally, "1", entries)
    assert "Seed 1, 2 programs." in page.read_text()


def test_the_worker_answers_in_lines(tmp_path: Path):
    assert worker.judged(Case(FAULTS, "0", 0))["verdict"] == "passed"
    assert worker.judged(Case(FAULTS, "0", 1))["details"] == "exact: 1 instead of 2"
