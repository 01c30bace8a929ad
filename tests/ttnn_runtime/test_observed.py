"""What watches programs sees those that run on TT-NN as it sees those of the emulated card."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import click
import numpy as np
import pytest
import torch
from click.testing import CliRunner

from tt_xla.compiler import compile_module, parse_module
from tt_xla.environment import runtime_for_now
from tt_xla.options import CompileOptions
from tt_xla.profiling.bench import measure
from tt_xla.profiling.bench_files import summary
from tt_xla.profiling.device_time import kernels
from tt_xla.profiling.observing import recorded
from tt_xla.runtime import get_device, status
from tt_xla.target import load_target
from tt_xla.tools.compare_command import compare_command

if TYPE_CHECKING:
    from tests.ttnn_runtime.conftest import Crossing
    from tt_xla.profiling.recording import Recording

pytestmark = pytest.mark.usefixtures("emulated_ttnn")


LOOP = """func.func public @main(%x: tensor<32x32xf32>) -> tensor<32x32xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %three = stablehlo.constant dense<3> : tensor<i32>
  %0:2 = stablehlo.while(%i = %zero, %y = %x) : tensor<i32>, tensor<32x32xf32>
  cond {
    %c = stablehlo.compare LT, %i, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %n = stablehlo.add %i, %one : tensor<i32>
    %t = stablehlo.tanh %y : tensor<32x32xf32>
    stablehlo.return %n, %t : tensor<i32>, tensor<32x32xf32>
  }
  %1 = stablehlo.cholesky %0#1, lower = true : tensor<32x32xf32>
  return %1 : tensor<32x32xf32>
}"""
"""A loop, and an op that the host computes."""


TANH = """func.func public @main(%x: tensor<32x32xf32>) -> tensor<32x32xf32> {
  %0 = stablehlo.tanh %x : tensor<32x32xf32>
  return %0 : tensor<32x32xf32>
}"""


class Steps:
    """Calls and training steps of a PyTorch model."""

    def __init__(self) -> None:
        torch.manual_seed(0)
        self._net = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.GELU(), torch.nn.Linear(64, 8)).to("tt")
        self._run = torch.compile(self._net, backend="tt", dynamic=False)
        self._update = torch.optim.SGD(self._net.parameters(), lr=0.01)
        self._x = torch.rand(32, 32)

    def infer(self) -> torch.Tensor:
        with torch.no_grad():
            return self._run(self._x.to("tt")).cpu()

    def train(self) -> float:
        loss = self._run(self._x.to("tt")).square().mean()
        loss.backward()
        self._update.step()
        self._update.zero_grad()
        return loss.item()


def record() -> Recording:
    """Records calls of the model and of the loop."""
    with recorded(keep_results=True, keep_arguments=True) as recording:
        steps = Steps()
        for _ in range(4):
            steps.infer()
        program = compile_module(parse_module(LOOP), CompileOptions(), load_target("p150"))
        executable = get_device("p150").load(program)
        for _ in range(3):
            executable.run([torch.eye(32) + 0.01], [None])
    return recording


def test_a_recording_has_the_ops_and_predicted_times_of_the_emulated_card() -> None:
    on_card = record()
    torch._dynamo.reset()
    with runtime_for_now("emulated"):
        emulated = record()
    counts = [Counter(kernel.op.instruction.op for kernel in kernels(each)) for each in (on_card, emulated)]
    assert counts[0] == counts[1]
    assert counts[0].total() > 20
    assert [run.state for run in on_card.runs] == [run.state for run in emulated.runs]
    times = [sum(kernel.duration_ns for kernel in kernels(each) if kernel.on_device) for each in (on_card, emulated)]
    assert times[0] == pytest.approx(times[1])
    on_host = [kernel for kernel in kernels(on_card) if not kernel.on_device]
    factors = [kernel for kernel in on_host if "host" in kernel.op.instruction.op]
    assert [kernel.host_end > kernel.host_start for kernel in factors] == [True] * 3
    assert on_card.waits
    assert not emulated.waits
    for kept in ("arguments", "results"):
        found, expected = getattr(on_card, kept), getattr(emulated, kept)
        assert found.keys() == expected.keys()
        for number in expected:
            for ours, theirs in zip(found[number], expected[number], strict=True):
                torch.testing.assert_close(ours, theirs, atol=2e-2, rtol=2e-2, equal_nan=True)


def test_later_runs_of_a_program_with_a_trace_replay_it() -> None:
    with recorded() as recording:
        options = CompileOptions.parse({"enable_trace": True})
        program = compile_module(parse_module(TANH), options, load_target("p150"))
        executable = get_device("p150").load(program)
        for _ in range(3):
            executable.run([torch.rand(32, 32)], [None])
    assert [run.state for run in recording.runs] == ["cold", "captured", "captured"]
    assert [recording.is_first(run) for run in recording.runs] == [True, False, False]
    assert {kernel.replayed for kernel in kernels(recording) if kernel.run} == {True}


def test_a_benchmark_does_not_count_waiting_as_the_hosts_work() -> None:
    figures = measure(record_training())
    assert figures.runtime == "ttnn"
    assert dict(summary(figures))["measured here, on TT-NN"].startswith(f"{figures.measured_ms.median:.3f} ms")
    assert 0 < figures.host_ms < figures.measured_ms.median
    assert figures.steps >= 2


def record_training() -> Recording:
    with recorded() as recording:
        steps = Steps()
        for _ in range(6):
            steps.train()
    return recording


def test_an_observed_program_leaves_its_results_on_the_card(crossing: Crossing) -> None:
    with recorded():
        steps = Steps()
        for _ in range(4):
            steps.train()
        crossing.take()
        steps.train()
        sent, received = crossing.take()
    assert received == 4
    assert sent <= 32 * 32 * 4 + 64


def test_cards_in_use_and_a_reset() -> None:
    value = torch.compile(torch.tanh, backend="tt")
    x = torch.rand(32, 32)
    first = value(x.to("tt")).cpu()
    device = get_device("p150")
    device.reporter.write()
    (own,) = [each for each in status.read_all() if each.system == "p150" and each.pid == device.reporter.status.pid]
    assert (own.runtime, own.programs > 0, own.runs > 0) == ("ttnn", True, True)
    device.reset()
    assert torch.equal(value(x.to("tt")).cpu(), first)


def test_comparing_by_instruction_needs_the_emulated_card(tmp_path: Path) -> None:
    module = tmp_path / "module.mlir"
    module.write_text(LOOP)
    result = CliRunner().invoke(compare_command, [str(module), "--by", "instruction"])
    assert result.exit_code == click.UsageError.exit_code
    assert "TTXLA_RUNTIME=ttnn leaves them on another" in result.output
    np.savez(tmp_path / "inputs.npz", np.eye(32, dtype=np.float32) + 0.01)
    by_op = CliRunner().invoke(compare_command, [str(module), "--inputs", str(tmp_path / "inputs.npz")])
    assert by_op.exit_code == 0, by_op.output
    assert "stablehlo.cholesky" in by_op.output
