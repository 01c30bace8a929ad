"""Runs whose results stay on the card return at once: their order, their errors, and memory that they still read."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
import torch

from tests.ttnn_runtime.conftest import watch_requests
from tests.ttnn_runtime.test_runtime import check, inputs, loaded
from tt_xla.errors import ExecutionError
from tt_xla.runtime.ttnn import launch

if TYPE_CHECKING:
    from tests.ttnn_runtime.conftest import StandIn
    from tt_xla.runtime.ttnn.executable import TTNNExecutable

CHAIN = """func.func public @main(%x: tensor<4x32xf32>) -> tensor<4x32xf32> {
  %0 = stablehlo.tan %x : tensor<4x32xf32> loc("chain.py":7:3)
  return %0 : tensor<4x32xf32>
}"""


def loaded_chain() -> TTNNExecutable:
    """Returns a program that the worker has."""
    chain = loaded(CHAIN)
    chain.run([torch.zeros(4, 32)], [None])
    return chain


@contextlib.contextmanager
def stopped(executable: TTNNExecutable) -> Iterator[None]:
    """Stops the worker's process within a block, so that nothing is computed."""
    pid = executable.worker.pid
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def test_a_run_returns_before_it_is_computed(stand_in: StandIn) -> None:
    executable, (x, w) = loaded(), inputs()
    executable.run([x, w], [None, 7])
    chain = loaded_chain()
    with stopped(executable):
        (kept,) = executable.run_keeping([x, w], [None, 7])
        (again,) = chain.run_keeping([kept], [None])
    first = torch.tan(x @ w.exp())
    torch.testing.assert_close(again.read(), torch.tan(first), atol=1e-4, rtol=1e-4)
    check([kept.read()], [x, w])


def test_inputs_of_runs_that_wait_are_not_overwritten(stand_in: StandIn) -> None:
    executable, (x, w) = loaded(), inputs()
    executable.run([x, w], [None, 7])
    with stopped(executable):
        kept = [
            (x + number / 100_000, *executable.run_keeping([x + number / 100_000, w], [None, 7]))
            for number in range(20)
        ]
    for own, result in kept:
        check([result.read()], [own, w])


def test_more_runs_than_may_wait(stand_in: StandIn) -> None:
    executable, (x, w) = loaded(), inputs()
    kept = [
        (x + number / 100_000, *executable.run_keeping([x + number / 100_000, w], [None, 7])) for number in range(200)
    ]
    for own, result in kept:
        check([result.read()], [own, w])


def test_results_that_nobody_has_when_they_are_computed_leave_the_card(stand_in: StandIn) -> None:
    executable, (x, w) = loaded(), inputs()
    executable.run([x, w], [None, 7])
    with stopped(executable):
        for _ in range(3):
            executable.run_keeping([x, w], [None, 7])
        gc.collect()
    (kept,) = executable.run_keeping([x, w], [None, 7])
    check([kept.read()], [x, w])


def test_an_error_arrives_where_a_result_is_read_with_the_line_of_the_op(stand_in: StandIn) -> None:
    executable, (x, w) = loaded(), inputs()
    chain = loaded_chain()
    stand_in.tan.write_text("refuse")
    (failed,) = executable.run_keeping([x, w], [None, 7])
    (after,) = chain.run_keeping([failed], [None])
    (last,) = chain.run_keeping([after], [None])
    for each in (last, failed, after, last):
        with pytest.raises(ExecutionError, match="The angle is too wide") as raised:
            each.read()
        assert raised.value.location == "net.py:5"
    stand_in.tan.write_text("")
    (kept,) = executable.run_keeping([x, w], [None, 7])
    (again,) = chain.run_keeping([kept], [None])
    check([kept.read()], [x, w])
    torch.testing.assert_close(again.read(), kept.read().tan(), atol=1e-4, rtol=1e-4)


def test_an_error_reaches_what_was_computed_from_a_result_that_nobody_has_any_more(stand_in: StandIn) -> None:
    chain = loaded_chain()
    stand_in.tan.write_text("refuse once")
    with stopped(chain):
        (kept,) = chain.run_keeping([torch.zeros(4, 32)], [None])
        (kept,) = chain.run_keeping([kept], [None])
        (kept,) = chain.run_keeping([kept], [None])
    with pytest.raises(ExecutionError, match=r"The angle is too wide(.|\n)*chain\.py:7"):
        kept.read()


def test_an_argument_that_nobody_has_any_more_leaves_the_card_with_the_next_run(
    stand_in: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker is told before it has answered the run that reads the argument."""
    dropped: list[int] = []
    watch_requests(monkeypatch, lambda message, arrays: dropped.extend(message.get("dropped", ())))
    chain = loaded_chain()
    with stopped(chain):
        (kept,) = chain.run_keeping([torch.zeros(4, 32)], [None])
        number = kept.number
        (kept,) = chain.run_keeping([kept], [None])
        (kept,) = chain.run_keeping([kept], [None])
        assert dropped == [number]
    assert torch.equal(kept.read(), torch.zeros(4, 32))


def test_a_run_after_a_failed_one_reads_its_own_weights(stand_in: StandIn) -> None:
    executable, (x, w) = loaded(), inputs()
    executable.run([x, w], [None, 7])
    stand_in.tan.write_text("refuse")
    with stopped(executable):
        (failed,) = executable.run_keeping([x, w + 1], [None, 8])
        (also_failed,) = executable.run_keeping([x + 1, w + 1], [None, 8])
    for each in (failed, also_failed):
        with pytest.raises(ExecutionError, match="The angle is too wide"):
            each.wait()
    stand_in.tan.write_text("")
    (kept,) = executable.run_keeping([x, w + 1], [None, 8])
    check([kept.read()], [x, w + 1])


def test_const_evals_that_a_failed_run_has_not_computed_are_computed_by_the_next(stand_in: StandIn) -> None:
    executable, (x, w) = loaded(), inputs()
    executable.run([x, w], [None, 7])
    chain = loaded_chain()
    stand_in.tan.write_text("refuse once")
    with stopped(executable):
        (failed,) = chain.run_keeping([x], [None])
        (lacking,) = executable.run_keeping([failed, w + 1], [None, 8])
        (kept,) = executable.run_keeping([x, w + 1], [None, 8])
    check([kept.read()], [x, w + 1])
    with pytest.raises(ExecutionError, match="The angle is too wide"):
        lacking.read()


def test_a_crash_ends_the_runs_that_wait_with_its_cause(stand_in: StandIn) -> None:
    executable, (x, w) = loaded(), inputs()
    executable.run([x, w], [None, 7])
    chain = loaded_chain()
    stand_in.tan.write_text("crash")
    with stopped(executable):
        (kept,) = executable.run_keeping([x, w], [None, 7])
        (after,) = chain.run_keeping([kept], [None])
    with pytest.raises(ExecutionError, match="TT-NN's process ended by SIGSEGV"):
        launch.wait()
    stand_in.tan.write_text("")
    for each in (kept, after):
        with pytest.raises(ExecutionError, match="TT-NN's process ended by SIGSEGV"):
            each.read()
    check(executable.run([x, w], [None, 7]), [x, w])


def test_a_hang_is_an_error_where_a_result_is_read(stand_in: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TTXLA_TTNN_TIMEOUT", "0.5")
    executable, (x, w) = loaded(), inputs()
    executable.run([x, w], [None, 7])
    stand_in.tan.write_text("hang")
    (kept,) = executable.run_keeping([x, w], [None, 7])
    with pytest.raises(ExecutionError, match=r"did not answer within 0\.5 s"):
        kept.read()
