"""Models in their own processes: failures, packages, resumed runs and reports, in pytest and with the command."""

import math
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import types
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from tt_xla.errors import OptionError, OutputError, TTXLAError
from tt_xla.testing import child_processes
from tt_xla.testing.models import campaign, execution, loading, processes, records, requirements, summary
from tt_xla.testing.models.config import BringupStatus, Expectation, ModelTestStatus
from tt_xla.testing.models.discovery import Case
from tt_xla.testing.models.processes import Limits
from tt_xla.testing.models.records import Record
from tt_xla.testing.models.suite import Task
from tt_xla.testing.torch_model import TorchModelTester

pytest_plugins = "pytester"

LOADER = """
import torch
from tt_xla.testing.models.protocol import ForgeModel, ModelInfo

class ModelLoader(ForgeModel):
    @classmethod
    def _get_model_info(cls, variant):
        return ModelInfo("m", variant, "generality", "nlp", "custom", "pytorch")

    def load_inputs(self, dtype_override=None, batch_size=4):
        return torch.ones(batch_size, 8, dtype=dtype_override)

    def load_model(self, dtype_override=None):
        {0}
"""
MODELS = {
    "good": "return torch.nn.Linear(8, 8).to(dtype_override)",
    "raises": "raise ValueError('no such weights')",
    "exits": "import sys; sys.exit(3)",
    "crashes": "import ctypes; ctypes.string_at(0)",
    "eats": "self.kept = [bytearray(1 << 28) for _ in range(1 << 10)]",
}
LIMITS = Limits(240, 3 << 30)


def make(root: Path, **bodies: str) -> Path:
    for name, body in bodies.items():
        path = root / name / "pytorch" / "loader.py"
        path.parent.mkdir(parents=True)
        path.write_text(LOADER.format(body))
    return root


def tasks_of(root: Path, *names: str) -> list[Task]:
    return [Task(root, case(name), Expectation()) for name in names]


def case(name: str, parallelism: str = "single_device") -> Case:
    return Case(f"{name}/pytorch", None, parallelism, "inference")


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    return make(tmp_path_factory.mktemp("models"), **MODELS)


@pytest.mark.nightly
def test_one_bad_model_does_not_stop_the_others(models, tmp_path):
    tasks = tasks_of(models, "crashes", "eats", "exits", "good", "raises")
    records_file = tmp_path / "records.jsonl"
    records_by_name = {
        record.test.partition("/")[0]: record for record in campaign.run_all(tasks, LIMITS, records_file, jobs=2)
    }
    outcomes = {name: record.outcome for name, record in records_by_name.items()}
    assert outcomes == dict.fromkeys(records_by_name, "failed") | {"good": "passed"}
    assert "killed by SIGSEGV" in records_by_name["crashes"].error
    assert "in stage 'load'" in records_by_name["crashes"].error
    assert "MemoryError" in records_by_name["eats"].error
    assert "ended the process with 3" in records_by_name["exits"].error
    assert records_by_name["raises"].error.startswith("ValueError: no such weights (at ")
    assert "loader.py:" in records_by_name["raises"].error
    good = records_by_name["good"]
    assert (good.bringup_status, good.stage) == ("PASSED", "compare")
    assert good.pcc > 0.99
    assert good.device_us > 0
    assert good.samples_per_s == pytest.approx(4 / (good.device_us * 1e-6))
    assert good.info["name"] == "pytorch_m_None_nlp_custom"
    assert set(records.load(records_file)) == {task.case.id for task in tasks}


def test_a_model_that_hangs_is_stopped(tmp_path):
    root = make(tmp_path, hangs="while True: pass")
    record = processes.run_test(root, case("hangs"), Expectation(), Limits(2))
    assert record.outcome == "failed"
    assert "took more than 2 s and was stopped" in record.error


