"""Collectives in groups of chips that are no axes of the mesh."""

from __future__ import annotations

import numpy as np
import pytest

from tests.device.test_mesh_modules import MESH, SYSTEM, drawn, run, summed
from tt_xla.compiler import compile_module, parse_module
from tt_xla.compiler.sharding import Localised
from tt_xla.ir.mesh import Mesh, Sharding
from tt_xla.options import CompileOptions
from tt_xla.runtime import Device
from tt_xla.target import load_target

GROUPS = [[6, 0, 3, 5], [1, 4, 7, 2]]
TEXT = f"dense<{GROUPS}> : tensor<2x4xi64>"


def shards(module: str, rows: int, mesh: Mesh = MESH, system: str = SYSTEM) -> tuple[np.ndarray, np.ndarray]:
    """Runs a module on chips that have 4 rows each; returns the tensors of the chips and their results."""
    everywhere = Sharding((tuple(range(len(mesh.shape))), ()))
    chips = mesh.size
    localised = Localised(
        parse_module(module), mesh, ((everywhere, (4 * chips, 8)),), ((everywhere, (chips * rows, 8)),)
    )
    program = compile_module(localised, CompileOptions(), load_target(system))
    x = drawn(4 * chips, 8, seed=0)
    (out,) = run(Device(load_target(system)).load(program), x)
    return x.reshape(chips, 4, 8), out.reshape(chips, -1, out.shape[1])


def module(op: str, rows: int) -> str:
    return f"""func.func public @main(%x: tensor<4x8xf32>) -> tensor<{rows}x8xf32> {{
      %y = {op}
      return %y : tensor<{rows}x8xf32>
    }}"""


def reduction(name: str, attributes: str, rows: int) -> str:
    op = summed("%x", TEXT, "4x8").replace("all_reduce", name).replace("<{", "<{" + attributes, 1)
    return module(op.rpartition("->")[0] + f"-> tensor<{rows}x8xf32>", rows)


@pytest.mark.parametrize("mesh", [MESH, Mesh((8,), ("devices",))], ids=["2x4", "8"])
def test_a_sum_reaches_the_chips_of_each_group(mesh):
    x, out = shards(reduction("all_reduce", "", 4), 4, mesh)
    for group in GROUPS:
        assert np.array_equal(out[group], np.broadcast_to(x[group].sum(0), (4, 4, 8)))


def test_groups_of_six_on_3x4():
    groups = [[0, 1, 2, 3, 4, 6], [5, 7, 8, 9, 10, 11]]
    op = summed("%x", f"dense<{groups}> : tensor<2x6xi64>", "4x8")
    x, out = shards(module(op, 4), 4, Mesh((3, 4), ("x", "y")), "galaxy-wh-6u")
    for group in groups:
        np.testing.assert_allclose(out[group], np.broadcast_to(x[group].sum(0), (6, 4, 8)), rtol=1e-5, atol=1e-5)


def test_parts_of_a_sum_are_in_the_order_of_the_group():
    x, out = shards(reduction("reduce_scatter", "scatter_dimension = 0 : i64, ", 1), 1)
    for group in GROUPS:
        assert np.array_equal(out[group][:, 0], x[group].sum(0))


def test_gathered_shards_are_in_the_order_of_the_group():
    op = f""""stablehlo.all_gather"(%x) <{{all_gather_dim = 0 : i64, replica_groups = {TEXT}}}>
      : (tensor<4x8xf32>) -> tensor<16x8xf32>"""
    x, out = shards(module(op, 16), 16)
    for group in GROUPS:
        assert np.array_equal(out[group], np.broadcast_to(x[group].reshape(16, 8), (4, 16, 8)))


def test_parts_are_exchanged_in_the_order_of_the_group():
    op = f""""stablehlo.all_to_all"(%x) <{{split_dimension = 0 : i64, concat_dimension = 0 : i64, split_count = 4 : i64,
      replica_groups = {TEXT}}}> : (tensor<4x8xf32>) -> tensor<4x8xf32>"""
    x, out = shards(module(op, 4), 4)
    for group in GROUPS:
        assert np.array_equal(out[group], x[group].swapaxes(0, 1))
