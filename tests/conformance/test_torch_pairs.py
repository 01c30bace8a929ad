"""A fixed sample of what `make conformance-torch` runs, and checks of the judge itself."""

from __future__ import annotations

import random
import warnings
from types import ModuleType

import pytest
import torch

from conformance import run_torch as runner

DECLARED = runner.known_failures()

pytestmark = pytest.mark.usefixtures("exact")
FOR_EACH_CHANGE = 8
"""Number of pairs that are judged for each change; the others are judged each night."""


@pytest.fixture(scope="module")
def judge() -> ModuleType:
    """Imports PyTorch's tables of tests, which takes seconds, only where a test runs."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they warn at import
        from conformance import torch_pairs
    return torch_pairs


@pytest.mark.parametrize(
    "number",
    [*range(FOR_EACH_CHANGE), *(pytest.param(each, marks=pytest.mark.nightly) for each in range(FOR_EACH_CHANGE, 72))],
)
def test_a_pair(judge, number):
    pairs = [pair for pair in judge.pairs() if pair not in DECLARED]
    answer = judge.check_pair(*random.Random(5).sample(pairs, 72)[number], 1)
    assert answer["outcome"] in ("passed", "none"), answer


def test_declared_failures_name_pairs_that_are_judged(judge):
    assert not set(DECLARED) - set(judge.pairs())


def test_wrong_values_fail(judge):
    from tt_xla.frontends.torch.aten import LOWERINGS

    aten = torch.ops.aten
    right = LOWERINGS[aten.sin.default]
    dict.__setitem__(LOWERINGS, aten.sin.default, LOWERINGS[aten.cos.default])
    try:
        answer = judge.check_pair("sin", "float32", 1)
    finally:
        dict.__setitem__(LOWERINGS, aten.sin.default, right)
    assert answer["outcome"] == "failed"
    assert "not close" in answer["reason"]


def test_eager_runs_on_nothing_fail(judge, monkeypatch):
    """A compilation that returns the function itself does not pass."""
    monkeypatch.setattr(torch, "compile", lambda function, **_: function)
    monkeypatch.setattr(judge, "moved", lambda value: value)
    answer = judge.check_pair("exp", "float32", 1)
    assert answer["outcome"] == "failed"
    assert "nothing was compiled" in answer["reason"]


def test_host_ops_are_named(judge):
    answer = judge.check_pair("linalg.qr", "float32", 1)
    assert answer["outcome"] == "passed"
    assert answer["host"] == ["aten.linalg_qr.default"]


def test_undeclared_failures_and_declared_passes_are_mistakes():
    results = {
        ("a", "bool"): {"outcome": "failed", "reason": "wrong\nvalues"},
        ("b", "bool"): {"outcome": "passed", "reason": ""},
        ("c", "bool"): {"outcome": "failed", "reason": "declared"},
    }
    declared = {("b", "bool"): "once", ("c", "bool"): "still"}
    assert runner.mistakes(results, declared) == [
        "a bool failed: wrong",
        "b bool passed, and is declared to fail",
    ]


def test_a_worker_that_dies_costs_one_pair(monkeypatch, tmp_path):
    (tmp_path / "dying_worker.py").write_text(
        "import json, os, sys\n"
        "for line in sys.stdin:\n"
        "    op, dtype = line.split()\n"
        "    if op == 'crash': os.abort()\n"
        "    print(json.dumps({'op': op, 'dtype': dtype, 'outcome': 'passed', 'reason': '', 'host': []}), flush=True)\n"
    )
    monkeypatch.setattr(runner, "ROOT", tmp_path)
    answers = runner.run_share([("one", "bool"), ("crash", "bool"), ("two", "bool")], 1, "dying_worker")
    assert [answer["outcome"] for answer in answers] == ["passed", "failed", "passed"]
    assert "died" in answers[1]["reason"]
