"""Benchmarks of unchanged scripts: the steps that are figures, their figures, and the files."""

from __future__ import annotations

import csv
import importlib.util
import json
import re
import signal
import threading
from collections.abc import Callable
from pathlib import Path

import click
import pytest
import torch
from click.testing import CliRunner

from tests.profiling.conftest import INFER, TRAIN
from tt_xla.errors import EmptyRecordingError, MeshError, OptionError
from tt_xla.profiling.bench import Bench, measure
from tt_xla.profiling.scripts import run_recorded
from tt_xla.profiling.steps import Enough, find_steps, steady
from tt_xla.profiling.workload import TrainingWorkload, load, resolve
from tt_xla.tools.bench_command import bench_command
from tt_xla.tools.tune_command import tune_command

Script = Callable[[str], str]
TRAINING = Path(__file__).parents[2] / "examples" / "training"
SHAPES = {"jax_mesh_mlp": (2, 4)}
"""Meshes of the workloads that are not for one chip."""


def bench(script: str, *arguments: str, steps: int = 2) -> Bench:
    return measure(run_recorded(script, arguments, enough=Enough(steps)), steps)


def test_training_ends_after_enough_steady_steps(script: Script) -> None:
    recording = run_recorded(script(TRAIN), ["1000"], enough=Enough(3))
    assert recording.stopped
    assert recording.error == ""
    steps = find_steps(recording)
    assert [step.name for step in steady(steps)] == [step.name for step in steps[-3:]]
    assert steps[0].compiles
    assert steps[-1].name == f"step_steady_{len(steps) - 1}"
    assert len(recording.optimizer_steps) == len(steps)


def test_figures_of_a_training_step(script: Script) -> None:
    figures = bench(script(TRAIN), "1000", steps=3)
    assert (figures.system, figures.steps) == ("n150", 3)
    assert figures.compile_steps >= 1
    assert figures.wall_ms.min <= figures.wall_ms.median <= figures.wall_ms.max
    assert figures.measured_ms.mean > figures.host_ms > 0
    assert figures.card_ms == pytest.approx(figures.device_ms + figures.gaps_ms, rel=1e-6)
    assert figures.wall_ms.median == pytest.approx(figures.host_ms + figures.card_ms, rel=1e-6)  # of three steps
    assert figures.overhead_percent == pytest.approx(100 * (1 - figures.device_ms / figures.wall_ms.median))
    assert figures.dispatch_us == pytest.approx(1e3 * (figures.wall_ms.median - figures.device_ms) / figures.op_count)
    assert sum(figures.categories.values()) == pytest.approx(100)
    assert sum(line.count for line in figures.ops) == figures.op_count
    assert sum(line.device_us for line in figures.ops) == pytest.approx(1e3 * figures.device_ms, rel=0.05)
    assert figures.matmul_utilisation is not None
    assert 0 < figures.matmul_utilisation < 100
    assert figures.verdict == "HOST-bound"  # so small a network takes almost no device time
    assert any("script.py" in line.source for line in figures.ops)


ACCUMULATE = """
import torch

model = torch.nn.Sequential(torch.nn.Linear(64, 32), torch.nn.GELU(), torch.nn.Linear(32, 10)).to("tt")
compiled = torch.compile(model, backend="tt")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for number in range(1000):
    compiled(torch.randn(16, 64).to("tt")).square().mean().backward()
    if number % 3 == 2:
        optimizer.step()
        optimizer.zero_grad()
"""


def test_micro_steps_of_gradient_accumulation_have_times_of_their_own(script: Script, tmp_path: Path) -> None:
    backward = torch.autograd.backward
    done = CliRunner().invoke(
        bench_command, ["--steps", "2", "-o", str(tmp_path), script(ACCUMULATE)], catch_exceptions=False
    )
    assert torch.autograd.backward is backward
    figures = json.loads((tmp_path / "bench.json").read_text())
    times = figures["micro_steps"]
    assert times["per_step"] == 3
    assert times["forward_ms"]["mean"] + times["backward_ms"]["mean"] == pytest.approx(times["wall_ms"]["mean"])
    assert 0 < 3 * times["wall_ms"]["mean"] < figures["wall_ms"]["mean"]
    assert "micro-steps a step" in done.output
    with (tmp_path / "ops_perf_results.csv").open(newline="") as file:
        codes = [row["OP CODE"] for row in csv.DictReader(file)]
    number = figures["steps"] + figures["compile_steps"] - 1
    start, end = (codes.index(f"step_steady_{number}_micro_2_{mark}") for mark in ("start", "end"))
    assert end - start > 2  # ops of both passes
    optimizer_run, forward = (
        codes.index(f"step_steady_{number}_start"),
        codes.index(f"step_steady_{number}_micro_1_start"),
    )
    assert forward - optimizer_run > 2  # ops of the optimizer


