"""Results that stay on the card: what crosses between the processes, what is shared, freed, copied and lost."""

from __future__ import annotations

import gc
import os
import signal
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import pytest
import torch

from tests.ttnn_runtime.conftest import watch_requests
from tests.ttnn_runtime.test_runtime import MODEL, check, compiled, inputs, loaded
from tt_xla.errors import ExecutionError
from tt_xla.runtime import get_device, lifetimes
from tt_xla.runtime.observation import recorded_runs
from tt_xla.runtime.ttnn.handles import Handle

if TYPE_CHECKING:
    from tests.ttnn_runtime.conftest import Crossing, StandIn

CACHE = """func.func public @main(%c: tensor<1x2x64x32xf32> {jax.buffer_donor = true}, %n: tensor<1x2x32x32xf32>)
    -> tensor<1x2x64x32xf32> {
  %0 = stablehlo.constant dense<0> : tensor<i32>
  %1 = stablehlo.tanh %n : tensor<1x2x32x32xf32>
  %2 = stablehlo.dynamic_update_slice %c, %1, %0, %0, %0, %0
      : (tensor<1x2x64x32xf32>, tensor<1x2x32x32xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>)
      -> tensor<1x2x64x32xf32>
  return %2 : tensor<1x2x64x32xf32>
}"""


STEP = """func.func public @main(%x: tensor<64x64xbf16>) -> (tensor<64x64xbf16>, tensor<64x64xbf16>) {
  %0 = stablehlo.tanh %x : tensor<64x64xbf16>
  %1 = stablehlo.add %0, %0 : tensor<64x64xbf16>
  return %0, %1 : tensor<64x64xbf16>, tensor<64x64xbf16>
}"""


def test_a_result_goes_into_the_next_run_from_the_card(crossing: Crossing) -> None:
    executable, x = loaded(STEP), torch.rand(64, 64).bfloat16()
    expected, value = x, x
    for _ in range(3):
        value, _ = executable.run_keeping([value], [None])
        expected = torch.tanh(expected)
    assert crossing.take() == (2 * 64 * 64, 0)
    torch.testing.assert_close(value.read(), expected, atol=1e-2, rtol=1e-2)
    assert crossing.take() == (0, 2 * 64 * 64)  # in its own type


def test_another_program_takes_a_result(crossing: Crossing) -> None:
    first, second, x = loaded(STEP), loaded(STEP.replace("add", "multiply")), torch.rand(64, 64).bfloat16()
    tanh, _ = first.run_keeping([x], [None])
    crossing.take()
    assert second.takes(0, tanh)
    _, square = second.run_keeping([tanh], [None])
    assert crossing.take() == (0, 0)
    torch.testing.assert_close(square.read(), x.tanh().tanh() ** 2, atol=2e-2, rtol=2e-2)


def test_arguments_beside_one_that_does_not_fit_are_sent_with_the_next_run(stand_in: StandIn) -> None:
    executable = loaded("""func.func public @main(%x: tensor<4x32xf32>, %n: tensor<4x32xi64>) -> tensor<4x32xf32> {
      %0 = stablehlo.add %x, %x : tensor<4x32xf32>
      return %0 : tensor<4x32xf32>
    }""")
    for version in (1 << 40, (1 << 40) + 1):
        x = torch.rand(4, 32)
        with pytest.raises(ExecutionError, match="does not fit"):
            executable.run_keeping([x, torch.full((4, 32), 1 << 40)], [version, None])
        (kept,) = executable.run_keeping([x, torch.zeros(4, 32, dtype=torch.int64)], [version, None])
        assert torch.equal(kept.read(), 2 * x)


def test_contents_that_end_and_those_that_follow_are_told_apart(stand_in: StandIn) -> None:
    executable, x = loaded(), inputs()[0]
    w = torch.rand(32, 32) / 64
    for _ in range(3):
        version = lifetimes.new_version()
        (kept,) = executable.run_keeping([x, w], [None, version])
        (again,) = executable.run_keeping([x, w], [None, version])
        for each in (kept, again):
            check([each.read()], [x, w])
        lifetimes.ended(version)
        w += 0.1  # the same tensor with other contents


