"""Tests of ``tt-xla estimate`` for programs of several chips: computing, communication, and the links that bound it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from tt_xla.compiler import compile_module, parse_module
from tt_xla.cost import instruction_cost, predicted_device_us
from tt_xla.ir.layout import DataType, TensorLayout
from tt_xla.ir.mesh import Mesh
from tt_xla.ir.program import Function, FunctionKind, Instruction, MemoryPlan, Program, TensorSpec
from tt_xla.options import CompileOptions
from tt_xla.target import load_target
from tt_xla.tools.cli import cli

pytestmark = pytest.mark.quick

MESH = Mesh((2, 4), ("batch", "model"))


def spec(rows: int, columns: int = 2048) -> TensorSpec:
    return TensorSpec((rows, columns), TensorLayout.of((rows, columns), DataType.BF16))


def program(system: str = "p150x8", mesh: Mesh | None = MESH) -> Program:
    """Returns a product whose partial sums are added along one axis of the mesh and joined along the other one."""
    target, values = load_target(system), (spec(2048), spec(2048), spec(2048), spec(2048), spec(4096))
    steps = [Instruction("ttnn.matmul", {"a": 0, "b": 1}, (2,), {})]
    if mesh is not None:
        steps.append(Instruction("ttnn.all_reduce", {"input": 2}, (3,), {"cluster_axis": 1, "reduce_type": "sum"}))
        steps.append(Instruction("ttnn.all_gather", {"input": 3}, (4,), {"cluster_axis": 0, "all_gather_dim": 0}))
    body = tuple(
        Instruction(
            step.op, step.operands, step.results, step.attributes, "", instruction_cost(step, values, target, mesh)
        )
        for step in steps
    )
    function = Function("main", FunctionKind.FORWARD, (0, 1), (len(values) - 1,), values, body)
    total = predicted_device_us(function, target, [function], mesh)
    return Program("p", system, CompileOptions().as_dict(), (), (), (function,), MemoryPlan(), total, (), mesh)


def estimated(folder: Path, program: Program, *arguments: str) -> str:
    path = folder / "p.ttnn"
    path.write_bytes(program.to_bytes())
    result = CliRunner().invoke(cli, ["estimate", str(path), *arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_communication_is_apart_from_computing(tmp_path: Path) -> None:
    made = program()
    record = json.loads(estimated(tmp_path, made, "--json"))
    lines = {line["op"]: line for line in record["ops"]}
    exchanges = lines["ttnn.all_reduce"], lines["ttnn.all_gather"]
    assert record["communication_us"] == pytest.approx(sum(line["predicted_us"] for line in exchanges))
    assert lines["ttnn.matmul"]["link_us"] == 0.0
    assert lines["ttnn.all_reduce"]["bound"] == "link"
    assert record["predicted_device_us"] == pytest.approx(made.predicted_device_us)


def test_the_time_on_links_is_told_by_axis(tmp_path: Path) -> None:
    record = json.loads(estimated(tmp_path, program(), "--json"))
    lines = {line["op"]: line for line in record["ops"]}
    batch, model = record["mesh"]
    assert (batch["axis"], batch["chips"], batch["topology"], batch["channels"]) == ("batch", 2, "line", 2)
    assert (model["axis"], model["chips"], model["topology"], model["channels"]) == ("model", 4, "ring", 2)
    assert batch["link_us"] == lines["ttnn.all_gather"]["link_us"] > 0
    assert model["link_us"] == lines["ttnn.all_reduce"]["link_us"] > 0
    pairs = {link.chips for link in load_target("p150x8").links}
    assert tuple(batch["narrowest_link"]) in pairs
    assert tuple(model["narrowest_link"]) in pairs


def test_the_table_has_a_column_of_links_and_names_the_bound(tmp_path: Path) -> None:
    shown = estimated(tmp_path, program())
    assert "communication" in shown
    assert "axis model, ring of 4 chips with 2 x 200 Gbit/s" in shown
    assert shown.count(", the bound of communication") == 1
    header = next(line for line in shown.splitlines() if "predicted us" in line)
    assert "links" in header


def test_a_program_for_one_chip_has_no_word_of_links(tmp_path: Path) -> None:
    shown = estimated(tmp_path, program("p150", None))
    assert "link" not in shown
    assert "communication" not in shown


def test_another_system_has_its_own_links(tmp_path: Path) -> None:
    here = json.loads(estimated(tmp_path, program(), "--json"))
    there = json.loads(estimated(tmp_path, program(), "--json", "--target", "n300-llmbox"))
    assert there["communication_us"] > 2 * here["communication_us"]


def test_a_system_with_too_few_chips_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "p.ttnn"
    path.write_bytes(program().to_bytes())
    result = CliRunner().invoke(cli, ["estimate", str(path), "--target", "n300"])
    assert result.exit_code != 0
    assert "A mesh of 2x4 needs 8 chips; n300 has 2 chips" in result.stderr


SHARDED = """
module @jit_f attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=4]>
  func.func public @main(
      %arg0: tensor<512x1024xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>},
      %arg1: tensor<1024x2048xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}]>}
  ) -> (tensor<512x2048xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0]
        : (tensor<512x1024xbf16>, tensor<1024x2048xbf16>) -> tensor<512x2048xbf16>
    return %0 : tensor<512x2048xbf16>
  }
}
"""


@pytest.mark.parametrize("level", [0, 2])
def test_the_compiler_prices_exchanges_with_the_mesh_of_the_module(level: int, tmp_path: Path) -> None:
    target = load_target("p150x8")
    options = CompileOptions.parse({"optimization_level": level})
    dumps: dict[str, str] = {}
    compiled = compile_module(parse_module(SHARDED.encode(), "f"), options, target, name="f", dumps=dumps)
    assert compiled.mesh is not None
    (exchange,) = [step for step in compiled.functions[0].body if step.op == "ttnn.all_reduce"]
    values = compiled.functions[0].values
    assert exchange.cost == instruction_cost(exchange, values, target, compiled.mesh)
    assert exchange.cost.bound == "link"
    assert compiled.predicted_device_us > exchange.cost.total_us

    text = tmp_path / "f.mlir"
    text.write_text(dumps["ttnn"])
    result = CliRunner().invoke(cli, ["estimate", str(text), "--target", "p150x8", "--json"], catch_exceptions=False)
    record = json.loads(result.output)
    assert record["predicted_device_us"] == pytest.approx(compiled.predicted_device_us)
    assert [axis["chips"] for axis in record["mesh"]] == [2, 4]
    # Without a system, one with enough chips stands in.
    result = CliRunner().invoke(cli, ["estimate", str(text), "--json"], catch_exceptions=False)
    assert json.loads(result.output)["arch"] == "n300-llmbox"
