"""The next process neither traces a function nor makes its graph, unless what dynamo looked at has changed."""

from __future__ import annotations

import contextlib
import gc
import itertools
import math
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from torch._dynamo import bytecode_transformation
from torch._dynamo.utils import counters

from tests.closeness import relative_error
from tt_xla import disk_cache
from tt_xla.frontends.torch import backend
from tt_xla.frontends.torch.private import aot_cache

pytestmark = pytest.mark.skipif(not aot_cache.IS_SUPPORTED, reason="this PyTorch has no cache that we can extend")

SCALE = 2.0
TABLE = {"a": 1.0, "b": 2.0}
ROUNDING = 2**-8
"""Relative error of two layers, whose factors the matrix unit cuts to 11 significant bits."""


def helper(x):
    return x * 3


def other_helper(x):
    return x * 5


class Model(torch.nn.Module):
    factor = 2.0

    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.linear = torch.nn.Linear(4, 4)
        self.second = torch.nn.Linear(4, 4)
        self.bias = 1.5
        self.shift = 1
        self.names = ["a", "b"]

    def scaled(self, x):
        return x * self.factor

    def forward(self, x, n=2, flag=False):
        y = helper(self.scaled(self.second(torch.nn.functional.relu(self.linear(x))))) * SCALE + self.bias * self.shift
        for name in self.names:
            y = y + TABLE[name]
        return y - n if flag else y + n


@pytest.fixture(autouse=True)
def traces(monkeypatch, tmp_path):
    """Returns the graphs that dynamo made: empty where a frame came from the cache."""
    monkeypatch.setenv("TTXLA_CACHE", str(tmp_path / "cache"))
    made = []
    describe = backend.describe_inputs
    monkeypatch.setattr(backend, "describe_inputs", lambda *args: made.append(args) or describe(*args))
    _new_process()
    yield made
    torch.compiler.reset()


def _new_process():
    """Forgets what a process keeps in memory."""
    torch.compiler.reset()
    backend.clear_programs()
    counters.clear()


def _run(model, x, *args, **kwargs):
    with torch.no_grad():
        return torch.compile(model, backend="tt")(x, *args, **kwargs)


def _again(traces, model, x, *args, **kwargs):
    """Returns the result in a new process and whether dynamo traced there."""
    traces.clear()
    _new_process()
    return _run(model, x, *args, **kwargs), bool(traces)


X = torch.arange(8.0).reshape(2, 4)


def test_nothing_is_traced(traces):
    first = _run(Model(), X)
    assert len(traces) == 1
    second, traced = _again(traces, Model(), X)
    assert not traced
    assert torch.equal(first, second)
    assert not counters["aot_autograd"]


def test_guards_of_a_frame_from_the_cache_hold_in_its_process(traces):
    model = Model()
    _run(model, X)
    _new_process()
    traces.clear()
    compiled = torch.compile(model, backend="tt")
    with torch.no_grad():
        compiled(X)
        assert not traces
        model.bias = 7.0
        assert relative_error(compiled(X), model(X)) < ROUNDING
        compiled(torch.ones(3, 4))
    assert len(traces) == 2


def _hook(model, patch):
    model.linear.register_forward_hook(lambda module, inputs, output: output + 100)


def _hook_before(model, patch):
    model.linear.register_forward_pre_hook(lambda module, inputs: (inputs[0] + 100,))


def _hook_of_all(model, patch):
    def hook(module, inputs, output):
        return output + 100 if isinstance(module, torch.nn.Linear) else None

    patch.setattr(torch.nn.modules.module, "_global_forward_hooks", {0: hook})


CHANGES = {
    "attribute": lambda model, patch: setattr(model, "bias", -4.0),
    "attribute of the class": lambda model, patch: patch.setattr(Model, "factor", 9.0),
    "method of the class": lambda model, patch: patch.setattr(Model, "scaled", lambda self, x: x - 1),
    "method of the object": lambda model, patch: setattr(model, "scaled", lambda x: x - 1),
    "global": lambda model, patch: patch.setattr(sys.modules[__name__], "SCALE", 4.0),
    "entry of a global dict": lambda model, patch: patch.setitem(TABLE, "a", 8.0),
    "function": lambda model, patch: patch.setattr(sys.modules[__name__], "helper", other_helper),
    "function of torch": lambda model, patch: patch.setattr(torch.nn.functional, "relu", lambda x, **_: x + 11),
    "function of torch by another": lambda model, patch: patch.setattr(torch.nn.functional, "relu", torch.neg),
    "method of a module of torch": lambda model, patch: patch.setattr(torch.nn.Linear, "forward", lambda self, x: x),
    "length of a list": lambda model, patch: model.names.append("a"),
    "order of a list": lambda model, patch: setattr(model, "names", ["b", "b"]),
    "hook": _hook,
    "hook before a module": _hook_before,
    "hook of all modules": _hook_of_all,
    "number": lambda model, patch: setattr(model, "shift", 7),
    "module": lambda model, patch: setattr(model, "linear", torch.nn.Identity()),
    "dtype": lambda model, patch: model.double(),
    "default argument": lambda model, patch: patch.setattr(Model.forward, "__defaults__", (5, True)),
    "two parameters that are one": lambda model, patch: setattr(model.second, "weight", model.linear.weight),
}