def test_a_result_of_another_type_or_shape_is_not_taken(stand_in: StandIn) -> None:
    kept, _ = loaded(STEP).run_keeping([torch.rand(64, 64).bfloat16()], [None])
    for other in ("64x64xf32", "64x32xbf16"):
        assert not loaded(STEP.replace("64x64xbf16", other)).takes(0, kept)
    with recorded_runs():  # observers want tensors
        assert not loaded(STEP).takes(0, kept)


@pytest.mark.parametrize("donated", [(), (0,)], ids=["kept", "donated"])
def test_an_argument_that_is_written_to_stays_on_the_card(crossing: Crossing, donated: tuple[int, ...]) -> None:
    executable, cache = loaded(CACHE), torch.rand(1, 2, 64, 32)
    expected, kept, sent = cache.clone(), cache, []
    for _ in range(4):
        new = torch.rand(1, 2, 32, 32)
        before = expected.clone()
        expected[:, :, :32] = new.tanh()
        last = kept
        (kept,) = executable.run_keeping([kept, new], [None, None], donated)
        sent.append(crossing.take())
        assert kept.argument == 0
        if not donated:
            torch.testing.assert_close(last.read() if isinstance(last, Handle) else last, before)
            crossing.take()
    size = 4 * expected.numel()
    assert sent == [(size + size // 2, 0), *[(size // 2, 0)] * 3]
    torch.testing.assert_close(kept.read(), expected)


def test_a_donated_result_that_is_passed_twice_is_read_as_it_was(stand_in: StandIn) -> None:
    text = CACHE.replace("%n: tensor<1x2x32x32xf32>)", "%n: tensor<1x2x32x32xf32>, %old: tensor<1x2x64x32xf32>)")
    text = text.replace("-> tensor<1x2x64x32xf32> {", "-> (tensor<1x2x64x32xf32>, tensor<1x2x64x32xf32>) {", 1)
    text = text.replace("  return %2 :", "  %3 = stablehlo.tanh %old : tensor<1x2x64x32xf32>\n  return %2, %3 :")
    text = text.replace("%3 : tensor<1x2x64x32xf32>\n}", "%3 : tensor<1x2x64x32xf32>, tensor<1x2x64x32xf32>\n}")
    (cache,) = loaded(CACHE).run_keeping([torch.rand(1, 2, 64, 32), torch.rand(1, 2, 32, 32)], [None, None])
    before, new = cache.read(), torch.rand(1, 2, 32, 32)
    written, read = loaded(text).run_keeping([cache, new, cache], [None, None, None], (0,))
    torch.testing.assert_close(read.read(), before.tanh())
    torch.testing.assert_close(written.read()[:, :, :32], new.tanh())


def test_a_donated_result_cannot_be_read(stand_in: StandIn) -> None:
    executable = loaded(CACHE)
    (first,) = executable.run_keeping([torch.rand(1, 2, 64, 32), torch.rand(1, 2, 32, 32)], [None, None])
    (second,) = executable.run_keeping([first, torch.rand(1, 2, 32, 32)], [None, None], (0,))
    assert not executable.takes(0, first)
    assert executable.takes(0, second)
    with pytest.raises(ExecutionError, match=r"is gone\. It was donated to a program"):
        first.read()


@pytest.mark.parametrize("prepared", [False, True], ids=["as they are", "prepared"])
def test_programs_share_one_copy_of_their_weights(crossing: Crossing, stand_in: StandIn, prepared: bool) -> None:
    plain = MODEL.replace("%e = stablehlo.exponential %w : tensor<32x32xf32>", "").replace("%e,", "%w,")
    text = MODEL if prepared else plain
    prefill, decode, (x, w) = loaded(text), loaded(text.replace("4x32", "8x32")), inputs()
    prefill.run([x, w], [None, 7])
    assert stand_in.calls()["exp"] == prepared
    crossing.take()
    longer = torch.cat([x, x])
    (result,) = decode.run([longer, w], [None, 7])
    assert crossing.take() == (longer.nbytes, longer.nbytes)
    calls = stand_in.calls()
    assert (calls["to_device"], calls["exp"]) == (1, 0)  # x
    if prepared:
        check([result], [longer, w])
        del prefill
        gc.collect()
        check(decode.run([longer, w + 1], [None, 8]), [longer, w + 1])
        assert stand_in.calls()["exp"] == 1


def test_programs_take_the_same_contents_in_several_forms(crossing: Crossing) -> None:
    """One program computes with the argument in tiles, and one takes it in rows."""
    reshaped = """func.func public @main(%x: tensor<32x32xf32>) -> tensor<1x32x32xf32> {
      %0 = stablehlo.reshape %x : (tensor<32x32xf32>) -> tensor<1x32x32xf32>
      return %0 : tensor<1x32x32xf32>
    }"""
    tanh, reshape, x = loaded(STEP.replace("64x64xbf16", "32x32xf32")), loaded(reshaped), torch.rand(32, 32)
    tanh.run_keeping([x], [7])
    assert torch.equal(reshape.run([x], [7])[0], x[None])
    assert crossing.take() == (x.nbytes, x.nbytes)


def test_contents_that_nobody_has_leave_the_card(stand_in: StandIn, dropped: Callable[[], list[int]]) -> None:
    executable, (x, w) = loaded(), inputs()
    (kept,) = executable.run_keeping([x, w], [None, 7])
    number = kept.number
    assert dropped() == []
    del kept
    gc.collect()
    executable.run([x, w], [None, 7])
    assert dropped() == [number]
    lifetimes.ended(7)
    executable.run([x, w], [None, 8])
    assert len(dropped()) == 1  # the weights


@pytest.fixture
def dropped(monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[int]]:
    """Returns the numbers that the worker was told to drop since the last call."""
    numbers: list[int] = []

    def watch(message: dict[str, Any], arrays: Mapping[str, Any]) -> None:
        numbers.extend(message.get("dropped", ()))

    def take() -> list[int]:
        taken = numbers.copy()
        numbers.clear()
        return taken

    watch_requests(monkeypatch, watch)
    return take


def test_results_of_a_trace_are_not_overwritten_by_the_next_run(stand_in: StandIn) -> None:
    executable, (x, w) = loaded(enable_trace=True, optimization_level=1), inputs()
    runs = [(x + number, executable.run_keeping([x + number, w], [None, 7])[0]) for number in range(3)]
    for argument, kept in runs:
        check([kept.read()], [argument, w])


def test_a_result_that_is_an_argument_has_memory_of_its_own(stand_in: StandIn) -> None:
    same = """func.func public @main(%x: tensor<1x2x64x32xf32>) -> (tensor<1x2x64x32xf32>, tensor<1x2x64x32xf32>) {
      return %x, %x : tensor<1x2x64x32xf32>, tensor<1x2x64x32xf32>
    }"""
    x = torch.rand(1, 2, 64, 32)
    first, second = loaded(same).run_keeping([x], [None])
    loaded(CACHE).run_keeping([first, torch.rand(1, 2, 32, 32)], [None, None], (0,))
    assert torch.equal(second.read(), x)


def test_results_are_lost_with_the_process_and_the_error_says_so(stand_in: StandIn) -> None:
    executable, (x, w) = loaded(), inputs()
    (kept,) = executable.run_keeping([x, w], [None, 7])
    kept.wait()
    pid = executable.worker.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    while executable.worker.pid is not None:
        time.sleep(0.01)
    check(executable.run([x, w], [None, 7]), [x, w])
    with pytest.raises(ExecutionError, match=r"is gone\. TT-NN's process has ended since"):
        kept.read()


def test_results_come_home_before_the_process_is_replaced(stand_in: StandIn) -> None:
    executable, (x, w) = loaded(), inputs()
    (kept,) = executable.run_keeping([x, w], [None, 7])
    traced = get_device("p150").load(compiled(enable_trace=True, optimization_level=1))  # needs a trace region
    assert executable.worker.generation == 2
    check([kept.read()], [x, w])
    (again,) = traced.run([kept.read(), w], [None, 7])
    assert again.shape == x.shape


def test_a_failed_run_leaves_no_results(stand_in: StandIn) -> None:
    executable, (x, w) = loaded(), inputs()
    stand_in.tan.write_text("refuse")
    (failed,) = executable.run_keeping([x, w], [None, 7])
    with pytest.raises(ExecutionError, match="The angle is too wide"):
        failed.read()
    stand_in.tan.write_text("")
    (kept,) = executable.run_keeping([x, w], [None, 7])
    check([kept.read()], [x, w])
