"""What commands print about cards, programs, estimates, measurements and choices, as exact text."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner, Result

from benchmarks.measured import Measurement, Unpriced
from benchmarks.measured.judge import Priced, by_family, price, record, summarise
from benchmarks.measured.judge import show as show_measured
from benchmarks.measured.measurement import step
from tests.unit.pricing import CHIP, spec
from tt_xla.compiler.ttnn.layouts.explain import Choice
from tt_xla.ir.program import (
    FORMAT_VERSION,
    Argument,
    Cost,
    Function,
    FunctionKind,
    Instruction,
    MemoryPlan,
    Program,
    Role,
    TensorSpec,
)
from tt_xla.runtime import status as processes
from tt_xla.runtime.status import Status
from tt_xla.target import Link, load_target
from tt_xla.tools import explain, machine_commands, smi
from tt_xla.tools.estimate import Estimate, Line, arch_of, by_op
from tt_xla.tools.estimate import show as show_estimate
from tt_xla.tools.info import links_text
from tt_xla.tools.programs import program_name
from tt_xla.tools.show import show_file

pytestmark = pytest.mark.quick

# Cards in use

STATUS = Status(
    pid=7,
    process_started=1,
    system="n300",
    opened=1000.0,
    updated=1010.0,
    programs=2,
    runs=3,
    busy_us=4e6,
    dram_used=3 << 29,
    dram_usable=12 << 30,
    chip=1,
    chips=2,
    links=[Link((0, 1), 2)],
    clock_hz=1.0004e9,
)


def test_a_row_of_a_card(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "INTERVAL", 1.0)
    row = smi.row(STATUS, at=1011.0)
    assert row == {
        **{
            "pid": 7,
            "system": "n300",
            "runtime": "emulated",
            "chip": 1,
            "chips": 2,
            "links": [{"chips": (0, 1), "channels": 2}],
        },
        **{"clock_mhz": 1000, "programs": 2, "runs": 3, "dram_used_bytes": 3 << 29, "dram_usable_bytes": 12 << 30},
        **{"predicted_busy_us": 4e6, "predicted_utilisation": 0.4, "state": "running"},
    }


def changed(**fields: Any) -> Status:
    import msgspec

    return msgspec.structs.replace(STATUS, **fields)


@pytest.mark.parametrize(
    ("now", "before", "at", "utilisation"),
    [
        (STATUS, None, 1011.9, 0.4),  # until the last update
        (STATUS, None, 1012.0, 0.3333),  # until now, as the update is two seconds old
        (STATUS, changed(updated=1005.0, busy_us=2e6), 1011.0, 0.4),
        (STATUS, changed(updated=1009.0, busy_us=1e6), 1011.0, 1.0),
        (changed(runs=0), changed(updated=1005.0, busy_us=2e6), 1011.0, 0.0),
        (changed(runs=0), None, 1011.0, 0.4),
    ],
)
def test_the_utilisation_of_a_card(
    now: Status, before: Status | None, at: float, utilisation: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "INTERVAL", 1.0)
    assert smi.row(now, before, at)["predicted_utilisation"] == utilisation


@pytest.mark.parametrize(
    ("running_since", "at", "state"),
    [
        (0.0, 1011.9, "running"),
        (0.0, 1012.0, "idle"),
        (0.0, 1100.0, "idle"),
        (5.0, 1012.0, "running"),
        (5.0, 1040.0, "running"),
        (5.0, 1040.1, "wedged"),
    ],
)
def test_the_state_of_a_card(running_since: float, at: float, state: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "INTERVAL", 1.0)
    assert smi.state(changed(running_since=running_since), at) == state


def test_the_table_of_cards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TTXLA_SYSTEM", "n300")
    monkeypatch.setattr(processes, "INTERVAL", 1.0)
    rows = [smi.row(STATUS, at=1011.0), smi.row(changed(chips=1, chip=0, system="n150", runtime="ttnn"), at=1011.0)]
    table = smi.table(rows)
    cells = [[str(cell) for cell in column.cells] for column in table.columns]
    assert [str(column.header) for column in table.columns] == [
        *("process", "system", "runtime", "clock", "DRAM in use", "programs", "runs", "predicted utilisation", "state"),
    ]
    assert [column.justify for column in table.columns] == [
        "left" if column.header in ("system", "runtime", "state") else "right" for column in table.columns
    ]
    assert cells == [
        ["7", "7"],
        ["n300, chip 1 of 2", "n150, 1 chip"],
        ["emulated", "ttnn"],
        ["1000 MHz"] * 2,
        ["1.50 of 12.0 GiB"] * 2,
        ["2", "2"],
        ["3", "3"],
        ["40.0%"] * 2,
        ["running"] * 2,
    ]
    assert str(table.caption).startswith("A process started now opens n300: 2 x wormhole_b0, 1000 MHz, ")
    assert "GiB of DRAM a chip, links 0-1 with " in str(table.caption)
    monkeypatch.setenv("TTXLA_SYSTEM", "n150")
    assert "links" not in str(smi.table([]).caption)


def test_resets_of_cards(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(processes, "INTERVAL", 1.0)
    monkeypatch.setattr("tt_xla.tools.smi.time.time", lambda: 1050.0)
    found = [changed(running_since=1008.0), STATUS]
    requested: list[Status] = []
    monkeypatch.setattr(processes, "read_all", lambda: found)
    monkeypatch.setattr(processes, "request_reset", requested.append)
    monkeypatch.setattr(Path, "read_bytes", lambda path: b"python\0" + b"a" * 60)
    smi.reset()
    assert requested == found
    assert capsys.readouterr().out == (
        f"n300 of process 7 (python {'a' * 53} ...) has been in a run for 42 s and resets after it; "
        "`kill 7` ends it now.\n"
        f"n300 of process 7 (python {'a' * 53} ...) resets before its next run.\n"
    )
    found.clear()
    smi.reset()
    assert capsys.readouterr().out == ("No card is in use. Status files of processes that have ended were removed.\n")


@pytest.fixture
def two_processes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Cards of this process and of one of another session. Returns the processes whose reset was requested."""
    requested: list[int] = []
    monkeypatch.setattr(processes, "read_all", lambda: [changed(pid=os.getpid()), changed(pid=1)])
    monkeypatch.setattr(processes, "request_reset", lambda status: requested.append(status.pid))
    monkeypatch.setattr(os, "getsid", lambda pid: 7 if pid == 1 else 8)
    return requested


