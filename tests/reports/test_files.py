"""A stranger's script, module, folder and broken file through each command: taken, or refused with the way to go.

The table of ``docs/tools.md`` is made of it.
"""

from __future__ import annotations

import contextlib
import itertools
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from docs.tables import write_between_marks
from tests.golden import FOLDER, Goldens, read_texts
from tests.reports.recordings import recording_of
from tt_xla import aot
from tt_xla.codegen.mock import Mock
from tt_xla.profiling.device_time import kernels
from tt_xla.profiling.ops_csv import write_ops
from tt_xla.tools import check as check_module
from tt_xla.tools.cli import cli, main

pytestmark = pytest.mark.filterwarnings("ignore:.*LeafSpec:FutureWarning")  # of PyTorch's own run_decompositions

ROOT = Path(__file__).parents[2]
FILE = "files/outcomes"
"""The golden file."""
TAKEN = "takes it"

MODULE = """\
module @small {
  func.func public @main(%a: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = stablehlo.tanh %a : tensor<4x8xf32>
    %1 = stablehlo.add %0, %a : tensor<4x8xf32>
    return %1 : tensor<4x8xf32>
  }
}
"""
SCRIPT = """\
import torch
import tt_torch

model = torch.compile(torch.nn.Linear(SIZE, 4).bfloat16().to("tt"), backend="tt")
for _ in range(6):
    print(model(torch.ones(4, SIZE, dtype=torch.bfloat16, device="tt")).sum().item())
"""
WORKER = """\
import json, sys
job = json.load(open(sys.argv[1]))
with open(sys.argv[2], "a") as out:
    say = lambda **fields: print(json.dumps(fields), file=out, flush=True)
    say(grid=[10, 11], ttnn="ttnn 0.0")
    for p, program in enumerate(job["programs"]):
        for s, step in enumerate(program["steps"]):
            say(program=p, step=s, differs=[])
    say(done=True)
"""
"""In place of TT-NN, which accepts every call."""

FILES = {
    "module of StableHLO": "module.mlir",
    "module of TTIR": "ttir.mlir",
    "module of TTNN": "ttnn.mlir",
    "compiled program (`.ttnn`)": "program.ttnn",
    "package (`.ttpkg`)": "package.ttpkg",
    "exported program of PyTorch (`.pt2`)": "exported.pt2",
    "Python script": "script.py",
    "experiment's YAML file": "config.yaml",
    "arrays (`.npz`)": "arrays.npz",
    "table of a profile (`.csv`)": "ops_perf_results.csv",
    "HTML page": "page.html",
    "folder of modules": "dump",
    "folder of generated source": "source",
    "folder with a profile": "profile",
    "folder of something else": "folder",
    "damaged module": "damaged.mlir",
    "damaged program": "damaged.ttnn",
    "empty file": "empty.mlir",
    "bytes of nothing known": "noise",
    "no such file": "none.mlir",
}
"""Names of the files by what they are, as the table says it."""

COMMANDS = {
    "bench": "--steps 2 -o out/bench",
    "check": "",
    "codegen": "-o out/codegen",
    "compare": "",
    "compile": "",
    "estimate": "",
    "explore": "-o out/page.html",
    "models": "-o out/models",
    "opt": "",
    "profile": "-o out/profile",
    "reduce": "--limit 60 --budget 60 -o out/reduced",
    "report": "-o out/report.html",
    "run": "",
    "show": "",
    "tune": "--mesh 1x2 --system n300",
}
"""The commands that take a file, with their options."""

WITHOUT_FILES = {"cache", "completion", "doctor", "info", "smi"}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a folder with a file of each kind; tt-xla writes those that it can write."""
    path = tmp_path_factory.mktemp("files")
    (path / "module.mlir").write_text(MODULE)
    (path / "config.yaml").write_text("script: script.py\nmesh_shape: null\n")
    np.savez(path / "arrays.npz", np.ones((4, 8), np.float32))
    for command in ("compile module.mlir -o dump", "codegen module.mlir -o source"):
        with contextlib.chdir(path), pytest.raises(SystemExit) as ended:
            main(command.split())
        assert not ended.value.code
    for stage in ("ttir", "ttnn"):
        shutil.copy(next((path / "dump/irs").glob(f"{stage}_*.mlir")), path / f"{stage}.mlir")
    shutil.copy(path / "dump/module.ttnn", path / "program.ttnn")
    exported = torch.export.export(torch.nn.ReLU(), (torch.ones(2),))
    torch.export.save(exported, path / "exported.pt2")
    aot.package(exported, path / "package.ttpkg")
    (path / "profile").mkdir()
    recording = recording_of("training")
    for table in ("ops_perf_results.csv", "profile/ops_perf_results_1.csv"):
        write_ops(path / table, recording.signposts, {0: kernels(recording)})
    (path / "page.html").write_text("<html></html>")
    (path / "folder").mkdir()
    (path / "damaged.mlir").write_text(MODULE[:150])
    (path / "damaged.ttnn").write_bytes((path / "program.ttnn").read_bytes()[:100])
    (path / "empty.mlir").touch()
    (path / "noise").write_bytes(bytes(range(256)))
    return path


@pytest.fixture
def accepting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Replaces TT-NN by a process that accepts every call."""
    worker = tmp_path / "worker.py"
    worker.write_text(WORKER)
    monkeypatch.setattr(check_module, "mock", lambda *_, **__: Mock(Path(sys.executable), {}, worker))
    monkeypatch.setenv("TTXLA_TTNN_PYTHON", sys.executable)