@pytest.mark.filterwarnings("ignore:Using `torch.compile.module.` when there are global hooks")
@pytest.mark.sample(8)
@pytest.mark.parametrize("change", CHANGES)
def test_what_changed_is_not_stale(traces, monkeypatch, change):
    before = _run(Model(), X)
    model = Model()
    with monkeypatch.context() as patch:
        CHANGES[change](model, patch)
        x = X.to(next(model.parameters()).dtype)
        expected = model(x).detach()
        result, _ = _again(traces, model, x)
        assert relative_error(result, expected) < ROUNDING
        if change not in ("two parameters that are one", "dtype"):
            assert not torch.allclose(result.float(), before, rtol=1e-3)
    result, _ = _again(traces, Model(), X)
    assert torch.equal(result, before)


def test_arguments_and_the_state_of_torch_are_part_of_an_entry(traces):
    _run(Model(), X)
    assert _again(traces, Model(), X, 3)[1]
    assert _again(traces, Model(), X, flag=True)[1]
    assert _again(traces, Model(), X.t()[:, :1].expand(4, 4))[1]
    _new_process()
    traces.clear()
    assert torch.compile(Model(), backend="tt")(X).requires_grad
    assert len(traces) == 1


class DoubledOnes(torch.overrides.TorchFunctionMode):
    def __torch_function__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        return result * 2 if function is torch.ones else result


@contextlib.contextmanager
def _set(setter, value, before):
    setter(value)
    try:
        yield
    finally:
        setter(before)


STATES = {
    "default device": lambda: torch.device("tt"),
    "default dtype": lambda: _set(torch.set_default_dtype, torch.bfloat16, torch.get_default_dtype()),
    "autocast": lambda: torch.autocast("cpu", torch.bfloat16),
    "deterministic algorithms": lambda: _set(torch.use_deterministic_algorithms, True, before=False),
    "function mode": DoubledOnes,
    "grad mode": torch.enable_grad,
    "inference mode": torch.inference_mode,
}


class WithFactory(torch.nn.Module):
    """What its ops do depends on PyTorch's state."""

    def forward(self, x):
        return x @ x, torch.ones(2, 2) + 1


@pytest.mark.parametrize("state", STATES)
def test_another_state_of_torch_is_traced_again(traces, state):
    x = X[:, :2].contiguous()
    before = _run(WithFactory(), x)
    traces.clear()
    _new_process()
    with torch.no_grad(), STATES[state]():
        result = torch.compile(WithFactory(), backend="tt")(x)
        expected = WithFactory()(x)
    assert len(traces) == 1
    for ours, theirs in zip(result, expected, strict=True):
        assert (ours.dtype, ours.device) == (theirs.dtype, theirs.device)
        assert relative_error(ours.cpu(), theirs.cpu()) < ROUNDING
    result, traced = _again(traces, WithFactory(), x)
    assert not traced
    assert all(map(torch.equal, result, before))


@pytest.mark.parametrize("numbers", [(2, 3, 5), (2.0, 3.0, 5.0)])
def test_arguments_that_are_numbers(traces, numbers):
    """Dynamo takes a number that has changed for an input of the graph, which no guard compares."""
    *seen, new = numbers
    compiled = torch.compile(Scaled(), backend="tt")
    with torch.no_grad():
        assert all(torch.equal(compiled(X, number), X * number) for number in (*seen, new))
    for number in numbers:
        _new_process()
        assert torch.equal(_run(Scaled(), X, number), X * number)
    _new_process()
    compiled = torch.compile(Scaled(), backend="tt")
    with torch.no_grad():
        assert all(torch.equal(compiled(X, number), X * number) for number in (new, *seen, 7))


class Scaled(torch.nn.Module):
    def forward(self, x, number):
        return x * number


class Switched(torch.nn.Module):
    def forward(self, x, sign):
        return x + 1 if sign == "+" else x - 1


def test_guards_that_tell_two_frames_from_the_cache_apart_are_kept(traces):
    """PyTorch then checks nothing but what told one compilation of a function from another."""

    def results(compiled):
        return [compiled(X, sign).sum().item() for sign in ("+", "-")]

    with torch.no_grad():
        expected = results(torch.compile(Switched(), backend="tt"))
        _new_process()
        traces.clear()
        compiled = torch.compile(Switched(), backend="tt")
        assert results(compiled) == expected
        assert not traces
        with torch.compiler.set_stance(skip_guard_eval_unsafe=True):
            assert results(compiled) == expected


