"""Programs on the TT-NN runtime: results, tensors that stay on the device, traces, host ops, and recovery."""

from __future__ import annotations

import dataclasses
import gc
import itertools
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch

from tt_xla import callbacks, environment, log
from tt_xla.compiler import compile_module, parse_module
from tt_xla.errors import ExecutionError, OptionError, RuntimeUnavailableError
from tt_xla.ir.program import Program
from tt_xla.options import CompileOptions
from tt_xla.runtime import get_device, lifetimes
from tt_xla.runtime.ttnn import launch
from tt_xla.runtime.ttnn.executable import TTNNExecutable
from tt_xla.runtime.ttnn.process import Worker
from tt_xla.target import load_target

if TYPE_CHECKING:
    from tests.ttnn_runtime.conftest import StandIn

ROOT = Path(__file__).parents[2]

WEIGHTS = '{ttcore.argument_type = "parameter", ttir.name = "fc.weight"}'
MODEL = f"""func.func public @main(%x: tensor<4x32xf32>, %w: tensor<32x32xf32> {WEIGHTS}) -> tensor<4x32xf32> {{
  %e = stablehlo.exponential %w : tensor<32x32xf32>
  %0 = stablehlo.dot_general %x, %e, contracting_dims = [1] x [0]
      : (tensor<4x32xf32>, tensor<32x32xf32>) -> tensor<4x32xf32>
  %1 = stablehlo.tan %0 : tensor<4x32xf32> loc("net.py":5:3)
  return %1 : tensor<4x32xf32>
}}"""


def compiled(text: str = MODEL, **options: object) -> Program:
    return compile_module(parse_module(text, "model.mlir"), CompileOptions.parse(options), load_target("p150"))


def loaded(text: str = MODEL, **options: object) -> TTNNExecutable:
    executable = get_device("p150").load(compiled(text, **options))
    assert isinstance(executable, TTNNExecutable)
    return executable


def inputs(seed: int = 0) -> list[torch.Tensor]:
    torch.manual_seed(seed)
    return [torch.rand(4, 32) / 64, torch.rand(32, 32) / 64]


def check(results: Sequence[torch.Tensor], arguments: Sequence[torch.Tensor]) -> None:
    (result,) = results
    torch.testing.assert_close(result, torch.tan(arguments[0] @ arguments[1].exp()), atol=1e-4, rtol=1e-4)


# What is computed, and what stays ----------------------------------------------------------------------------------


def test_parameters_and_what_is_made_of_them_stay_on_the_device(stand_in: StandIn) -> None:
    executable, (x, w) = loaded(), inputs()
    check(executable.run([x, w], [None, 7]), [x, w])
    first = stand_in.calls()
    assert (first["open_device"], first["exp"], first["matmul"], first["tan"]) == (1, 1, 1, 1)
    check(executable.run([x + 1, w], [None, 7]), [x + 1, w])
    again = stand_in.calls()
    assert (again["open_device"], again["exp"], again["matmul"]) == (0, 0, 1)
    assert executable.counters.const_evals == 1
    changed = w + 0.5
    check(executable.run([x, changed], [None, 8]), [x, changed])
    assert stand_in.calls()["exp"] == 1
    check(executable.run([x, w], [None, None]), [x, w])
    check(executable.run([x, changed], [None, None]), [x, changed])
    assert stand_in.calls()["exp"] == 2


def test_what_was_made_of_contents_that_are_gone_is_made_again(stand_in: StandIn) -> None:
    executable, (x, w) = loaded(), inputs()
    executable.run([x, w], [None, 7])
    lifetimes.ended(7)
    stand_in.calls()
    check(executable.run([x, w + 1], [None, 7]), [x, w + 1])
    assert stand_in.calls()["exp"] == 1


def test_element_types_come_through(stand_in: StandIn) -> None:
    for kind, dtype in (("bf16", torch.bfloat16), ("i32", torch.int32), ("i64", torch.int64), ("f64", torch.float64)):
        text = f"""func.func public @main(%x: tensor<2x3x{kind}>) -> (tensor<2x3x{kind}>, tensor<2x3x{kind}>) {{
          %0 = stablehlo.add %x, %x : tensor<2x3x{kind}>
          return %0, %x : tensor<2x3x{kind}>, tensor<2x3x{kind}>
        }}"""
        x = torch.tensor([[1, -2, 3], [4, 5, -6]]).to(dtype)
        twice, same = loaded(text).run([x], [None])
        assert twice.dtype is same.dtype is dtype
        assert torch.equal(twice, x + x)
        assert torch.equal(same, x)


