"""Searches: the choices that are tried, the choice that is made, and how an interrupted search continues."""

from __future__ import annotations

import json
import subprocess
import sys
import types
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
import torch
from click.testing import CliRunner

import tt_xla
from tt_xla.errors import ExecutionError, OptionError
from tt_xla.options import CompileOptions
from tt_xla.profiling.tune.choice import Choice, Outcome, pareto
from tt_xla.profiling.tune.executors import LocalExecutor, RayExecutor
from tt_xla.profiling.tune.page import write_chosen, write_page
from tt_xla.profiling.tune.search import TRIALS_NAME, Search, Space, groups_of
from tt_xla.profiling.tune.trial import Spec, run
from tt_xla.profiling.tune.trial_log import sources_of
from tt_xla.tools.tune_command import tune_command

MODULE = """
!t = tensor<64x64xbf16>
func.func public @main(%x: !t, %w: !t {ttcore.argument_type = "parameter", ttir.name = "w"}) -> !t {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (!t, !t) -> !t
  %1 = stablehlo.tanh %0 : !t
  return %1 : !t
}
"""

WEIGHTS = (("a", 100), ("b", 100), ("c", 100))
LOSS = {"a": 0.002, "b": 0.02, "c": 0.004}
"""Correlation that each weight in bfp4 costs on the simulated card below."""


def card(choice: Choice) -> Outcome:
    """Simulates a card: level 2, traces and narrow weights are faster; batches above 8 bring no throughput."""
    if choice.batch == 32:
        return Outcome(choice, error="ResourceExhaustedError: too much")
    narrow = choice.overrides.count("=") if choice.weights == "mixed" else 3 * (choice.weights == "bfp4")
    ms = 10.0 - 2 * choice.optimization_level - choice.enable_trace - 0.5 * (choice.weights != "bf16") - 0.2 * narrow
    names = [part.partition("=")[0] for part in choice.overrides.split(",") if part]
    lost = sum(LOSS[name] for name in (list(LOSS) if choice.weights == "bfp4" else names))
    lost += 0.5 if choice.math_fidelity == "lofi" else 0.0
    pcc = 1.0 if choice.reference else 1 - lost if choice.batch in (0, 1) else None
    ms -= 0.5 * (choice.math_fidelity == "lofi")
    return Outcome(
        choice, ms * max(1, min(choice.batch, 8)) ** 0.5 * max(1, choice.batch / 8), pcc=pcc, weights=WEIGHTS
    )


class Card:
    """Runs trials on the simulated card, and raises KeyboardInterrupt after ``limit`` of them."""

    def __init__(self, limit: int | None = None) -> None:
        self.limit = limit
        self.tried: list[Choice] = []

    def __call__(self, specs: Sequence[Spec]) -> Iterator[Outcome]:
        for spec in specs:
            if len(self.tried) == self.limit:
                raise KeyboardInterrupt
            self.tried.append(spec.choice)
            yield card(spec.choice)


@pytest.fixture
def program(tmp_path: Path) -> str:
    path = tmp_path / "program.mlir"
    path.write_text(MODULE)
    return str(path)


def search(program: str, run_all: Any, folder: Path, **space: Any) -> Search:
    folder.mkdir(exist_ok=True)
    return Search(program, (), Space(**space), folder, run_all)


def test_options_are_swept_one_after_another_within_the_budget(program: str, tmp_path: Path) -> None:
    tuning = search(program, Card(), tmp_path / "out", pcc=0.99)
    chosen = tuning.best(tuning.run())
    assert chosen is not None
    assert (chosen.choice.optimization_level, chosen.choice.enable_trace) == (2, True)
    assert chosen.choice.math_fidelity == ""  # lofi is faster, but inaccurate
    assert (chosen.choice.weights, chosen.choice.overrides) == ("mixed", "a=bfp_bf4,c=bfp_bf4")  # b costs too much
    assert chosen.pcc == pytest.approx(0.994)