@pytest.mark.parametrize(("end", "status"), [(signal.SIGKILL, -signal.SIGKILL), (signal.SIGINT, 130)])
def test_a_runner_that_is_ended_takes_its_model_with_it(tmp_path, end, status):
    """A model runs in its own session, so without the runner nothing would end it. Ctrl-C leaves a report."""
    pid = tmp_path / "pid"
    body = f"import os, pathlib, time; pathlib.Path({str(pid)!r}).write_text(str(os.getpid())); time.sleep(600)"
    root = make(tmp_path / "models", hangs=body)
    arguments = ["models", str(root), "inference", "--jobs", "3", "--report", str(tmp_path / "out")]
    runner = subprocess.Popen([sys.executable, "-m", "tt_xla", *arguments], stdout=subprocess.PIPE, text=True)
    try:
        wait_for(lambda: pid.exists() and pid.read_text())
        runner.send_signal(end)
        output, _ = runner.communicate()
    finally:
        runner.kill()
        runner.wait()
    wait_for(lambda: not is_alive(int(pid.read_text())))
    assert runner.returncode == status
    assert ("Interrupted: 2 of 3 tests have ended. The same command runs the others." in output) == (status == 130)
    assert (tmp_path / "out/index.html").exists() == (status == 130)
    assert {record.outcome for record in records.load(tmp_path / "out/records.jsonl").values()} == {"skipped"}


def test_the_processes_of_every_thread_can_be_ended(tmp_path):
    pid = tmp_path / "pid"
    body = f"import os, pathlib, time; pathlib.Path({str(pid)!r}).write_text(str(os.getpid())); time.sleep(600)"
    ended = []

    def wait():
        with child_processes.child([sys.executable, "-c", body]) as process:
            ended.append(process.wait())

    thread = threading.Thread(target=wait)
    thread.start()
    wait_for(lambda: pid.exists() and pid.read_text())
    child_processes.end_children()
    thread.join()
    assert ended == [-signal.SIGKILL]


def wait_for(condition):
    """Waits until a condition holds; pytest-timeout ends a test that hangs."""
    while not condition():
        time.sleep(0.05)