def asked(arguments: Sequence[str], monkeypatch: pytest.MonkeyPatch, terminal: bool, answer: str = "") -> Result:
    # The input that click's runner gives a command is never a terminal.
    monkeypatch.setattr("tt_xla.tools.smi.sys", SimpleNamespace(stdin=SimpleNamespace(isatty=lambda: terminal)))
    return CliRunner().invoke(machine_commands.smi, arguments, input=answer)


def test_a_reset_asks_where_there_is_a_terminal(two_processes: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    refused = asked(["-r"], monkeypatch, terminal=True, answer="n\n")
    assert refused.exit_code == 1
    assert "n300 of process 1" in refused.output
    assert two_processes == []
    assert asked(["-r"], monkeypatch, terminal=True, answer="y\n").exit_code == 0
    assert two_processes == [os.getpid(), 1]


def test_a_reset_without_a_terminal_leaves_other_sessions_alone(
    two_processes: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    done = asked(["-r"], monkeypatch, terminal=False)
    assert done.exit_code == 0
    assert re.search(
        r"n300 of process 1 .*is left alone: it is of another session\. --yes resets it too\.", done.output
    )
    assert two_processes == [os.getpid()]
    assert asked(["-r", "--yes"], monkeypatch, terminal=False).exit_code == 0
    assert two_processes[1:] == [os.getpid(), 1]


def test_a_reset_of_named_processes_asks_nothing(two_processes: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    assert asked(["-r", "1"], monkeypatch, terminal=True).exit_code == 0
    assert two_processes == [1]
    missing = asked(["-r", "2"], monkeypatch, terminal=True)
    assert "Process 2 has no card. Processes with a card: 1, " in str(missing.exception)
    for arguments in (["1"], ["--yes"]):
        assert "belongs to --reset (-r)." in asked(arguments, monkeypatch, terminal=False).output
    assert two_processes == [1]


def test_cards_in_a_pipe_are_not_cut(two_processes: list[int], capsys: pytest.CaptureFixture[str]) -> None:
    smi.show(once=True, as_json=False)
    assert "n300, chip 1 of 2" in capsys.readouterr().out


def test_links_in_words() -> None:
    chip = replace(load_target("n150"), ethernet_bytes_per_second=12.5e9)
    assert links_text(replace(chip, links=())) == "no links"
    links = (Link((0, 1), 2), Link((1, 2), 4), Link((2, 3), 2))
    assert links_text(replace(chip, links=links)) == (
        "links 1-2 with 4 x 100 Gbit/s; links 0-1 2-3 with 2 x 100 Gbit/s"
    )
    twelve = tuple(Link((number, number + 1), 1) for number in range(12))
    assert links_text(replace(chip, links=twelve)).startswith("links 0-1 1-2 ")
    assert links_text(replace(chip, links=(*twelve, Link((0, 13), 1)))) == "13 links with 1 x 100 Gbit/s"


# Forms of ops

CHOICE = Choice(
    op="ttnn.matmul",
    location="a.py:1",
    shape=(32, 64),
    chosen="L1 block sharded",
    time_us=4.0,
    bound="DRAM",
    roofline_us=1.0,
    roof="DRAM",
    moves=(),
    moves_us=0.0,
    runner_up="DRAM interleaved",
    costs_us=0.5,
    why="it is faster",
    ruled_out=("a: no room", "b: no room", "c: no room"),
)


def test_the_table_of_forms(capsys: pytest.CaptureFixture[str]) -> None:
    free = replace(CHOICE, op="ttnn.view", time_us=0.0)
    moved = replace(
        CHOICE,
        op="ttnn.add",
        time_us=0.0,
        roofline_us=0.0,
        runner_up="",
        moves=("x", "y"),
        moves_us=1.25,
        why="",
        shape=(),
    )
    explain.show_choices([CHOICE, free, replace(moved, shape=())])
    assert capsys.readouterr().out.splitlines() == [
        "op     result form               us bound roofline reached next best         +us",
        "matmul 32x64  L1 block sharded 4.00 DRAM      1.00     25% DRAM interleaved 0.50",
        "    it is faster; a: no room; b: no room",
        "add           L1 block sharded 0.00 DRAM",
        "    moved x, y (1.25 us); a: no room; b: no room",
        "all ops: 4.00 us, roofline 1.00 us, 25% reached",
    ]
    explain.show_choices([free])
    assert capsys.readouterr().out == "No op of the program takes device time.\n"
    explain.show_choices([replace(moved, ruled_out=())])
    assert capsys.readouterr().out.splitlines()[-2:] == [
        "    moved x, y (1.25 us)",
        "Other forms are searched at optimization level 2 (--level 2).",
    ]
    (record,) = explain.choice_records([CHOICE])
    assert (record["reached"], record["op"]) == (0.25, "ttnn.matmul")


def test_long_cells_continue_in_the_next_line(capsys: pytest.CaptureFixture[str]) -> None:
    long = replace(CHOICE, chosen="a form with a name that is longer than its column", why="w" + " w" * 60)
    explain.show_choices([long])
    head, first, second, reason, *_ = capsys.readouterr().out.splitlines()
    assert (first[14:41].rstrip(), second.strip()) == ("a form with a name that is", "longer than its column")
    assert len(reason) <= explain.WIDTH == 120
    assert head.startswith("op     result form ")


# Estimates


def test_lines_of_an_estimate() -> None:
    line = Line()
    assert line.bound == ""
    line.add(Cost(total_us=7.0, compute_us=1.0, dram_us=2.0, noc_us=3.0, launch_us=4.0, link_us=5.0), 3)
    assert line == Line(3, Cost(21.0, 3.0, 6.0, 9.0, 12.0, link_us=15.0))
    for part, bound in (
        ("compute", "compute"),
        ("dram", "DRAM"),
        ("noc", "NoC"),
        ("launch", "launch"),
        ("link", "link"),
    ):
        assert Line(1, Cost(9.0, **{f"{part}_us": 1.0})).bound == bound


def estimate(**changes: Any) -> Estimate:
    lines = {
        "ttnn.matmul": Line(2, Cost(6.0, 5.0, 1.0, 0.5, 0.25)),
        "ttnn.to_device": Line(1, Cost(3.0, launch_us=3.0)),
        "ttnn.from_device": Line(1, Cost(1.0, launch_us=1.0)),
        "ttnn.view": Line(4),
    }
    return Estimate(**({"path": Path("p.ttnn"), "arch": "n150", "total_us": 20.0, "lines": lines} | changes))


def test_figures_of_an_estimate(capsys: pytest.CaptureFixture[str]) -> None:
    made = estimate(open_loops=("body",))
    target = load_target("n150")
    assert (made.gaps_us, made.transfers_us, made.calls_per_second, made.bound) == (10.0, 4.0, 50_000.0, "compute")
    assert made.gaps_if(traced=True) == pytest.approx(4 * target.gap_us_traced)
    assert made.gaps_if(traced=False) == pytest.approx(4 * target.gap_us_untraced)
    assert (estimate(total_us=0.0).calls_per_second, made.communication_us) == (0.0, 0.0)
    show_estimate(made)
    assert [line.rstrip() for line in capsys.readouterr().out.splitlines()] == [
        "p.ttnn on n150: predicted device time 20.0 us a call, 10.0 us of it between ops",
        "50000 calls a second, bound by compute; between ops 8.2 us if traced, 19.2 us if not; 4.0 us over PCIe",
        "The number of rounds of these loops is only known at run time; one round is counted: body",
        " op                count  predicted us  share  compute  DRAM  NoC  launch  bound by",
        " ttnn.matmul           2           6.0   30 %      5.0   1.0  0.5     0.2  compute",
        " ttnn.to_device        1           3.0   15 %      0.0   0.0  0.0     3.0  launch",
        " ttnn.from_device      1           1.0    5 %      0.0   0.0  0.0     1.0  launch",
        " between ops                      10.0   50 %",
        "No device work: ttnn.view x 4",
    ]
    show_estimate(estimate(total_us=0.0, lines={}))
    assert (
        capsys.readouterr()
        .out.splitlines()[0]
        .endswith("predicted device time 0.0 us a call, 0.0 us of it between ops")
    )


def test_ops_that_every_call_runs_are_counted() -> None:
    def function(name: str, kind: FunctionKind, *costs: float) -> Function:
        body = tuple(Instruction(f"ttnn.op{us:g}", {}, (), {}, "", Cost(total_us=us)) for us in costs)
        return Function(name, kind, (), (), (), body)

    lines = by_op(
        [
            function("main", FunctionKind.FORWARD, 1.0, 2.0, 1.0),
            function("trace", FunctionKind.TRACE, 5.0),
            function("consts", FunctionKind.CONST_EVAL, 9.0),
        ]
    )
    assert [(op, line.count, line.us) for op, line in lines.items()] == [
        ("ttnn.op5", 1, 5.0),
        ("ttnn.op1", 2, 2.0),
        ("ttnn.op2", 1, 2.0),
    ]


@pytest.mark.parametrize(
    ("text", "system"),
    [
        ("", "n150"),
        ("#ttcore.system_desc<[{arch = <blackhole>}]>", "p150"),
        ("#ttcore.system_desc<[{arch = <wormhole_b0>}]>", "n150"),
        ("#ttcore.system_desc<[{arch = <quasar>}]>", "n150"),
        ('#ttcore.meshes<[<"mesh" = 1x1>]>', "n150"),
        ('#ttcore.meshes<[<"mesh" = 1x2>]>', "n300"),
        ('#ttcore.meshes<[<"mesh" = 2x4>]>', "n300-llmbox"),
        ('#ttcore.meshes<[<"mesh" = 100x100>]>', "n150"),
    ],
)
def test_the_system_that_a_text_names(text: str, system: str) -> None:
    assert arch_of(text) == system


# Measurements


def measured(us: float, family: str, line: int = 2) -> Measurement:
    instruction, values = step("add", [spec((64, 64)), spec((64, 64))], [spec((64, 64))])
    return Measurement(line, f"add {line}", family, instruction, values, CHIP, us)


def test_figures_of_errors() -> None:
    figures = summarise([0.1, -0.2, 0.3, -0.4], 6)
    assert (figures.rows, figures.priced, figures.median, figures.bias) == (6, 4, 0.25, pytest.approx(-0.05))
    assert figures.p90 == pytest.approx(0.37)
    assert summarise([-0.5], 1).p90 == 0.5


def test_the_table_of_measurements(capsys: pytest.CaptureFixture[str]) -> None:
    priced = [Priced(measured(10.0, "b", 3), 15.0, "dram"), Priced(measured(4.0, "a", 4), 3.0, "launch")]
    unpriced = [Unpriced(5, "x", "no [rule]"), Unpriced(6, "y", "no [rule]"), Unpriced(7, "z", "other")]
    assert [row.error for row in priced] == [0.5, -0.25]
    assert list(by_family(priced)) == ["a", "b"]
    show_measured(priced, unpriced, 1)
    assert [line.rstrip() for line in capsys.readouterr().out.splitlines()] == [
        " line  op     system                 measured us  predicted us  error  bound by",
        " 3     add 3  wormhole_b0, 12 cores        10.00         15.00  +50 %  dram",
        "... and 1 more rows; --rows shows more",
        "",
        " family  rows  priced  median error  90th percentile     bias",
        " a          1       1        25.0 %           25.0 %  -25.0 %",
        " b          1       1        50.0 %           50.0 %   50.0 %",
        " all        5       2        37.5 %           47.5 %   12.5 %",
        "no prediction for 2: no [rule]",
        "no prediction for 1: other",
    ]
    show_measured(priced, [], 2)
    assert "more rows" not in capsys.readouterr().out
    plain = record(priced, unpriced)
    assert plain["unpriced"] == {"no [rule]": 2, "other": 1}
    assert plain["families"]["a"] == {
        "rows": 1,
        "priced": 1,
        "median_abs_rel_error": 0.25,
        "p90_abs_rel_error": 0.25,
        "bias": -0.25,
    }


def test_predictions_by_the_clock_that_measured() -> None:
    row = measured(10.0, "a")
    bad = replace(row, values=row.values[:1])
    instruction, values = step("matmul", [spec((64, 64)), spec((64, 64))], [spec((64, 64))])
    product = replace(row, instruction=instruction, values=values)
    kernel, traced, untraced = (
        price([replace(row, wall=wall)])[0][0].predicted_us for wall in ("", "traced", "untraced")
    )
    whole, math = (price([replace(product, wall=wall)])[0][0].predicted_us for wall in ("", "math"))
    assert traced - kernel == pytest.approx(CHIP.gap_us_traced)
    assert untraced - kernel == pytest.approx(CHIP.gap_us_untraced)
    assert 0 < math < whole
    priced, left = price([bad, row, Unpriced(9, "x", "y")])
    assert [each.measurement for each in priced] == [row]
    assert [each.line for each in left] == [2, 9]
    assert left[0].reason.startswith("its tensors do not fit the op (")


# Programs


def test_a_program_as_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    values = (spec((32, 64)), TensorSpec((), spec((1, 1), tiled=False).layout))
    body = (
        Instruction("ttnn.abs", {"input": 0}, (0,), {}, "a.py:3", Cost(2.5, dram_us=2.0, cores=4)),
        Instruction("ttnn.constant", {}, (1,), {"value": bytes(5000)}),
    )
    function = Function("main", FunctionKind.FORWARD, (0,), (0, 1), values, body)
    arguments = (Argument("x", Role.INPUT, (32, 64), "bf16"),)
    program = Program("p", "n150", {"a": 1, "b": "", "c": False}, arguments, (), (function,), MemoryPlan(2048), 12.34)
    path = tmp_path / "p.ttnn"
    path.write_bytes(program.to_bytes())
    show_file(path, as_json=False)
    head, options, constant, *rest = capsys.readouterr().out.splitlines()
    size = f"{path.stat().st_size:,}"
    assert head == f"{path}: program p for n150, format {FORMAT_VERSION}, {size} bytes"
    assert options == "options: a=1, c=False"
    assert constant.startswith("constant ")
    assert constant.endswith(": 5,000 B")
    assert any("ttnn.abs" in line for line in rest)
    show_file(path, as_json=True)
    assert json.loads(capsys.readouterr().out)["name"] == "p"


def test_names_of_programs() -> None:
    names = {"a b/c d(1).mlir": "c_d_1_", "model-1.2.mlir": "model-1.2", "ü.mlir": "_"}
    assert {path: program_name(Path(path)) for path in names} == names
