"""Comparisons of a recorded step with the throughput of hand-tuned models: the step, the figures, and their form."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.profiling.conftest import INFER, TRAIN
from tt_xla.errors import OptionError
from tt_xla.profiling.beside import StepTime, compare, lines, record, step_of
from tt_xla.profiling.hand_tuned import FIGURES, MODELS, TOKENS, figures_of, kernel_rate
from tt_xla.profiling.profile import profile
from tt_xla.profiling.reading import read_table
from tt_xla.target import load_target, system_names
from tt_xla.tools.cli import main

pytestmark = pytest.mark.quick

Script = Callable[[str], str]
STEP = StepTime("step", "n150", 2000.0, 500.0)


def profiled(script: Script, text: str, folder: Path, *arguments: str) -> Path:
    done = profile(script(text), [*arguments], folder)
    assert done.csv is not None
    return done.csv


def test_figures_are_of_known_systems_and_have_sources() -> None:
    assert {figure.system for figure in FIGURES} <= set(system_names())
    assert all(figure.rate > 0 and figure.source for figure in FIGURES)
    assert len({replace(figure, rate=0.0, source="") for figure in FIGURES}) == len(FIGURES)
    assert kernel_rate("resnet-50", "n150", 16) == 5311
    assert kernel_rate("llama-3.1-8b-decode", "n150", 32) == 22.3


def test_a_figure_of_kernels_leaves_out_the_time_between_them() -> None:
    kernels, everything, *others = compare(STEP, "ResNet50")
    assert (kernels.figure.kernels, kernels.rate) == (True, 16 / 2000e-6)
    assert (everything.figure.kernels, everything.rate) == (False, 16 / 2500e-6)
    assert kernels.ratio == pytest.approx(8000 / 5311)
    assert {(other.rate, other.ratio) for other in others} == {(None, None)}
    assert compare(STEP, "resnet-50", batch=4)[0].rate == 4 / 2000e-6


def test_tokens_a_user_are_compared_with_figures_of_as_many_users() -> None:
    rates = {each.figure.batch: each.rate for each in compare(STEP, "llama-3.1-8b-decode") if each.rate}
    assert rates == {1: 400.0, 32: 400.0}
    rates = {each.figure.batch: each.rate for each in compare(STEP, "llama-3.1-8b-decode", batch=32) if each.rate}
    assert rates == {32: 400.0}
    assert all(figure.unit == TOKENS for figure in figures_of("llama-3.1-8b-decode"))


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("system", ["n150", "p150", "galaxy-bh"])
def test_lines_are_at_most_120_characters_wide(model: str, system: str) -> None:
    step = replace(STEP, system=system, name="last run of program jit_step")
    text = list(lines(step, compare(step, model)))
    assert max(map(len, text)) <= 120
    known = system in {figure.system for figure in figures_of(model)}
    assert ("No figure of" in text[-1]) is not known


def test_an_unknown_model_is_refused() -> None:
    with pytest.raises(OptionError, match=r"'resnet-51'.*Similar names are resnet-50"):
        figures_of("resnet-51")
    with pytest.raises(OptionError, match=r"n150 with a batch of 7.*Known are n150 with 16, p150 with 16"):
        kernel_rate("resnet-50", "n150", 7)


@pytest.mark.parametrize("arguments", [(), ("trace",)])
def test_the_last_run_of_the_longest_program_is_the_step(
    arguments: tuple[str, ...], script: Script, tmp_path: Path
) -> None:
    table = read_table(profiled(script, INFER, tmp_path / "out", *arguments))
    step = step_of(replace(table, signposts=[]), windowed=False)
    window = read_table(table.path, "call_3", "end")
    assert step.device_us == pytest.approx(sum(row.device_us for row in window.rows))
    assert step.name.startswith("last run of program ")
    gap = load_target("n150").gap_us_traced if arguments else load_target("n150").gap_us_untraced
    assert 0 < step.gaps_us <= load_target("n150").gap_us_untraced + gap * (len(window.rows) - 1) + 0.01
    assert step_of(window, windowed=True).device_us == pytest.approx(step.device_us)


def test_the_last_marked_step_is_the_step(script: Script, tmp_path: Path) -> None:
    table = read_table(profiled(script, TRAIN, tmp_path / "out", "3"))
    step = step_of(table, windowed=False)
    assert step.name == "step_2"
    rows = read_table(table.path, "step_2_start", "step_2_end").rows
    assert step.device_us == pytest.approx(sum(row.device_us for row in rows))
    assert step.device_us < sum(row.device_us for row in table.rows) / 2


def test_a_profile_without_our_timeline_is_compared_as_a_whole(script: Script, tmp_path: Path) -> None:
    table = read_table(profiled(script, INFER, tmp_path / "out"))
    step = step_of(replace(table, timeline={}, signposts=[]), windowed=False)
    assert step.name == "all ops of the profile"
    assert step.device_us == pytest.approx(sum(row.device_us for row in table.rows))


def test_the_command_prints_and_draws_the_comparison(
    script: Script, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    profiled(script, INFER, tmp_path / "out")
    page = tmp_path / "page.html"

    def run(*arguments: str) -> str:
        with pytest.raises(SystemExit) as exit_:
            main(["report", *arguments])
        assert not exit_.value.code
        return capsys.readouterr().out

    folder = str(tmp_path / "out")
    shown = run(folder, "-o", str(page), "--beside", "vit-b-16", "--batch", "16")
    assert shown.startswith("vit-b-16, last run of program ")
    assert "  8  1,450 images/s" in shown
    assert "Beside hand-tuned models" in page.read_text()
    data = json.loads(run(folder, "-o", str(page), "--beside", "vit-b-16", "--json"))
    assert (data["report"], data["model"]) == (str(page), "vit-b-16")
    first = data["figures"][0]
    assert first["ratio"] == pytest.approx(first["predicted"] / first["rate"])
    assert json.loads(run(folder, "-o", str(page), "--json")) == {"report": str(page)}
    assert "Beside hand-tuned models" not in page.read_text()
    assert "llama-3.1-8b-decode    n150 x 1, n300 x 1" in run("--models")


def test_the_record_has_the_same_figures() -> None:
    data = record(STEP, compare(STEP, "mobilenet-v2"))
    assert [each["rate"] for each in data["figures"]] == [figure.rate for figure in figures_of("mobilenet-v2")]
    assert data["step"]["device_us"] == 2000.0
