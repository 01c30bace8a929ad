"""Const-eval results lose their bytes once prepared weights stand for them, and results stay the same."""

from __future__ import annotations

import pytest
import torch

from tt_xla import environment
from tt_xla.ir.program import FunctionKind, Role
from tt_xla.runtime.emulator import report
from tt_xla.runtime.emulator.fast import onednn

pytestmark = pytest.mark.skipif(not onednn.available(), reason="this CPU's oneDNN does not multiply bfloat16")

BF16 = torch.bfloat16
CACHED = {"callee": "main_const_eval_0"}
X, W, TURNED, Y = (64, 512), (192, 512), (512, 192), (64, 192)


@pytest.fixture
def model(function_builder, make_program, make_trace):
    """Returns a program of x @ w.T, with w transposed in const-eval as a view of a copy.

    With ``also_read`` another op reads the transposed w.
    """

    def make(trace, also_read=False):
        c = function_builder("main_const_eval_0", FunctionKind.CONST_EVAL)
        w = c.argument(W, "bf16")
        copy = c.op("ttnn.assign", W, "bf16", input=w)
        const_eval = c.done(c.op("ttnn.transpose", TURNED, "bf16", {"dim0": 0, "dim1": 1}, input=copy))
        body = function_builder("trace_0_main" if trace else "main", FunctionKind.TRACE)
        x = body.argument(X, "bf16")
        if trace:
            wt = body.argument(TURNED, "bf16")
        else:
            body.kind = FunctionKind.FORWARD
            wt = body.op("ttcore.load_cached", TURNED, "bf16", CACHED, inputs=(body.argument(W, "bf16"),))
        y = body.op("ttnn.matmul", Y, "bf16", {"transpose_a": False, "transpose_b": False}, a=x, b=wt)
        if also_read:
            body.op("ttnn.relu", TURNED, "bf16", input=wt)
        functions = [const_eval] if trace else [body.done(y), const_eval]
        if trace:
            around, attributes = make_trace(body, y)
            f = function_builder("main")
            x, w = f.argument(X, "bf16"), f.argument(W, "bf16")
            wt = f.op("ttcore.load_cached", TURNED, "bf16", CACHED, inputs=(w,))
            y = f.op("ttnn.capture_or_execute_trace", Y, "bf16", attributes, inputs=(x, wt))
            functions = [f.done(y), *around, *functions]
        declared = [("x", Role.INPUT, X, "bf16"), ("w", Role.PARAMETER, W, "bf16")]
        return make_program(functions, declared, [(Y, "bf16")], options={"numerics": "silicon", "enable_trace": trace})

    return make


def kept_bytes(executable):
    cached = executable.const_evals.results.values()
    return sum(tensor.untyped_storage().nbytes() for results in cached for tensor in results)


def samples(seed):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, generator=generator).to(BF16) for shape in (X, W)]


def run(executable, x, w, version):
    (result,) = executable.run([x, w], [None, version])
    torch.testing.assert_close(result.float(), x.float() @ w.float().T, rtol=2**-7, atol=1e-2)
    return result


@pytest.mark.parametrize("trace", [False, True])
def test_the_bytes_go_when_the_weights_are_prepared(device, model, trace):
    executable = device.load(model(trace))
    x, w = samples(0)
    first = run(executable, x, w, 1)
    assert kept_bytes(executable) == w.nbytes
    for _ in range(3):
        assert torch.equal(run(executable, x, w, 1), first)
        assert kept_bytes(executable) == 0
    assert executable.counters.const_evals == 1


@pytest.mark.parametrize("trace", [False, True])
def test_other_contents_are_computed_anew(device, model, trace):
    executable = device.load(model(trace))
    for version in (1, 2):
        x, w = samples(version)
        for _ in range(3):
            run(executable, x, w, version)
        assert kept_bytes(executable) == 0
    assert executable.counters.const_evals == 2


@pytest.mark.parametrize("trace", [False, True])
def test_what_another_op_reads_stays(device, model, trace):
    executable = device.load(model(trace, also_read=True))
    x, w = samples(0)
    for _ in range(3):
        run(executable, x, w, 1)
    assert kept_bytes(executable) == w.nbytes


def test_after_a_reset_all_is_computed_again(device, model):
    executable = device.load(model(True))
    x, w = samples(0)
    for _ in range(2):
        for _ in range(3):
            run(executable, x, w, 1)
        assert kept_bytes(executable) == 0
        executable.reset()


def test_without_the_program_cache_nothing_is_dropped(device, model, monkeypatch):
    executable = device.load(model(False))
    x, w = samples(0)
    monkeypatch.setattr("tt_xla.environment.program_cache_enabled", lambda: False)
    for _ in range(3):
        run(executable, x, w, 1)
    assert kept_bytes(executable) == w.nbytes
    monkeypatch.undo()
    for _ in range(3):
        run(executable, x, w, 1)


@pytest.mark.parametrize("trace", [False, True])
def test_a_fault_of_onednn_ends_no_run_whose_weights_have_no_bytes(device, model, trace, monkeypatch, tmp_path):
    def fail(*_):
        raise RuntimeError("could not create a primitive")

    monkeypatch.setattr(environment, "cache_directory", lambda: tmp_path)
    report.forget()
    executable = device.load(model(trace))
    x, w = samples(0)
    for _ in range(3):
        run(executable, x, w, 1)
    assert kept_bytes(executable) == 0
    monkeypatch.setattr(onednn, "linear", fail)
    for _ in range(3):
        run(executable, x, w, 1)
    assert len([*(tmp_path / "reports").iterdir()]) == 1
    assert executable.counters.const_evals == 1
