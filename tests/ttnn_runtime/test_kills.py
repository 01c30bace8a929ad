"""The worker's process is killed at random moments: results are right or errors, and no process is left."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import torch

from tests.ttnn_runtime.test_handles import CACHE
from tests.ttnn_runtime.test_runtime import inputs, loaded
from tt_xla.errors import ExecutionError
from tt_xla.runtime.ttnn import launch

if TYPE_CHECKING:
    from tests.ttnn_runtime.conftest import StandIn

STEP = """func.func public @main(%x: tensor<4x32xf32>) -> (tensor<4x32xf32>, tensor<4x32xf32>) {
  %0 = stablehlo.tanh %x : tensor<4x32xf32>
  %1 = stablehlo.add %0, %0 : tensor<4x32xf32>
  return %0, %1 : tensor<4x32xf32>, tensor<4x32xf32>
}"""


KILLS_WITHIN_SECONDS = 0.12
"""Time in which a kill comes; the runs of a round, and reading their results, take about half of it."""


def children() -> set[int]:
    """Returns the ids of the processes that this process has started and that have not ended."""
    tasks = Path("/proc/self/task").glob("*/children")
    return {int(number) for task in tasks for number in task.read_text().split()}


def kill_at_random_moments(count: int) -> tuple[int, int]:
    """Runs programs whose results stay on the card while the worker is killed.

    Returns:
        Numbers of results that were right, and of those that were lost.
    """
    draw, before = random.Random(0), children()
    model, step, update = loaded(), loaded(STEP), loaded(CACHE)
    (x, w), right, lost = inputs(), 0, 0
    new = torch.rand(1, 2, 32, 32)
    for _ in range(count):
        cache = torch.zeros(1, 2, 64, 32)
        for program, given in ((model, [x, w]), (step, [x.new_zeros(4, 32)]), (update, [cache, new])):
            program.run(given, [None] * len(given))  # a new process loads the programs
        pid = model.worker.pid
        assert pid is not None
        killer = threading.Timer(draw.random() * KILLS_WITHIN_SECONDS, os.kill, (pid, signal.SIGKILL))
        killer.start()
        pairs: list[tuple[object, torch.Tensor]] = []
        expected = torch.tan(x @ w.exp())
        with contextlib.suppress(ExecutionError):
            (kept,) = model.run_keeping([x, w], [None, 7])
            (keys,) = update.run_keeping([cache, new], [None, None])
            for _ in range(40):
                kept, doubled = step.run_keeping([kept], [None])
                expected = expected.tanh()
                pairs.append((doubled, 2 * expected))
                (keys,) = update.run_keeping([keys, new], [None, None], {0})
            cache[:, :, :32] = new.tanh()
            pairs.append((keys, cache))
        for handle, wanted in pairs:
            try:
                result = handle.read()  # type: ignore[attr-defined]
            except ExecutionError:
                lost += 1
            else:
                torch.testing.assert_close(result, wanted, atol=1e-3, rtol=1e-3)
                right += 1
        killer.join()
        while model.worker.pid == pid:
            time.sleep(0.001)
    launch.close_workers()
    assert children() <= before
    return right, lost


def test_a_few_kills(stand_in: StandIn) -> None:
    assert sum(kill_at_random_moments(4)) > 0


@pytest.mark.stress
def test_two_hundred_kills(stand_in: StandIn) -> None:
    right, lost = kill_at_random_moments(200)
    assert right > 0
    assert lost > 0
