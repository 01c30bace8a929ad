"""Generated Python runs on the emulated card, and has the bits of the compiled program."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.codegen.mesh_programs import PROGRAMS
from tt_xla.codegen.export import exporting
from tt_xla.compiler import compile_module, parse_module
from tt_xla.ir.mesh import replicated
from tt_xla.options import CompileOptions
from tt_xla.runtime import get_device
from tt_xla.runtime.mesh.shards import join, split
from tt_xla.target import load_target

CONVOLUTION = """func.func public @main(%x: tensor<1x8x16x16xbf16>, %w: tensor<8x8x3x3xbf16> {ttcore.argument_type =
#ttcore.argument_type<parameter>, ttir.name = "w"}, %head: tensor<2048x10xf32>) -> (tensor<1x10xf32>, tensor<1xi32>) {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1],
    window = {stride = [1, 1], pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
    : (tensor<1x8x16x16xbf16>, tensor<8x8x3x3xbf16>) -> tensor<1x8x16x16xbf16>
  %zero = stablehlo.constant dense<0.0> : tensor<1x8x16x16xbf16>
  %1 = stablehlo.maximum %0, %zero : tensor<1x8x16x16xbf16>
  %2 = stablehlo.convert %1 : (tensor<1x8x16x16xbf16>) -> tensor<1x8x16x16xf32>
  %3 = stablehlo.reshape %2 : (tensor<1x8x16x16xf32>) -> tensor<1x2048xf32>
  %4 = stablehlo.dot_general %3, %head, contracting_dims = [1] x [0] : (tensor<1x2048xf32>, tensor<2048x10xf32>)
    -> tensor<1x10xf32>
  %5 = stablehlo.logistic %4 : tensor<1x10xf32>
  %shape = stablehlo.slice %5 [0:1, 2:3] : (tensor<1x10xf32>) -> tensor<1x1xf32>
  %6 = stablehlo.reshape %shape : (tensor<1x1xf32>) -> tensor<1xf32>
  %7 = stablehlo.convert %6 : (tensor<1xf32>) -> tensor<1xi32>
  return %5, %7 : tensor<1x10xf32>, tensor<1xi32>
}"""


BIASED = """func.func public @main(%x: tensor<1x8x16x16xbf16>, %w: tensor<8x8x3x3xbf16> {ttcore.argument_type =
#ttcore.argument_type<parameter>, ttir.name = "w"}, %b: tensor<8xbf16> {ttcore.argument_type =
#ttcore.argument_type<parameter>, ttir.name = "b"}) -> tensor<1x8x16x16xbf16> {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1],
    window = {stride = [1, 1], pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
    : (tensor<1x8x16x16xbf16>, tensor<8x8x3x3xbf16>) -> tensor<1x8x16x16xbf16>
  %1 = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<8xbf16>) -> tensor<1x8x16x16xbf16>
  %2 = stablehlo.add %0, %1 : tensor<1x8x16x16xbf16>
  return %2 : tensor<1x8x16x16xbf16>
}"""


@pytest.mark.sample(1)
@pytest.mark.parametrize("level", [0, 2])
def test_a_bias_in_a_block_format_has_the_bits_of_the_program(level: int, tmp_path: Path) -> None:
    options = {"optimization_level": level, "backend": "codegen_py", "export_path": str(tmp_path / "out")}
    options["enable_bfp8_conversion"] = True
    program = compile_module(parse_module(BIASED), CompileOptions.parse(options), load_target("p150"))
    generator = torch.Generator().manual_seed(0)
    inputs = [torch.randn(shape, generator=generator).bfloat16() for shape in ((1, 8, 16, 16), (8, 8, 3, 3), (8,))]
    exporting(program, {}, get_device("p150").load(program).run)(inputs, [None] * 3)
    assert "result 0 has all bits of tensors/expected0" in printed(tmp_path / "out", "p150")


PRODUCTS = """func.func public @main(%x: tensor<3x4x5xf32>) -> (tensor<3xf32>, tensor<f32>) {
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %one) applies stablehlo.multiply across dimensions = [1, 2]
    : (tensor<3x4x5xf32>, tensor<f32>) -> tensor<3xf32>
  %1 = stablehlo.reduce(%x init: %one) applies stablehlo.multiply across dimensions = [0, 1, 2]
    : (tensor<3x4x5xf32>, tensor<f32>) -> tensor<f32>
  return %0, %1 : tensor<3xf32>, tensor<f32>
}"""

SUM = """func.func public @main(%x: tensor<9x2x96xf32>) -> tensor<96xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0, 1]
    : (tensor<9x2x96xf32>, tensor<f32>) -> tensor<96xf32>
  return %0 : tensor<96xf32>
}"""


@pytest.mark.sample(1)
@pytest.mark.parametrize("level", [0, 1, 2])
def test_products_along_dimensions_have_the_bits_of_the_program(level: int, tmp_path: Path) -> None:
    options = {"optimization_level": level, "backend": "codegen_py", "export_path": str(tmp_path / "out")}
    program = compile_module(parse_module(PRODUCTS), CompileOptions.parse(options), load_target("p150"))
    x = torch.rand((3, 4, 5), generator=torch.Generator().manual_seed(0)) + 0.5
    exporting(program, {}, get_device("p150").load(program).run)([x], [None])
    output = printed(tmp_path / "out", "p150")
    for index in range(2):
        assert f"result {index} has all bits of tensors/expected{index}" in output


def test_arguments_that_lie_across_are_run_as_they_are_stored(tmp_path: Path) -> None:
    options = CompileOptions.parse({"backend": "codegen_py", "export_path": str(tmp_path / "out")})
    program = compile_module(parse_module(SUM), options, load_target("p150"))
    executable, passed = get_device("p150").load(program), []

    def run(tensors: list[torch.Tensor], *rest: Any) -> list[torch.Tensor]:
        passed.append(tensors[0])
        return executable.run(tensors, *rest)

    x = torch.randn((96, 2, 9), generator=torch.Generator().manual_seed(0)).permute(2, 1, 0)
    exported = exporting(program, {}, run)
    exported([x], [None])
    exported([x], [None])
    assert [each.is_contiguous() for each in passed] == [True, False]
    assert torch.equal(passed[0], x)


@pytest.mark.sample(1)
@pytest.mark.parametrize("level", [0, 1, 2])
def test_run_has_the_bits_of_the_program(level: int, tmp_path: Path) -> None:
    options = {"optimization_level": level, "backend": "codegen_py", "export_path": str(tmp_path / "out")}
    program = compile_module(parse_module(CONVOLUTION), CompileOptions.parse(options), load_target("p150"))
    generator = torch.Generator().manual_seed(0)
    shapes = ((1, 8, 16, 16), (8, 8, 3, 3), (2048, 10))
    inputs = [torch.randn(shape, generator=generator) for shape in shapes]
    inputs[:2] = [each.bfloat16() for each in inputs[:2]]
    exporting(program, {}, get_device("p150").load(program).run)(inputs, [None] * 3)
    output = printed(tmp_path / "out", "p150")
    assert "result 0: [1, 10] DataType.FLOAT32" in output
    for index in range(2):
        assert f"result {index} has all bits of tensors/expected{index}" in output
    assert f"predicted device time: {program.predicted_device_us:.1f} us" in output


def test_run_on_a_mesh_has_the_bits_of_the_program(tmp_path: Path) -> None:
    options = CompileOptions.parse({"backend": "codegen_py", "export_path": str(tmp_path / "out")})
    program = compile_module(parse_module(PROGRAMS["tensor_parallel"]((2, 2))), options, load_target("p150x4"))
    assert program.mesh is not None
    shards = [
        split(torch.rand(argument.global_shape or ()).bfloat16() / 8, argument.sharding or replicated(2), program.mesh)
        for argument in program.arguments
    ]
    exporting(program, {}, get_device("p150x4").load(program).run, join=join)(shards, [None] * 3)
    output = printed(tmp_path / "out", "p150x4")
    assert "result 0 has all bits of tensors/expected0" in output
    assert f"predicted device time: {program.predicted_device_us:.1f} us" in output


def printed(folder: Path, system: str) -> str:
    """Returns what the generated program in a folder prints."""
    hook = "import sys, tt_xla._import_hook, runpy; sys.argv = ['main.py']; sys.path.insert(0, '.'); "
    done = subprocess.run(
        [sys.executable, "-c", f"{hook}runpy.run_path('main.py', run_name='__main__')"],
        cwd=folder,
        env=os.environ | {"TTXLA_SYSTEM": system},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
