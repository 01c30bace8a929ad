"""``tt-xla smi`` shows the cards in use, and resets one."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time

import msgspec
import pytest
import torch

from tt_xla.ir.program import Role
from tt_xla.runtime import status
from tt_xla.runtime.device import Device
from tt_xla.target import Link, load_target
from tt_xla.tools import smi
from tt_xla.tools.cli import main


@pytest.fixture(autouse=True)
def runtime_folder(tmp_path, monkeypatch):
    monkeypatch.setattr("tt_xla.environment.runtime_directory", lambda: tmp_path / "run")
    monkeypatch.setattr(status, "INTERVAL", 0.0)
    return tmp_path / "run" / "devices"


@pytest.fixture
def card():
    return Device(load_target("n150"))


def only():
    (report,) = status.read_all()
    return report


def test_a_card_is_shown_with_what_it_holds(card):
    card.count_tensors("test", lambda: 1 << 20)
    card.reporter.write()
    row = smi.row(only())
    assert row["pid"] == os.getpid()
    assert (row["system"], row["clock_mhz"], row["dram_used_bytes"]) == ("n150", 1000, 1 << 20)
    assert row["dram_usable_bytes"] == card.target.dram_usable_bytes


def test_a_card_of_a_system_unknown_here_is_shown(chip, capsys):
    """Another process may have read its system from a file, or be of another version."""
    card = Device(chip(name="/tmp/of another process.ttsys", chips=2, links=(Link((0, 1), 2),), clock_hz=1.35e9))
    card.reporter.write()
    row = smi.row(only())
    assert (row["system"], row["chips"], row["clock_mhz"]) == ("/tmp/of another process.ttsys", 2, 1350)
    assert row["links"] == [{"chips": (0, 1), "channels": 2}]
    main_without_exit(["smi"])
    assert "1350 MHz" in capsys.readouterr().out


def test_runs_and_predicted_time_are_counted(card):
    for _ in range(3):
        card.begin_run()
        card.reporter.end(250_000.0)
    report = only()
    assert (report.runs, report.busy_us, report.running_since) == (3, 750_000.0, 0.0)
    assert smi.row(report, at=report.opened + 100.0)["predicted_utilisation"] == pytest.approx(0.0075, rel=0.01)
    before = msgspec.structs.replace(report, busy_us=250_000.0, updated=report.updated - 1.0)
    assert smi.row(report, before, report.updated)["predicted_utilisation"] == pytest.approx(0.5, rel=0.01)


def test_a_run_that_does_not_end_is_wedged(card):
    card.begin_run()
    report = only()
    assert smi.state(report, report.updated + 1.0) == "running"
    assert smi.state(report, report.updated + 60.0) == "wedged"
    card.reporter.end(1.0)
    assert smi.state(only(), time.time() + 60.0) == "idle"


def test_a_reset_is_done_before_the_next_run(card, capsys, monkeypatch):
    done = []
    monkeypatch.setattr(Device, "reset", lambda self: done.append(self.name))
    card.begin_run()
    card.reporter.end(1.0)
    main_without_exit(["smi", "-r"])
    assert re.search(rf"n150 of process {os.getpid()} \(.*\) resets before its next run\.", capsys.readouterr().out)
    assert not done
    card.begin_run()
    assert done == ["n150"]
    card.begin_run()
    assert done == ["n150"]


def test_processes_that_are_gone_are_not_shown(card, runtime_folder):
    card.reporter.write()
    report = only()
    (file,) = runtime_folder.glob("*.json")
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    for pid, started in ((ended.pid, report.process_started), (report.pid, report.process_started + 1)):
        stale = msgspec.structs.replace(report, pid=pid, process_started=started)
        (runtime_folder / f"{pid}-old.json").write_bytes(msgspec.json.encode(stale))
    (runtime_folder / "1-n150.json").write_bytes(b"{")
    assert only() == report
    assert list(runtime_folder.glob("*.json")) == [file]


def test_a_folder_that_cannot_be_written_costs_nothing_but_the_file(card, runtime_folder):
    runtime_folder.parent.mkdir(parents=True)
    runtime_folder.write_text("a file where the folder should be")
    card.begin_run()
    card.reporter.end(1.0)
    assert card.reporter.status.runs == 1


def test_json_and_table(card, capsys):
    card.reporter.write()
    main_without_exit(["smi", "--json"])
    (row,) = json.loads(capsys.readouterr().out)
    assert row["state"] in ("idle", "running")
    main_without_exit(["smi", "--once"])
    shown = capsys.readouterr().out
    assert str(os.getpid()) in shown
    assert "1000 MHz" in shown


def test_a_run_of_a_program_is_seen(device, function_builder, make_program):
    main = function_builder("main")
    x = main.argument((2, 3), "bf16")
    functions = [main.done(main.op("ttnn.add", (2, 3), "bf16", lhs=x, rhs=x))]
    program = make_program(functions, [("x", Role.INPUT, (2, 3), "bf16")], [((2, 3), "bf16")])
    executable = device.load(program)
    executable.run([torch.ones(2, 3, dtype=torch.bfloat16)], [None])
    report = only()
    assert (report.programs, report.runs) == (1, 1)


def main_without_exit(arguments):
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert not ended.value.code


def test_each_chip_of_a_system_is_shown():
    board = Device(load_target("n300"))
    for chip in (board, board.chip(1)):
        chip.begin_run()
        chip.reporter.end(1000.0)
    board.chip(1).begin_run()
    board.chip(1).reporter.end(1000.0)
    reports = sorted(status.read_all(), key=lambda report: report.chip)
    assert [(report.system, report.chip, report.runs) for report in reports] == [("n300", 0, 1), ("n300", 1, 2)]
    assert [smi.row(report)["chip"] for report in reports] == [0, 1]
    status.request_reset(reports[1])
    board.begin_run()
    assert board.chip(1).reporter.begin()
