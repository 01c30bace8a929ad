"""Rules and messages of the comparison; expected figures are computed by hand."""

import collections
import dataclasses
import math

import numpy as np
import pytest
import torch

from tt_xla.testing import ComparisonConfig, compare, pcc

RNG = np.random.default_rng(0)
X = RNG.normal(size=(8, 16))


def judged(actual, expected, **switches):
    config = ComparisonConfig(assert_on_failure=False)
    for name, on in switches.items():
        getattr(config, name).enabled = on
    return compare(actual, expected, config)


def test_defaults():
    config = ComparisonConfig()
    assert (config.pcc.enabled, config.pcc.required_pcc, config.assert_on_failure) == (True, 0.99, True)
    assert not any(s.enabled for s in (config.equal, config.atol, config.allclose, config.rel_l2))
    assert (config.atol.required_atol, config.allclose.rtol, config.allclose.atol) == (0.16, 1e-2, 1e-2)
    assert config.rel_l2.required_rel_l2 == 1.0
    config.disable_all()
    assert config.all_disabled()
    config.enable_all()
    assert config.rel_l2.enabled


def test_correlation():
    assert pcc(2 * X + 1, X) == pytest.approx(1)
    assert pcc(-X, X) == pytest.approx(-1)
    assert pcc(X, X) == 1
    assert pcc([1.0], [2.0]) == 0
    assert pcc([1.0], [1.001]) == 1
    assert math.isnan(pcc(np.ones(4), np.arange(4.0)))
    assert math.isnan(pcc(np.where(X > 2, np.nan, X), X))
    assert math.isnan(pcc(X, X[:4]))
    masked = np.where(X > 1, -np.inf, X)
    assert pcc(np.where(X > 1, -np.inf, 2 * X), masked) == pytest.approx(1)
    assert math.isnan(pcc(X, masked))
    assert pcc(1j * X + 1, 1j * X) == pytest.approx(
        np.corrcoef(np.r_[X * 0 + 1, X].ravel(), np.r_[X * 0, X].ravel())[0, 1]
    )


def test_the_least_leaf_decides_and_a_nan_is_less_than_all():
    assert judged({"a": X, "b": [-X]}, {"a": X, "b": [X]}).pcc == pytest.approx(-1)
    result = judged([X, np.where(X > 2, np.nan, X), -X], [X, X, X])
    assert math.isnan(result.pcc)
    assert not result.passed
    assert result.error_message == "PCC comparison failed. Calculated: pcc=nan (invalid value). Required: pcc=0.99."


def test_the_threshold_itself_passes():
    config = ComparisonConfig()
    config.pcc.required_pcc = compare(X, X + np.eye(8, 16), ComparisonConfig(assert_on_failure=False)).pcc
    assert config.pcc.required_pcc < 0.99
    assert compare(X, X + np.eye(8, 16), config).passed


def test_messages():
    with pytest.raises(
        AssertionError, match=r"^PCC comparison failed\. Calculated: pcc=-[.\d]+\. Required: pcc=0\.99\.$"
    ):
        compare(-X, X)
    result = judged([0.0, 1.0], [0.0, 1.5], equal=True, atol=True, allclose=True, rel_l2=True, pcc=False)
    assert result.error_message.splitlines() == [
        "Equal comparison failed.",
        "Atol comparison failed. Calculated: atol=0.5. Required: atol=0.16.",
        "Allclose comparison failed. Calculated: atol=0.5. Required: atol=0.01, rtol=0.01.",
    ]
    assert result.rel_l2 == pytest.approx(1 / 3)
    assert (result.equal, result.allclose) == (False, False)


def test_a_single_element_must_be_close():
    assert "Allclose comparison failed" in judged(np.ones(1), np.full(1, 2.0)).error_message
    assert judged(np.ones(1), np.full(1, 1.001)).passed


def test_disabled_metrics_are_computed():
    result = judged(X + 0.25, X, pcc=False)
    assert result.passed
    assert result.atol == pytest.approx(0.25)
    assert result.rel_l2 == pytest.approx(0.25 * math.sqrt(X.size) / np.linalg.norm(X))


def test_leaves_of_both_frameworks():
    jnp = pytest.importorskip("jax.numpy")
    narrow = torch.tensor(X).bfloat16()
    assert compare(
        {"x": narrow, "name": "x", "none": None}, {"x": jnp.asarray(narrow.float().numpy(), "bfloat16")}
    ).passed


def test_structures_that_differ():
    assert "returned 1 arrays; expected 2" in judged([X], [X, X]).error_message
    assert "has shape [8, 16]; expected [4, 16]" in judged({"a": X}, {"a": X[:4]}).error_message


Point = collections.namedtuple("Point", "x y")


@dataclasses.dataclass
class Output:
    logits: torch.Tensor
    hidden: torch.Tensor | None = None


class Attributes:
    """An object whose attributes nobody knows."""

    def __init__(self, x):
        self.x = x


def a_cache(value):
    from transformers import DynamicCache

    cache = DynamicCache()
    cache.update(value, value, 0)
    return cache


@pytest.mark.parametrize(
    "wrap",
    [
        lambda x: [x],
        lambda x: {"a": (x, None)},
        lambda x: collections.OrderedDict(a=x),
        lambda x: Point(x, "name"),
        lambda x: Output(x),
        lambda x: a_cache(x[None, None]),
    ],
    ids=["list", "mapping", "ordered", "named tuple", "dataclass", "cache"],
)
def test_every_container_is_opened(wrap):
    x = torch.from_numpy(X).float()
    assert judged(wrap(x), wrap(x)).passed
    assert not judged(wrap(-x), wrap(x)).passed


def test_outputs_of_transformers():
    from transformers.modeling_outputs import BaseModelOutput

    x = torch.from_numpy(X)
    assert judged(BaseModelOutput(last_hidden_state=x), BaseModelOutput(last_hidden_state=x)).passed
    assert not judged(BaseModelOutput(last_hidden_state=-x), BaseModelOutput(last_hidden_state=x)).passed


@pytest.mark.parametrize("empty", [None, "text", [], {"a": None}, np.array(["text"])])
def test_results_without_numbers_fail(empty):
    result = judged(empty, empty)
    assert (result.passed, result.error_message) == (
        False,
        "Comparison failed. The results have no numbers, so there is nothing to compare.",
    )


@pytest.mark.parametrize(
    ("value", "place"),
    [
        (lambda x: Attributes(x), " is of type Attributes"),
        (lambda x: [x, {"a": Attributes(x)}], "[1]['a'] is of type Attributes"),
        (lambda x: {x.sum().item()}, " is of type set"),
        (lambda x: iter([x]), " is of type list_iterator"),
    ],
)
def test_objects_that_nobody_knows_fail(value, place):
    x = torch.from_numpy(X)
    result = judged(value(x), value(x))
    assert not result.passed
    assert result.error_message.startswith(f"Comparison failed. Result{place}, whose numbers cannot be found")


def test_compile_only(monkeypatch):
    monkeypatch.setenv("TT_COMPILE_ONLY_SYSTEM_DESC", "system.ttsys")
    assert ComparisonConfig().all_disabled()
    assert compare(-X, X).passed