def test_a_trace_is_recorded_once_and_again_for_other_weights(stand_in: StandIn) -> None:
    executable, (x, w) = loaded(enable_trace=True, optimization_level=1), inputs()
    check(executable.run([x, w], [None, 7]), [x, w])
    first = stand_in.calls()
    assert (first["begin_trace_capture"], first["matmul"]) == (1, 2)
    for number in range(3):
        check(executable.run([x + number, w], [None, 7]), [x + number, w])
    later = stand_in.calls()
    assert (later["begin_trace_capture"], later["execute_trace"], later["matmul"]) == (0, 3, 0)
    check(executable.run([x, w + 1], [None, 8]), [x, w + 1])
    other = stand_in.calls()
    assert (other["release_trace"], other["begin_trace_capture"]) == (1, 1)


def test_two_views_of_one_version_are_two_arguments(stand_in: StandIn) -> None:
    executable, (x, w) = loaded(), inputs()
    both = torch.cat([x, x / 2])
    for part in (both[: len(x)], both[len(x) :]):
        torch.testing.assert_close(executable.run([part, w], [5, 7])[0], torch.tan(part @ w.exp()))


def test_a_trace_takes_a_result_into_its_slot_on_the_device(stand_in: StandIn) -> None:
    executable, (x, w) = loaded(enable_trace=True, optimization_level=1), inputs()
    kept = [*executable.run_keeping([x, w], [None, 7])]
    for _ in range(3):
        kept += executable.run_keeping([kept[-1], w], [None, 7])
    kept[-1].wait()
    calls = stand_in.calls()
    assert (calls["begin_trace_capture"], calls["execute_trace"], calls["from_device"]) == (1, 4, 0)
    given = [x, *(each.read() for each in kept)]
    for before, after in itertools.pairwise(given):
        angles = after.atan() - before @ w.exp()  # a tangent near its pole would enlarge the rounding of its argument
        torch.testing.assert_close((angles / torch.pi).round() * torch.pi, angles, rtol=0, atol=1e-3)
    executable = loaded(enable_trace=True, optimization_level=1)
    (first,) = executable.run_keeping([kept[0], w], [None, 7])  # which records a trace, from the host
    torch.testing.assert_close(first.read(), kept[1].read())


