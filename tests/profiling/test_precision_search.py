"""What the search of precisions chooses on programs whose times and errors are known."""

from __future__ import annotations

import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from tt_xla.errors import ExecutionError, ResourceExhaustedError
from tt_xla.options import CompileOptions
from tt_xla.precision import read_precision
from tt_xla.profiling.precision import search as searching
from tt_xla.profiling.precision.measures import correlation
from tt_xla.profiling.precision.search import TRIALS_NAME, LogRecord, PrecisionSearch, Trial
from tt_xla.profiling.precision.settings import Setting
from tt_xla.profiling.tune.trial_log import TrialLog

US = {"bf16": 10.0, "bfp_bf8": 6.0, "bfp_bf4": 4.0}
"""Time of a layer by the format of its weights; other fields change nothing."""


class KnownSubject:
    """A program of the layers a and b, whose errors are those of ``noise`` by layer and format.

    A noise of None is a program that does not fit into the chip's memory.
    """

    def __init__(self, noise: dict[tuple[str, str], float | None]) -> None:
        self.noise = noise
        self.options: dict[str, Any] = {}
        self.expected = [torch.linspace(-1, 1, 64)]

    def compiled(self, options: CompileOptions) -> Any:
        layers = read_precision(options.precision).layers if options.precision else {}
        formats = {name: layers[name].weights if name in layers else "bf16" for name in ("a", "b")}
        times = {(name,): US[format_] for name, format_ in formats.items()}
        arguments = [SimpleNamespace(name=name, shape=(64, 64), dtype="bf16") for name in formats]
        memory = SimpleNamespace(dram_peak_bytes=0)
        us = sum(times.values()) + 3.0
        return SimpleNamespace(arguments=arguments, times=times, formats=formats, predicted_device_us=us, memory=memory)

    def results(self, program: Any) -> list[torch.Tensor]:
        result = self.expected[0].clone()
        for number, item in enumerate(program.formats.items()):
            noise = self.noise.get(item, 0.0)
            if noise is None:
                raise ResourceExhaustedError("no room", hint="")
            result += noise * torch.sin(torch.arange(64) * (7.0 + number))
        return [result]


@pytest.fixture
def search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Returns a function that runs a search, and returns the best trial and all trials."""
    monkeypatch.setattr(searching, "layer_times", lambda program: program.times)

    def run(noise: dict[tuple[str, str], float | None], budget: float) -> tuple[Trial, list[Trial]]:
        log = TrialLog(tmp_path / TRIALS_NAME, LogRecord, "program", [noise])
        done = PrecisionSearch(KnownSubject(noise), correlation, log, budget)  # type: ignore[arg-type]
        return done.run(), [*done.trials.values()]

    return run


def formats(trial: Trial) -> list[str]:
    return [setting.weights for setting in trial.assignment[:-1]]


def test_the_layer_that_costs_less_accuracy_becomes_narrower(search: Any) -> None:
    best, _ = search({("a", "bfp_bf4"): 0.5, ("b", "bfp_bf4"): 0.01}, 0.999)
    assert sorted(formats(best)) == ["bfp_bf4", "bfp_bf8"]
    assert best.us == 6.0 + 4.0 + 3.0
    best, _ = search({("a", "bfp_bf4"): 0.5, ("b", "bfp_bf4"): 0.01}, 0.5)
    assert formats(best) == ["bfp_bf4", "bfp_bf4"]


@pytest.mark.parametrize("noise", [None, math.nan])
def test_a_setting_that_does_not_run_or_gives_nan_is_tried_once(search: Any, noise: float | None) -> None:
    best, trials = search({("a", "bfp_bf4"): noise}, 0.999)
    assert sorted(formats(best)) == ["bfp_bf4", "bfp_bf8"]
    failed = [trial for trial in trials if trial.assignment and not trial.accuracy > 0]
    assert [sorted(formats(trial)) for trial in failed] == [["bf16", "bfp_bf4"]]


def test_a_program_that_is_not_accurate_enough_is_refused(search: Any) -> None:
    with pytest.raises(ExecutionError, match="The most precise formats reach an accuracy of"):
        search({("a", "bf16"): 0.5}, 0.999)
    with pytest.raises(ExecutionError, match="The program does not run: no room"):
        search({("a", "bf16"): None}, 0.999)


def test_the_front_has_no_trial_that_another_beats() -> None:
    setting = (Setting("bf16", "hifi4", True),)
    fast, slow, worse, equal = (
        Trial(setting, us, accuracy) for us, accuracy in ((1, 0.9), (3, 0.99), (4, 0.95), (5, 0.99))
    )
    failed, own = Trial(setting, 0.5, 1.0, error="no room"), Trial((), 0.1, 1.0)
    assert searching.front_of([equal, worse, slow, fast, failed, own]) == [fast, slow]
