"""Arguments are written on a second command queue while the last run computes, never into what a run still reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from tests.ttnn_runtime.test_memory import resident_bytes
from tests.ttnn_runtime.test_runtime import loaded
from tt_xla.runtime import lifetimes

if TYPE_CHECKING:
    from tests.ttnn_runtime.conftest import StandIn
    from tt_xla.runtime.ttnn.handles import Handle

SUM = """func.func public @main(%x: tensor<4096x32xf32>) -> tensor<4096x32xf32> {
  %0 = stablehlo.add %x, %x : tensor<4096x32xf32>
  return %0 : tensor<4096x32xf32>
}"""
SUM_AND_VIEW = """func.func public @main(%x: tensor<4096x32xf32>) -> (tensor<4096x32xf32>, tensor<1x4096x32xf32>) {
  %0 = stablehlo.add %x, %x : tensor<4096x32xf32>
  %1 = stablehlo.reshape %x : (tensor<4096x32xf32>) -> tensor<1x4096x32xf32>
  return %0, %1 : tensor<4096x32xf32>, tensor<1x4096x32xf32>
}"""
WEIGHTED = """func.func public @main(%x: tensor<4096x32xf32>,
    %w: tensor<4096x32xf32> {ttcore.argument_type = "parameter"}) -> tensor<4096x32xf32> {
  %0 = stablehlo.add %x, %w : tensor<4096x32xf32>
  return %0 : tensor<4096x32xf32>
}"""


def replayed(lines: list[str]) -> tuple[list[str], int]:
    """Plays calls of two queues that wait for each other only at events.

    Returns:
        Accesses to a tensor that may come before one that they must come after, and the number of writes that may come
        before the last read of another tensor.
    """
    clocks, events = {0: [0, 0], 1: [0, 0]}, dict[str, list[int]]()
    accesses: dict[str, list[tuple[str, int, int]]] = {}
    races, beside = list[str](), 0
    for line in lines:
        kind, *rest = line.split()
        if kind not in {"read", "write", "record", "wait"}:
            continue
        number, queue = rest[0], int(rest[1]) if len(rest) > 1 else 0
        clock = clocks[queue]
        if kind == "record":
            events[number] = [*clock]
        elif kind == "wait":
            clocks[queue] = [max(pair) for pair in zip(clock, events[number], strict=True)]
        else:
            clock[queue] += 1
            earlier = accesses.setdefault(number, [])
            races += [line for other, of, time in earlier if "write" in {kind, other} and clock[of] < time]
            accesses[number] = [*([] if kind == "write" else earlier), (kind, queue, clock[queue])]
            beside += queue == 1 and clock[0] < clocks[0][0]
    return races, beside


def arguments(count: int) -> list[torch.Tensor]:
    return [torch.rand(4096, 32) for _ in range(count)]


def test_the_order_of_two_queues_is_what_is_checked() -> None:
    assert replayed(["write 1 0", "read 1", "write 1 1"]) == (["write 1 1", "write 1 1"], 1)
    assert replayed(["write 1 0", "read 1", "record 5 0", "wait 5 1", "write 1 1"]) == ([], 0)
    assert replayed(["write 1 1", "read 1"]) == (["read 1"], 0)
    assert replayed(["write 1 1", "record 5 1", "wait 5 0", "read 1"]) == ([], 0)


def test_arguments_are_written_while_the_last_run_computes(stand_in: StandIn) -> None:
    program, given = loaded(SUM), arguments(12)
    kept = [program.run_keeping([x], [None])[0] for x in given]
    for x, result in zip(given, kept, strict=True):
        assert torch.equal(result.read(), 2 * x)
    races, beside = replayed(stand_in.log.read_text().splitlines())
    assert not races
    assert beside == 10


def test_mock_mode_accepts_the_calls_of_two_queues(mock_runtime: None) -> None:
    program = loaded(SUM)
    for x in arguments(6):
        (kept,) = program.run_keeping([x], [None])
        assert torch.equal(kept.read(), torch.zeros(4096, 32))


def test_contents_that_outlive_a_run_keep_their_tensor(stand_in: StandIn) -> None:
    program, given = loaded(SUM), arguments(12)
    versions = [lifetimes.new_version() for _ in given]
    kept: list[tuple[torch.Tensor, Handle]] = []
    for x, version in zip(given, versions, strict=True):
        kept += [(x, *program.run_keeping([x], [version]))]
        kept += [(given[0], *program.run_keeping([given[0]], [versions[0]]))]
        if x is not given[0]:
            lifetimes.ended(version)
    for x, result in kept:
        assert torch.equal(result.read(), 2 * x)
    assert not replayed(stand_in.log.read_text().splitlines())[0]


def test_a_result_in_the_memory_of_an_argument_is_copied(stand_in: StandIn) -> None:
    program, given = loaded(SUM_AND_VIEW), arguments(6)
    kept = [program.run_keeping([x], [None])[1] for x in given]
    for x, result in zip(given, kept, strict=True):
        assert torch.equal(result.read(), x[None])


def test_tensors_of_forms_that_are_not_used_any_more_leave_the_device(stand_in: StandIn) -> None:
    """Two tensors of each of 12 sizes would take 800 MB."""
    for rows in range(250_000, 262_000, 1000):
        program = loaded(SUM.replace("4096", str(rows)))
        for number in range(3):
            (kept,) = program.run_keeping([torch.full((rows, 32), float(number))], [None])
        assert bool((kept.read() == 4).all())
        del kept
    pid = program.worker.pid
    assert pid is not None
    assert resident_bytes(pid) < 700 << 20


def test_a_weight_of_another_program_is_no_tensor_that_is_written_again(stand_in: StandIn) -> None:
    first, program, (x, other, last) = loaded(SUM), loaded(WEIGHTED), arguments(3)
    version = lifetimes.new_version()
    (kept,) = first.run_keeping([x], [version])
    first.run_keeping([other], [None])
    sums = [program.run_keeping([kept, x], [None, version])[0] for _ in range(3)]
    lifetimes.ended(version)
    (doubled,) = first.run_keeping([last], [None])
    assert torch.equal(doubled.read(), 2 * last)
    for each in sums:
        assert torch.equal(each.read(), 2 * x + x)
    assert not replayed(stand_in.log.read_text().splitlines())[0]
