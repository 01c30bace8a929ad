"""The runner of StableHLO's programs judges our own programs of the same form correctly."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance import run_stablehlo as runner

PROGRAM = """
module {{
  func.func public @main() -> tensor<4x{type}> {{
    %0:2 = call @inputs() : () -> (tensor<4x{type}>, tensor<4x{type}>)
    %1 = call @expected() : () -> tensor<4x{type}>
    %2 = {op} %0#0, %0#1 : tensor<4x{type}>
    stablehlo.custom_call @check.expect_eq(%2, %1) {{has_side_effect = true}}
      : (tensor<4x{type}>, tensor<4x{type}>) -> ()
    return %2 : tensor<4x{type}>
  }}
  func.func private @inputs() -> (tensor<4x{type}>, tensor<4x{type}>) {{
    %0 = stablehlo.constant dense<{left}> : tensor<4x{type}>
    %1 = stablehlo.constant dense<{right}> : tensor<4x{type}>
    return %0, %1 : tensor<4x{type}>, tensor<4x{type}>
  }}
  func.func private @expected() -> tensor<4x{type}> {{
    %0 = stablehlo.constant dense<{expected}> : tensor<4x{type}>
    return %0 : tensor<4x{type}>
  }}
}}"""

INTERPRET = """
func.func @on_the_card() {
  %0 = stablehlo.constant dense<[1.0, -2.0]> : tensor<2xf32>
  %1 = stablehlo.abs %0 : tensor<2xf32>
  check.expect_almost_eq_const %1, dense<[1.0, 2.0]> : tensor<2xf32>
  func.return
}

// -----

func.func @on_the_host() {
  %0 = stablehlo.constant dense<[(1.0, 2.0), (0.0, 1.0)]> : tensor<2xcomplex<f32>>
  %1 = stablehlo.multiply %0, %0 : tensor<2xcomplex<f32>>
  check.expect_almost_eq_const %1, dense<[(-3.0, 4.0), (-1.0, 0.0)]> : tensor<2xcomplex<f32>>
  func.return
}

// -----

func.func @not_so() {
  %0 = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %1 = stablehlo.constant dense<[1, 3]> : tensor<2xi32>
  check.expect_eq %0, %1 : tensor<2xi32>
  func.return
}
"""

CASES = {
    "add_int8": ("stablehlo.add", "i8", "[127, -128, 3, 0]", "[1, -1, 4, 0]", "[-128, 127, 7, 0]", "card"),
    "add_float32": ("stablehlo.add", "f32", "[1.0, 2.0, 3.0, 4.0]", "1.0", "[2.0, 3.0, 4.0, 5.0]", "card"),
    "sub_uint64": ("stablehlo.subtract", "ui64", "[0, 5, 7, 1]", "1", "[18446744073709551615, 4, 6, 0]", "host"),
    "mul_wrong": ("stablehlo.multiply", "i32", "[1, 2, 3, 4]", "2", "[2, 4, 6, 9]", "wrong"),
    "add_int64_too_wide": ("stablehlo.add", "i64", "[4294967296, 2, 3, 4]", "2", "[4294967298, 4, 5, 6]", "refused"),
}


@pytest.mark.parametrize("name", CASES)
def test_a_program_of_jax(name: str, tmp_path: Path) -> None:
    op, type_, left, right, expected, status = CASES[name]
    folder = tmp_path / "stablehlo/testdata"
    folder.mkdir(parents=True)
    text = PROGRAM.format(op=op, type=type_, left=left, right=right, expected=expected)
    (folder / f"{name}.mlir").write_text(text)
    (outcome,) = runner.run(tmp_path)
    assert (outcome.name, outcome.status) == (f"testdata/{name}", status), outcome.detail


def test_the_cases_of_an_op(tmp_path: Path) -> None:
    folder = tmp_path / "stablehlo/tests/interpret"
    folder.mkdir(parents=True)
    (folder / "abs.mlir").write_text(INTERPRET)
    outcomes = list(runner.run(tmp_path))
    assert {outcome.name.partition(":")[2]: outcome.status for outcome in outcomes} == {
        "on_the_card": "card",
        "on_the_host": "host",
        "not_so": "wrong",
    }
    assert not list(runner.run(tmp_path, done={outcome.name for outcome in outcomes}))


def test_what_is_declared_must_fail_and_nothing_else_may() -> None:
    outcomes = [
        runner.Outcome("interpret/all_reduce/0:main", "all_reduce", "card"),
        runner.Outcome("interpret/all_gather/0:main", "all_gather", "refused"),
        runner.Outcome("testdata/add_float32_20", "add", "wrong", "off"),
    ]
    assert runner.surprises(outcomes) == [
        "interpret/all_reduce/0:main passes; remove its declaration",
        "wrong    testdata/add_float32_20: off",
    ]
