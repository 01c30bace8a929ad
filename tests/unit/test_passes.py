"""Tests of ``tt-xla opt`` and ``tt-xla estimate``, on our modules and on text in tt-mlir's form."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from tt_xla.tools.cli import main

pytestmark = pytest.mark.quick

STABLEHLO = """\
module @linear {
  func.func public @main(%x: tensor<64x128xbf16>, %w: tensor<128x96xbf16> {ttcore.argument_type = "parameter"}, %b: tensor<96xbf16> {ttcore.argument_type = "parameter"}) -> tensor<64x96xbf16> {
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<64x128xbf16>, tensor<128x96xbf16>) -> tensor<64x96xbf16>
    %e = stablehlo.exponential %b : tensor<96xbf16>
    %1 = stablehlo.broadcast_in_dim %e, dims = [1] : (tensor<96xbf16>) -> tensor<64x96xbf16>
    %2 = stablehlo.add %0, %1 : tensor<64x96xbf16>
    return %2 : tensor<64x96xbf16>
  }
}
"""  # noqa: E501

DUMP = """\
#dram = #ttnn.buffer_type<dram>
#system_desc = #ttcore.system_desc<[{role = host, target_triple = "x"}], [{arch = <blackhole>, grid = 10x11}], [0], [1 : i32], [ 0x0x0x0]>
#ttnn_layout = #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <1x1>, memref<32x32x!ttcore.tile<32x32, bf16>, #dram>, <interleaved>>
module @m attributes {ttcore.meshes = #ttcore.meshes<[<"mesh" = 1x1>]>} {
  ttcore.device_module {
    builtin.module @m attributes {ttcore.system_desc = #system_desc} {
      func.func private @main_const_eval_0(%arg0: tensor<1024x1024xbf16, #ttnn_layout>) -> tensor<1024x1024xbf16, #ttnn_layout> attributes {tt.function_type = "const_eval"} {
        %0 = "ttnn.exp"(%arg0) : (tensor<1024x1024xbf16, #ttnn_layout>) -> tensor<1024x1024xbf16, #ttnn_layout> loc(#loc1)
        return %0 : tensor<1024x1024xbf16, #ttnn_layout>
      }
      func.func public @main(%arg0: tensor<1024x1024xbf16, #ttnn_layout>, %arg1: tensor<1024x1024xbf16, #ttnn_layout>) -> tensor<1024x1024xbf16, #ttnn_layout> {
        %0 = ttcore.load_cached(@main_const_eval_0, [%arg1]) : (tensor<1024x1024xbf16, #ttnn_layout>) -> tensor<1024x1024xbf16, #ttnn_layout>
        %1 = "ttnn.matmul"(%arg0, %0) : (tensor<1024x1024xbf16, #ttnn_layout>, tensor<1024x1024xbf16, #ttnn_layout>) -> tensor<1024x1024xbf16, #ttnn_layout>
        %2 = "ttnn.of_the_future"(%1) <{how = 3 : i32}> : (tensor<1024x1024xbf16, #ttnn_layout>) -> tensor<1024x1024xbf16, #ttnn_layout>
        %3 = "ttnn.relu"(%2) : (tensor<1024x1024xbf16, #ttnn_layout>) -> tensor<1024x1024xbf16, #ttnn_layout> loc(#loc1)
        return %3 : tensor<1024x1024xbf16, #ttnn_layout>
      }
    }
  }
}
#loc1 = loc("x.py":1:1)
"""  # noqa: E501


@pytest.fixture
def stablehlo(tmp_path: Path) -> Path:
    path = tmp_path / "linear.mlir"
    path.write_text(STABLEHLO)
    return path


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    path = tmp_path / "dump.mlir"
    path.write_text(DUMP)
    return path


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]):
    def call(*arguments: object, status: int = 0) -> str:
        with pytest.raises(SystemExit) as exit_:
            main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        code = exit_.value.code
        assert (0 if code is None else int(code)) == status, captured.err
        return captured.out if status == 0 else captured.err

    return call


def test_opt_imports_stablehlo(run, stablehlo: Path):
    text = run("opt", stablehlo)
    assert '"ttir.dot_general"' in text
    assert "stablehlo" not in text


def test_opt_runs_passes_one_by_one_and_as_a_pipeline(run, stablehlo: Path, tmp_path: Path):
    lowered = tmp_path / "ttnn.mlir"
    lowered.write_text(run("opt", "--pass", "ttir-fold,ttir-decompose", "--pass", "ttir-to-ttnn", stablehlo))
    assert '"ttnn.matmul"' in lowered.read_text()
    assert "deallocate" not in lowered.read_text()
    assert '"ttnn.deallocate"' in run("opt", "--pass", "ttnn-deallocate", "--verify", lowered)
    assert '"ttnn.linear"' in run("opt", "--pipeline", "all", "--verify", stablehlo)


def test_a_pass_asked_for_by_name_runs_under_any_options(run, stablehlo: Path, tmp_path: Path):
    lowered = tmp_path / "ttnn.mlir"
    lowered.write_text(run("opt", "--pipeline", "all", stablehlo))
    assert "trace" not in lowered.read_text()
    assert "@run_and_capture_trace_0_main" in run("opt", "--pass", "ttnn-hoist-trace", lowered)


def test_opt_reads_standard_input(run, monkeypatch: pytest.MonkeyPatch):
    class Stream:
        buffer = io.BytesIO(STABLEHLO.encode())

    monkeypatch.setattr("sys.stdin", Stream())
    assert '"ttir.add"' in run("opt", "--generic")


def test_opt_works_inside_a_dump(run, dump: Path):
    text = run("opt", "--pass", "ttnn-deallocate", "--unknown-ops", "--locations", dump)
    assert text.count("ttcore.device_module") == 1
    assert '"ttnn.deallocate"' in text
    assert "arch = <blackhole>, grid = 10x11" in text
    assert 'loc("x.py":1:1)' in text


def test_opt_names_what_is_wrong(run, dump: Path, tmp_path: Path):
    assert "ttnn.of_the_future" in run("opt", dump, status=1)
    assert "Similar names are ttir-fold" in run("opt", "--pass", "ttir-fol", "--unknown-ops", dump, status=2)
    broken = tmp_path / "broken.mlir"
    broken.write_text("\nfunc.func @f( {\n")
    assert "broken.mlir' is not a well-formed TTIR or TTNN module: line 2, column 1" in run("opt", broken, status=1)


def test_opt_lists_every_stage_with_its_reason(run):
    from tt_xla.compiler import pipeline

    text = run("opt", "--list")
    for stage in (*pipeline.TTIR_STAGES, *pipeline.TTNN_STAGES):
        assert f"{stage.name} " in text
        assert stage.reason in text


def test_estimate_counts_what_each_call_runs(run, dump: Path):
    estimate = json.loads(run("estimate", "--json", dump))
    ops = {each["op"]: each for each in estimate["ops"]}
    assert estimate["arch"] == "p150"
    assert "ttnn.exp" not in ops
    assert ops["ttcore.load_cached"]["predicted_us"] == 0
    assert ops["ttnn.matmul"]["predicted_us"] > ops["ttnn.relu"]["predicted_us"] > 0
    assert ops["ttnn.of_the_future"]["predicted_us"] > 0
    total = sum(each["predicted_us"] for each in estimate["ops"])
    assert estimate["predicted_device_us"] == pytest.approx(total + estimate["gaps_us"])


@pytest.mark.parametrize("options", [[], ["--option", "enable_trace=true"]])
def test_a_program_and_its_text_cost_the_same(run, stablehlo: Path, tmp_path: Path, options: list[str]):
    record = json.loads(run("compile", "--json", "--level", 2, "--out", tmp_path / "out", *options, stablehlo))
    program = json.loads(run("estimate", "--json", tmp_path / "out" / "linear.ttnn"))
    (dump,) = (tmp_path / "out" / "irs").glob("ttnn_*.mlir")
    text = json.loads(run("estimate", "--json", "--target", "n150", dump))
    assert program["predicted_device_us"] == pytest.approx(record["predicted_device_us"])
    assert text["ops"] == program["ops"]
    assert any(each["op"] == "ttnn.linear" for each in program["ops"])


def test_estimate_tells_gaps_and_rate(run, dump: Path):
    estimate = json.loads(run("estimate", "--json", dump))
    assert 0 < estimate["gaps_us_traced"] < estimate["gaps_us_untraced"]
    assert estimate["calls_per_second"] * estimate["predicted_device_us"] == pytest.approx(1e6)
    assert estimate["bound"] in ("compute", "dram", "noc", "launch")


def test_estimate_for_another_system(run, stablehlo: Path, tmp_path: Path):
    run("compile", "--out", tmp_path / "out", stablehlo)
    here = json.loads(run("estimate", "--json", tmp_path / "out" / "linear.ttnn"))
    there = json.loads(run("estimate", "--json", "--target", "p150", tmp_path / "out" / "linear.ttnn"))
    assert (here["arch"], there["arch"]) == ("n150", "p150")
    assert there["predicted_device_us"] < here["predicted_device_us"]


def test_estimate_shows_a_table(run, dump: Path):
    text = run("estimate", dump)
    assert "predicted device time" in text
    assert "ttnn.of_the_future" in text


def test_estimate_wants_ttnn(run, stablehlo: Path, tmp_path: Path):
    path = tmp_path / "ttir.mlir"
    path.write_text(run("opt", stablehlo))
    assert "a module of TTNN or a compiled program (.ttnn) was expected" in run("estimate", path, status=1)
