"""TT-NN checks programs in mock mode, and the check survives a worker that crashes."""

from __future__ import annotations

import dataclasses
import json
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from benchmarks import accepted_types
from tt_xla.codegen.judge import judge
from tt_xla.codegen.mock import Mock, mock, package_of, ttnn_python
from tt_xla.compiler import compile_module, parse_module
from tt_xla.errors import OptionError, RuntimeUnavailableError
from tt_xla.ir.layout import DataType, TensorLayout
from tt_xla.ir.program import Function, FunctionKind, Instruction, MemoryPlan, Program, TensorSpec
from tt_xla.options import CompileOptions
from tt_xla.target import load_target

PARAMETER = "{ttcore.argument_type = #ttcore.argument_type<parameter>}"

MODEL = f"""
func.func public @main(%x: tensor<64x96xbf16>, %w: tensor<96x32xbf16> {PARAMETER}) -> tensor<64xbf16> {{
  %zero = stablehlo.constant dense<0.0> : tensor<bf16>
  %table = stablehlo.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xbf16>
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
      : (tensor<64x96xbf16>, tensor<96x32xbf16>) -> tensor<64x32xbf16>
  %1 = stablehlo.reshape %0 : (tensor<64x32xbf16>) -> tensor<64x8x4xbf16>
  %2 = stablehlo.broadcast_in_dim %table, dims = [2] : (tensor<4xbf16>) -> tensor<64x8x4xbf16>
  %3 = stablehlo.add %1, %2 : tensor<64x8x4xbf16>
  %4 = stablehlo.tan %3 : tensor<64x8x4xbf16>
  %5 = stablehlo.reduce(%4 init: %zero) applies stablehlo.add across dimensions = [1, 2]
      : (tensor<64x8x4xbf16>, tensor<bf16>) -> tensor<64xbf16>
  return %5 : tensor<64xbf16>
}}
"""


def compiled(**options: Any) -> Program:
    return compile_module(parse_module(MODEL), CompileOptions.parse(options), load_target("p150"))


def tensor(*shape: int, dtype: DataType = DataType.BF16, tiled: bool = True) -> TensorSpec:
    return TensorSpec(shape, TensorLayout.of(shape, dtype, tiled=tiled))


def by_hand(values: tuple[TensorSpec, ...], arguments: int, *body: Instruction) -> Program:
    function = Function("main", FunctionKind.FORWARD, tuple(range(arguments)), (len(values) - 1,), values, body)
    return Program("by_hand", "p150", {}, (), (), (function,), MemoryPlan(), 0.0)


def test_a_model_is_taken_at_every_level_and_with_a_trace(ttnn_mock: Mock) -> None:
    options: list[dict[str, Any]] = [{"optimization_level": level} for level in (0, 1, 2)]
    options.append({"optimization_level": 1, "enable_trace": True, "experimental_weight_dtype": "bfp_bf8"})
    for judgement in judge([compiled(**keywords) for keywords in options], ttnn_mock):
        assert len(judgement.verdicts) > 8
        assert not judgement.refusals, judgement.refusals[0]
        assert judgement.dram_peak_bytes_per_bank > 0
        assert judgement.version.startswith("ttnn ")


DECODER = """
module { func.func @main(
    %x: tensor<1x2048xbf16>,
    %w: tensor<2048x4096xbf16> {ttcore.argument_type = "parameter"},
    %v: tensor<4096x2048xbf16> {ttcore.argument_type = "parameter"},
    %bias: tensor<2048xbf16> {ttcore.argument_type = "parameter"}
) -> tensor<1x2048xbf16> {
  %0 = stablehlo.tanh %x : tensor<1x2048xbf16>
  %1 = stablehlo.dot_general %0, %w, contracting_dims = [1] x [0]
      : (tensor<1x2048xbf16>, tensor<2048x4096xbf16>) -> tensor<1x4096xbf16>
  %2 = stablehlo.logistic %1 : tensor<1x4096xbf16>
  %3 = stablehlo.dot_general %2, %v, contracting_dims = [1] x [0]
      : (tensor<1x4096xbf16>, tensor<4096x2048xbf16>) -> tensor<1x2048xbf16>
  %4 = stablehlo.broadcast_in_dim %bias, dims = [1] : (tensor<2048xbf16>) -> tensor<1x2048xbf16>
  %5 = stablehlo.add %3, %4 : tensor<1x2048xbf16>
  %6 = stablehlo.exponential %5 : tensor<1x2048xbf16>
  return %6 : tensor<1x2048xbf16>
}}
"""


