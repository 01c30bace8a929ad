"""Calls of generated source, one after another, that leave caches on the device."""

from __future__ import annotations

import copy
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from click.testing import CliRunner

import tt_torch
from tt_xla.codegen.generator import MOST_PARAMETERS, generate
from tt_xla.compiler import compile_module, parse_module
from tt_xla.errors import MalformedModuleError
from tt_xla.ir.program import FunctionKind, Program, Role
from tt_xla.options import CompileOptions
from tt_xla.target import load_target
from tt_xla.tools.cli import cli

ROOT = Path(__file__).parents[2]


class Decoder(torch.nn.Module):
    """A layer with a cache of its results, whose next position is a buffer too."""

    def __init__(self, inputs: int = 1) -> None:
        super().__init__()
        self.register_buffer("cache", torch.zeros(1, 2, 32, 32))
        self.register_buffer("position", torch.zeros(1, dtype=torch.long))
        self.layer = torch.nn.Linear(32, 64)

    def forward(self, *x: torch.Tensor) -> torch.Tensor:
        self.cache.index_copy_(2, self.position, self.layer(sum(x)).view(1, 2, 1, 32))
        self.position.add_(1)
        return self.cache.sum(2)


def compiled(text: str) -> Program:
    return compile_module(parse_module(text), CompileOptions(), load_target("n150"))


def steps_of(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs generated source on the emulated card."""
    environment = dict(os.environ) | {"TTXLA_TTNN_PYTHON": sys.executable, "PYTHONPATH": str(ROOT / "src")}
    return subprocess.run(
        ["./run", *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("count", [1, MOST_PARAMETERS], ids=["inputs", "inputs in the table of weights"])
def test_a_cache_stays_between_steps(tmp_path: Path, count: int) -> None:
    model, x = Decoder().eval(), [torch.full((1, 32), 0.1 + number / 64) for number in range(count)]
    tt_torch.codegen_py(copy.deepcopy(model), *x, export_path=tmp_path / "out")
    text = (tmp_path / "out/main.py").read_text()
    assert ('updates = {"cache": 0, "position": 1}' in text) == (count == MOST_PARAMETERS)
    done = steps_of(tmp_path / "out", "--steps", "3")
    assert done.returncode == 0, done.stderr
    assert "time of a call after the first: " in done.stdout
    assert "PCC" not in done.stdout  # what is stored is the first step's
    for _ in range(3):
        expected = model(*x)
    assert model.position.tolist() == [3]
    shown = [float(number) for number in re.findall(r"-?\d+\.\d*(?:e[-+]\d+)?", done.stdout.partition("result 2: ")[2])]
    np.testing.assert_allclose(shown, expected.detach().numpy().ravel(), atol=0.02, rtol=0.02)
    assert "result 0 has all bits of tensors/expected0" in steps_of(tmp_path / "out").stdout
    assert "--steps was given 0; it takes a number from 1 on" in steps_of(tmp_path / "out", "--steps", "0").stderr


def test_results_that_take_over_the_memory_of_arguments_are_their_next_contents(tmp_path: Path) -> None:
    text = """func.func @main(%a: tensor<4xf32>, %b: tensor<4xf32> {tf.aliasing_output = 1 : i32})
      -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = stablehlo.add %a, %b : tensor<4xf32>
  %1 = stablehlo.multiply %0, %b : tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}"""
    (tmp_path / "model.mlir").write_text(text)
    done = CliRunner().invoke(cli, ["codegen", str(tmp_path / "model.mlir"), "-o", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    assert "updates = {1: 1}\n" in (tmp_path / "out/main.py").read_text()
    donor = text.replace("tf.aliasing_output = 1 : i32", "jax.buffer_donor = true")
    assert [argument.becomes for argument in compiled(donor).arguments] == [None, None]
    for wrong in ("2 : i32", "-1 : i32", "unit"):
        with pytest.raises(MalformedModuleError, match=r"tf.aliasing_output of argument 1 is .*, of which there are 2"):
            compiled(text.replace("1 : i32", wrong))


def test_an_argument_that_is_written_in_place_is_its_next_contents() -> None:
    program = compiled("""func.func @main(%c: tensor<1x2x64x32xf32> {jax.buffer_donor = true},
      %n: tensor<1x2x32x32xf32>) -> (tensor<1x2x32x32xf32>, tensor<1x2x64x32xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.dynamic_update_slice %c, %n, %zero, %zero, %zero, %zero : (tensor<1x2x64x32xf32>,
      tensor<1x2x32x32xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x2x64x32xf32>
  %1 = stablehlo.tanh %n : tensor<1x2x32x32xf32>
  return %1, %0 : tensor<1x2x32x32xf32>, tensor<1x2x64x32xf32>
}""")
    assert [(argument.written, argument.becomes) for argument in program.arguments] == [(True, None), (False, None)]
    assert "updates = {0: 1}\n" in generate(program).main


def test_a_donated_parameter_is_an_input() -> None:
    """What depends on it is computed in each call."""
    text = """func.func @main(%x: tensor<4xf32>,
      %w: tensor<4xf32> {tf.aliasing_output = 0 : i32, ttcore.argument_type = "parameter"}) -> tensor<4xf32> {
  %0 = stablehlo.tanh %w : tensor<4xf32>
  %1 = stablehlo.add %x, %0 : tensor<4xf32>
  return %1 : tensor<4xf32>
}"""
    program = compiled(text)
    assert [argument.role for argument in program.arguments] == [Role.INPUT, Role.INPUT]
    assert [function.kind for function in program.functions] == [FunctionKind.FORWARD]
    assert "updates = {1: 0}\n" in generate(program).main
    kept = compiled(text.replace("tf.aliasing_output = 0 : i32, ", ""))
    assert kept.arguments[1].role is Role.PARAMETER
    assert "updates" not in generate(kept).main
