"""Functions of C++ get the memory of tensors that are what they expect, and of no others."""

from __future__ import annotations

import gc
import weakref
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from tt_xla.runtime.emulator.fused import build
from tt_xla.runtime.emulator.fused.calls import FLOATS, LONGS, NUMBER, CppFunction, Memory, fused_call
from tt_xla.runtime.emulator.fused.cpp import Operand


class Symbol:
    """Stands for a function of a library, and keeps what it is called with."""

    def __init__(self):
        self.calls = []

    def __call__(self, *arguments):
        self.calls.append(arguments)


def test_a_call_passes_addresses_and_numbers():
    symbol, x, sizes = Symbol(), torch.ones(2, 3), torch.ones(4, dtype=torch.int64)
    CppFunction(symbol, [FLOATS, FLOATS, LONGS, NUMBER])(x, None, sizes, 7)
    assert symbol.calls == [(x.data_ptr(), None, sizes.data_ptr(), 7)]
    assert len(symbol.argtypes) == 4


@pytest.mark.parametrize(
    "tensor",
    [
        torch.ones(2, 3, dtype=torch.float64),
        torch.ones(2, 3, dtype=torch.bfloat16),
        torch.ones(2, 3).t(),
        torch.ones(2, 6)[:, ::2],
        torch.ones(2, 3, device="meta"),
    ],
    ids=["float64", "bfloat16", "transposed", "with gaps", "on another device"],
)
def test_a_tensor_that_cpp_would_read_wrongly_is_refused(tensor):
    symbol = Symbol()
    with pytest.raises(TypeError, match=r"takes torch\.float32, contiguous on the CPU, got"):
        CppFunction(symbol, [FLOATS])(tensor)
    assert symbol.calls == []


def test_a_parameter_may_take_several_dtypes_and_any_strides():
    symbol, x = Symbol(), torch.ones(2, 6, dtype=torch.bfloat16)[:, ::2]
    CppFunction(symbol, [Memory((torch.float32, torch.bfloat16), is_dense=False)])(x)
    assert symbol.calls == [(x.data_ptr(),)]


def test_tensors_live_until_the_function_returns():
    alive = []

    class Watching(Symbol):
        def __call__(self, *arguments):
            gc.collect()
            alive.append(reference() is not None)

    def temporary():
        nonlocal reference
        tensor = torch.ones(3)
        reference = weakref.ref(tensor)
        return tensor

    reference = None
    CppFunction(Watching(), [FLOATS])(temporary())
    assert alive == [True]
    assert reference() is None


@pytest.mark.parametrize(
    "tensor", [torch.ones(2, 3, dtype=torch.float64), torch.ones(3, 2).t()], ids=["float64", "transposed"]
)
def test_a_fused_kernel_makes_the_calls_for_other_tensors(tensor):
    calls, operand = [], Operand((2, 3), (3, 1), torch.float32)
    arena = torch.empty(64, dtype=torch.uint8)
    call = fused_call(
        lambda *pointers: calls.append(pointers), [operand], [operand], lambda: arena, lambda x: x + 1, pytest.fail
    )
    assert torch.equal(call(tensor), tensor + 1)
    assert calls == []
    given = torch.ones(2, 3)
    result = call(given)
    ((inputs, results, memory),) = calls
    assert ([*inputs], [*results], memory) == ([given.data_ptr()], [result.data_ptr()], arena.data_ptr())


def test_a_fused_kernel_that_says_it_cannot_makes_the_calls():
    operand, arena = Operand((2, 3), (3, 1), torch.float32), torch.empty(64, dtype=torch.uint8)
    call = fused_call(lambda *_: 1, [operand], [operand], lambda: arena, lambda x: x + 1, pytest.fail)
    assert torch.equal(call(torch.ones(2, 3)), torch.full((2, 3), 2.0))


@pytest.mark.skipif(build.compiler() is None, reason="there is no C++ compiler")
def test_one_compiler_runs_at_a_time_without_a_cache_on_disk(monkeypatch):
    monkeypatch.setenv("TTXLA_CACHE", "off")
    running, most, run = [], [], build.run_command

    def counted(command, seconds):
        running.append(command)
        most.append(len(running))
        try:
            run(command, seconds)
        finally:
            running.remove(command)

    monkeypatch.setattr(build, "run_command", counted)
    sources = [f'extern "C" int answer() {{ return {number}; }}' for number in range(3)]
    with ThreadPoolExecutor() as threads:
        builds = list(threads.map(lambda source: build.Build.of(source, optimize=False), sources))
    assert [each.library.answer() for each in builds] == [0, 1, 2]
    assert max(most) == 1
