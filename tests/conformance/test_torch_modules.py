"""A fixed sample of what `make conformance-torch-modules` runs, and checks of the judge itself."""

from __future__ import annotations

import random
import warnings
from types import ModuleType

import pytest
import torch

from conformance import run_torch as runner

JUDGE = runner.JUDGES["modules"]
DECLARED = runner.known_failures(JUDGE)

pytestmark = pytest.mark.usefixtures("exact")


@pytest.fixture(scope="module")
def judge() -> ModuleType:
    """Imports PyTorch's tables of tests, which takes seconds, only where a test runs."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they warn at import
        from conformance import torch_modules
    return torch_modules


@pytest.mark.parametrize(("name", "case"), [("nn.LSTMCell", "compiled inference"), ("optim.SGD", "compiled step")])
def test_pairs_of_each_change(judge, name, case):
    """Cells of recurrent networks are fused ops on devices other than the CPU, also in compiled graphs."""
    answer = judge.check_pair(name, case, 1)
    assert (answer["outcome"], answer["reason"], answer["host"]) == ("passed", "", [])


@pytest.mark.nightly
@pytest.mark.parametrize("number", range(48))
def test_a_pair(judge, number):
    pairs = [pair for pair in judge.pairs() if pair not in DECLARED]
    answer = judge.check_pair(*random.Random(3).sample(pairs, 48)[number], 1)
    assert answer["outcome"] in ("passed", "none"), answer


def test_declared_failures_and_columns_name_pairs_that_are_judged(judge):
    assert not set(DECLARED) - set(judge.pairs())
    assert {case for _, case in judge.pairs()} == set(JUDGE.columns)
    assert {name for name, _ in judge.pairs()} == set(judge.families())


@pytest.mark.parametrize("case", ["eager inference", "compiled inference"])
def test_wrong_values_fail(judge, monkeypatch, case):
    """A module that computes something else on the device than on the CPU does not pass."""
    forward = torch.nn.Softplus.forward
    monkeypatch.setattr(
        torch.nn.Softplus, "forward", lambda self, x: forward(self, x) + (1 if x.device.type == "tt" else 0)
    )
    answer = judge.check_pair("nn.Softplus", case, 1)
    assert answer["outcome"] == "failed"
    assert "not close" in answer["reason"]


def test_wrong_gradients_fail(judge, monkeypatch):
    class Doubled(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    forward = torch.nn.Tanhshrink.forward
    monkeypatch.setattr(
        torch.nn.Tanhshrink,
        "forward",
        lambda self, x: forward(self, Doubled.apply(x) if x.device.type == "tt" else x),
    )
    assert judge.check_pair("nn.Tanhshrink", "eager inference", 1)["outcome"] == "passed"
    assert judge.check_pair("nn.Tanhshrink", "eager training", 1)["outcome"] == "failed"


@pytest.mark.parametrize("name", ["optim.SGD", "optim.LBFGS"])
def test_wrong_steps_fail(judge, monkeypatch, name):
    """Float64 decides where an optimizer makes rounding errors larger; a wrong loss is no rounding error."""
    loss = torch.nn.functional.mse_loss
    monkeypatch.setattr(
        torch.nn.functional, "mse_loss", lambda x, y: loss(x, y) * (1.01 if x.device.type == "tt" else 1)
    )
    answer = judge.check_pair(name, "eager training", 1)
    assert answer["outcome"] == "failed"
    assert "not close" in answer["reason"]


def test_optimizers_may_differ_by_rounding_errors(judge):
    answer = judge.check_pair("optim.LBFGS", "eager training", 1)
    assert (answer["outcome"], answer["reason"]) == ("passed", "")


def test_eager_runs_in_the_place_of_compiled_ones_fail(judge, monkeypatch):
    monkeypatch.setattr(torch, "compile", lambda function, **_: function)
    monkeypatch.setattr(judge, "moved", lambda value: value)
    monkeypatch.setattr(torch.nn.Module, "to", lambda module, *_: module)
    answer = judge.check_pair("nn.Softplus", "compiled inference", 1)
    assert "nothing was compiled" in answer["reason"]


def test_a_section_is_replaced_and_the_others_stay():
    text = f"# Title\n\none\n\n{runner.SPECIAL_HEADING}\n\ntwo\n"
    added = runner.with_section(text, runner.MODULES_HEADING, f"{runner.MODULES_HEADING}\n\nthree\n")
    assert added == f"{text}\n{runner.MODULES_HEADING}\n\nthree\n"
    again = runner.with_section(added, None, "# Title\n\nfour\n")
    assert again == added.replace("one", "four")
    special = runner.with_section(again, runner.SPECIAL_HEADING, f"{runner.SPECIAL_HEADING}\n\nfive\n")
    assert special == again.replace("two", "five")
