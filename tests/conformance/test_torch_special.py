"""A fixed sample of what `make conformance-torch-special` runs, and checks of the judge itself."""

from __future__ import annotations

import warnings

import pytest
import torch

pytestmark = pytest.mark.usefixtures("exact")


@pytest.fixture(scope="module")
def modules():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's tables of tests warn at import
        from conformance import run_torch_special, special_values
    return special_values, run_torch_special


SAMPLE = (
    *("amax", "argmax", "cdist", "clamp", "cummax", "floor_divide", "gather", "kthvalue", "logsumexp", "median"),
    *("nn.functional.max_pool2d", "remainder", "scatter_add", "searchsorted", "sign", "sort", "topk", "where"),
)


@pytest.mark.parametrize("op", [*SAMPLE[:3], *(pytest.param(op, marks=pytest.mark.nightly) for op in SAMPLE[3:])])
def test_special_values_and_shapes(modules, op):
    special, _ = modules
    answer = special.check_special(op, "float32", 1)
    assert {case: result for case, result in answer["cases"].items() if result["outcome"] == "failed"} == {}


def test_declared_differences_name_cases_that_exist(modules):
    from conformance import torch_pairs

    special, runner = modules
    declared = runner.known_differences()
    assert {case for _, _, case in declared} <= set(special.CASES)
    assert {(op, dtype) for op, dtype, _ in declared} <= set(torch_pairs.pairs())
    assert runner.CASES == special.CASES


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda x: x.clone().nan_to_num(), "not close"),
        (lambda x: torch.where(x == 0, 0.0, x), "sign of zero"),
        (lambda x: x.double(), "dtype"),
    ],
)
def test_wrong_results_fail(modules, wrong, message):
    special, _ = modules
    (op,) = [op for op in special.op_db if op.name == "clone"]
    expected = torch.tensor([1.0, torch.nan, -0.0])
    with pytest.raises(AssertionError, match=message):
        special.compare_outcomes(op, None, wrong(expected), expected)


def test_missing_and_internal_errors_fail(modules):
    special, _ = modules
    (op,) = [op for op in special.op_db if op.name == "clone"]
    with pytest.raises(AssertionError, match="no error where eager raises"):
        special.compare_outcomes(op, None, torch.ones(1), IndexError("too large"))
    with pytest.raises(AssertionError, match="KeyError"):
        special.compare_outcomes(op, None, KeyError("internal"), IndexError("too large"))
    special.compare_outcomes(op, None, RuntimeError("too large"), IndexError("too large"))


def test_undeclared_differences_and_declared_agreement_are_mistakes(modules):
    _, runner = modules
    results = {
        ("a", "float32", "nan"): {"outcome": "failed", "reason": "wrong\nvalues"},
        ("b", "float32", "nan"): {"outcome": "passed", "reason": ""},
        ("c", "float32", "nan"): {"outcome": "failed", "reason": "declared"},
    }
    declared = {("b", "float32", "nan"): "once", ("c", "float32", "nan"): "still"}
    assert runner.mistakes(results, declared, {("a", "float32"), ("b", "float32"), ("c", "float32")}) == [
        "a:float32:nan differs: wrong",
        "b:float32:nan agrees with PyTorch, and is declared to differ",
    ]