def test_weights_cut_over_the_banks_of_dram_are_taken(ttnn_mock: Mock) -> None:
    """The target has faster DRAM banks than a p150, so that the search chooses this layout where few cores can compute.

    TT-NN itself chooses the cores for the result of such a product, and the mock device has more cores than a p150.
    """
    target = dataclasses.replace(load_target("p150"), dram_sharded_bytes_per_second=1e12)
    formats = {"experimental_weight_dtype": "bfp_bf8", "math_fidelity": "lofi"}
    program = compile_module(parse_module(DECODER), CompileOptions.parse({"optimization_level": 2} | formats), target)
    configs = [
        step.attributes["matmul_program_config"]["config"]
        for function in program.functions
        for step in function.body
        if step.attributes.get("matmul_program_config")
    ]
    assert "dram_sharded" in configs
    [judgement] = judge([program], ttnn_mock)
    assert not any(verdict.refused for verdict in judgement.verdicts)


def test_a_refusal_has_ttnns_words_and_does_not_hide_the_next(ttnn_mock: Mock) -> None:
    """TT-NN refuses the sign of integers, and a product of matrices whose sizes do not match."""
    values = (tensor(4, 6, dtype=DataType.SI32), tensor(4, 6), *(tensor(4, 6, dtype=DataType.SI32), tensor(4, 4)))
    flags = {"transpose_a": False, "transpose_b": False}
    sign = Instruction("ttnn.sign", {"input": 0}, (2,), {}, "model.py:7")
    product = Instruction("ttnn.matmul", {"a": 1, "b": 1}, (3,), flags, "model.py:8")
    [judgement] = judge([by_hand(values, 2, sign, product)], ttnn_mock)
    first, second = judgement.refusals
    assert first.refused.startswith("Unary: UnaryOpType::SIGN does not support integer input dtype DataType::INT32")
    assert first.inputs == (values[0],)
    assert first.instruction.location == "model.py:7"
    assert "width of the first tensor must be equal to the height of the second" in second.refused
    assert "backtrace" not in first.refused + second.refused


def test_a_result_that_is_not_as_the_program_says(ttnn_mock: Mock) -> None:
    values = (tensor(5, 6), tensor(5, 6, dtype=DataType.F32), tensor(5, 6, dtype=DataType.F32))
    body = (Instruction("ttnn.abs", {"input": 0}, (1,), {}), Instruction("ttnn.exp", {"input": 1}, (2,), {}))
    [judgement] = judge([by_hand(values, 1, *body)], ttnn_mock)
    [refusal] = judgement.refusals
    assert not refusal.refused
    assert refusal.differs == (
        "data type is DataType.BFLOAT16, the Program says DataType.FLOAT32; bytes is 2048, the Program says 4096",
    )


def test_a_tensor_that_does_not_fit_is_refused(ttnn_mock: Mock) -> None:
    """The next op is refused too, because its operand cannot be created; the op after that is checked."""
    values = (tensor(32, 131072), *[tensor(131072, 131072)] * 2, tensor(32, 131072))
    body = (
        Instruction("ttnn.repeat", {"input": 0}, (1,), {"repeat_dims": [4096, 1]}),
        Instruction("ttnn.abs", {"input": 1}, (2,), {}),
        Instruction("ttnn.abs", {"input": 0}, (3,), {}),
    )
    [judgement] = judge([by_hand(values, 1, *body)], ttnn_mock)
    assert [verdict.accepted for verdict in judgement.verdicts] == [False, False, True]
    assert all("Out of Memory" in refusal.refused for refusal in judgement.refusals)


