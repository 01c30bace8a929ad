"""``tt-xla tune --accuracy``: what the search chooses, how it continues after a stop, and the file that it writes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import pytest
import torch
from click.testing import CliRunner

from tt_xla.errors import ExecutionError, OptionError
from tt_xla.options import CompileOptions
from tt_xla.precision import read_precision
from tt_xla.profiling.precision.measures import correlation, measure_of, top1
from tt_xla.profiling.precision.search import TRIALS_NAME, PrecisionSearch
from tt_xla.profiling.precision.settings import Candidate, Setting, upgrades
from tt_xla.profiling.precision.subject import Subject, recorded_subject
from tt_xla.tools import tune_precision
from tt_xla.tools.tune_command import tune_command

MODULE = """
!t = tensor<64x512xbf16>
!w = tensor<512x512xbf16>
func.func public @main(%x: !t, %a: !w {ttcore.argument_type = "parameter", ttir.name = "a"},
    %b: !w {ttcore.argument_type = "parameter", ttir.name = "b"}) -> !t {
  %0 = stablehlo.dot_general %x, %a, contracting_dims = [1] x [0] : (!t, !w) -> !t
  %1 = stablehlo.tanh %0 : !t
  %2 = stablehlo.dot_general %1, %b, contracting_dims = [1] x [0] : (!t, !w) -> !t
  return %2 : !t
}
"""


@pytest.fixture(autouse=True)
def n150(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TTXLA_SYSTEM", "n150")
    monkeypatch.setenv("TTXLA_COMPILE_OPTIONS", "")


@pytest.fixture
def module(tmp_path: Path) -> str:
    path = tmp_path / "model.mlir"
    path.write_text(MODULE)
    return str(path)


def tuned(module: str, out: Path, *flags: str) -> dict[str, Any]:
    done = CliRunner().invoke(tune_command, [*flags, "--json", "-o", str(out), module], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_the_file_is_within_the_budget_and_faster(module: str, tmp_path: Path) -> None:
    record = tuned(module, tmp_path / "out", "--accuracy", "0.98")
    before, after = record["before"], record["after"]
    assert after["us"] < before["us"]
    assert 0.98 <= after["accuracy"] < before["accuracy"]
    precision = read_precision(record["file"])
    assert set(precision.layers) == {"a", "b"}
    assert precision.made_from["accuracy"] == {
        "required": 0.98,
        "before": before["accuracy"],
        "after": after["accuracy"],
    }
    subject = recorded_subject(module, ())
    program = subject.compiled(CompileOptions.parse({"precision": record["file"]}))
    assert program.predicted_device_us == pytest.approx(after["us"])
    results = [tensor.float().numpy() for tensor in subject.results(program)]
    assert correlation(results, [tensor.numpy() for tensor in subject.expected]) == pytest.approx(after["pcc"])
    page = (tmp_path / "out" / "precision.html").read_text()
    trials = (tmp_path / "out" / TRIALS_NAME).read_text().count('"assignment"')
    assert page.count("<circle") == trials


def test_a_smaller_budget_keeps_more_precision(module: str, tmp_path: Path) -> None:
    strict = tuned(module, tmp_path / "out", "--accuracy", "0.9999")
    loose = tuned(module, tmp_path / "out", "--accuracy", "0.9")  # the trials of the first search count again
    assert strict["after"]["accuracy"] >= 0.9999
    assert loose["after"]["us"] < strict["after"]["us"]


def test_a_search_that_was_stopped_continues(module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tried, original = [], PrecisionSearch.trial

    def limited(self: PrecisionSearch, assignment: Any) -> Any:
        if assignment not in self.trials:
            if len(tried) == 3:
                raise KeyboardInterrupt
            tried.append(assignment)
        return original(self, assignment)

    out = tmp_path / "out"
    monkeypatch.setattr(PrecisionSearch, "trial", limited)
    done = CliRunner().invoke(tune_command, ["--accuracy", "0.98", "-o", str(out), module])
    assert done.exit_code == 130
    assert "the same command continues the search" in done.output
    with (out / TRIALS_NAME).open("a") as file:
        file.write('{"cut')  # the line of a process that was killed
    before = set(tried)

    def remaining(self: PrecisionSearch, assignment: Any) -> Any:
        assert {assignment} & before <= self.trials.keys()
        return original(self, assignment)

    monkeypatch.setattr(PrecisionSearch, "trial", remaining)
    monkeypatch.setattr(tune_precision, "recorded_subject", lambda *_: pytest.fail("it is not recorded again"))
    resumed = tuned(module, out, "--accuracy", "0.98")
    monkeypatch.undo()
    monkeypatch.setenv("TTXLA_SYSTEM", "n150")
    assert tuned(module, tmp_path / "other", "--accuracy", "0.98")["after"] == resumed["after"]


def test_a_coarse_gelu_is_chosen_where_it_costs_little(tmp_path: Path) -> None:
    """TT-NN's gelu of six lines is tried, here at level 0 where it is an op of its own, outside of the layers."""

    def block(x: jax.Array, a: jax.Array, b: jax.Array) -> jax.Array:
        return jax.nn.gelu(x @ a, approximate=False) @ b

    shapes = [jax.ShapeDtypeStruct(sizes, jnp.bfloat16) for sizes in ((256, 512), (512, 512), (512, 512))]
    text = jax.jit(block).lower(*shapes).as_text()
    for argument, name in (("%arg1", "a"), ("%arg2", "b")):
        roles = f'{{ttcore.argument_type = "parameter", ttir.name = "{name}"}}'
        text = text.replace(f"{argument}: tensor<512x512xbf16>", f"{argument}: tensor<512x512xbf16> {roles}")
    path = tmp_path / "gelu.mlir"
    path.write_text(text)
    loose = tuned(str(path), tmp_path / "out", "--accuracy", "0.9")
    assert read_precision(loose["file"]).options["fast_and_approximate_mode"] is True


