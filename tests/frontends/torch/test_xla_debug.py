"""``PT_XLA_DEBUG``: reports about compilations and runs, with their causes and the calls of the script."""

from __future__ import annotations

import re

import pytest
import torch

torch_xla = pytest.importorskip("torch_xla")

import torch_xla.debug.profiler as xp  # noqa: E402
import torch_xla.distributed.parallel_loader as pl  # noqa: E402

from tt_xla.environment import debug_level  # noqa: E402
from tt_xla.errors import OptionError  # noqa: E402
from tt_xla.frontends.torch import session  # noqa: E402


@pytest.fixture(autouse=True)
def _nothing_is_recorded(exact):
    torch_xla.sync()
    torch_xla.runtime.clear_computation_cache()


@pytest.fixture
def reports(monkeypatch, tmp_path):
    """Returns a function that returns the reports since its last call: their kinds, and their lines."""
    path = tmp_path / "reports.txt"
    monkeypatch.setenv("PT_XLA_DEBUG", "1")
    monkeypatch.setitem(vars(session.current.mode), "debug_level", debug_level())
    monkeypatch.setenv("PT_XLA_DEBUG_FILE", str(path))

    def read():
        text = path.read_text() if path.exists() else ""
        path.unlink(missing_ok=True)
        blocks = [block.splitlines() for block in text.split("\n\n")] if text else []
        found = []
        for lines in ([line for line in block if line] for block in blocks):
            kind = lines[0].split(" Analysis: ")[0]
            found.append((kind, [line.removeprefix(f"{kind} Analysis: ") for line in lines[1:]]))
        return found

    return read


def causes(found):
    return [(kind, lines[1].strip()) for kind, lines in found if kind != "Post Compilation"]


def test_a_step_is_compiled_once_and_each_run_is_reported(reports):
    for value in (1.0, 2.0):
        x = torch.full((3,), value, device="cpu").to("xla") + 5
        torch_xla.sync()
    del x
    found = reports()
    assert [kind for kind, _ in found] == ["Compilation", "Post Compilation", "Execution", "Execution"]
    assert causes(found) == [(kind, "user torch_xla.sync") for kind in ("Compilation", "Execution", "Execution")]
    compilation, sizes, first, second = (lines for _, lines in found)
    assert first == second == ["Execution Cause", *compilation[1:]]
    assert re.fullmatch("  Graph Hash: [0-9a-f]{32}", compilation[3])
    assert compilation[4:7] == [
        "  Number of Graph Inputs: 2",  # the tensor and the number
        "  Number of Graph Outputs: 1",
        "Python Frame Triggered Execution: ",
    ]
    assert compilation[7].startswith("  sync (")
    assert f"{__file__}:" in compilation[8]
    assert compilation[15] == "  .........."
    assert [line.split(": ")[0] for line in sizes[:5]] == [
        *("Graph input size", "Graph output size", "Aliased Input size", "Intermediate tensor size"),
        "Compiled program size",
    ]
    assert sizes[0] == f"Graph input size: {32 * 32 * 4 / 2**30:.6f} GB"


def test_the_causes_of_runs(reports):
    x = torch.ones(2, device="cpu").to("xla")
    y = x * 3
    str(y)
    with xp.StepTrace("train"):
        y = x * 4
    for _ in pl.MpDeviceLoader([torch.ones(2)], "xla"):
        y = x - 1
    torch_xla.compile(lambda x: x * x, name="square")(x)
    pending = x.exp()
    compiled = torch.compile(lambda x: x / 2 - 1, backend="openxla")
    compiled(pending)
    found = reports()
    assert [kind for kind, _ in found[-6:]] == [
        *("Compilation", "Post Compilation", "Execution"),  # of the inputs
        *("Compilation", "Post Compilation", "Execution"),
    ]
    assert found[-3][1][3:6] == found[-1][1][3:6]
    assert found[-1][1][4:6] == ["  Number of Graph Inputs: 3", "  Number of Graph Outputs: 1"]
    assert [cause for kind, cause in causes(found) if kind == "Execution"] == [
        "most likely user code trying to access tensor value before torch_xla.sync",
        "torch_xla.sync when exiting a profiler StepTrace region",
        "torch_xla.sync in parallel loader at step end",
        "torch_xla.compile",
        "torch_xla.sync when dynamo processing input graphs",
        "dynamo is executing a compiled program",
    ]


def test_a_compiled_function_names_its_programs(reports):
    def doubled(x):
        return x * 2

    x = torch.ones(2, device="xla")
    torch_xla.compile(doubled)(x)
    names = [lines[3] for kind, lines in reports() if kind == "Execution"]
    assert names == ["  Graph Name: doubled_clear_pending", "  Graph Name: doubled"]


def test_levels(reports, monkeypatch):
    def kinds():
        monkeypatch.setitem(vars(session.current.mode), "debug_level", debug_level())
        torch_xla.runtime.clear_computation_cache()
        y = torch.ones(2, device="xla") + 1
        torch_xla.sync()
        del y
        return [kind for kind, _ in reports()]

    monkeypatch.setenv("PT_XLA_DEBUG_LEVEL", "1")
    assert kinds() == ["Compilation", "Post Compilation"]
    monkeypatch.setenv("PT_XLA_DEBUG_LEVEL", "0")
    assert kinds() == []
    monkeypatch.setenv("PT_XLA_DEBUG_LEVEL", "much")
    with pytest.raises(OptionError, match="PT_XLA_DEBUG_LEVEL was given 'much'; it takes a number"):
        kinds()


def test_eager_mode_reports_nothing(reports):
    with torch_xla.experimental.eager_mode_context(True):
        torch.ones(2, device="xla") + 1
    assert reports() == []


def test_the_first_of_several_replicas_reports(reports, monkeypatch):
    monkeypatch.setenv("TTXLA_SYSTEM", "n300")

    def step(index):
        x = torch.ones(2).to("xla") + index
        torch_xla.sync()
        del x

    torch_xla.launch(step)
    assert [kind for kind, _ in reports()] == ["Compilation", "Post Compilation", "Execution"]


def test_without_a_file_reports_are_on_standard_error(monkeypatch, capsys):
    monkeypatch.setenv("PT_XLA_DEBUG", "true")
    monkeypatch.setitem(vars(session.current.mode), "debug_level", debug_level())
    monkeypatch.setenv("PT_XLA_DEBUG_MAX_FRAME", "1")
    y = torch.ones(2, device="xla") * 7
    torch_xla.sync()
    del y
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("Execution Analysis: ")]
    calls = lines[lines.index("Execution Analysis: Python Frame Triggered Execution: ") + 1 : -2]
    assert [line.split("(")[0] for line in calls] == ["Execution Analysis:   sync ", "Execution Analysis:   .........."]