def test_a_lazy_step_that_is_one_run_has_no_micro_steps_but_synced_ones_have(script: Script) -> None:
    assert bench(script(TRAIN), "1000").micro_steps is None
    synced = TRAIN.replace(".backward()\n", ".backward()\n    torch_xla.sync()\n")
    times = bench(script(synced), "1000").micro_steps
    assert times is not None
    assert (times.per_step, times.forward_ms) == (1, None)
    assert times.wall_ms.max > 0


def test_inference_steps_are_calls_of_the_compiled_model(script: Script) -> None:
    steps = find_steps(run_recorded(script(INFER), []))
    assert [step.compiles for step in steps] == [True, False, False]
    traced = find_steps(run_recorded(script(INFER), ["trace"]))
    assert [step.compiles for step in traced] == [True, True, False]  # the second step captures the trace


TRACES_LATE = """
import torch

model = torch.nn.Linear(64, 32).to("tt")
compiled = torch.compile(model, backend="tt")
with torch.no_grad():
    for number in range(1000):
        if number == 3:
            torch.compile(lambda count: count + 1, backend="tt")(number)
        compiled(torch.randn(16, 64, device="tt"))
"""


def test_a_step_in_which_a_function_is_only_traced_is_not_steady(script: Script) -> None:
    steps = find_steps(run_recorded(script(TRACES_LATE), enough=Enough(4)))
    assert [step.compiles for step in steps] == [True, False, True, False, False, False, False]


IN_A_THREAD = """
import queue, threading
import torch

compiled = torch.compile(torch.nn.Linear(64, 32).to("tt"), backend="tt")

def infer():
    with torch.no_grad():
        for number in range(1000):
            compiled(torch.randn(16, 64, device="tt"))

threading.Thread(target=infer, daemon=True).start()
queue.Queue().get()  # nothing is put into it
"""


def test_a_script_ends_whose_steps_run_in_a_thread(script: Script, capsys: pytest.CaptureFixture[str]) -> None:
    hook, handler = threading.excepthook, signal.getsignal(signal.SIGTERM)
    recording = run_recorded(script(IN_A_THREAD), enough=Enough(2))
    assert (recording.stopped, recording.error) == (True, "")
    assert "Traceback" not in capsys.readouterr().err
    assert (threading.excepthook, signal.getsignal(signal.SIGTERM)) == (hook, handler)


def test_an_error_in_a_thread_of_a_script_is_printed(script: Script, capsys: pytest.CaptureFixture[str]) -> None:
    fails = "import threading\nthread = threading.Thread(target=lambda: 1 / 0)\nthread.start()\nthread.join()\n"
    before, threading.excepthook = threading.excepthook, threading.__excepthook__  # pytest's prints nothing here
    try:
        run_recorded(script(fails))
    finally:
        threading.excepthook = before
    assert "ZeroDivisionError" in capsys.readouterr().err


def test_a_script_without_steps_is_refused(script: Script) -> None:
    with pytest.raises(EmptyRecordingError, match="The script ran nothing on the device"):
        bench(script("import torch; torch.ones(3) + 1"))
    once = "import torch; print((torch.ones(3).to('tt') + 1).cpu())"
    with pytest.raises(EmptyRecordingError, match="The script has no steps: it ran 1 programs"):
        bench(script(once))


def test_a_script_whose_steps_all_compile_is_refused(script: Script) -> None:
    text = "from tt_xla.frontends.torch.backend import clear_programs\n" + TRAIN.replace(
        '    tracy.signpost(f"step_{number}_start")', "    clear_programs()"
    )
    with pytest.raises(EmptyRecordingError, match="All 3 steps compiled programs"):
        bench(script(text), "3")