def test_a_changed_program_starts_again(module: str, tmp_path: Path) -> None:
    tuned(module, tmp_path / "out", "--accuracy", "0.9")
    Path(module).write_text(MODULE.replace('"b"', '"c"'))
    record = tuned(module, tmp_path / "out", "--accuracy", "0.9")
    assert set(read_precision(record["file"]).layers) == {"a", "c"}


def test_a_measure_of_the_user(module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_measure.py").write_text(
        "def agreement(results, expected):\n    return 1 - abs(results[0] - expected[0]).max() / 1e3\n"
    )
    monkeypatch.setattr(sys, "path", list(sys.path))
    record = tuned(module, tmp_path / "out", "--accuracy", "0.5", "--measure", "my_measure:agreement")
    assert 0.5 <= record["after"]["accuracy"] < 1
    assert record["after"]["accuracy"] != record["after"]["pcc"]


def test_bad_input_is_refused(module: str, tmp_path: Path) -> None:
    def error(*flags: str) -> str:
        done = CliRunner().invoke(tune_command, [*flags, "-o", str(tmp_path / "out"), module])
        assert done.exit_code != 0
        return done.output + str(done.exception)

    assert "--measure needs --accuracy" in error("--measure", "top1")
    assert "it takes pcc, top1 or module:function" in error("--accuracy", "0.9", "--measure", "psnr")
    assert "No module named 'nowhere'" in error("--accuracy", "0.9", "--measure", "nowhere:f")
    assert "has no function 'absent'" in error("--accuracy", "0.9", "--measure", "json:absent")
    assert "The most precise formats reach an accuracy of" in error("--accuracy", "1.5")


SPREAD = """
import sys, torch
first, second = (torch.nn.Linear(256, 256).bfloat16() for _ in range(2))
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = first, second
    def forward(self, x):
        x = self.first(self.first(x))
        torch._dynamo.graph_break()
        return self.second(x)
options = {"precision": sys.argv[1]} if len(sys.argv) > 1 else {}
call = torch.compile(Model().to("tt"), backend="tt", options=options)
with torch.no_grad():
    for _ in range(4):
        call(torch.randn(64, 256).bfloat16().to("tt")).cpu()
"""


@pytest.mark.nightly
def test_a_model_of_several_programs_takes_the_file(tmp_path: Path) -> None:
    """The file names the layers of all programs, so that the others do not count as those of another model."""
    script = tmp_path / "script.py"
    script.write_text(SPREAD)
    command = [sys.executable, "-m", "tt_xla", "tune", "--accuracy", "0.9", "-o", str(tmp_path), str(script)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    precision = read_precision(tmp_path / "precision.yaml")
    assert precision.several_programs
    assert len(precision.layers) == 2
    command = [sys.executable, str(script), str(tmp_path / "precision.yaml")]
    assert subprocess.run(command, capture_output=True, text=True, check=False).returncode == 0


def test_a_program_without_layers_is_refused(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("import torch\nx = torch.ones(32, 32).to('tt')\nfor _ in range(4): (x + x).cpu()\n")
    with pytest.raises(ExecutionError, match="no matrix product or convolution has a parameter as its weight"):
        recorded_subject(str(script), ())


def test_a_subject_is_read_as_it_was_written(module: str, tmp_path: Path) -> None:
    subject = recorded_subject(module, ())
    subject.save(tmp_path / "subject.pt")
    again = Subject.load(tmp_path / "subject.pt")
    assert (again.source, again.options) == (subject.source, subject.options)
    assert all(torch.equal(x, y) for x, y in zip(again.arguments, subject.arguments, strict=True))


def test_top1_counts_equal_positions() -> None:
    expected = torch.eye(4).numpy()
    assert top1([expected], [expected]) == 1.0
    assert top1([torch.eye(4)[[0, 1, 3, 3]].numpy()], [expected]) == 0.75
    with pytest.raises(OptionError, match="no result with classes"):
        top1([expected[0]], [expected[0]])
    assert measure_of("top1", Path()) is top1


def test_steps_gain_most_time_per_error_first() -> None:
    base, eight, four = (Setting(name, "hifi4", True) for name in ("bf16", "bfp_bf8", "bfp_bf4"))
    cheap = [Candidate(base, 10, 0), Candidate(eight, 6, 0.001), Candidate(four, 5, 0.1)]
    dear = [Candidate(base, 10, 0), Candidate(eight, 9.5, 0.01), Candidate(four, 2, 0.02)]
    assert upgrades([cheap, dear]) == [(0, eight), (1, four), (0, four)]  # a mixture beats the second one's middle
