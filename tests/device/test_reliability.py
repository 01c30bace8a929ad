"""The runtime over many runs, programs and threads, and processes that end at any moment."""

from __future__ import annotations

import gc
import os
import resource
import signal
import subprocess
import sys
import threading
import time

import pytest
import torch

from tt_xla.ir.program import FunctionKind, Role
from tt_xla.runtime.device import Device
from tt_xla.runtime.emulator import heap

RUNS = [pytest.param(300, 30, id="few"), pytest.param(10_000, 1_000, id="many", marks=pytest.mark.stress)]


@pytest.fixture
def two_layers(function_builder, make_program, make_trace):
    """Returns gelu(x @ w) for ``rows`` rows, with w transposed in a const-eval function; optionally in a trace."""

    def make(rows=4, *, trace=True):
        c = function_builder("main_const_eval_0", FunctionKind.CONST_EVAL)
        w = c.argument((96, 64), "bf16")
        const_eval = c.done(c.op("ttnn.transpose", (64, 96), "bf16", {"dim0": 0, "dim1": 1}, input=w))
        body = function_builder("trace_0_main" if trace else "main", FunctionKind.TRACE)
        if trace:
            x, wt = body.argument((rows, 64), "bf16"), body.argument((64, 96), "bf16")
        else:
            body.kind = FunctionKind.FORWARD
            x, w = body.argument((rows, 64), "bf16"), body.argument((96, 64), "bf16")
            wt = body.op("ttcore.load_cached", (64, 96), "bf16", {"callee": "main_const_eval_0"}, inputs=(w,))
        product = body.op("ttnn.matmul", (rows, 96), "bf16", {"activation": "gelu"}, a=x, b=wt)
        declared = [("x", Role.INPUT, (rows, 64), "bf16"), ("w", Role.PARAMETER, (96, 64), "bf16")]
        if not trace:
            return make_program([body.done(product), const_eval], declared, [((rows, 96), "bf16")])
        functions, callees = make_trace(body, product)
        main = function_builder("main")
        x, w = main.argument((rows, 64), "bf16"), main.argument((96, 64), "bf16")
        wt = main.op("ttcore.load_cached", (64, 96), "bf16", {"callee": "main_const_eval_0"}, inputs=(w,))
        result = main.op("ttnn.capture_or_execute_trace", (rows, 96), "bf16", callees, inputs=(x, wt))
        return make_program([main.done(result), const_eval, *functions], declared, [((rows, 96), "bf16")])

    return make


def operands(rows=4):
    random = torch.Generator().manual_seed(0)
    return [torch.randn(shape, generator=random).to(torch.bfloat16) for shape in ((rows, 64), (96, 64))]


def objects() -> int:
    gc.collect()
    return len(gc.get_objects())


@pytest.mark.parametrize(("runs", "programs"), RUNS)
@pytest.mark.usefixtures("all_objects")
def test_runs_keep_nothing_and_give_the_same_bits(device, two_layers, runs, programs, monkeypatch):
    monkeypatch.setenv("TTXLA_EMULATOR_CHAINS", "now")  # without waiting for many runs
    executable = device.load(two_layers())
    x, w = operands()
    (first,) = executable.run([x, w], [None, 1])
    for _ in range(10):
        executable.run([x, w], [None, 1])
    before = objects()
    for _ in range(runs):
        (result,) = executable.run([x, w], [None, 1])
        assert torch.equal(result, first)
    assert objects() - before < 20


@pytest.mark.parametrize(("runs", "programs"), RUNS)
@pytest.mark.usefixtures("all_objects")
@pytest.mark.nightly
def test_programs_that_are_gone_leave_nothing(device, two_layers, runs, programs):
    def use(rows):
        executable = device.load(two_layers(rows))
        tensors = operands(rows)
        for _ in range(3):
            executable.run(tensors, [None, 1])

    for rows in range(1, 6):
        use(rows)
    before = objects()
    for rows in range(6, 6 + programs):
        use(rows)
    assert objects() - before < 20
    assert not device.program_cache
    assert device.memory().const_eval == 0