@pytest.mark.skipif(importlib.util.find_spec("matplotlib") is None, reason="matplotlib is not installed")
def test_a_crash_keeps_what_was_recorded(script: Script, tmp_path: Path) -> None:
    out = tmp_path / "out"
    early = script(TRAIN.replace("== 2", "== 1"))
    done = CliRunner().invoke(bench_command, ["--steps", "50", "-o", str(out), early, "60", "crash"])
    assert isinstance(done.exception, EmptyRecordingError)  # each of the first two steps compiles something
    assert "The script ended early (ValueError: no more data). All 2 steps compiled" in str(done.exception)
    assert "The partial recording is in" in str(done.exception)
    assert (
        "The script ended early, so this page is partial: ValueError: no more data" in (out / "bench.html").read_text()
    )
    done = CliRunner().invoke(
        bench_command, ["--steps", "50", "-o", str(out), script(TRAIN.replace("== 2", "== 5")), "60", "crash"]
    )
    assert done.exit_code == 1
    assert "error: the script ended early (ValueError: no more data)" in done.output
    assert json.loads((out / "bench.json").read_text())["partial"] == "ValueError: no more data"


@pytest.mark.skipif(importlib.util.find_spec("matplotlib") is None, reason="matplotlib is not installed")
def test_files_of_a_benchmark(script: Script, tmp_path: Path) -> None:
    done = CliRunner().invoke(
        bench_command, ["--steps", "2", "-o", str(tmp_path), "--json", script(TRAIN), "1000"], catch_exceptions=False
    )
    assert done.exit_code == 0
    figures = json.loads(done.stdout)
    assert figures == json.loads((tmp_path / "bench.json").read_text())
    with (tmp_path / "ops_perf_results.csv").open(newline="") as file:
        posts = [row["OP CODE"] for row in csv.DictReader(file) if row["OP TYPE"] == "signpost"]
    number = figures["steps"] + figures["compile_steps"] - 1
    assert {f"step_steady_{number}_start", f"step_steady_{number}_end"} <= set(posts)
    assert (tmp_path / "stacked.png").read_bytes().startswith(b"\x89PNG")
    html = (tmp_path / "bench.html").read_text()
    assert "<h1>script.py on n150</h1>" in html
    assert re.search(r'<p class="soft">\d{4}-\d\d-\d\d \d\d:\d\d, \d+ ops, wormhole_b0', html)
    first, second = re.findall(r'<div class="card"><b>(.*?)</b><span>(.*?)</span>', html)[:2]
    assert first == (f"{figures['card_ms']:.3f} ms", "time of a step on the chip, predicted")
    assert second[1] == "ops / gaps between them, predicted"
    assert "HOST-bound" in html
    assert "optimizer.step()" in html  # the script's source
    assert "http" not in html.replace("http-equiv", "")