def test_mixed_weights_are_not_tried_where_all_may_be_narrow(program: str, tmp_path: Path) -> None:
    run_all = Card()
    tuning = search(program, run_all, tmp_path / "out", pcc=0.9)
    chosen = tuning.best(tuning.run())
    assert chosen is not None
    assert chosen.choice.weights == "bfp4"
    assert not any(choice.overrides for choice in run_all.tried)


def test_batches_stop_where_throughput_plateaus_or_memory_runs_out(program: str, tmp_path: Path) -> None:
    run_all = Card()
    tuning = search(program, run_all, tmp_path / "one", weights=("bf16",), batches=(1, 2, 4, 8, 16, 64))
    chosen = tuning.best(tuning.run())
    assert chosen is not None
    assert (chosen.choice.batch, chosen.pcc) == (8, 1.0)
    assert max(choice.batch for choice in run_all.tried) == 16
    exhausted = search(program, run_all, tmp_path / "two", weights=("bf16",), batches=(1, 32, 64))
    outcomes = exhausted.run()
    assert [outcome.choice.batch for outcome in outcomes if outcome.error] == [32]
    assert 64 not in {outcome.choice.batch for outcome in outcomes}


def test_a_grid_has_every_combination(program: str, tmp_path: Path) -> None:
    run_all = Card()
    search(program, run_all, tmp_path / "out", weights=("bf16", "bfp8"), grid=True).run()
    assert len(run_all.tried) == 1 + 3 * 2 * 2 * 3


