"""What programs share on the TT-NN runtime: one worker for all systems and threads, which a forked process leaves."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import torch

from tt_xla.compiler import compile_module, parse_module
from tt_xla.errors import ExecutionError
from tt_xla.options import CompileOptions
from tt_xla.runtime import get_device
from tt_xla.runtime.observation import recorded_runs
from tt_xla.runtime.ttnn import launch
from tt_xla.target import load_target

if TYPE_CHECKING:
    from tests.ttnn_runtime.conftest import StandIn

SUM = """func.func public @main(%x: tensor<4x32xf32>) -> tensor<4x32xf32> {{
  %c = stablehlo.constant dense<{number}.0> : tensor<4x32xf32>
  %0 = stablehlo.add %x, %c : tensor<4x32xf32>
  return %0 : tensor<4x32xf32>
}}"""
WEIGHTED = """func.func public @main(%x: tensor<4x32xf32>, %w: tensor<32x32xf32> {ttcore.argument_type = "parameter"})
    -> tensor<4x32xf32> {
  %e = stablehlo.exponential %w : tensor<32x32xf32>
  %0 = stablehlo.dot_general %x, %e, contracting_dims = [1] x [0]
      : (tensor<4x32xf32>, tensor<32x32xf32>) -> tensor<4x32xf32>
  %1 = stablehlo.tan %0 : tensor<4x32xf32> loc("net.py":5:3)
  return %1 : tensor<4x32xf32>
}"""


def loaded(text: str, system: str = "p150"):
    program = compile_module(parse_module(text, "model.mlir"), CompileOptions.parse({}), load_target(system))
    return get_device(system).load(program)


def test_systems_in_several_threads_get_their_own_results(stand_in: StandIn) -> None:
    executables = [loaded(SUM.format(number=1)), loaded(SUM.format(number=2), "p150-10x13")]
    wrong: list[float] = []

    def run(number: int) -> None:
        for _ in range(15):
            (result,) = executables[number].run([torch.zeros(4, 32)], [None])
            wrong.extend(value for value in result.unique().tolist() if value != number + 1)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_runs_are_observed(stand_in: StandIn) -> None:
    executable = loaded(SUM.format(number=1))
    with recorded_runs() as runs:
        executable.run([torch.zeros(4, 32)], [None])
    assert len(runs) == 1


def test_a_refused_call_does_not_send_weights_again(stand_in: StandIn) -> None:
    executable = loaded(WEIGHTED)
    tensors = [torch.rand(4, 32) / 64, torch.rand(32, 32) / 64]
    executable.run(tensors, [None, 7])
    stand_in.tan.write_text("refuse")
    with pytest.raises(ExecutionError):
        executable.run(tensors, [None, 7])
    stand_in.tan.write_text("")
    stand_in.calls()
    executable.run(tensors, [None, 7])
    calls = stand_in.calls()
    assert calls["exp"] == 0


def test_results_in_inference_mode_come_back(stand_in: StandIn) -> None:
    executable = loaded(SUM.format(number=1))
    with torch.inference_mode():
        (result,) = executable.run([torch.zeros(4, 32)], [None])
    assert result.unique().tolist() == [1.0]


def test_memory_of_large_tensors_is_given_back(stand_in: StandIn) -> None:
    executable = loaded(SUM.format(number=1).replace("4x32", "1024x8192"))
    (result,) = executable.run([torch.zeros(1024, 8192)], [None])
    assert result[0, 0] == 1
    shared = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("RssShmem")]
    assert int(shared[0].split()[1]) < 24 << 10  # kB; the tensors alone have 32 MiB


USER = """
import os, time
from tt_xla.runtime.ttnn import launch
worker = launch.worker()
worker.start()
child = os.fork()
if child:
    print(worker.pid, child, flush=True)
time.sleep(60)
"""


def test_a_worker_ends_with_its_user_though_a_forked_child_lives(stand_in: StandIn) -> None:
    user = subprocess.Popen(
        [sys.executable, "-c", "from pathlib import Path; from tt_xla.runtime.ttnn import launch\n"
         f"launch.CARDS = Path({str(launch.CARDS)!r})\n" + USER],
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert user.stdout is not None
    worker, child = map(int, user.stdout.readline().split())
    user.kill()
    user.wait()
    try:
        for _ in range(100):
            if not _lives(worker):
                break
            time.sleep(0.05)
        assert _lives(child)
        assert not _lives(worker)
    finally:
        os.kill(child, signal.SIGKILL)
        user.stdout.close()


def _lives(process: int) -> bool:
    stat = Path(f"/proc/{process}/stat")
    return stat.exists() and stat.read_text().rpartition(")")[2].split()[0] != "Z"
