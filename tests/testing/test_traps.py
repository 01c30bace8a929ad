"""Traps in the commands: ``tt-xla run`` and ``tt-xla compare`` name the op and its line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from tt_xla.tools.cli import cli

pytestmark = pytest.mark.quick

TEXT = """
module {
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.negate %x : tensor<4xf32> loc("model.py":3:1)
    %1 = stablehlo.log %0 : tensor<4xf32> loc("model.py":4:1)
    return %1 : tensor<4xf32>
  }
}
"""
MESSAGE = "ttnn.log made a NaN in element [1] of its result 4 f32, in 1 of 4 elements"


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, list[str]]:
    """Returns the path of a module, and the arguments that name its inputs."""
    (tmp_path / "model.mlir").write_text(TEXT)
    np.savez(tmp_path / "inputs.npz", np.array([-1, 2, -3, -4], np.float32))
    return str(tmp_path / "model.mlir"), ["--inputs", str(tmp_path / "inputs.npz")]


def call(*arguments: str) -> Result:
    return CliRunner().invoke(cli, [*arguments])


def test_run(files: tuple[str, list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    path, inputs = files
    assert call("run", path, *inputs).exit_code == 0
    result = call("run", path, *inputs, "--option", "trap=nan")
    assert result.exit_code == 1
    assert f"{MESSAGE}. There the operands are input -2. At model.py:4:1." in result.output
    monkeypatch.setenv("TTXLA_TRAP", "nan")
    assert MESSAGE in call("run", path, *inputs).output


def test_run_of_a_compiled_program(files: tuple[str, list[str]], tmp_path: Path) -> None:
    path, inputs = files
    assert call("compile", path, "--out", str(tmp_path / "out")).exit_code == 0
    program = str(tmp_path / "out" / "model.ttnn")
    assert call("run", program, *inputs).exit_code == 0
    assert MESSAGE in call("run", program, *inputs, "--option", "trap=nan").output


def test_compare(files: tuple[str, list[str]]) -> None:
    path, inputs = files
    result = call("compare", path, *inputs, "--option", "trap=nan", "--json")
    record = json.loads(result.output)
    assert (result.exit_code, record["passed"]) == (1, False)
    assert MESSAGE in record["failure"]
    assert (record["first"]["part"], record["first"]["source"]) == ("stablehlo.log", "model.py:4:1")


def test_compare_by_instruction_shows_what_ran_before(files: tuple[str, list[str]]) -> None:
    path, inputs = files
    record = json.loads(call("compare", path, *inputs, "--by", "instruction", "--option", "trap=nan", "--json").output)
    assert MESSAGE in record["failure"]
    assert "ttnn.neg" in [part["part"] for part in record["parts"]]