def test_tensors_that_are_to_be_negated_are_traced_again(traces):
    numbers = torch.view_as_complex(torch.arange(1.0, 9.0).reshape(4, 2))
    plain, negated = numbers.imag, numbers.conj().imag
    assert negated.is_neg()
    assert plain.stride() == negated.stride()
    assert torch.equal(_run(Doubled(), plain), plain * 2)
    result, traced = _again(traces, Doubled(), negated)
    assert traced
    assert torch.equal(result, negated * 2)


class Doubled(torch.nn.Module):
    def forward(self, x):
        return x * 2


def test_globals_of_a_frame_from_the_cache_end_with_it(traces):
    before = _compiled_graphs()
    _run(Doubled(), X)
    assert not _again(traces, Doubled(), X)[1]
    made = _compiled_graphs() - before
    assert made
    torch.compiler.reset()
    gc.collect()
    assert not made & _compiled_graphs()


def test_dynamo_may_count_its_names_as_the_process_that_stored_a_frame(traces, monkeypatch):
    def count_anew():
        monkeypatch.setattr(bytecode_transformation, "_unique_id_counter", itertools.count())

    count_anew()
    _run(Model(), X)
    count_anew()
    assert not _again(traces, Model(), X)[1]
    assert torch.equal(_run(Doubled(), X), X * 2)
    assert len(traces) == 1


def _compiled_graphs():
    return {name for name in globals() if name.startswith("__compiled_fn")}


def test_compile_options_share_an_entry_and_make_their_own_program(traces):
    _run(Model(), X)
    traces.clear()
    _new_process()
    with torch.no_grad():
        torch.compile(Model(), backend="tt", options={"optimization_level": 2})(X)
    assert not traces
    (program,) = backend.compiled_programs()
    assert program.options["optimization_level"] == 2


def test_passes_that_are_off_are_part_of_an_entry(traces):
    _run(Model(), X)
    traces.clear()
    _new_process()
    with torch.no_grad():
        torch.compile(Model(), backend="tt", options={"tt_enable_torch_fx_fusion_pass": False})(X)
    assert len(traces) == 1


class WithCache(torch.nn.Module):
    """Writes to its argument, as a language model writes to its cache."""

    def forward(self, x, cache, place):
        cache.index_copy_(0, place, x)
        return cache.sum(0)


def test_arguments_that_a_function_changes(traces):
    def run():
        model = torch.compile(WithCache(), backend="tt")
        cache = torch.zeros(4, 3).to("tt")
        sums = [model(torch.ones(1, 3).to("tt") + n, cache, torch.tensor([n]).to("tt")).cpu() for n in range(4)]
        return sums, cache.cpu()

    first, filled = run()
    assert len(traces) == 1
    assert filled[:, 0].tolist() == [1.0, 2.0, 3.0, 4.0]
    traces.clear()
    _new_process()
    second, again = run()
    assert not traces
    assert torch.equal(filled, again)
    assert torch.equal(torch.stack(first), torch.stack(second))


def test_a_frame_with_values_that_another_process_cannot_know_is_traced(traces):
    class Local(torch.nn.Module):
        def forward(self, x):
            return x * 2

    def model():
        return torch.nn.Sequential(Local(), Local())

    _run(model(), X)
    assert _again(traces, model(), X)[1]
    assert {kept.kind for kept in disk_cache.current().kept()} == {"programs"}


def test_an_entry_whose_graph_cannot_be_read_is_made_again(traces, tmp_path, monkeypatch):
    first = _run(Model(), X)
    with monkeypatch.context() as patch:
        patch.setattr(backend.Executor, "__setstate__", lambda *_: math.sqrt(-1))
        result, traced = _again(traces, Model(), X)
    assert traced
    assert torch.equal(result, first)


HELPER = """
def scaled(x):
    return inner(x)

def inner(x):
    return x * {factor}
"""

SCRIPT = """
import sys, torch, helper_of_the_script
from torch._dynamo.utils import counters
import tt_torch

class Model(torch.nn.Module):
    def forward(self, x):
        return torch.softmax(helper_of_the_script.scaled(x @ x), -1)

x = torch.arange(16.0).reshape(4, 4).to("tt") / 10
with torch.no_grad():
    compiled = torch.compile(Model(), backend="tt")
    print([round(value, 3) for value in compiled(x).flatten().tolist()], counters["stats"]["unique_graphs"])
"""


@pytest.mark.nightly
def test_processes_with_the_same_files_and_with_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TTXLA_CACHE", str(tmp_path / "cache"))
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    outputs = []
    for factor in (1.0, 1.0, 3.0):
        helper_file = tmp_path / "helper_of_the_script.py"
        if not outputs or factor != 1.0:
            helper_file.write_text(HELPER.format(factor=factor))
            for path in (script, helper_file):  # before the process starts, by any clock
                os.utime(path, (0, time.time() - 60 + factor))
        done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)
        outputs.append(done.stdout.strip())
    first, second, third = outputs
    assert first.endswith("] 1")
    assert second == first.removesuffix("1") + "0"
    assert third.endswith("] 1")
    assert third != first
