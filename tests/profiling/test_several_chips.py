"""Profiles and benchmarks of a program for several chips: the time of one chip, of computing, exchanges and links."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from tests.libraries import needs_perf_report
from tt_xla.cost import instruction_cost, predicted_device_us
from tt_xla.cost.memory import bytes_per_bank
from tt_xla.cost.roofline import roofline
from tt_xla.environment import child_environment
from tt_xla.errors import MeshError, OptionError
from tt_xla.ir.layout import DataType, TensorLayout
from tt_xla.ir.mesh import Mesh, Sharding
from tt_xla.ir.program import (
    Argument,
    Function,
    FunctionKind,
    Instruction,
    MemoryPlan,
    Program,
    Result,
    Role,
    TensorSpec,
)
from tt_xla.options import CompileOptions
from tt_xla.profiling.bench import measure
from tt_xla.profiling.bench_files import summary, write_all
from tt_xla.profiling.beside import compare, step_of
from tt_xla.profiling.device_time import kernels
from tt_xla.profiling.observing import recorded
from tt_xla.profiling.reading import read_table
from tt_xla.profiling.recording import Recording
from tt_xla.profiling.steps import find_steps, steady
from tt_xla.profiling.workload import resolve
from tt_xla.runtime import Device
from tt_xla.runtime.mesh.shards import split
from tt_xla.target import load_target

MESH = Mesh((2, 4), ("batch", "model"))
SYSTEM = "p150x8"
ROWS, INNER, COLUMNS = 64, 256, 128
CODES = ["MatmulDeviceOperation", "AllReduceAsyncDeviceOperation", "AllGatherDeviceOperation"]


def spec(*shape: int) -> TensorSpec:
    return TensorSpec(shape, TensorLayout.of(shape, DataType.F32))


def program() -> Program:
    """Returns a product of [rows, inner] and [inner, columns], rows split over ``batch`` and inner over ``model``."""
    target, part = load_target(SYSTEM), (ROWS // 2, COLUMNS)
    values = (spec(ROWS // 2, INNER // 4), spec(INNER // 4, COLUMNS), spec(*part), spec(*part), spec(ROWS, COLUMNS))
    products = {"transpose_a": False, "transpose_b": False}
    steps = (
        Instruction("ttnn.matmul", {"a": 0, "b": 1}, (2,), products, "model.py:3"),
        Instruction("ttnn.all_reduce", {"input": 2}, (3,), {"cluster_axis": 1, "reduce_type": "sum"}, "model.py:4"),
        Instruction("ttnn.all_gather", {"input": 3}, (4,), {"cluster_axis": 0, "all_gather_dim": 0}, "model.py:5"),
    )
    body = tuple(
        Instruction(
            each.op,
            each.operands,
            each.results,
            each.attributes,
            each.location,
            instruction_cost(each, values, target, MESH),
        )
        for each in steps
    )
    function = Function("main", FunctionKind.FORWARD, (0, 1), (4,), values, body)
    arguments = (
        Argument("x", Role.INPUT, values[0].shape, "f32", False, Sharding(((0,), (1,))), (ROWS, INNER)),
        Argument("w", Role.INPUT, values[1].shape, "f32", False, Sharding(((1,), ())), (INNER, COLUMNS)),
    )
    results = (Result((ROWS, COLUMNS), "f32", Sharding(((), ())), (ROWS, COLUMNS)),)
    memory = MemoryPlan(sum(bytes_per_bank(value.layout, target) * target.dram_banks for value in values))
    total = predicted_device_us(function, target, [function], MESH)
    options = CompileOptions().as_dict()
    return Program("p", SYSTEM, options, arguments, results, (function,), memory, total, (), MESH)


@pytest.fixture(scope="module")
def recording() -> Recording:
    """A recording of five runs."""
    made = program()
    tensors = torch.ones(ROWS, INNER), torch.ones(INNER, COLUMNS)
    with recorded() as recording:
        executable = Device(load_target(SYSTEM), trace_region_bytes=None).load(made)
        shards = [split(tensor, each.sharding, MESH) for tensor, each in zip(tensors, made.arguments, strict=True)]
        for _ in range(5):
            (result,) = executable.run(shards, [None, None])
    assert result[0].flatten().tolist() == [float(INNER)] * ROWS * COLUMNS
    return recording


def test_the_clock_is_that_of_the_first_chip(recording: Recording) -> None:
    assert len(recording.events) > 5 * 3  # The card computes the other chips' shards too.
    calls = kernels(recording)
    assert [call.code for call in calls] == CODES * 5
    per_run = sum(call.duration_ns + call.gap_ns for call in calls[-2:]) + calls[-3].duration_ns
    gap = load_target(SYSTEM).gap_us_untraced
    assert per_run / 1e3 == pytest.approx(program().predicted_device_us - gap)


def test_a_benchmark_tells_exchanges_from_computing(recording: Recording) -> None:
    figures = measure(recording)
    costs = [step.cost for step in program().functions[0].body]
    assert figures.communication_ms == pytest.approx((costs[1].total_us + costs[2].total_us) / 1e3)
    assert figures.device_ms == pytest.approx(sum(cost.total_us for cost in costs) / 1e3)
    assert figures.categories["CCL"] == pytest.approx(100 * figures.communication_ms / figures.device_ms)
    model, batch = figures.links
    assert (model.axis, model.links) == ("model", "ring of 4 chips with 2 x 200 Gbit/s")
    assert (batch.axis, batch.links) == ("batch", "line of 2 chips with 2 x 200 Gbit/s")
    assert model.device_us > batch.device_us
    assert model.narrowest in {link.chips for link in load_target(SYSTEM).links}
    assert {line.bound for line in figures.ops if line.category == "CCL"} <= {"LINK", ""}
    assert "communication, predicted" in dict(summary(figures))


def test_rows_have_the_attributes_of_exchanges(recording: Recording, tmp_path: Path) -> None:
    write_all(tmp_path, recording, measure(recording))
    with (tmp_path / "ops_perf_results.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["OP TYPE"] == "tt_dnn_device"]
    assert [row["OP CODE"] for row in rows] == CODES * 5
    assert {row["DEVICE ID"] for row in rows} == {"0"}
    reduce, gather = rows[-2]["ATTRIBUTES"], rows[-1]["ATTRIBUTES"]
    assert "'ring_size': '4'; 'num_links': '2'; 'topology': 'Topology::Ring'" in reduce
    assert "'dim': '0'; 'ring_size': '2'; 'num_links': '2'; 'topology': 'Topology::Linear'" in gather
    assert "ring_size" not in rows[-3]["ATTRIBUTES"]
    sizes = [rows[-2][f"{name}_{side}_PAD[LOGICAL]"] for name in ("INPUT_0", "OUTPUT_0") for side in "YX"]
    assert sizes == [f"{ROWS // 2}[{ROWS // 2}]", f"{COLUMNS}[{COLUMNS}]"] * 2
    assert rows[-2]["INPUT_1_X_PAD[LOGICAL]"] == ""  # Shards of other chips are not shown.
    assert rows[-1]["OUTPUT_0_Y_PAD[LOGICAL]"] == f"{ROWS}[{ROWS}]"


def test_rows_have_the_roofline_of_products_and_of_links(recording: Recording, tmp_path: Path) -> None:
    write_all(tmp_path, recording, measure(recording))
    product, *exchanges = read_table(tmp_path / "ops_perf_results.csv").rows[-3:]
    target, function = load_target(SYSTEM), program().functions[0]
    least = [roofline(step, function.values, target, MESH) for step in function.body]
    assert product.compute_us == pytest.approx(least[0].compute_us, abs=1e-3)
    assert product.bytes_us == pytest.approx(least[0].dram_us, abs=1e-3)
    assert product.roofline_us < product.device_us
    for row, each in zip(exchanges, least[1:], strict=True):
        assert (each.roof, row.bound) == ("links", "dispatch")  # small tensors: the start takes longest
        assert row.roofline_us == pytest.approx(each.link_us, abs=1e-3)


def test_the_last_steady_step_of_a_mesh_is_compared_with_figures_of_its_system(
    recording: Recording, tmp_path: Path
) -> None:
    write_all(tmp_path, recording, measure(recording))
    step = step_of(read_table(tmp_path / "ops_perf_results.csv"), windowed=False)
    assert step.name == steady(find_steps(recording))[-1].name
    assert step.system == SYSTEM
    assert step.device_us == pytest.approx(sum(each.cost.total_us for each in program().functions[0].body), abs=0.01)
    box = replace(step, system="n300-llmbox")
    rates = {each.figure.batch: each.rate for each in compare(box, "resnet-50") if each.rate is not None}
    assert rates == {128: pytest.approx(128e6 / (step.device_us + step.gaps_us))}


def test_the_page_has_a_section_about_exchanges(recording: Recording, tmp_path: Path) -> None:
    write_all(tmp_path, recording, measure(recording))
    page = (tmp_path / "bench.html").read_text()
    assert "Exchanges between chips" in page
    assert "axis 1, ring of 4 chips, 2 channels" in page
    assert "axis 0, line of 2 chips, 2 channels" in page
    record = json.loads((tmp_path / "bench.json").read_text())
    assert [line["axis"] for line in record["links"]] == ["model", "batch"]


@needs_perf_report
def test_tt_perf_report_reads_exchanges(recording: Recording, tmp_path: Path) -> None:
    write_all(tmp_path, recording, measure(recording))
    table = tmp_path / "report.csv"
    main = "from tt_perf_report.perf_report import main; main()"
    flags = ["--start-signpost", "step_steady_5_start", "--no-color", "--no-advice", "--csv", str(table)]
    command = [sys.executable, "-c", main, str(tmp_path / "ops_perf_results.csv"), *flags]
    shown = subprocess.run(command, capture_output=True, text=True)
    assert shown.returncode == 0, shown.stderr
    assert "Unclassified" not in shown.stdout
    with table.open(newline="") as file:
        rows = list(csv.DictReader(file))
    categories = {row["OP Code"].split()[0]: row["Op Category"] for row in rows}
    assert [categories[code] for code in CODES] == ["Compute", "CCL", "CCL"]
    times = {row["OP Code"].split()[0]: float(row["Device Time"]) for row in rows}
    for step, code in zip(program().functions[0].body, CODES, strict=True):
        assert times[code] == pytest.approx(step.cost.total_us, abs=0.01)


@pytest.mark.nightly
def test_an_experiment_on_a_mesh_is_benchmarked(tmp_path: Path) -> None:
    config = Path(__file__).parents[2] / "examples/training/jax_mesh_mlp/config.yaml"
    command = [sys.executable, "-m", "tt_xla", "bench", str(config), "-o", str(tmp_path), "--steps", "1"]
    environment = child_environment({"TTXLA_SYSTEM": SYSTEM, "JAX_PLATFORMS": "tt,cpu"})
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    figures = json.loads((tmp_path / "bench.json").read_text())
    assert figures["system"] == SYSTEM
    assert 0 < figures["communication_ms"] < figures["device_ms"]
    assert {line["axis"] for line in figures["links"]} == {"batch", "model"}


@pytest.mark.parametrize("shape", ["[2, 4]", "[8]", "[1, 8]", "[2, 2, 2]", "null"])
def test_a_configuration_with_a_mesh_of_the_system(shape: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TTXLA_SYSTEM", SYSTEM)
    path = tmp_path / "config.yaml"
    path.write_text(f"script: train.py\nmesh_shape: {shape}\n")
    assert resolve(str(path), ["-v"]) == (str(tmp_path / "train.py"), ["--config", str(path), "-v"])


@pytest.mark.parametrize(
    ("shape", "error", "message"),
    [
        ("[2, 8]", MeshError, "A mesh of 2x8 needs 16 chips; p150x8 has 8 chips"),
        ("[0]", OptionError, r"has mesh_shape \[0\], expected null or the number of chips along each axis"),
        ("eight", OptionError, r'has mesh_shape "eight", expected null'),
        ("[1.5]", OptionError, r"has mesh_shape \[1\.5\], expected null"),
        ("[true]", OptionError, r"has mesh_shape \[true\], expected null"),
    ],
)
def test_a_configuration_with_another_mesh(
    shape: str, error: type[Exception], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TTXLA_SYSTEM", SYSTEM)
    path = tmp_path / "config.yaml"
    path.write_text(f"script: train.py\nmesh_shape: {shape}\n")
    with pytest.raises(error, match=message):
        resolve(str(path), [])
