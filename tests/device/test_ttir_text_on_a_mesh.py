"""TTIR text for several chips: shards of arguments and results, ``mesh_shard``, and a mesh that is given beside it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from tests.device.test_mesh_modules import LAYER, MESH, SYSTEM, drawn
from tt_xla.compiler import compile_module, parse_module, read_module
from tt_xla.compiler.reading import on_mesh
from tt_xla.compiler.sharding import Localised
from tt_xla.errors import CompileError, MalformedModuleError, OptionError
from tt_xla.ir.mesh import Sharding
from tt_xla.options import CompileOptions
from tt_xla.runtime import Device
from tt_xla.target import load_target
from tt_xla.tools.cli import cli
from tt_xla.tools.run_files import run_file

EXACT = CompileOptions.parse({"numerics": "exact"})
PRESHARDED = "{ttcore.shard_status = #ttcore.shard_status<presharded>}"
SUM = f"""func.func @main(%x: tensor<4x32xf32> {PRESHARDED}) -> tensor<4x32xf32> {{
  %y = "ttir.all_reduce"(%x) <{{cluster_axis = 1 : ui32, reduce_type = #ttcore.reduce_type<sum>}}>
    : (tensor<4x32xf32>) -> tensor<4x32xf32>
  return %y : tensor<4x32xf32>
}}"""
SHARDED = """module attributes {ttcore.meshes = #ttcore.meshes<[<"mesh" = 2x4>]>} {
func.func @main(%x: tensor<8x64xf32>) -> (tensor<8x64xf32>, tensor<f32>) {
  %c = "ttir.constant"() <{value = dense<2.0> : tensor<f32>}> : () -> tensor<f32>
  %s = "ttir.mesh_shard"(%x) <{shard_type = #ttcore.shard_type<devices>, shard_direction =
    #ttcore.shard_direction<full_to_shard>, shard_shape = array<i64: COUNTS>, shard_dims = array<i64: 0, 1>}>
    : (tensor<8x64xf32>) -> tensor<4x16xf32>
  %e = "ttir.exp"(%s) : (tensor<4x16xf32>) -> tensor<4x16xf32>
  %y = "ttir.mesh_shard"(%e) <{shard_type = #ttcore.shard_type<devices>, shard_direction =
    #ttcore.shard_direction<shard_to_full>, shard_shape = array<i64: 2, 4>, shard_dims = array<i64: 0, 1>}>
    : (tensor<4x16xf32>) -> tensor<8x64xf32>
  return %y, %c : tensor<8x64xf32>, tensor<f32>
}}"""


def whole_results(module, *arrays: np.ndarray) -> list[np.ndarray]:
    import torch

    program = compile_module(module, EXACT, load_target(SYSTEM))
    executable = Device(load_target(SYSTEM)).load(program)
    return [result.numpy() for result in executable.run_whole([torch.from_numpy(array) for array in arrays])]


def test_the_text_of_a_program_computes_what_the_program_does():
    rows, up, down = Sharding(((0,), ())), Sharding(((), (1,))), Sharding(((1,), ()))
    arguments = ((rows, (8, 64)), (up, (64, 128)), (down, (128, 64)))
    localised = Localised(parse_module(LAYER), MESH, arguments, ((rows, (8, 64)), (Sharding(((),)), (64,))))
    x, w, v = drawn(8, 64, seed=0), drawn(64, 128, seed=1), drawn(128, 64, seed=2)
    dumps: dict[str, str] = {}
    compile_module(localised, EXACT, load_target(SYSTEM), dumps=dumps)
    expected = whole_results(localised, x, w, v)
    parts = np.concatenate(np.split(w, 4, axis=1))  # the text does not say along which dimension chips differ
    got = whole_results(read_module(dumps["ttir"]), x, parts, v)
    for one, other in zip(got, expected, strict=True):
        assert np.array_equal(one, other)


def test_text_that_names_no_mesh_gets_one(tmp_path: Path):
    module = read_module(SUM)
    on_mesh(module, (2, 4))
    x = drawn(32, 32, seed=0)
    (y,) = whole_results(module, x)
    sums = x.reshape(2, 4, 4, 32).sum(1)
    np.testing.assert_allclose(y.reshape(-1, 4, 32), sums.reshape(y.reshape(-1, 4, 32).shape), rtol=1e-6)
    (tmp_path / "sum.mlir").write_text(SUM)
    result = CliRunner().invoke(cli, ["compile", str(tmp_path / "sum.mlir"), "--arch", SYSTEM, "--mesh", "2x4"])
    assert "ttnn.all_reduce" in result.output, result.output
    for mesh, message in (("2x", "--mesh got '2x'"), ("4x4", "16 chips; n300-llmbox has 8")):
        result = CliRunner().invoke(cli, ["compile", str(tmp_path / "sum.mlir"), "--arch", SYSTEM, "--mesh", mesh])
        assert result.exit_code != 0
        assert message in result.output


def test_mesh_shard_splits_and_joins():
    x = drawn(8, 64, seed=0)
    y, c = whole_results(read_module(SHARDED.replace("COUNTS", "2, 4")), x)
    np.testing.assert_allclose(y, np.exp(x), rtol=1e-6)
    assert c == 2
    other = SHARDED.replace("COUNTS", "4, 2").replace("2, 4>, shard", "4, 2>, shard").replace("4x16x", "2x32x")
    with pytest.raises(MalformedModuleError, match=r"shard_shape \[4, 2\].*for each axis of the mesh 2x4"):
        whole_results(read_module(other), x)


def test_wrong_meshes():
    with pytest.raises(OptionError, match="which says itself how tensors are split"):
        on_mesh(parse_module(LAYER), (2, 4))
    with pytest.raises(OptionError, match="was given for a module that is for a mesh 2x4"):
        on_mesh(read_module(SHARDED.replace("COUNTS", "2, 4")), (1, 8))
    with pytest.raises(CompileError, match=r"mesh \(2, 4\) of 8 chips; n300 has 2"):
        compile_module(read_module(SHARDED.replace("COUNTS", "2, 4")), EXACT, load_target("n300"))


def test_a_file_for_several_chips_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TTXLA_SYSTEM", SYSTEM)
    path = tmp_path / "sharded.mlir"
    path.write_text(SHARDED.replace("COUNTS", "2, 4"))
    np.savez(tmp_path / "inputs.npz", np.ones((8, 64), np.float32))
    y, _ = run_file(path, EXACT, tmp_path / "inputs.npz").results
    np.testing.assert_allclose(y, np.full((8, 64), np.e, np.float32), rtol=1e-6)
    np.savez(tmp_path / "wrong.npz", np.ones((4, 64), np.float32))
    with pytest.raises(MalformedModuleError, match="is 4x64 float32; the module takes 8x64 f32 there"):
        run_file(path, EXACT, tmp_path / "wrong.npz")


def test_random_inputs_are_those_of_seed_0(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TTXLA_SYSTEM", SYSTEM)
    path = tmp_path / "sharded.mlir"
    path.write_text(SHARDED.replace("COUNTS", "2, 4"))
    results = [run_file(path, EXACT, **seed).results[0] for seed in ({}, {"seed": 0}, {"seed": 1})]
    np.testing.assert_array_equal(results[0], results[1])
    assert not np.array_equal(results[0], results[2])
