"""Drawn calls and functions of PyTorch: rules are drawn, draws can be repeated, and faults are noticed."""

from __future__ import annotations

import random
import warnings
from typing import Any

import pytest
import torch
from jax import lax

from tests.fuzz.cases import Case, NotDrawnError
from tests.fuzz.kinds import aten, graphs
from tests.fuzz.torch_programs import schemas
from tests.fuzz.torch_programs.calls import Call
from tests.fuzz.torch_programs.control import IN_PYTHON
from tests.fuzz.torch_programs.functions import Function
from tests.fuzz.torch_programs.noise import DEFAULT, EXACT, Judge
from tests.fuzz.torch_programs.recipes import RECIPES
from tests.fuzz.torch_programs.samples import draw_call
from tests.fuzz.unreached import OF_TORCH_XLA, UNREACHED
from tt_xla.frontends.torch import backend  # noqa: F401  registers ops of tt
from tt_xla.frontends.torch.aten.registry import LOWERINGS, NAMED, like
from tt_xla.frontends.torch.higher_order import HIGHER_ORDER

ops = torch.ops.aten
X = torch.tensor([1.0, -2.0, 0.5])


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Hides what PyTorch warns about, and keeps drawn programs out of the cache on disk."""
    monkeypatch.setenv("TTXLA_CACHE", "off")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def drawn(kind: Any, number: int) -> str:
    """Returns the text of a drawn program."""
    try:
        return kind.draw(Case(kind.__name__, "unit", number).generator()).text
    except NotDrawnError as error:
        return str(error)


def test_recipes_and_reasons_are_of_rules() -> None:
    names = {op._schema.name for op in LOWERINGS} | {f"{op._schema.name}.{op._overloadname}" for op in LOWERINGS}
    assert set(RECIPES) <= names | set(NAMED)
    assert set(UNREACHED["aten rules"]) <= {*map(str, LOWERINGS), *NAMED}


def test_each_rule_is_drawn_or_has_a_reason() -> None:
    drawn_ops = {op if op in LOWERINGS else op._schema.name for op in aten.ops()}
    missing = {str(op) for op in (*LOWERINGS, *NAMED) if op not in drawn_ops}
    assert sorted(missing - set(OF_TORCH_XLA)) == sorted(UNREACHED["aten rules"])


def test_each_operator_of_control_flow_is_drawn() -> None:
    """By the names that drawn functions call them."""
    assert {op.name() for op in HIGHER_ORDER} == set(IN_PYTHON)


@pytest.mark.nightly
@pytest.mark.parametrize("share", range(8))
def test_pytorch_takes_calls_of_each_rule(share: int) -> None:
    """PyTorch takes one of three draws of each op."""
    missing: list[str] = []
    for op in aten.ops()[share::8]:
        for attempt in range(3):
            try:
                call = draw_call(random.Random(f"{op} {attempt}"), op)
            except NotDrawnError:
                continue
            assert call.op is op
            break
        else:
            missing.append(str(op))
    assert missing == []


@pytest.mark.parametrize("kind", [aten, graphs])
def test_a_state_of_the_generator_gives_one_program(kind: Any) -> None:
    texts = [drawn(kind, number) for number in range(12)]
    torch.manual_seed(5)
    assert [drawn(kind, number) for number in range(12)] == texts
    assert len(set(texts)) == len(texts)


def test_arguments_are_given_as_by_the_dispatcher() -> None:
    call = schemas.normal(ops.sum.dim_IntList, {"self": X, "keepdim": True, "dtype": torch.float64}, special=False)
    assert call.args == (X, None, True)
    assert call.kwargs == {"dtype": torch.float64}


def test_a_call_is_written_as_source() -> None:
    call = Call(ops.add.Tensor, (X[::2], torch.tensor(2)), {"alpha": 3})
    names: dict[str, Any] = {"torch": torch}
    exec(call.text, names)
    assert torch.equal(names["result"], X[::2] + 6)
    assert names["x0"].stride() == (2,)


def test_a_wrong_rule_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aten, "ops", lambda: [ops.sigmoid.default])
    right = LOWERINGS[ops.sigmoid.default]

    def wrong(ctx: Any, x: Any) -> Any:
        result = right(ctx, x)
        return lax.mul(result, like(result, 1.01))

    dict.__setitem__(LOWERINGS, ops.sigmoid.default, wrong)
    try:
        found = [list(judged) for judged in (differences(number) for number in range(5)) if judged]
    finally:
        dict.__setitem__(LOWERINGS, ops.sigmoid.default, right)
    assert len(found) > 1
    assert found[0][0].check.startswith("exact")


def differences(number: int) -> list[Any]:
    """Returns what is wrong with a drawn call."""
    try:
        return list(aten.draw(Case("aten", "wrong", number).generator()).check())
    except NotDrawnError:
        return []


def test_a_function_that_computes_something_else_on_the_device_is_noticed() -> None:
    x = torch.tensor([[0.5, -1.0], [2.0, 3.0]], requires_grad=True)
    function = Function({"x": x}, ["y = x * (2 if x.device.type == 'tt' else 2.1)"], ["y"])
    found = [difference.text for difference in graphs.Graph(function, True, ["default at level 0"]).check()]
    assert [text.partition(":")[0] for text in found] == ["result 0", "result 1"]  # the result and its gradient


def test_results_that_share_memory_are_those_of_pytorch() -> None:
    def function(x: torch.Tensor) -> list[torch.Tensor]:
        doubled = x * 2
        return [doubled, doubled[1:], x.t(), doubled.clone()]

    run = graphs.WithGradients(function, [False])
    run(torch.ones(3, 3))
    assert run.sharing == [1, 1, 0, 4]

    elsewhere = "x[:2].clone() if x.device.type == 'tt' else x[:2]"
    drawn = Function({"x": torch.ones(3)}, [f"y = {elsewhere}"], ["y"])
    found = [difference.text for difference in graphs.Graph(drawn, True, ["exact at level 0"]).check()]
    assert found == ["memory is shared as [1] instead of [0]"]


def test_functions_and_gradients_that_agree() -> None:
    x = torch.tensor([[0.5, -1.0], [2.0, 3.0]], requires_grad=True)
    function = Function({"x": x}, ["y = (x @ x).softmax(-1)", "z = y.clone()", "z[0] = 1"], ["y", "z"])
    for eager in (True, False):
        assert list(graphs.Graph(function, eager, ["exact at level 0", "default at level 2"]).check()) == []


@pytest.mark.parametrize(
    ("got", "size", "text"),
    [
        (X * 2 + 1, EXACT, ""),
        (X * 2 + 1.0001, EXACT, "result 0: 3 of 3 elements differ"),
        (X * 2 + 1.0001, DEFAULT, ""),
        (X * 2 + 1.5, DEFAULT, "result 0: 3 of 3 elements differ"),
        (X.double(), EXACT, "result 0 is torch.float64[3] instead of torch.float32[3]"),
    ],
)
def test_results_lie_within_the_errors_of_ops(got: torch.Tensor, size: float, text: str) -> None:
    judge = Judge(lambda x: [x * 2 + 1], [X])
    found = [difference.text for difference in judge.differences("a check", [got], size)]
    assert [each[: len(text)] for each in found] == [text] * bool(text)


def test_bits_are_those_of_signs_and_nan_too() -> None:
    judge = Judge(lambda x: [x.clone()], [torch.tensor([0.0, torch.nan, 1.0])], bits=True)
    assert list(judge.differences("", [torch.tensor([0.0, torch.nan, 1.0])], EXACT)) == []
    assert len(list(judge.differences("", [torch.tensor([-0.0, torch.nan, 1.0])], EXACT))) == 1
    assert len(list(judge.differences("", [torch.tensor([0.0, torch.nan, 1.0000001])], EXACT))) == 1


def test_choices_that_errors_change_are_open() -> None:
    judge = Judge(lambda x: [(x * 0.1 > 0.1)], [torch.tensor([1.0, 2.0])])
    assert list(judge.differences("", [torch.tensor([True, True])], EXACT)) == []
    assert len(list(judge.differences("", [torch.tensor([True, False])], EXACT))) == 1