def test_intermediate_values_lie_where_the_last_runs_lay():
    """If glibc returned freed pages to the system, each step would cause 3 x 4096 page faults."""
    if not heap.keep_freed():
        pytest.skip("the C library is not glibc, or the environment says how memory is kept")

    def step():
        return [torch.ones(1 << 22) for _ in range(3)]  # 16 MiB each, more than glibc keeps by default

    for _ in range(3):
        step()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(3):
        step()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before < 4096


@pytest.mark.parametrize(
    ("variable", "value"), [("MALLOC_TRIM_THRESHOLD_", "131072"), ("TTXLA_KEEP_FREED_MEMORY", "0")]
)
def test_the_user_can_leave_the_allocator_alone(monkeypatch, variable, value):
    monkeypatch.setenv(variable, value)
    assert not heap.keep_freed.__wrapped__()


def test_a_trace_gives_the_bits_that_plain_runs_give(device, two_layers):
    traced, plain = device.load(two_layers()), device.load(two_layers(trace=False))
    x, w = operands()
    results = [executable.run([x, w], [None, 1])[0] for executable in (plain, traced) for _ in range(4)]
    assert all(torch.equal(one, results[0]) for one in results)
    assert traced.counters.replays == 2


def test_eight_threads_get_what_each_asks_for(device, two_layers):
    executables = [device.load(two_layers(rows)) for rows in (1, 2, 3)]
    wrong = []

    def work(number):
        w = operands()[1]
        for turn in range(20):
            rows = (number + turn) % 3 + 1
            x = torch.full((rows, 64), float(number), dtype=torch.bfloat16)
            (result,) = executables[rows - 1].run([x, w], [None, 1])
            exact = torch.nn.functional.gelu(x.double() @ w.double().t())
            if not torch.allclose(result.double(), exact, rtol=2**-7, atol=1e-2):
                wrong.append((number, turn))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


WORK = """
import sys, torch, tt_torch
torch.manual_seed(0)
layer = torch.nn.Linear(64, 64).to("tt")
call = torch.compile(layer, backend="tt", options={"enable_trace": True})
x = torch.ones(4, 64).to("tt")
with torch.no_grad():
    while True:
        print(float(call(x).cpu().double().sum()), flush=True)
        if sys.argv[1:] == ["once"]:
            break
"""


@pytest.mark.stress
def test_a_process_that_is_killed_leaves_nothing_behind():
    """Processes that run at the same time and later compute the same results."""
    command = [sys.executable, "-c", WORK]
    expected = subprocess.run([*command, "once"], capture_output=True, text=True, check=True, timeout=300).stdout
    for moment in (0.0, 0.2, 0.5):
        pair = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
        try:
            assert [process.stdout.readline() for process in pair] == [expected, expected]
            time.sleep(moment)
            os.kill(pair[0].pid, signal.SIGKILL)
            assert all(pair[1].stdout.readline() == expected for _ in range(20))
        finally:
            for process in pair:
                process.kill()
                process.wait()
                process.stdout.close()
        after = subprocess.run([*command, "once"], capture_output=True, text=True, check=True, timeout=300)
        assert after.stdout == expected


def test_two_cards_do_not_share_kernels(two_layers, chip):
    """Resetting one executable leaves the cached results of the other unchanged."""
    first, second = (Device(chip(), trace_region_bytes=None) for _ in range(2))
    executables = [device.load(two_layers()) for device in (first, second)]
    x, w = operands()
    for executable in executables:
        executable.run([x, w], [None, 1])
    first.reset()
    assert not first.program_cache
    assert second.program_cache
    results = [executable.run([x, w], [None, 1])[0] for executable in executables]
    assert torch.equal(*results)