OUTCOMES: dict[str, str] = {}
"""What the commands did in this session."""


def cases() -> Iterator[Any]:
    """Yields the commands and kinds of files; those that take long run each night."""
    for command, kind in itertools.product(COMMANDS, FILES):
        is_module = kind.startswith(("module of", "folder of", "compiled", "damaged", "Python"))
        slow = is_module and (command == "explore" or (command == "reduce" and kind in TAKEN_BY_REDUCE))
        yield pytest.param(command, kind, marks=pytest.mark.nightly if slow else ())


TAKEN_BY_REDUCE = ("module of StableHLO", "Python script")


@pytest.mark.usefixtures("accepting")
@pytest.mark.parametrize(("command", "kind"), [*cases()])
def test_a_command_takes_a_file_or_says_the_way(
    command: str,
    kind: str,
    files: Path,
    goldens: Goldens,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(files)
    for name in ("TTXLA_SYSTEM", "TTXLA_LOGGER_LEVEL"):
        monkeypatch.delenv(name, raising=False)
    shutil.rmtree("out", ignore_errors=True)
    size = 2 * [*COMMANDS].index(command) + 8 + ("YAML" in kind)  # a program that this process has not compiled yet
    Path("script.py").write_text(SCRIPT.replace("SIZE", str(size)))
    with pytest.raises(SystemExit) as ended:
        main([command, *COMMANDS[command].split(), FILES[kind]])
    captured = capfd.readouterr()
    assert ended.value.code in (None, 0, 1, 2)
    assert "bug in tt-xla" not in captured.err
    errors = [line for line in captured.err.splitlines() if line.startswith("error: ")]
    if not ended.value.code or errors[-1:] == [NOTHING_FAILS]:
        outcome = TAKEN
    else:
        assert "Traceback" not in captured.err
        (error,) = errors
        assert Path(FILES[kind]).stem in error
        told = re.sub(r"_[0-9]{13}", "_<time>", error.replace(f"{files}/", ""))
        outcome = f"{told}\nexit status {ended.value.code}"
    OUTCOMES[f"{command}: {kind}"] = outcome
    goldens.check(FILE, f"{command}: {kind}", outcome)


NOTHING_FAILS = (
    "error: Nothing fails by 'crash|hang|differs'. Check options, inputs and environment, or change --fails."
)


def test_every_command_is_there() -> None:
    assert {*COMMANDS, *WITHOUT_FILES} == set(cli.commands)


WAY = re.compile(r"tt-xla [a-z]+ ?|Run it with: |A browser shows|Option --inputs|Name a file")


def rows(outcomes: dict[str, str]) -> Iterator[str]:
    """Yields the lines of the table."""
    yield "| file | taken by | the others |"
    yield "|---|---|---|"
    for kind in FILES:
        by_command = {command: outcomes[f"{command}: {kind}"] for command in COMMANDS}
        taken = [f"`{command}`" for command, outcome in by_command.items() if outcome == TAKEN]
        ways = [WAY.search(outcome) is not None for outcome in by_command.values() if outcome != TAKEN]
        others = (
            "say the way" if all(ways) else "say what is wrong" if not any(ways) else "say the way, or what is wrong"
        )
        yield f"| {kind} | {', '.join(taken) or 'none'} | {others} |"


def test_the_table_of_the_document(goldens: Goldens) -> None:
    document = ROOT / "docs/tools.md"
    table = "\n".join(rows(read_texts(FOLDER / f"{FILE}.txt") | OUTCOMES))
    if goldens.update:
        write_between_marks(document, "files", table)
    assert f"<!-- files -->\n{table}\n<!-- /files -->" in document.read_text()


def test_no_golden_file_is_left_over(goldens: Goldens) -> None:
    goldens.has_only("files", {"outcomes": [f"{command}: {kind}" for command in COMMANDS for kind in FILES]})