@pytest.mark.parametrize("name", sorted(path.name for path in TRAINING.iterdir() if path.is_dir()))
def test_training_workloads_are_valid(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    config = TRAINING / name / "config.yaml"
    shape = SHAPES.get(name)
    if shape is not None:
        with pytest.raises(MeshError, match="n150 has 1 chip"):
            resolve(str(config), [])
        monkeypatch.setenv("TTXLA_SYSTEM", "p150x8")
    script, arguments = resolve(str(config), ["--extra"])
    assert Path(script).is_file()
    assert arguments == ["--config", str(config), "--extra"]
    spec = importlib.util.spec_from_file_location(f"training_{name}", script)
    assert spec is not None
    assert spec.loader is not None
    for package in ("transformers", "peft", "optax", "sklearn"):
        if package in Path(script).read_text():
            pytest.importorskip(package)
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert load(config, module.Config).mesh_shape == shape


def test_bad_configurations(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    with pytest.raises(OptionError, match="does not exist"):
        resolve(str(path), [])
    path.write_text("script: train.py\nmesh_shape: [1, 8]\n")
    with pytest.raises(MeshError, match="A mesh of 1x8 needs 8 chips; n150 has 1 chip"):
        resolve(str(path), [])
    path.write_text("- a\n")
    with pytest.raises(OptionError, match="does not map names to values"):
        resolve(str(path), [])
    path.write_text("mesh_shape: null\n")
    with pytest.raises(OptionError, match="has no field 'script', and no Python file"):
        resolve(str(path), [])
    program = "if __name__ == '__main__':\n    parser.add_argument('--config')\n"
    (tmp_path / "helpers.py").write_text("x = 1\n")
    (tmp_path / "train_model.py").write_text(program)
    assert resolve(str(path), []) == (str(tmp_path / "train_model.py"), ["--config", str(path)])
    inner = tmp_path / "single_chip"
    inner.mkdir()
    (inner / "config.yaml").write_text("mesh_shape: null\n")
    assert resolve(str(inner / "config.yaml"), [])[0] == str(tmp_path / "train_model.py")
    (tmp_path / "other.py").write_text(program)
    with pytest.raises(OptionError, match=r"several scripts .* take --config: other\.py, train_model\.py"):
        resolve(str(path), [])
    path.write_text("a: [\n")
    with pytest.raises(OptionError, match="is not valid YAML"):
        resolve(str(path), [])
    path.write_text("script: a\nmesh_shape: null\nbatch_size: -1\nlearning_rate: 1\nmax_steps: 1\nwhat: 1\n")
    with pytest.raises(OptionError, match=r"batch_size: Input should be greater than 0; what: Extra inputs"):
        load(path, TrainingWorkload)


@pytest.mark.parametrize(("command", "option"), [(bench_command, "--steps"), (tune_command, "--jobs")])
def test_options_may_follow_a_configuration_but_are_a_scripts_own(command: click.Command, option: str) -> None:
    for path, own in (("train.py", False), ("config.yaml", True), ("model.mlir", True)):
        context = command.make_context(command.name, [path, option, "3"])
        assert context.params["arguments"] == (() if own else (option, "3"))
        assert (context.params[option.removeprefix("--")] == 3) is own


WITHOUT_WEIGHTS = """
import resource
import torch, tt_torch

with torch.device("meta"):
    model = torch.nn.Sequential(*(torch.nn.Linear(8192, 8192, bias=False) for _ in range(4)))
model = torch.compile(model.to_empty(device="tt"), backend="tt")
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
with torch.no_grad():
    for step in range(100):
        print("step", step, model(torch.ones(32, 8192, device="tt")).cpu().abs().sum().item())
        print("growth", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_a_prediction_computes_nothing_and_needs_no_weights(script: Script, capfd: pytest.CaptureFixture[str]) -> None:
    result = CliRunner().invoke(bench_command, ["--predict-only", "--json", "--steps", "2", script(WITHOUT_WEIGHTS)])
    assert result.exit_code == 0, result.output
    lines = result.stderr.splitlines()
    assert [line for line in lines if line.startswith("step")] == ["step 0 0.0", "step 1 0.0"]
    growth = max(int(line.split()[1]) for line in lines if line.startswith("growth"))
    assert growth < 400 * 1024, "kibibytes; the weights have 1048576"
    figures = json.loads(result.stdout)
    program = max(figures["programs"], key=lambda item: item["device_us"])
    assert program["weight_bytes"] == 4 * 8192 * 8192 * 4
    assert figures["step_us"] >= program["device_us"] > 0
    model = torch.compile(torch.nn.Linear(4, 4).to("tt"), backend="tt")
    assert model(torch.ones(2, 4).to("tt")).cpu().abs().sum() > 0  # later programs compute again


def test_a_prediction_of_a_script_that_runs_nothing(script: Script) -> None:
    result = CliRunner().invoke(bench_command, ["--predict-only", script("print(1)")])
    assert isinstance(result.exception, EmptyRecordingError)
    assert "ran nothing on the device" in str(result.exception)


def test_a_prediction_of_a_script_that_fails_shows_the_runs_before(script: Script) -> None:
    text = WITHOUT_WEIGHTS.replace("8192", "64") + "raise ValueError('enough')"
    result = CliRunner().invoke(bench_command, ["--predict-only", "--steps", "200", script(text)])
    assert result.exit_code == 1
    assert "A step takes" in result.output
    assert "ValueError: enough" in result.output