@pytest.fixture
def messages(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Requests to run a program."""
    sent: list[dict[str, Any]] = []
    request = Worker.request

    def recorded(self: Worker, message: dict[str, Any], *rest: Any) -> dict[str, Any]:
        if "do" not in message:
            sent.append(message)
        return request(self, message, *rest)

    monkeypatch.setattr(Worker, "request", recorded)
    return sent


def test_the_device_keeps_room_for_traces(stand_in: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded()
    assert "open_device 0" in stand_in.log.read_text()
    executable = loaded(enable_trace=True, optimization_level=1)
    assert f"open_device {1 << 26}" in stand_in.log.read_text()
    assert executable.worker.generation == 2
    check(executable.run(inputs(), [None, 7]), inputs())


def test_device_time_is_that_of_the_profiler(stand_in: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TTXLA_TTNN_PROFILE", "1")
    executable = loaded()
    executable.run(inputs(), [None, 7])
    executable.run(inputs(), [None, 7])
    assert executable.device_us == 4.0  # matmul and tan
    assert stand_in.calls()["ReadDeviceProfiler"] == 2


def test_programs_that_nobody_has_are_forgotten(stand_in: StandIn, messages: list[dict[str, Any]]) -> None:
    still_loaded, dropped = loaded(), loaded()
    dropped.run(inputs(), [None, 7])
    del dropped
    gc.collect()
    for _ in range(2):
        still_loaded.run(inputs(), [None, 7])
    assert [message.get("forget", []) for message in messages] == [[], [messages[0]["program"]], []]


# The host ----------------------------------------------------------------------------------------------------------

ON_THE_HOST = """func.func public @main(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = stablehlo.add %x, %x : tensor<4x4xf32>
  %1 = "stablehlo.cholesky"(%0) {lower = true} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = stablehlo.multiply %1, %1 : tensor<4x4xf32>
  return %2 : tensor<4x4xf32>
}"""

CALLS_BACK = """func.func public @main(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = stablehlo.add %x, %x : tensor<4x4xf32>
  %1 = stablehlo.custom_call @tt.python_callback(%0) {backend_config = "NAME"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = stablehlo.add %1, %1 : tensor<4x4xf32>
  return %2 : tensor<4x4xf32>
}"""


def test_what_the_chip_has_no_op_for_runs_in_this_process(stand_in: StandIn) -> None:
    x = torch.eye(4) * 3 + 0.25
    (result,) = loaded(ON_THE_HOST).run([x], [None])
    torch.testing.assert_close(result, torch.linalg.cholesky(2 * x) ** 2, atol=1e-3, rtol=1e-3)


def test_what_ttnn_has_no_data_type_for_comes_and_goes_as_it_is(stand_in: StandIn) -> None:
    text = """func.func public @main(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xcomplex<f32>>) {
      %0 = stablehlo.exponential %x : tensor<8xf32>
      %c = stablehlo.convert %0 : (tensor<8xf32>) -> tensor<8xcomplex<f32>>
      %f = stablehlo.fft %c, type = FFT, length = [8] : (tensor<8xcomplex<f32>>) -> tensor<8xcomplex<f32>>
      %i = stablehlo.imag %f : (tensor<8xcomplex<f32>>) -> tensor<8xf32>
      %t = stablehlo.tanh %i : tensor<8xf32>
      return %t, %f : tensor<8xf32>, tensor<8xcomplex<f32>>
    }"""
    x = torch.linspace(-1, 1, 8)
    imaginary, spectrum = loaded(text).run([x], [None])
    torch.testing.assert_close(spectrum, torch.fft.fft(x.exp()), atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(imaginary, torch.fft.fft(x.exp()).imag.tanh(), atol=1e-4, rtol=1e-4)


OF_COMPLEX = f"""func.func public @main(
    %x: tensor<4xcomplex<f32>>, %w: tensor<4xcomplex<f32>> {WEIGHTS}) -> tensor<4xf32> {{
  %0 = stablehlo.multiply %x, %w : tensor<4xcomplex<f32>>
  %1 = stablehlo.real %0 : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  %2 = stablehlo.tan %1 : tensor<4xf32>
  return %2 : tensor<4xf32>
}}"""


def test_complex_arguments_come_as_arrays(stand_in: StandIn) -> None:
    executable, weight = loaded(OF_COMPLEX), torch.randn(4, dtype=torch.complex64) / 4
    for _ in range(3):
        x = torch.randn(4, dtype=torch.complex64) / 4
        (result,) = executable.run([x, weight], [None, 7])
        torch.testing.assert_close(result, (x * weight).real.tan(), atol=1e-4, rtol=1e-4)


def test_a_callback_may_run_programs_and_its_failure_is_the_runs(stand_in: StandIn) -> None:
    inner, kept = loaded(), []

    def function(x: np.ndarray) -> list[np.ndarray]:
        check(inner.run(inputs(), [None, 7]), inputs())
        kept.append(inner.run_keeping(inputs(), [None, 7]))
        if x[0, 0] > 100:
            raise ValueError("too much")
        return [x * 10]

    callback = callbacks.register(function)
    executable = loaded(CALLS_BACK.replace("NAME", callback.name))
    assert torch.equal(executable.run([torch.ones(4, 4)], [None])[0], torch.full((4, 4), 40.0))
    process = executable.worker.pid
    with pytest.raises(ExecutionError, match="too much"):
        executable.run([torch.full((4, 4), 99.0)], [None])
    assert executable.worker.pid == process
    assert torch.equal(executable.run([torch.ones(4, 4)], [None])[0], torch.full((4, 4), 40.0))
    for (handle,) in kept:
        check([handle.read()], inputs())


# Failures ----------------------------------------------------------------------------------------------------------


def test_a_crash_is_an_error_and_the_next_run_has_a_fresh_process(stand_in: StandIn) -> None:
    executable, arguments = loaded(), inputs()
    check(executable.run(arguments, [None, 7]), arguments)
    before = executable.worker.pid
    stand_in.tan.write_text("crash")
    with pytest.raises(ExecutionError, match=r"process ended by SIGSEGV.*The next run starts a new process"):
        executable.run(arguments, [None, 7])
    stand_in.tan.write_text("")
    stand_in.calls()
    check(executable.run(arguments, [None, 7]), arguments)
    assert executable.worker.pid not in (None, before)
    assert stand_in.calls()["exp"] == 1  # the new process has nothing of the old one


def test_a_hang_is_an_error_after_the_time_that_is_given(stand_in: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TTXLA_TTNN_TIMEOUT", "2")
    executable, arguments = loaded(), inputs()
    stand_in.tan.write_text("hang")
    with pytest.raises(ExecutionError, match=r"did not answer within 2 s.*TTXLA_TTNN_TIMEOUT"):
        executable.run(arguments, [None, 7])
    assert executable.worker.pid is None
    stand_in.tan.write_text("")
    check(executable.run(arguments, [None, 7]), arguments)


def test_a_process_that_ended_between_runs_is_replaced(stand_in: StandIn) -> None:
    executable, arguments = loaded(), inputs()
    check(executable.run(arguments, [None, 7]), arguments)
    before = executable.worker.pid
    assert before is not None
    os.kill(before, signal.SIGKILL)
    while executable.worker.pid is not None:
        time.sleep(0.01)
    check(executable.run(arguments, [None, 7]), arguments)
    assert executable.worker.pid not in (None, before)


def test_starting_may_take_longer_than_an_answer(stand_in: StandIn) -> None:
    started = Worker(dataclasses.replace(launch.launch(), timeout_seconds=0.001))
    started.start()
    assert started.hello["arch"] == "blackhole"
    started.close()


def test_a_refusal_names_the_call_and_the_users_line(stand_in: StandIn) -> None:
    executable, arguments = loaded(), inputs()
    process = executable.worker.pid
    stand_in.tan.write_text("refuse")
    with pytest.raises(ExecutionError) as refused:
        executable.run(arguments, [None, 7])
    assert "at fc = ttnn.tan(fc, memory_config=DRAM): The angle is too wide [angle < pi]." in str(refused.value)
    assert refused.value.location == "net.py:5"
    stand_in.tan.write_text("")
    check(executable.run(arguments, [None, 7]), arguments)
    assert executable.worker.pid == process


@pytest.mark.nightly
def test_the_worker_ends_with_this_process_even_while_it_hangs(stand_in: StandIn, tmp_path: Path) -> None:
    stand_in.tan.write_text("hang")
    script = f"""
import sys, os, signal, threading, time
sys.path.insert(0, {str(Path(__file__).parent)!r})
from pathlib import Path
from tt_xla.runtime.ttnn import launch
launch.CARDS = Path("/")
from test_runtime import loaded, inputs
executable = loaded()
print(executable.worker.pid, flush=True)
executable.run(inputs(), [None, 7])
"""
    environment = dict(os.environ) | {"PYTHONPATH": os.pathsep.join([os.environ["PYTHONPATH"], str(ROOT / "src")])}
    with subprocess.Popen(
        [sys.executable, "-c", script], env=environment, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        worker = int(process.stdout.readline())
        while "tan" not in stand_in.log.read_text():
            assert process.poll() is None, "the script ended before the worker hung"
            time.sleep(0.05)
        process.kill()
    for _ in range(200):
        if not Path(f"/proc/{worker}").exists() or "Z" in Path(f"/proc/{worker}/stat").read_text().split()[2]:
            break
        time.sleep(0.1)
    else:
        pytest.fail("the worker outlived its process")


def test_no_device_is_said(stand_in: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STAND_IN_NO_DEVICE", "1")
    with pytest.raises(RuntimeUnavailableError, match=r"TT-NN does not start\..*RuntimeError: no device"):
        loaded()


def test_a_card_of_another_kind_is_refused(stand_in: StandIn) -> None:
    program = compile_module(parse_module(MODEL), CompileOptions.parse(), load_target("n150"))
    with pytest.raises(
        ExecutionError, match=r"compiled for n150, a wormhole_b0; TT-NN runs on a blackhole\. Set TTXLA_SYSTEM"
    ):
        get_device("n150").load(program)


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        (11, ""),
        (
            13,
            "computes on 10x13 cores, and 'main' was compiled for the 10x11 of p150. Set TTXLA_SYSTEM=p150-10x13",
        ),
        (9, "computes on 10x9 cores, and 'main' was compiled for the 10x11 of p150."),
    ],
)
def test_a_card_with_other_cores_is_said(
    columns: int, words: str, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(log.logger(), "handlers", [caplog.handler])
    monkeypatch.setenv("STAND_IN_COLUMNS", str(columns))
    loaded()
    assert words in caplog.text
    assert ("cores" in caplog.text) == bool(words)


# What the environment says -----------------------------------------------------------------------------------------


def test_no_card_is_said(stand_in: StandIn, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(launch, "CARDS", tmp_path / "nothing")
    with pytest.raises(RuntimeUnavailableError, match=r"needs a Tenstorrent card.*ttnn-mock"):
        loaded()


def test_bad_values_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TTXLA_RUNTIME", "ttn")
    with pytest.raises(OptionError, match=r"No such runtime: 'ttn'\. Did you mean 'ttnn'"):
        environment.selected_runtime()
    monkeypatch.setenv("TTXLA_TTNN_TIMEOUT", "soon")
    with pytest.raises(OptionError, match="TTXLA_TTNN_TIMEOUT was given 'soon'"):
        environment.ttnn_timeout_seconds()


def test_the_system_is_that_of_the_card(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert environment.installed_system(tmp_path) is None
    for card, system in (("p150a", "p150"), ("n300 L", "n300")):
        (tmp_path / "tenstorrent!0").mkdir(exist_ok=True)
        (tmp_path / "tenstorrent!0/tt_card_type").write_text(card + "\n")
        assert environment.installed_system(tmp_path) == system
    monkeypatch.delenv("TTXLA_SYSTEM", raising=False)
    monkeypatch.setenv("TTXLA_RUNTIME", "ttnn-mock")
    assert environment.selected_system() == "p150"
    monkeypatch.setenv("TTXLA_SYSTEM", "p100")
    assert environment.selected_system() == "p100"