def test_an_interrupted_search_continues(program: str, tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        search(program, Card(limit=4), tmp_path / "out").run()
    with (tmp_path / "out" / TRIALS_NAME).open("a") as file:
        file.write('{"cut')  # the line of a process that was killed
    remaining = Card()
    search(program, remaining, tmp_path / "out").run()
    complete = Card()
    search(program, complete, tmp_path / "other").run()
    assert len(remaining.tried) == len(complete.tried) - 4
    assert set(remaining.tried) < set(complete.tried)
    repeated = Card()
    search(program, repeated, tmp_path / "out").run()
    assert not repeated.tried  # the lines after the one that was cut off are read too


def test_a_narrower_search_in_the_same_folder_chooses_within_its_own_space(program: str, tmp_path: Path) -> None:
    search(program, Card(), tmp_path / "out").run()
    outcomes = search(program, Card(), tmp_path / "out", levels=(0,), weights=("bf16",)).run()
    assert {outcome.choice.weights for outcome in outcomes} == {"bf16"}
    assert {outcome.choice.optimization_level for outcome in outcomes if not outcome.choice.reference} == {0}


def test_trials_of_another_program_are_refused_and_of_a_changed_one_replaced(program: str, tmp_path: Path) -> None:
    search(program, Card(), tmp_path / "out").run()
    other = tmp_path / "other.mlir"
    other.write_text(MODULE)
    with pytest.raises(OptionError, match=r"has the trials of another program, .*program\.mlir"):
        search(str(other), Card(), tmp_path / "out").run()
    Path(program).write_text(MODULE + "\n")
    again = Card()
    search(program, again, tmp_path / "out").run()
    assert again.tried


def test_trials_of_other_circumstances_do_not_count(
    program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TTXLA_SYSTEM", "n150")

    def tried(**changes: Any) -> int:
        run_all = Card()
        tuning = search(program, run_all, tmp_path / "out", metric=changes.pop("metric", ""))
        for name, value in changes.items():
            setattr(tuning, name, value)
        tuning.run()
        return len(run_all.tried)

    assert tried() > 0
    assert tried() == 0
    monkeypatch.setenv("TTXLA_LOGGER_LEVEL", "INFO")
    assert tried() == 0
    for name, value in (("TTXLA_SYSTEM", "p150"), ("TTXLA_COMPILE_OPTIONS", "{}"), ("TTXLA_EAGER", "1")):
        monkeypatch.setenv(name, value)
        assert tried() > 0
    assert tried(batch_argument="--batch") > 0
    assert tried(arguments=("more",)) > 0
    monkeypatch.chdir(tmp_path)
    assert tried() > 0
    monkeypatch.setattr("tt_xla.disk_cache.version_digest", lambda: "another version")
    assert tried() > 0
    assert tried() == 0


def test_a_changed_module_of_the_program_starts_the_search_again(program: str, tmp_path: Path) -> None:
    module = tmp_path / "module.py"
    module.write_text("SIZE = 1\n")

    def with_sources(specs: Sequence[Spec]) -> Iterator[Outcome]:
        for outcome in run_all(specs):
            yield replace(outcome, sources=(str(module),))

    for text, counts in (("SIZE = 1\n", True), ("SIZE = 1\n", False), ("SIZE = 2\n", True)):
        module.write_text(text)
        run_all = Card()
        search(program, with_sources, tmp_path / "out").run()
        assert bool(run_all.tried) is counts


def test_a_metric_judges_in_place_of_the_correlation(program: str, tmp_path: Path) -> None:
    exact = Outcome(Choice(reference=True), 3.0, pcc=1.0, metrics={"accuracy": 0.9})
    narrow = Outcome(Choice(weights="bfp4"), 1.0, pcc=0.30, metrics={"accuracy": 0.895})
    worse = Outcome(Choice(weights="bfp4", math_fidelity="lofi"), 0.5, pcc=0.999, metrics={"accuracy": 0.10})
    silent = Outcome(Choice(optimization_level=2), 0.1, pcc=1.0)
    tuning = search(program, Card(), tmp_path / "out", metric="accuracy", pcc=0.99)
    tuning.outcomes = {outcome.choice: outcome for outcome in (exact, narrow, worse, silent)}
    assert tuning.best(tuning.outcomes.values()) == narrow
    assert tuning.least_accuracy == pytest.approx(0.891)
    tuning.space = replace(tuning.space, pcc=0.999)
    assert tuning.best(tuning.outcomes.values()) is None
    lost = {"loss": -2.0}
    tuning.outcomes = {exact.choice: replace(exact, metrics=lost)}
    tuning.space = replace(tuning.space, metric="loss", pcc=0.99)
    assert tuning.least_accuracy == pytest.approx(-2.02)  # more is better, and a negative metric may be a bit less


def test_groups_of_weights_are_ranked_by_the_metric(program: str, tmp_path: Path) -> None:
    def judged(specs: Sequence[Spec]) -> Iterator[Outcome]:
        for spec in specs:
            outcome = card(spec.choice)
            yield replace(outcome, pcc=0.5, metrics={"score": outcome.pcc or 0.0})

    tuning = search(program, judged, tmp_path / "out", metric="score", pcc=0.99)
    chosen = tuning.best(tuning.run())
    assert chosen is not None
    assert chosen.choice.overrides == "a=bfp_bf4,c=bfp_bf4"


def test_a_metric_that_the_script_does_not_report_is_refused(program: str, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"reports no metric 'accuracy'; it reports none\."):
        search(program, Card(), tmp_path / "out", metric="accuracy").run()


def test_a_program_that_does_not_run_is_refused(program: str, tmp_path: Path) -> None:
    def broken(specs: Sequence[Spec]) -> Iterator[Outcome]:
        return (Outcome(spec.choice, error="ValueError: no") for spec in specs)

    with pytest.raises(ExecutionError, match="does not run: ValueError: no"):
        search(program, broken, tmp_path / "out").run()
    search(program, Card(), tmp_path / "out").run()  # what was wrong may be mended, so it is tried again


def test_the_front_and_the_files(program: str, tmp_path: Path) -> None:
    tuning = search(program, Card(), tmp_path / "out")
    outcomes = tuning.run()
    chosen = tuning.best(outcomes)
    assert chosen is not None
    front = pareto(outcomes)
    assert [outcome.throughput for outcome in front] == sorted((outcome.throughput for outcome in front), reverse=True)
    accuracies = [outcome.pcc or 0.0 for outcome in front]
    assert accuracies == sorted(set(accuracies))
    assert chosen in front
    write_chosen(tmp_path / "chosen.json", chosen, "")
    options = json.loads((tmp_path / "chosen.json").read_text())["compile_options"]
    assert CompileOptions.parse(options).experimental_weight_dtype_overrides == "a=bfp_bf4,c=bfp_bf4"
    write_page(tmp_path / "tune.html", program, outcomes, chosen, "")
    page = (tmp_path / "tune.html").read_text()
    assert page.count("<circle") == len([outcome for outcome in outcomes if not outcome.choice.reference])
    judged = [replace(outcome, metrics={"accuracy": 1.0}) for outcome in outcomes]
    assert len(pareto(judged, "accuracy")) == 1  # accuracy is equal, so the fastest outcome is the front


def test_weights_are_grouped_by_size() -> None:
    assert groups_of([("a", 1), ("b", 5)], 8) == [["a"], ["b"]]
    groups = groups_of([(f"w{number:02}", 10) for number in range(40)], 8)
    assert len(groups) == 8
    assert [len(group) for group in groups] == [5] * 8
    assert groups_of([], 8) == []


def test_real_trials_of_a_module(program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TTXLA_COMPILE_OPTIONS", "")
    results = str(tmp_path / "reference.pt")
    spec = Spec(Choice(reference=True), program, (), "", "", results)
    reference = run(spec, tmp_path)
    assert (reference.error, reference.pcc, reference.weights) == ("", 1.0, (("w", 4096),))
    assert reference.compared_with == "float32 on the CPU"
    (exact,) = torch.load(results)
    assert exact.dtype is torch.float32
    assert not torch.equal(exact, exact.bfloat16().float())
    slow = run(replace(spec, choice=Choice()), tmp_path)
    fast = run(replace(spec, choice=Choice(enable_trace=True)), tmp_path)
    assert slow.step_ms - fast.step_ms == pytest.approx((4.8 - 2.05) * 1e-3, rel=0.01)  # one gap, between two ops
    narrow = run(replace(spec, choice=Choice(weights="bfp4")), tmp_path)
    mixed = run(replace(spec, choice=Choice(weights="mixed", overrides="w=bfp_bf4")), tmp_path)
    assert slow.pcc is not None
    assert narrow.pcc is not None
    assert 0.9 < narrow.pcc < slow.pcc <= 1
    assert mixed.pcc == narrow.pcc


SCRIPT = """
import torch

model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.GELU(), torch.nn.Linear(64, 32)).bfloat16().to("tt")
call = torch.compile(model, backend="tt")
with torch.no_grad():
    for _ in range(4):
        call(torch.randn(16, 64).bfloat16().to("tt")).cpu()
"""


def test_the_reference_of_a_script_in_bfloat16_is_float32(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TTXLA_COMPILE_OPTIONS", "")
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    results = str(tmp_path / "reference.pt")
    own = [Choice(reference=True), Choice(), Choice(weights="bfp4")]
    specs = [Spec(choice, str(script), (), "", "", results) for choice in own]
    reference, wide, narrow = (run(spec, tmp_path) for spec in specs)
    assert (reference.error, reference.inexact) == ("", "")
    (exact,) = torch.load(results)
    assert (exact.dtype, exact.shape) == (torch.float32, (16, 32))
    assert wide.pcc is not None
    assert narrow.pcc is not None
    assert 0.9 < narrow.pcc < wide.pcc < 1


BESIDE_ITS_DATA = """
import sys
from pathlib import Path

import random, of_the_script

raise SystemExit(Path("data.txt").read_text() + Path(sys.argv[1]).read_text() + of_the_script.TEXT)
"""


def test_a_script_finds_its_relative_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "scripts").mkdir()
    script = tmp_path / "scripts" / "script.py"
    script.write_text(BESIDE_ITS_DATA)
    (tmp_path / "scripts" / "of_the_script.py").write_text("TEXT = 'three'\n")
    (tmp_path / "data.txt").write_text("one, ")
    (tmp_path / "more.txt").write_text("two, ")
    (tmp_path / "random.py").write_text("raise SystemExit('not the module of Python')\n")
    monkeypatch.chdir(tmp_path)
    run_all = LocalExecutor(1)
    (outcome,) = run_all([Spec(Choice(), str(script), ("more.txt",), "", "", "")])
    assert outcome.error == "SystemExit: one, two, three"


def test_the_files_of_a_script_are_its_own_modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script, module = tmp_path / "script.py", tmp_path / "package" / "module_of_the_script.py"
    elsewhere = tmp_path / "site-packages" / "of_a_package.py"
    for path in (module, elsewhere):
        loaded = types.ModuleType(path.stem)
        loaded.__file__ = str(path)
        monkeypatch.setitem(sys.modules, path.stem, loaded)
    assert sources_of(str(script)) == (str(module), str(script))
    package = Path(tt_xla.__file__).parent
    beside = sources_of(str(package.parent / "script.py"))
    assert str(package.parent / "script.py") in beside
    assert not any(Path(file).is_relative_to(package) for file in beside)


def test_a_batch_size_is_written_to_a_copy(tmp_path: Path) -> None:
    """The copy names the script of the experiment, whose file stays as it is."""
    (tmp_path / "trial").mkdir()
    config, script = tmp_path / "config.yaml", tmp_path / "script.py"
    config.write_text("script: script.py\nbatch_size: 1\n")
    script.write_text("import pathlib, sys; raise SystemExit(pathlib.Path(sys.argv[2]).read_text() + sys.argv[3])")
    spec = Spec(Choice(batch=8), str(config), ("more",), "--batch-size", "", "")
    assert run(spec, tmp_path / "trial").error == f"SystemExit: batch_size: 8\nscript: {script}\nmore"
    assert config.read_text() == "script: script.py\nbatch_size: 1\n"
    config.write_text("batch_size: 1\n")  # as tt-blacksmith's, whose script is found
    script.write_text(script.read_text() + "  # __main__ --config")
    assert run(spec, tmp_path / "trial").error == "SystemExit: batch_size: 8\nmore"


def test_a_process_that_dies_is_an_outcome(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("import os; print('so long', file=__import__('sys').stderr, flush=True); os._exit(7)")
    (outcome,) = LocalExecutor(1)([Spec(Choice(), str(script), (), "", "", str(tmp_path / "r.pt"))])
    assert outcome.error.startswith("the process ended with code 7")
    assert "so long" in outcome.error


def test_ray_runs_trials_elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from tt_xla.profiling.tune import executors

    class Remote:
        def __init__(self, function: Any) -> None:
            self.function = function

        def remote(self, *arguments: Any) -> Any:
            return self.function(*arguments)

    ray = types.ModuleType("ray")
    calls: list[str] = []
    ray.init = lambda address, **rest: calls.append(address)
    ray.remote = lambda **needs: Remote
    ray.wait = lambda waiting, num_returns: (waiting[:1], waiting[1:])
    ray.get = lambda done: done
    ray.shutdown = lambda: calls.append("shutdown")
    monkeypatch.setitem(sys.modules, "ray", ray)
    monkeypatch.setattr(
        executors, "run_in_process", lambda data: msgspec.to_builtins(card(msgspec.convert(data, Spec).choice))
    )
    executor = RayExecutor("cluster:1")
    specs = [Spec(Choice(level), "p", (), "", "", "") for level in range(3)]
    assert [outcome.choice.optimization_level for outcome in executor(specs)] == [0, 1, 2]
    executor.stop()
    assert calls == ["cluster:1", "shutdown"]
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(OptionError, match="--ray needs Ray, which is not installed"):
        RayExecutor("cluster:1")


@pytest.mark.parametrize("error", [ConnectionError("no answer"), RuntimeError("no head"), ValueError("no port")])
def test_an_address_without_a_cluster_is_refused(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def init(address: str, **rest: Any) -> None:
        raise error

    monkeypatch.setitem(sys.modules, "ray", types.SimpleNamespace(init=init))
    with pytest.raises(OptionError, match=f"There is no Ray cluster at 'cluster:1': {error}") as raised:
        RayExecutor("cluster:1")
    assert "set RAY_AUTH_MODE=token" in str(raised.value)
    error = TypeError("a fault of ours")
    with pytest.raises(TypeError, match="a fault of ours"):
        RayExecutor("cluster:1")


@pytest.mark.nightly
def test_processes_end_with_a_search_that_is_left_early(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started, start = [], subprocess.Popen
    monkeypatch.setattr(subprocess, "Popen", lambda *args, **rest: started.append(start(*args, **rest)) or started[-1])
    scripts = {"quick": "import os; os._exit(7)", "slow": "import time; time.sleep(600)"}
    for name, text in scripts.items():
        (tmp_path / name).write_text(text)
    executor = LocalExecutor(2)
    specs = [Spec(Choice(), str(tmp_path / name), (), "", "", str(tmp_path / "r.pt")) for name in scripts]
    outcomes = executor(specs)
    assert "code 7" in next(outcomes).error
    outcomes.close()
    assert {process.returncode for process in started} == {7, -9}


def test_invalid_arguments_are_refused(program: str) -> None:
    for flags, message in (
        (["--levels", "3"], "'3' is not a list of 0, 1, 2"),
        (["--batches", "0,4"], "is not a list of positive numbers"),
        (["--weights", ""], "is not a list of bf16"),
    ):
        done = CliRunner().invoke(tune_command, [*flags, program])
        assert done.exit_code == 2
        assert message in done.output
    assert isinstance(CliRunner().invoke(tune_command, ["nowhere"]).exception, FileNotFoundError)


@pytest.mark.nightly
def test_the_command_tunes_a_module(program: str, tmp_path: Path) -> None:
    flags = ["--levels", "1", "--traces", "off", "--weights", "bf16,bfp8", "--fidelities", "default", "--pcc", "0.5"]
    done = subprocess.run(
        [sys.executable, "-m", "tt_xla", "tune", *flags, "--json", "-o", str(tmp_path / "out"), program],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["compile_options"]["optimization_level"] == 1
    assert "Pareto front" in done.stderr


PRODUCTS = """
func.func public @main(%x: tensor<1x1024xbf16>, %up: tensor<1024x4096xbf16>, %down: tensor<4096x1024xbf16>)
    -> tensor<1x1024xbf16> {
  %0 = stablehlo.dot_general %x, %up, contracting_dims = [1] x [0]
    : (tensor<1x1024xbf16>, tensor<1024x4096xbf16>) -> tensor<1x4096xbf16>
  %1 = stablehlo.dot_general %0, %down, contracting_dims = [1] x [0]
    : (tensor<1x4096xbf16>, tensor<4096x1024xbf16>) -> tensor<1x1024xbf16>
  return %1 : tensor<1x1024xbf16>
}"""


def test_shardings_of_a_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TTXLA_SYSTEM", "n150")
    path = tmp_path / "products.mlir"
    path.write_text(PRODUCTS)
    flags = ["--mesh", "1x8", "--system", "n300-llmbox"]
    done = CliRunner().invoke(tune_command, [*flags, str(path)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    for part in ("Mesh (x=1, y=8) of n300-llmbox", "chosen", "none: each chip computes everything", "MB on each chip"):
        assert part in done.output
    assert 'mesh = jax.make_mesh((1, 8), ("x", "y"))' in done.output
    assert 'P(None, "y"),  # arg1 [1024, 4096]' in done.output
    done = CliRunner().invoke(tune_command, [*flags, "--code", "torch", str(path)], catch_exceptions=False)
    assert 'xs.mark_sharding(arg1, mesh, (None, "y"))' in done.output
    done = CliRunner().invoke(tune_command, [*flags, "--json", str(path)], catch_exceptions=False)
    record = json.loads(done.stdout)
    times = [trial["predicted_us"] for trial in record["trials"]]
    assert times == sorted(times)
    assert record["trials"][0]["shardings"] == [[[], []], [[], ["y"]], [["y"], []]]


@pytest.mark.nightly
def test_shardings_of_a_script(tmp_path: Path) -> None:
    """The script runs on the system, and its longest program is searched."""
    script = tmp_path / "script.py"
    script.write_text("""
import torch
model = torch.nn.Sequential(torch.nn.Linear(1024, 4096), torch.nn.ReLU(), torch.nn.Linear(4096, 1024)).to("tt").eval()
compiled = torch.compile(model, backend="tt")
with torch.no_grad():
    for _ in range(3):
        compiled(torch.ones(1, 1024).to("tt")).cpu()
""")
    command = [sys.executable, "-m", "tt_xla", "tune", "--mesh", "auto", "--system", "n300", str(script)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "mesh = xs.Mesh(range(2), (1, 2)" in done.stdout
    assert 'xs.mark_sharding(model.get_parameter("0.weight"), mesh' in done.stdout


def test_meshes_that_do_not_fit_are_refused(program: str) -> None:
    def error(*flags: str) -> str:
        done = CliRunner().invoke(tune_command, [*flags, program])
        assert done.exit_code != 0
        return f"{done.output}{done.exception}"

    assert "A mesh of 4x4 needs 16 chips; n300-llmbox has 8" in error("--mesh", "4x4", "--system", "n300-llmbox")
    for text in ("1", "1x1"):
        assert f"A mesh of shape {text} is one chip" in error("--mesh", text, "--system", "n300-llmbox")
    for text in ("2by4", "true", "0", ""):
        assert "it takes true, false or the shape of a mesh" in error("--mesh", text, "--system", "n300-llmbox")


def test_a_script_that_compiles_nothing_is_a_failure(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("print(1)\n")
    error = CliRunner().invoke(tune_command, ["--mesh", "1x2", "--system", "n300", str(script)]).exception
    assert (type(error), "compiled no program" in str(error)) == (ExecutionError, True)


def test_options_of_another_search_are_refused(program: str) -> None:
    for flags, message in (
        (["--mesh", "1x2", "--levels", "1"], "--levels does nothing with --mesh"),
        (["--mesh", "1x2", "-o", "out"], "--out does nothing with --mesh"),
        (["--mesh", "1x2", "--accuracy", "0.9"], "--accuracy does nothing with --mesh"),
        (["--accuracy", "0.9", "--metric", "loss"], "--metric does nothing with --accuracy"),
        (["--code", "jax"], "--code needs --mesh"),
        (["--measure", "top1", "-o", "out"], "--measure needs --accuracy"),
    ):
        done = CliRunner().invoke(tune_command, [*flags, program])
        assert (done.exit_code, message in done.output) == (2, True), done.output
    assert "nowhere" in CliRunner().invoke(tune_command, ["--system", "nowhere", program]).output


@pytest.mark.parametrize(
    ("runtime", "flags", "jobs"), [("ttnn", [], 1), ("ttnn", ["--jobs", "3"], 3), ("ttnn-mock", [], 2)]
)
def test_trials_on_a_card_run_one_at_a_time(monkeypatch, tmp_path, runtime, flags, jobs):
    asked: list[int] = []

    def executor(number: int) -> LocalExecutor:
        asked.append(number)
        raise OptionError("The number is known.")

    monkeypatch.setattr("tt_xla.profiling.tune.executors.LocalExecutor", executor)
    monkeypatch.setenv("TTXLA_RUNTIME", runtime)
    script = tmp_path / "script.py"
    script.write_text("")
    done = CliRunner().invoke(tune_command, [*flags, "-o", str(tmp_path / "out"), str(script)])
    assert "The number is known." in str(done.exception)
    assert asked == [jobs]