def is_alive(pid):
    """Returns whether a process is alive. A zombie, which a container without init keeps, is not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_errors_are_text_that_can_be_written(tmp_path):
    error = Record("a", error="\ud800 <b>\x00" + "long" * 10_000).error
    assert error.startswith("\\ud800 <b>\x00longlong")
    assert len(error) < 10_010
    summary.write(tmp_path, {"a": Record("a", error=error)}, None)
    records.append(tmp_path / "records.jsonl", Record("a", error=error))
    assert records.load(tmp_path / "records.jsonl")["a"].error == error


def test_a_model_that_raises_at_import(tmp_path):
    root = make(tmp_path, broken="pass")
    path = root / "broken/pytorch/loader.py"
    path.write_text("raise RuntimeError('no licence')\n" + path.read_text())
    record = execution.run(root, case("broken"), Expectation(), lambda stage: None)
    assert (record.outcome, record.stage, record.bringup_status) == ("failed", "import", "UNKNOWN")
    assert record.error == f"RuntimeError: no licence (at {path}:1)"


def test_each_root_has_loaders_of_its_own(tmp_path):
    for name in ("one", "two"):
        root = make(tmp_path / name, same=f"return '{name}'")
        assert loading.make_loader(root, "same/pytorch", None).load_model() == name


def test_bring_up_status(models):
    """The bring-up status follows from the place of the failure."""
    from tt_xla.compiler.recording import Compilation
    from tt_xla.errors import ExecutionError, ResourceExhaustedError, UnsupportedOpError
    from tt_xla.testing.models.execution import bringup_of

    refused = Compilation("main", {}, error=UnsupportedOpError("no lowering"))
    large = Compilation("main", {}, error=ResourceExhaustedError("no room"))
    done = Compilation("main", {})
    assert bringup_of(ValueError(), [], "load") is BringupStatus.UNKNOWN
    assert bringup_of(ValueError(), [], "device") is BringupStatus.FAILED_FE_COMPILATION
    assert bringup_of(ValueError(), [refused], "device") is BringupStatus.FAILED_TTMLIR_COMPILATION
    assert bringup_of(ValueError(), [large], "device") is BringupStatus.FAILED_RUNTIME
    assert bringup_of(ExecutionError("no"), [done], "device") is BringupStatus.FAILED_RUNTIME


@pytest.fixture
def ended(monkeypatch):
    """Replaces processes by stand-ins that end as a test prescribes."""
    outcomes = {}

    def run(python, spec, limits):
        outcome = outcomes.get(spec.case.model.partition("/")[0], "passed")
        return Record(spec.case.id, outcome, error="it failed", pcc=1.0)

    monkeypatch.setattr(processes, "run_in_process", run)
    return outcomes


def test_expected_failures_are_strict(ended, tmp_path):
    root = make(tmp_path, a="pass", b="pass")
    ended["b"] = "failed"
    expected = Expectation(ModelTestStatus.KNOWN_FAILURE_XFAIL, reason="issue 7", listed=True)
    strict = processes.run_test(root, case("a"), expected, LIMITS)
    assert (strict.outcome, strict.guidance(expected)) == ("xpassed", ["RM_XFAIL"])
    assert processes.run_test(root, case("a"), expected, LIMITS, lenient=True).outcome == "xfailed"
    failing = processes.run_test(root, case("b"), expected, LIMITS)
    assert (failing.outcome, failing.reason) == ("xfailed", "issue 7")


def test_what_is_not_run(ended, tmp_path, monkeypatch):
    monkeypatch.setenv("TTXLA_SYSTEM", "p150")
    skip = Expectation(ModelTestStatus.NOT_SUPPORTED_SKIP, "too large", BringupStatus.FAILED_RUNTIME)
    record = processes.run_test(tmp_path, case("a"), skip, LIMITS)
    assert (record.outcome, record.reason, record.bringup_status) == ("skipped", "too large", "FAILED_RUNTIME")
    record = processes.run_test(tmp_path, case("a", "tensor_parallel"), Expectation(), LIMITS)
    assert record.outcome == "skipped"
    assert record.reason == "tensor_parallel needs several chips, p150 has one; set TTXLA_SYSTEM, such as n300"
    monkeypatch.setenv("TTXLA_SYSTEM", "n300")
    phase = Case("a/pytorch", None, "tensor_parallel-mesh_1x8", "inference", "llm_decode-seq_1-batch_1")
    record = processes.run_test(tmp_path, phase, Expectation(), LIMITS)
    assert record.reason == "tt-xla does not run the phases of language models yet"


def test_resuming(ended, tmp_path):
    root = make(tmp_path / "models", a="pass", b="pass", c="pass")
    tasks = tasks_of(root, *"abc")
    records_file = tmp_path / "records.jsonl"
    first = campaign.run_all(tasks, LIMITS, records_file)
    next(first)
    first.close()
    before = len(records.load(records_file))
    assert 1 <= before < 3
    assert len(list(campaign.run_all(tasks, LIMITS, records_file))) == 3 - before
    assert list(campaign.run_all(tasks, LIMITS, records_file)) == []
    other = [task.with_options(2, golden_f32=True) for task in tasks]
    assert len(list(campaign.run_all(other, LIMITS, records_file))) == 3
    assert list(campaign.run_all(tasks, LIMITS, records_file)) == []


def test_a_full_disk(ended, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(records, "append", full)
    with pytest.raises(OutputError, match="No space left on device"):
        list(campaign.run_all(tasks_of(tmp_path, "a"), LIMITS, tmp_path / "r"))
    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match=r"index\.html"):
        summary.write(tmp_path / "report", {})
    assert not (tmp_path / "report").exists()
    monkeypatch.setattr(processes, "run_in_process", full)
    record = processes.run_test(tmp_path, case("a"), Expectation(), LIMITS)
    assert (record.outcome, record.stage) == ("failed", "requirements")
    assert "No space left" in record.error


def test_ray(ended, tmp_path, monkeypatch):
    events = []
    ray = types.ModuleType("ray")
    ray.init = lambda **settings: events.append(settings["address"])
    ray.remote = lambda **_: lambda run: types.SimpleNamespace(remote=lambda *arguments: (run, arguments))
    ray.get = lambda call: call[0](*call[1])
    ray.shutdown = lambda: events.append("end")
    monkeypatch.setitem(sys.modules, "ray", ray)
    tasks = tasks_of(tmp_path, "a")
    assert len(list(campaign.run_all(tasks, LIMITS, tmp_path / "r", ray="ray://here"))) == 1
    assert events == ["ray://here", "end"]
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(TTXLAError, match="needs the package ray"):
        list(campaign.run_all(tasks, LIMITS, tmp_path / "other", ray="ray://here"))


def wheel(folder: Path, name: str) -> Path:
    path = folder / f"{name}-1.0-py3-none-any.whl"
    info = f"{name}-1.0.dist-info"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr(f"{name}.py", "ANSWER = 42\n")
        file.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        file.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        file.writestr(f"{info}/RECORD", "")
    return path


def test_the_folder_of_packages_must_be_ones_own(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    (tmp_path / "elsewhere").mkdir()
    place = tmp_path / "temporary" / f"tt-xla-layers-{os.getuid()}"
    place.symlink_to(tmp_path / "elsewhere")
    (tmp_path / "requirements.txt").write_text("--no-index\n")
    with (
        pytest.raises(requirements.RequirementsError, match=r"folder of models' packages cannot be used: .*a link"),
        requirements.interpreter_for(tmp_path),
    ):
        pass
    place.unlink()
    with requirements.interpreter_for(tmp_path) as python:
        assert place in python.parents
        assert place.stat().st_mode & 0o777 == 0o700


def test_packages_of_a_model_are_there_for_it_alone(tmp_path):
    import importlib.util

    (tmp_path / "requirements.txt").write_text(f"--no-index\n{wheel(tmp_path, 'only_for_this_model')}\n")
    with requirements.interpreter_for(tmp_path) as python:
        code = "import only_for_this_model, numpy, tt_xla; print(only_for_this_model.ANSWER)"
        assert subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout == "42\n"
    assert importlib.util.find_spec("only_for_this_model") is None
    assert not python.exists()
    plain = tmp_path / "plain"
    plain.mkdir()
    with requirements.interpreter_for(plain) as python:
        assert python == Path(sys.executable)


def test_packages_that_conflict(tmp_path):
    path = tmp_path / "mine" / "pytorch"
    path.mkdir(parents=True)
    (path / "requirements.txt").write_text("--no-index\ntorch==1.0\n")
    record = processes.run_test(tmp_path, case("mine"), Expectation(), LIMITS)
    assert (record.outcome, record.stage) == ("failed", "requirements")
    assert "requirements.txt cannot be installed: ERROR" in record.error
    assert "environment is unchanged." in record.error


def test_packages_are_not_installed_when_told_so(tmp_path, monkeypatch):
    (tmp_path / "requirements.txt").write_text("no-such-package\n")
    monkeypatch.setenv("TT_XLA_DISABLE_MODEL_REQS", "1")
    with requirements.interpreter_for(tmp_path) as python:
        assert python == Path(sys.executable)


@pytest.mark.nightly
def test_layers_of_killed_runs_are_removed(tmp_path):
    (tmp_path / "requirements.txt").write_text("--no-index\n")
    with requirements.interpreter_for(tmp_path) as python:
        layer = python.parents[2]
        left = layer.with_name("left-by-a-killed-run")
        shutil.copytree(layer, left, symlinks=True)
        with requirements.interpreter_for(tmp_path):
            assert not left.exists()
            assert layer.exists()  # its run is alive


def test_summary_and_regressions(tmp_path):
    before = {
        "a": Record("a", "passed", pcc=0.999, device_us=10.0, compile_s=1.0),
        "b": Record("b", "passed", pcc=0.99),
        "c": Record("c", "failed"),
    }
    now = {
        "a": Record("a", "passed", pcc=0.99, device_us=12.0, compile_s=5.0),
        "b": Record("b", "failed", error="<script>alert(1)</script>"),
        "c": Record("c", "failed"),
    }
    worse = summary.regressions(now, before)
    assert [test for test, _ in worse] == ["a", "a", "a", "b", "b"]
    page = summary.write(tmp_path / "report", now, before).read_text()
    assert "<h2>5 regressions</h2>" in page
    assert "<script>" not in page
    assert "predicted 10.0 us before, 12.0 us now" in page


def test_sizes():
    assert processes.memory_in_bytes("8G") == 8 << 30
    assert processes.memory_in_bytes("500M") == 500 << 20
    assert processes.memory_in_bytes("") == 0
    assert processes.memory_in_bytes("1.5k") == 1536
    for text in ("lots", "-5G", "1e400G", "nanG", "0", "8GB"):
        with pytest.raises(OptionError, match="not a size of memory"):
            processes.memory_in_bytes(text)


@pytest.mark.parametrize("seconds", [0, -5, math.inf, math.nan])
def test_limits_are_positive(seconds):
    with pytest.raises(OptionError, match="expected a positive number of seconds"):
        Limits(seconds)


def test_the_memory_of_the_machine_is_shared():
    assert (Limits(1, 5, jobs=2).bytes, Limits(1).bytes) == (5, 0)
    assert Limits(1, jobs=4).bytes == Limits(1, jobs=1).bytes // 4


RUNNER = "from tt_xla.testing.models.test_models import test_all_models, test_placeholder_models\n"
CONFIG = """
test_config:
  good/pytorch-single_device-inference:
    status: EXPECTED_PASSING
    bringup_status: INCORRECT_RESULT
    reason: issue 2
    supported_archs: [n300-llmbox]
    markers: [push]
    arch_overrides:
      n150: {status: KNOWN_FAILURE_XFAIL}
  bad/pytorch-single_device-inference:
    status: KNOWN_FAILURE_XFAIL
    bringup_status: FAILED_RUNTIME
    reason: issue 1
  bad/pytorch-single_device-training:
    status: EXCLUDE_MODEL
