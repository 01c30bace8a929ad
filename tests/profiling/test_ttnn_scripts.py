"""Scripts that call ``ttnn`` by hand are profiled, reported and benchmarked by source line."""

from __future__ import annotations

import csv
import json
from collections import Counter
from pathlib import Path

import pytest
from click.testing import CliRunner

from tt_xla.profiling.scripts import run_recorded
from tt_xla.tools.cli import cli

SCRIPT = """import torch
import ttnn
import tracy

device = ttnn.open_device(device_id=0, trace_region_size=1 << 20)
w = ttnn.from_torch(torch.ones(256, 256), dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=device)


def layer(x):
    return ttnn.add(ttnn.linear(x, w, activation="relu"), x)


def fresh():
    return ttnn.from_torch(torch.ones(64, 256), dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=device)


for step in range(4):
    x = fresh()
    for _ in range(2):
        x = layer(x)
    ttnn.to_torch(ttnn.softmax(x, dim=-1))
print("predicted", device.predicted_us)
slot = fresh()
number = ttnn.begin_trace_capture(device, cq_id=0)
out = ttnn.gelu(slot)
ttnn.end_trace_capture(device, number, cq_id=0)
for _ in range(3):
    ttnn.execute_trace(device, number, cq_id=0, blocking=True)
    ttnn.to_torch(out)
ttnn.close_device(device)
"""


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TTXLA_SYSTEM", "n150")
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "by_hand.py"
    path.write_text(SCRIPT)
    return path


def lines_of(text: str) -> int:
    return 1 + SCRIPT.splitlines().index(next(line for line in SCRIPT.splitlines() if text in line))


def test_each_round_is_a_run_and_each_call_has_its_line_time_and_memory(
    script: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recording = run_recorded(str(script))
    assert recording.error == ""
    assert [run.state for run in recording.runs][:4] == ["cold", "warm", "warm", "warm"]
    assert [run.state for run in recording.runs][-2:] == ["captured", "captured"]
    layer, softmax, gelu = (lines_of(text) for text in ("return ttnn.add", "ttnn.softmax", "ttnn.gelu"))
    first = recording.runs[1]
    called = [recording.ops[number] for number, _, _ in recording.events[first.first : first.last]]
    assert Counter(op.instruction.location for op in called if op.instruction.op != "ttnn.to_device") == {
        f"{script}:{layer}": 4,
        f"{script}:{softmax}": 1,
    }
    target = recording.programs[0].target
    predicted = float(capsys.readouterr().out.split("predicted ")[1].split()[0])
    before = recording.events[: recording.runs[3].last]
    total = sum(
        cost + target.gap_us_untraced
        for number, _, _ in before
        if (cost := recording.ops[number].instruction.cost.total_us)
    )
    assert predicted == pytest.approx(total)
    assert all(op.dram_bytes > 0 for op in called)
    replayed = recording.runs[-1]
    (op,) = [recording.ops[number] for number, _, _ in recording.events[replayed.first : replayed.last]]
    assert op.traced
    assert op.instruction.location == f"{script}:{gelu}"


def test_tracy_and_the_report_name_the_lines(script: Path) -> None:
    done = CliRunner().invoke(cli, ["profile", "-o", "prof", str(script)])
    assert done.exit_code == 0, done.output
    (table,) = Path("prof/reports").glob("*/ops_perf*.csv")
    with table.open() as file:
        rows = list(csv.DictReader(file))
    codes = Counter(row["OP CODE"] for row in rows)
    assert codes["MatmulDeviceOperation"] == 8
    assert codes["SoftmaxDeviceOperation"] == 4
    assert all(float(row["DEVICE KERNEL DURATION [ns]"]) > 0 for row in rows)
    done = CliRunner().invoke(cli, ["report", "prof"])
    assert done.exit_code == 0, done.output
    assert f"by_hand.py:{lines_of('ttnn.softmax')}" in (table.parent / "report.html").read_text()
    events = json.loads((table.parent / "tracy_profile_log_host.json").read_text())
    assert f"by_hand.py:{lines_of('ttnn.gelu')}" in json.dumps(events)


def test_bench_finds_the_steps_of_a_loop(script: Path) -> None:
    script.write_text(SCRIPT.partition("slot =")[0])
    done = CliRunner().invoke(cli, ["bench", str(script)])
    assert done.exit_code == 0, done.output
    assert "time of a step on the chip, predicted" in done.output
    assert f"by_hand.py:{lines_of('return ttnn.add')}" in done.output
