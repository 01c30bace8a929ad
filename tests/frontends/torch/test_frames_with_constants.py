"""Values that dynamo writes into a trace without a guard: another process does not take them from the cache."""

from __future__ import annotations

import os
import sys

import pytest
import torch
from torch._dynamo.decorators import leaf_function, nonstrict_trace, substitute_in_graph
from torch._dynamo.variables.functions import PolyfilledFunctionVariable

from tt_xla.frontends.torch import backend
from tt_xla.frontends.torch.fingerprints import Fingerprints
from tt_xla.frontends.torch.private import aot_cache

pytestmark = pytest.mark.skipif(not aot_cache.IS_SUPPORTED, reason="this PyTorch has no cache that we can extend")

VALUES = {"factor": 2.0}
LIBRARY = torch.library.Library("frames_with_constants", "DEF")
LIBRARY.define("scaled(Tensor x) -> Tensor")
LIBRARY.impl("scaled", lambda x: x * VALUES["factor"], "CompositeImplicitAutograd")


@torch.compiler.assume_constant_result
def constant():
    return VALUES["factor"]


@torch.compiler.assume_constant_result
def constant_of(number):
    return VALUES["factor"] * number


class WithMethod:
    @torch.compiler.assume_constant_result
    def constant(self):
        return VALUES["factor"]


class WithConstant(torch.nn.Module):
    @torch.compiler.assume_constant_result
    def constant(self):
        return VALUES["factor"]

    def forward(self, x):
        return x * self.constant()


@torch.compiler.allow_in_graph
def allowed(x):
    return x * VALUES["factor"]


@nonstrict_trace
def traced_by_autograd(x):
    return x * VALUES["factor"]


@leaf_function
def leaf(x):
    return (x * VALUES["factor"],)


@leaf.register_fake
def _leaf(x):
    return (torch.empty_like(x),)


OBJECT = WithMethod()
READERS = {
    "function": lambda x: x * constant(),
    "method": lambda x: x * OBJECT.constant(),
    "method of a module": WithConstant(),
    "allow_in_graph": lambda x: allowed(x),
    "nonstrict_trace": lambda x: traced_by_autograd(x),
    "leaf_function": lambda x: leaf(x)[0],
    "op whose kernel is traced": lambda x: torch.ops.frames_with_constants.scaled(x),
    "constant of an argument": lambda x: x * constant_of(1),
    "method of a new object": lambda x: x * WithMethod().constant(),
    "getenv": lambda x: x * float(os.getenv("FRAMES_WITH_CONSTANTS", "0")),
}
BEFORE = sys.getrecursionlimit()


@pytest.fixture(autouse=True)
def _own_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("TTXLA_CACHE", str(tmp_path / "cache"))
    yield
    sys.setrecursionlimit(BEFORE)
    torch.compiler.reset()


def _in_new_process(function):
    torch.compiler.reset()
    backend.clear_programs()
    with torch.no_grad():
        return torch.compile(function, backend="tt")(torch.ones(2)).tolist()


def _set(factor, monkeypatch):
    monkeypatch.setitem(VALUES, "factor", factor)
    monkeypatch.setenv("FRAMES_WITH_CONSTANTS", str(factor))


@pytest.mark.parametrize("reader", READERS)
def test_what_a_trace_holds_without_a_guard_is_read_again(reader, monkeypatch):
    results = []
    for factor in (2.0, 3.0):
        _set(factor, monkeypatch)
        results.append(_in_new_process(READERS[reader]))
    assert results == [[2.0, 2.0], [3.0, 3.0]]


def test_the_recursion_limit_is_read_again():
    results = []
    for factor in (2, 3):
        sys.setrecursionlimit(BEFORE + factor)  # part of every key, so the other tests leave it alone
        results.append(_in_new_process(lambda x: x * (sys.getrecursionlimit() - BEFORE)))
    assert results == [[2.0, 2.0], [3.0, 3.0]]


def test_what_dynamo_calls_in_place_of_a_polyfill_is_read_again(monkeypatch):
    def replaced(number):
        return VALUES["factor"]

    def reader(x):
        return x * replaced(1)

    results = []
    wrapped = substitute_in_graph(replaced, can_constant_fold_through=True)(lambda number: VALUES["factor"])
    try:
        for factor in (2.0, 3.0):
            _set(factor, monkeypatch)
            results.append(_in_new_process(reader))
    finally:  # no frame is stored while it is there
        for function in (replaced, wrapped):
            PolyfilledFunctionVariable._get_polyfill_handlers().pop(function)
    assert results == [[2.0, 2.0], [3.0, 3.0]]


def test_decorators_of_dynamo_change_the_fingerprint_of_a_function():
    def function():
        return 1.0

    before = Fingerprints().of(function)
    torch.compiler.assume_constant_result(function)
    assert Fingerprints().of(function) != before