"""


@pytest.fixture
def run(pytester, ended, monkeypatch):
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # keeps other plugins from being imported in each run
    make(pytester.path / "zoo", good="pass", bad="pass")
    ended["bad"] = "failed"
    runner = pytester.path / "tests/runner"
    (runner / "test_config").mkdir(parents=True)
    (runner / "test_models.py").write_text(RUNNER)
    (runner / "test_config/test_config_inference.yaml").write_text(CONFIG)
    (runner / "test_config/test_config_placeholders.yaml").write_text("PLACEHOLDER_MODELS:\n  meta/new:\n")

    def run(*args, all_models=True):
        base = "-p", "tt_xla.testing.plugin", "--strict-markers", "--models-root", "zoo"
        return pytester.runpytest_inprocess(*base, *(["tests/runner/test_models.py"] if all_models else []), *args)

    return run


def test_collection(run):
    result = run("--collect-only", "-q")
    result.stdout.fnmatch_lines(
        [
            "tests/runner/test_models.py::test_all_models?bad/pytorch-single_device-inference?",
            "tests/runner/test_models.py::test_all_models?good/pytorch-tensor_parallel-training?",
            "tests/runner/test_models.py::test_placeholder_models?meta/new?",
            "12 tests collected*",
        ]
    )
    result.stdout.no_fnmatch_line("*bad/pytorch-single_device-training*")
    here = ["*::test_all_models?good/pytorch-single_device-inference?", "1/12 tests collected*"]
    run("--collect-only", "-q", "-m", "push and not weekly").stdout.fnmatch_lines(here)
    run("--collect-only", "-q", "-m", "weekly and not push").stdout.fnmatch_lines(["10/12 tests collected*"])
    run("--collect-only", "-q", "-m", "n300_llmbox and expected_passing").stdout.fnmatch_lines(here)
    run("--collect-only", "-q", "-m", "known_failure_xfail", "--arch", "n150", "-k", "good").stdout.fnmatch_lines(here)


def test_one_test_by_its_name(run):
    name = "tests/runner/test_models.py::test_all_models[good/pytorch-single_device-inference]"
    run(name, all_models=False).assert_outcomes(passed=1)


def test_outcomes_and_reports(run, pytester):
    run("--model-records", "records.jsonl", "--junitxml", "report.xml").assert_outcomes(passed=3, xfailed=1, skipped=8)
    written = records.load(pytester.path / "records.jsonl")
    assert len(written) == 12
    static = {
        name: (record.bringup_status, record.reason)
        for name, record in written.items()
        if record.reason[:6] == "issue "
    }
    assert static == {
        "good/pytorch-single_device-inference": ("INCORRECT_RESULT", "issue 2"),
        "bad/pytorch-single_device-inference": ("FAILED_RUNTIME", "issue 1"),
    }
    row = next(line for line in summary.page(written).splitlines() if "bad/pytorch-single_device-inference" in line)
    assert "<td class=xfailed>xfailed<td>FAILED_RUNTIME" in row
    assert "issue 1" in row
    report = (pytester.path / "report.xml").read_text()
    assert 'name="tags"' in report
    assert "NOT_STARTED" in report
    assert 'name="owner" value="tt-xla"' in report
    assert 'name="error_message" value="issue 2"' in report


def test_strict_and_lenient_in_pytest(run):
    result = run("--arch", "n150", "-k", "good and single_device-inference")
    result.assert_outcomes(failed=1, deselected=11)
    result.stdout.fnmatch_lines(["*XPASS(strict)*The test passed, but its entry says KNOWN_FAILURE_XFAIL*"])
    run("--arch", "n150", "-k", "good and single_device-inference", "--lenient-xfail").assert_outcomes(
        xfailed=1, deselected=11
    )


def test_validate(run, pytester):
    result = run("--validate-test-config")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["WARNING: no entry for bad/pytorch-data_parallel-inference, *and 6 others"])
    path = pytester.path / "tests/runner/test_config/test_config_more.yaml"
    path.write_text("test_config:\n  goood/pytorch-single_device-inference:\n    status: UNSPECIFIED\n")
    result = run("--validate-test-config")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["ERROR: *no test is named 'goood/*Did you mean: good/pytorch-single_device-*"])


def test_validation_as_a_script(run, pytester, monkeypatch):
    root = Path(__file__).parents[2]
    monkeypatch.setenv("PYTHONPATH", str(root / "src"))
    pytester.mkdir("models")
    script = pytester.path / "tests/runner/validate_test_config.py"
    script.write_text((root / "tests/runner/validate_test_config.py").read_text())
    done = pytester.runpython(script)
    assert done.ret == 1
    done.stdout.fnmatch_lines(["ERROR: *no test is named 'good/*", "VALIDATION FAILED"])
    done = pytester.run(sys.executable, script, "--models-root", "zoo")
    assert done.ret == 0
    done.stdout.fnmatch_lines(["*3 entries in 2 files, 12 tests of 2 loaders: 0 errors*", "VALIDATION PASSED"])
    done = pytester.run(sys.executable, script, "--models-root", "nowhere")
    assert done.ret == 2
    done.stderr.fnmatch_lines(["*No folder with model loaders exists: nowhere*"])


def test_what_is_not_supported_runs_when_forced(run, pytester):
    path = pytester.path / "tests/runner/test_config/test_config_inference.yaml"
    path.write_text("test_config:\n  good/pytorch-single_device-inference:\n    status: NOT_SUPPORTED_SKIP\n")
    run("-k", "good and single_device-inference").assert_outcomes(skipped=1, deselected=12)
    run("-k", "good and single_device-inference", "--force-run").assert_outcomes(passed=1, deselected=12)


def test_models_run_again_with_their_source_written(models, monkeypatch):
    expectation = Expectation(emitpy=True)
    good = execution.run(models, case("good"), expectation, lambda stage: None)
    assert (good.outcome, good.stage, good.graphs) == ("passed", "emitpy", 2)
    run_on_device, changes = TorchModelTester.run_on_device, iter((0, 1, 0, 1))
    monkeypatch.setattr(TorchModelTester, "run_on_device", lambda *arguments: run_on_device(*arguments) + next(changes))
    wrong = execution.run(models, case("good"), expectation, lambda stage: None)
    assert wrong.outcome == "failed"
    assert wrong.error.startswith("EmitPy result differs: atol=1.0")
    near = replace(expectation, emitpy_assert_exact=False)
    assert execution.run(models, case("good"), near, lambda stage: None).outcome == "passed"


def test_bad_options(run):
    for option, message in (
        ("--arch=n151", "Did you mean 'n150'"),
        ("--models-root=nowhere", "No folder with model"),
        ("--test-config=nowhere", "folders that do not exist: nowhere"),
    ):
        result = run(option)
        assert result.ret != 0
        assert message in result.stderr.str() + result.stdout.str()
    assert run("-k", "good and single_device-inference", "--model-timeout=-1").ret != 0


def test_a_test_that_does_not_exist(run):
    result = run("tests/runner/test_models.py::test_all_models[god/pytorch-single_device-inference]", all_models=False)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        ["*No test is named 'god/pytorch-single_device-inference'. Did you mean: good/pytorch-single_device-inference*"]
    )


def test_the_command(models, tmp_path):
    from click.testing import CliRunner

    from tt_xla.tools.cli import cli

    listed = CliRunner().invoke(cli, ["models", str(models), "good", "single_device-*", "--list"])
    assert listed.output.splitlines() == [
        "good/pytorch-single_device-inference unspecified",
        "good/pytorch-single_device-training unspecified",
    ]
    out = tmp_path / "out"
    arguments = ["models", str(models), "tensor_parallel-inference", "--report", str(out), "--jobs", "2"]
    result = CliRunner().invoke(cli, arguments)
    assert result.exit_code == 0
    assert "5 skipped" in result.output
    assert (out / "index.html").exists()
    again = CliRunner().invoke(cli, [*arguments, "--against", str(out)])
    assert "5 of them ran earlier" in again.output
    other = CliRunner().invoke(cli, [*arguments, "--level", "2"])
    assert "5 skipped" in other.output
    assert "earlier" not in other.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["goood"], "No test below {} matches goood. List all with: tt-xla models"),
        (["goood/pytorch-single_device-inference"], "Did you mean: good/pytorch-single_device-inference"),
        (["--arch", "n15O"], "No such arch: 'n15O'. Did you mean 'n150'"),
        (["--timeout", "-5"], "The time limit is -5 s"),
        (["--memory", "-5G"], "'-5G' is not a size of memory"),
        (["tensor_parallel-inference", "--against", "{}"], "'{}' has no records of a previous run."),
    ],
)
def test_wrong_arguments_of_the_command(models, tmp_path, arguments, message):
    from click.testing import CliRunner

    from tt_xla.tools.cli import cli

    given = [text.format(models) for text in arguments]
    result = CliRunner().invoke(cli, ["models", str(models), "--report", str(tmp_path / "out"), *given])
    assert result.exit_code != 0
    assert message.format(models) in " ".join(str(result.exception).split())
    assert not (tmp_path / "out").exists()


def test_errors_of_files_change_the_exit_status(models, tmp_path):
    from click.testing import CliRunner

    from tt_xla.tools.cli import cli

    path = tmp_path / "test_config_a.yaml"
    path.write_text("test_config:\n  goood/pytorch-single_device-inference:\n    batch_size: 0\n")
    command = ["models", str(models), "good", "--list", "--test-config", str(tmp_path)]
    result = CliRunner().invoke(cli, command)
    assert result.exit_code == 1
    assert "no test is named 'goood/" in result.output
    assert f"{path}:3: 'batch_size'" in result.output
    path.write_text("test_config:\n  good/pytorch-single_device-inference: {}\n")
    assert CliRunner().invoke(cli, command).exit_code == 0


class Plain:
    _variant = None


class Unfinished(Plain):
    @classmethod
    def get_model_info(cls, variant):
        raise NotImplementedError


class Broken(Plain):
    @classmethod
    def get_model_info(cls, variant):
        return {}["name"]


def test_a_loader_may_have_no_information_about_its_model_but_not_a_broken_one():
    assert loading.info_of(Plain()) == loading.info_of(Unfinished()) == {}
    with pytest.raises(KeyError, match="name"):
        loading.info_of(Broken())