def test_what_the_host_runs_is_not_judged(ttnn_mock: Mock) -> None:
    """TT-NN has no complex values; ops of the device that read results of host ops are checked."""
    module = """
    func.func public @main(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
      %0 = stablehlo.complex %x, %x : tensor<4x6xcomplex<f32>>
      %1 = stablehlo.fft %0, type = FFT, length = [6] : (tensor<4x6xcomplex<f32>>) -> tensor<4x6xcomplex<f32>>
      %2 = stablehlo.real %1 : (tensor<4x6xcomplex<f32>>) -> tensor<4x6xf32>
      %3 = stablehlo.floor %2 : tensor<4x6xf32>
      return %3 : tensor<4x6xf32>
    }
    """
    program = compile_module(parse_module(module), CompileOptions.parse({}), load_target("p150"))
    assert program.host_ops
    [judgement] = judge([program], ttnn_mock)
    assert not judgement.refusals
    assert "ttnn.floor" in [verdict.instruction.op for verdict in judgement.verdicts]


def test_accepted_types_are_what_ttnn_says(ttnn_mock: Mock) -> None:
    assert accepted_types.probe(ttnn_mock.python) == accepted_types.FILE.read_text()


def test_the_command_compares_the_file_with_the_answers_of_an_interpreter(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = {Path(sys.executable): accepted_types.FILE.read_text()}
    monkeypatch.setattr(accepted_types, "probe", answers.__getitem__)
    command = ["--check", "--ttnn-python", sys.executable]
    assert CliRunner().invoke(accepted_types.main, command).exit_code == 0
    answers[Path(sys.executable)] += " "
    refused = CliRunner().invoke(accepted_types.main, command)
    assert refused.exit_code == 1
    assert "differs from TT-NN's answers" in refused.output


DYING_WORKER = """
import json, os, sys
job, report, program, step = json.load(open(sys.argv[1])), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
with open(report, "a") as out:
    say = lambda **fields: print(json.dumps(fields), file=out, flush=True)
    say(grid=[10, 11], ttnn="ttnn none")
    for p in range(program, len(job["programs"])):
        for s in range(step if p == program else 0, len(job["programs"][p]["steps"])):
            say(program=p, step=s)
            if "ttnn.tan" in job["programs"][p]["steps"][s]["source"]:
                os._exit(7)
            say(program=p, step=s, differs=[], used={"dram": 64, "l1": s})
    say(done=True)
"""


def test_a_crash_is_charged_to_its_step_and_the_rest_is_judged(tmp_path: Path) -> None:
    script = tmp_path / "worker.py"
    script.write_text(DYING_WORKER)
    judgements = judge([compiled(), compiled(optimization_level=2)], Mock(Path(sys.executable), {}, script))
    for judgement in judgements:
        [refusal] = judgement.refusals
        assert refusal.instruction.op == "ttnn.tan"
        assert refusal.refused == "TT-NN crashed with status 7"
        assert judgement.verdicts[-1].accepted
    assert judgements[0].dram_peak_bytes_per_bank == 64


def test_a_worker_that_does_not_start(tmp_path: Path) -> None:
    script = tmp_path / "worker.py"
    script.write_text("raise SystemExit('no device')")
    with pytest.raises(RuntimeUnavailableError, match="TT-NN stopped with status 1: no device"):
        judge([compiled()], Mock(Path(sys.executable), {}, script))


ACCEPTING_WORKER = """
import json, pathlib, sys

job = pathlib.Path(sys.argv[1]).read_text()
pathlib.Path(__file__).with_name("job.json").write_text(job)
lines = [
    {"program": p, "step": s, "differs": []}
    for p, program in enumerate(json.loads(job)["programs"])
    for s, _ in enumerate(program["steps"])
]
lines = [{"ttnn": "ttnn 0.0"}, *lines, {"done": True}]
pathlib.Path(sys.argv[2]).write_text("".join(json.dumps(line) + "\\n" for line in lines))
"""


def test_every_function_of_a_program_is_laid_out(tmp_path: Path) -> None:
    """A const-eval function is laid out where it is called; a traced function is laid out once and fills the slots."""
    program = compiled(optimization_level=1, enable_trace=True)
    entry = program.functions[0]
    free = Instruction("ttnn.deallocate", {"input": entry.results[0]}, (), {"force": False})
    entry = msgspec.structs.replace(entry, body=(*entry.body, free))
    program = msgspec.structs.replace(program, functions=(entry, *program.functions[1:]))
    script = tmp_path / "worker.py"
    script.write_text(ACCEPTING_WORKER)
    [judgement] = judge([program], Mock(Path(sys.executable), {}, script))
    [job] = json.loads((tmp_path / "job.json").read_text())["programs"]
    done = [verdict.instruction.op for verdict in judgement.verdicts]
    traced = next(function for function in program.functions if function.kind is FunctionKind.TRACE)
    start = done.index("ttnn.write_tensor") + 1
    assert done[start : start + len(traced.body)] == [instruction.op for instruction in traced.body]
    assert done.count("ttnn.tan") == 1
    assert done.count("ttnn.empty") == 2
    assert "ttnn.constant" in done
    assert "ttnn.execute_trace" not in done
    slots = [step["results"][0] for op, step in zip(done, job["steps"], strict=True) if op == "ttnn.empty"]
    assert job["values"][slots[-1]]["shape"] == [64]
    assert judgement.verdicts[done.index("ttnn.copy")].source.endswith(f", v[{slots[-1]}])")
    assert judgement.verdicts[-1].source == f"ttnn.deallocate(v[{slots[-1]}], False)"


def test_an_interpreter_is_asked_once_whether_it_has_ttnn(tmp_path: Path) -> None:
    log, without = tmp_path / "log", tmp_path / "python"
    without.write_text(f"#!/bin/sh\necho asked >> {log}\nexit 1\n")
    without.chmod(0o755)
    assert [package_of(without), package_of(without)] == [None, None]
    assert log.read_text() == "asked\n"


def test_without_an_interpreter_the_way_to_one_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TTXLA_TTNN_PYTHON", raising=False)
    with pytest.raises(RuntimeUnavailableError, match="set TTXLA_TTNN_PYTHON"):
        ttnn_python()
    with pytest.raises(RuntimeUnavailableError, match="'/no/such/python' is not an executable program"):
        ttnn_python("/no/such/python")
    with pytest.raises(RuntimeUnavailableError, match="has no ttnn"):
        mock(Path(sys.executable), "p150")
    with pytest.raises(OptionError, match="does not support n150, only p150"):
        mock(Path(sys.executable), "n150")


def test_rows_that_become_vectors_are_taken_at_level_2(ttnn_mock: Mock) -> None:
    """TT-NN does not accept a row of 90 elements in shards of 32 as a vector of 90 elements."""
    text = """func.func public @main(%x: tensor<1x90xf32>, %y: tensor<1x90xf32>, %z: tensor<90xf32>) -> tensor<90xf32> {
      %0 = stablehlo.add %x, %y : tensor<1x90xf32>
      %1 = stablehlo.exponential %0 : tensor<1x90xf32>
      %2 = stablehlo.multiply %1, %0 : tensor<1x90xf32>
      %3 = stablehlo.reshape %2 : (tensor<1x90xf32>) -> tensor<90xf32>
      %4 = stablehlo.add %3, %z : tensor<90xf32>
      %5 = stablehlo.multiply %4, %3 : tensor<90xf32>
      return %5 : tensor<90xf32>
    }"""
    options = CompileOptions.parse({"optimization_level": 2})
    program = compile_module(parse_module(text), options, load_target("p150"))
    assert "ttnn.reshape" in [step.op for step in program.functions[0].body]
    (judged,) = judge([program], ttnn_mock)
    assert not judged.refusals
