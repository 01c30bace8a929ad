"""Profiles and benchmarks of the ranks that torchrun starts, and the clock that they share."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.profiling.test_op_codes import op
from tests.profiling.test_profile import Script, rows_of
from tt_xla.errors import OptionError
from tt_xla.ir.program import Cost
from tt_xla.profiling.profile import TRACE_NAME
from tt_xla.profiling.ranks.commands import torchrun_arguments
from tt_xla.profiling.ranks.launch import run_ranks
from tt_xla.profiling.ranks.profile import profile_ranks
from tt_xla.profiling.ranks.timeline import align
from tt_xla.profiling.recording import Op, Recording, Run
from tt_xla.tools.cli import cli

TRAIN = """
import sys
import torch, torch.distributed as dist, tracy

dist.init_process_group("tt")
rank = dist.get_rank()
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(64, 32).to("tt"))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for number in range(int(sys.argv[1])):
    tracy.signpost(f"step_{number}")
    x = torch.randn(16 if rank else 512, 64).to("tt")
    for _ in range(0 if rank else 5):
        x = x.tanh().cumsum(0)
    model(x).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
    if "crash" in sys.argv and rank == 1 and number == 2:
        raise ValueError("no more data")
"""
LAUNCH = ("--standalone", "--nproc-per-node=2")


def collective(number: int, microseconds: float, group: str = "0") -> Op:
    cost = Cost(total_us=microseconds, link_us=microseconds)
    return op("all_reduce", number=number, cost=cost, process_group=group, ranks=2, chips=(0, 1))


def recording(ops: Sequence[Op], order: Sequence[int]) -> Recording:
    """Returns a recording of one run of ops, given by their numbers."""
    events = [(number, 100 * place, 100 * place + 50) for place, number in enumerate(order)]
    return Recording(started=0, ops=[*ops], events=events, runs=[Run(0, "warm", 0, 10**6, 0, len(events))])


def test_a_collective_begins_when_its_last_rank_comes() -> None:
    ops = [op("add", number=0, cost=Cost(total_us=10.0)), collective(1, 2.0), collective(2, 3.0)]
    timeline = align({0: recording(ops, [0, 0, 1, 1]), 3: recording(ops, [0, 2, 0, 1])})
    first, second = timeline.ranks[0], timeline.ranks[3]
    gap = 4800.0
    assert [each.wait_ns for each in first] == [0, 0, 0, 10000 + gap]
    assert [each.wait_ns for each in second] == [0, 10000 + gap, 0, 0]
    assert (first[3].last, second[1].last) == (3, 0)
    starts = [[each.kernel.start_ns for each in own] for own in (first, second)]
    assert starts[0][2:] == [starts[1][1], starts[1][3]] == [3 * gap + 20000, 3 * gap + 20000 + 3000 + 2 * gap + 10000]
    assert first[2].kernel.duration_ns == second[1].kernel.duration_ns == 3000  # of the rank that takes longer
    assert first[3].kernel.gap_ns == gap + first[3].wait_ns
    assert [sorted(each.kernels) for each in timeline.collectives] == [[0, 3]] * 2


def test_ranks_that_have_ended_and_other_groups_are_not_waited_for() -> None:
    ops = [op("add", number=0, cost=Cost(total_us=10.0)), collective(1, 2.0), collective(2, 2.0, "1")]
    timeline = align({0: recording(ops, [1, 1]), 1: recording(ops, [0, 0, 2]), 2: recording(ops, [1])})
    assert all(each.wait_ns == 0 for own in timeline.ranks.values() for each in own)
    assert [sorted(each.kernels) for each in timeline.collectives] == [[0, 2], [0], [1]]


def test_recordings_whose_orders_contradict_each_other_are_shown_all_the_same() -> None:
    ops = [collective(0, 2.0), collective(1, 2.0, "1")]
    timeline = align({0: recording(ops, [0, 1]), 1: recording(ops, [1, 0])})
    assert [len(own) for own in timeline.ranks.values()] == [2, 2]


@pytest.mark.parametrize(
    ("words", "as_module", "expected"),
    [
        (["torchrun", "-m", "x"], False, ["-m", "x"]),
        (["/bin/torchrun", "a.py"], False, ["a.py"]),
        (["python3", "-m", "torch.distributed.run", "a.py"], False, ["a.py"]),
        (["python3", "-m", "other", "a.py"], False, None),
        (["torch.distributed.run", "a.py"], True, ["a.py"]),
        (["torchrun", "a.py"], True, None),
        (["a.py", "torchrun"], False, None),
        ([], False, None),
    ],
)
def test_torchrun_is_recognised(words: list[str], as_module: bool, expected: list[str] | None) -> None:
    assert torchrun_arguments(words, as_module=as_module) == expected


def test_what_torchrun_cannot_start_is_refused() -> None:
    with pytest.raises(OptionError, match=r"The script 'nowhere\.py' does not exist"):
        run_ranks([*LAUNCH, "nowhere.py"])
    with pytest.raises(OptionError, match=r"'sh', which is no Python script \(--no-python\)"):
        run_ranks([*LAUNCH, "--no-python", "sh"])
    with pytest.raises(OptionError, match="--predict-only computes nothing"):
        CliRunner().invoke(cli, ["bench", "--predict-only", "torchrun", "a.py"], catch_exceptions=False)


def test_a_profile_has_all_ranks_their_waits_and_the_links(
    script: Script, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TTXLA_SYSTEM", "n300")
    done = profile_ranks([*LAUNCH, script(TRAIN), "9", "crash"], tmp_path)
    assert done.error == "rank 1: ValueError: no more data"
    assert "ValueError: no more data" in (done.folder / "PARTIAL.txt").read_text()
    rows = rows_of(done.csv)
    assert [row["OP CODE"] for row in rows if row["OP TYPE"] == "signpost"][:3] == ["step_0", "step_1", "step_2"]
    assert {row["DEVICE ID"] for row in rows if row["OP TYPE"] != "signpost"} == {"0", "1"}
    exchanges = [
        [row for row in rows if row["DEVICE ID"] == rank and "ring_size" in row["ATTRIBUTES"]] for rank in "01"
    ]
    cycles = [[row["DEVICE FW START CYCLE"] for row in own] for own in exchanges]
    common = min(map(len, cycles))
    assert common >= 3
    assert cycles[0][:common] == cycles[1][:common]
    events = json.loads((done.folder / TRACE_NAME).read_text())["traceEvents"]
    tracks = {event["args"]["name"] for event in events if event["ph"] == "M"}
    assert {"rank 0, chip 0 (predicted)", "rank 1, chip 1 (predicted)", "links (predicted)"} <= tracks
    assert "chip 0 - chip 1, process group 0" in tracks
    waits = [event for event in events if event["name"] == "wait for rank 0"]
    assert len(waits) >= 3  # rank 0 has more to do before each exchange
    assert all(event["dur"] > 0 for event in waits)
    assert "step_2" in {event["name"] for event in events if event["ph"] == "i"}


def test_a_benchmark_tells_computing_from_exchange_and_names_the_link(
    script: Script, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TTXLA_SYSTEM", "n300")
    command = ["bench", "--steps", "2", "-o", str(tmp_path), "torchrun", *LAUNCH, script(TRAIN), "60"]
    done = CliRunner().invoke(cli, command)
    assert done.exit_code == 0, done.output
    assert "The link of chips 0 and 1 bounds the exchange." in done.output
    figures = json.loads((tmp_path / "bench.json").read_text())
    (link,) = figures["links"]
    assert (link["chips"], link["channels"], link["groups"]) == ([0, 1], 1, ["0"])
    first, second = figures["ranks"]
    assert first["wait_ms"] == 0
    assert second["wait_ms"] > 0
    assert first["compute_ms"] > second["compute_ms"]
    assert first["exchange_ms"] == second["exchange_ms"] >= link["busy_ms"] > 0
    assert second["step_ms"] == pytest.approx(sum(second[f"{part}_ms"] for part in PARTS))
    of_one = json.loads((tmp_path / "rank_1" / "bench.json").read_text())
    assert of_one["communication_ms"] == pytest.approx(second["exchange_ms"])
    assert of_one["steps"] == 2
    signposts = [row["OP CODE"] for row in rows_of(tmp_path / "ops_perf_results.csv") if row["OP TYPE"] == "signpost"]
    assert "step_59" not in signposts  # enough steps end the script


PARTS = ("compute", "exchange", "wait", "gaps", "transfers")
