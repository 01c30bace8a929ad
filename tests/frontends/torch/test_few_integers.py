"""Ops on few integers that the host has run when they are called, in Python or in C++; others are recorded."""

import logging
import subprocess
import sys
import types

import pytest
import torch

from tt_xla.frontends.torch import session
from tt_xla.frontends.torch.backend import compiled_programs
from tt_xla.frontends.torch.device import integers, native
from tt_xla.frontends.torch.device.buffers import buffer_of
from tt_xla.frontends.torch.device.kinds import MAX_INTEGERS
from tt_xla.frontends.torch.device.native import NATIVE
from tt_xla.log import logger
from tt_xla.runtime.emulator.fused.build import compiler

needs_compiler = pytest.mark.skipif(compiler() is None, reason="there is no C++ compiler")


@pytest.fixture(params=["Python", pytest.param("C++", marks=needs_compiler)], autouse=True)
def way(request):
    with NATIVE.used(computes=request.param == "C++"):
        yield request.param


def _ids(device):
    return torch.arange(12, dtype=torch.int64).reshape(3, 4).to(device)


COMPUTED = {
    "arithmetic": lambda x: (x * 3 - 7) // 2 % 5,
    "comparisons": lambda x: (x > 3) & ~(x == 7) | (x <= 1),
    "ranges": lambda x: torch.arange(2, 9, 3, device=x.device) + torch.arange(3, device=x.device),
    "filled": lambda x: torch.full((2, 3), 7, device=x.device) + torch.ones(3, dtype=torch.int32, device=x.device),
    "zeros": lambda x: torch.zeros(2, 5, dtype=torch.int64, device=x.device),
    "empty_then_filled": lambda x: torch.empty(4, dtype=torch.int64, device=x.device).fill_(3),
    "like": lambda x: torch.ones_like(x) + x.new_zeros(4),
    "joined": lambda x: torch.cat([x, x[:, -1:] + 1], 1),
    "stacked": lambda x: torch.stack([x, x + 1]),
    "sums": lambda x: x.sum(1) + x.max() - x.amin(0, keepdim=True).sum(),
    "cumulated": lambda x: torch.cumsum(x, 1),
    "taken": lambda x: x[:, torch.tensor([2, 0], device=x.device)].gather(1, x.new_zeros(3, 1)),
    "chosen": lambda x: torch.where(x > 5, x, 0),
    "converted": lambda x: x.to(torch.int32) + (x > 4).to(torch.uint8),
    "views": lambda x: (x.t() + 1)[1:].expand(3, 3) * x[:, 1:2],
    "transposed": lambda x: x.t().clone() + 1,
    "no_elements": lambda x: x[:0] + 1,
    "number_of_the_cpu": lambda x: x + torch.tensor(3),
    "isin": lambda x: torch.isin(x, torch.tensor([3, 4], device=x.device)),
}


@pytest.mark.parametrize("name", COMPUTED)
def test_results_are_there_at_once_and_those_of_the_cpu(name):
    compiled = len(compiled_programs())
    there, here = COMPUTED[name](_ids("tt")), COMPUTED[name](_ids("cpu"))
    assert not buffer_of(there).pending
    assert (there.device.type, there.dtype, there.stride()) == ("tt", here.dtype, here.stride())
    assert torch.equal(there.cpu(), here)
    assert len(compiled_programs()) == compiled


def _written(x):
    x += 1
    x[1] = 9
    x[:, 2:] *= 2
    x[0].copy_(x[2])
    x.masked_fill_(x > 20, -1)
    view = x.view(-1)
    view[3] = 77
    return x


def test_writes_are_seen_through_views_and_by_programs():
    there, here = _ids("tt"), _ids("cpu")
    whole = there.view(-1)
    doubled = there.float() * 2  # recorded with the elements from before
    assert torch.equal(_written(there).cpu(), _written(here))
    assert torch.equal(whole.cpu(), here.view(-1))
    assert torch.equal(doubled.cpu(), _ids("cpu").float() * 2)
    assert torch.equal((there.float() * 2).cpu(), here.float() * 2)


def test_a_result_has_memory_of_its_own():
    x = _ids("tt")
    for copy in (
        x.clone(),
        x.to(torch.int64, copy=True),
        x.reshape(-1).contiguous().clone(),
        x[0].clone(),
    ):
        copy += 5
    assert torch.equal(x.cpu(), _ids("cpu"))


def test_an_op_that_returns_its_operand_gets_a_copy():
    class Same:
        namespace = "aten"

        def __call__(self, x):
            return x

    x = _ids("tt")
    copy = integers.run(types.SimpleNamespace(op=Same(), writes=[]), (x,), {}, None)
    copy.fill_(5)
    assert torch.equal(x.cpu(), _ids("cpu"))


RECORDED = {
    "floats": lambda x: x.float(),
    "quotient": lambda x: x / 2,
    "integers_that_a_program_computes": lambda x: x.float().sum(1).argmax() + 1,
    "many": lambda x: torch.zeros(MAX_INTEGERS + 1, dtype=torch.int64, device=x.device) + x[0, 0],
    "pairs": lambda x: torch.arange(4096, device=x.device)[:, None] == torch.arange(4096, device=x.device),
    "long_range": lambda x: torch.arange(MAX_INTEGERS + 1, device=x.device),
    "repeated": lambda x: x.repeat(200, 200),
}


@pytest.mark.parametrize("name", RECORDED)
def test_other_ops_are_recorded(name):
    there = RECORDED[name](_ids("tt"))
    assert buffer_of(there).pending
    assert torch.equal(there.cpu(), RECORDED[name](_ids("cpu")))


def test_errors_are_those_of_torch():
    x = _ids("tt")
    with pytest.raises(RuntimeError, match="match"):
        x + torch.ones(5, dtype=torch.int64, device="tt")
    with pytest.raises(RuntimeError, match="can't be cast"):
        x.mul_(0.5)
    assert torch.equal(x.cpu(), _ids("cpu"))


def test_uses_are_counted():
    x = _ids("tt")
    before = session.current.counters["xla::mul"]
    x * 3
    assert session.current.counters["xla::mul"] == before + 1


IN_CPP = {
    "arithmetic": lambda x: x * 3 - 7 + x,
    "comparisons": lambda x: (x > 3) & ~(x == 7) | (x <= 1),
    "ranges": lambda x: torch.arange(2, 9, 3, device=x.device),
    "filled": lambda x: torch.full((2, 3), 7, device=x.device),
    "joined": lambda x: torch.cat([x, x[:, -1:] + 1], 1),
    "extrema": lambda x: x.max() - x.amin(0, keepdim=True).sum(),
    "taken": lambda x: x[:, torch.arange(2, device=x.device)],
    "chosen": lambda x: torch.where(x > 5, x, x),
    "converted": lambda x: x.to(torch.int32),
    "cloned": lambda x: x.t().clone(),
    "copied": lambda x: x.clone().copy_(x + 1),
    "views": lambda x: x.view(-1)[3:].unfold(0, 2, 1),
}


@needs_compiler
@pytest.mark.parametrize("name", IN_CPP)
def test_cpp_computes_without_python(monkeypatch, way, name):
    if way == "Python":
        pytest.skip("the other way")
    x = _ids("tt")

    def refuse(*_):
        raise AssertionError("an op was called in Python")

    monkeypatch.setattr(integers, "run", refuse)
    there = IN_CPP[name](x)
    monkeypatch.undo()
    assert torch.equal(there.cpu(), IN_CPP[name](_ids("cpu")))


def test_several_chips_have_results_of_their_own(monkeypatch):
    monkeypatch.setenv("TTXLA_SYSTEM", "n300")
    x = _ids("tt").to("tt:1")
    assert (x + x).device == torch.device("tt:1")
    assert buffer_of(x + 1).chip == 1
    with pytest.raises(RuntimeError, match="at least two devices"):
        x + _ids("tt")


def test_the_account_of_memory_has_each_result():
    account = session.current.memory[0]
    before = account.allocated
    x = _ids("tt") + 1
    assert account.allocated == before + 8 * 12
    del x
    assert account.allocated == before


def test_elements_that_a_recorded_op_reads_are_not_overwritten():
    x = _ids("tt")
    doubled = x.float() * 2
    x.copy_(x + 1)
    assert torch.equal(doubled.cpu(), _ids("cpu").float() * 2)
    assert torch.equal((x.float() * 2).cpu(), (_ids("cpu") + 1).float() * 2)


def test_a_tensor_without_elements_is_not_recorded():
    for dtype in (torch.float32, torch.int64):
        assert not buffer_of(torch.empty(2, 0, dtype=dtype, device="tt")).pending


def test_positions_in_what_the_host_has_are_there_at_once():
    logits = torch.randn(2, 3, 50).to("tt")
    token = logits[:, -1, :].to(copy=True, dtype=torch.float32).argmax(-1)
    joined = torch.cat([_ids("tt")[:2], token[:, None]], 1)
    assert not buffer_of(joined).pending
    assert torch.equal(joined.cpu()[:, -1], logits.cpu()[:, -1].argmax(-1))


def test_positions_are_found_without_a_program():
    programs = len(compiled_programs())
    logits = torch.randn(5, 7, 61)
    there = logits.to("tt")
    for dim, keeps in ((None, False), (-1, False), (1, True), (0, False)):
        expected = logits.argmax(dim, keepdim=keeps) if dim is not None else logits.argmax()
        found = there.argmax(dim, keepdim=keeps) if dim is not None else there.argmax()
        assert torch.equal(found.cpu(), expected)
        assert torch.equal(there.to(copy=True)[1:, 2:].argmin(-1).cpu(), logits[1:, 2:].argmin(-1))
    assert torch.equal(there.transpose(0, 2).bfloat16().cpu().argmax(0), logits.transpose(0, 2).bfloat16().argmax(0))
    assert len(compiled_programs()) <= programs + 1  # of the conversion
    with pytest.raises(IndexError, match="Dimension out of range"):
        there.argmax(3)


def test_floats_that_a_program_rounds_are_compared_by_it():
    """Numbers that are equal as float32: the first of them is the largest."""
    x = torch.tensor([1.0, 1.0 + 1e-12], dtype=torch.float64).to("tt")
    assert x.argmax().item() == 0


def test_a_copy_shares_its_elements_until_one_of_both_is_written():
    x = torch.randn(3, 4, generator=torch.Generator().manual_seed(0)).to("tt")
    before = x.cpu()
    copy = x.to(copy=True)
    assert copy.data_ptr() != x.data_ptr()
    assert not buffer_of(copy).pending
    assert buffer_of(copy).value is buffer_of(x).value
    copy.add_(1)
    assert torch.equal(x.cpu(), before)
    copies = [x.to(copy=True), x.to(copy=True)]
    x.mul_(2)
    copies[1][0, 0] = 7.0
    assert torch.equal(copies[0].cpu(), before)
    assert torch.equal(copies[1].cpu()[0, 1:], before[0, 1:])
    assert torch.equal(x.cpu(), before * 2)
    part = x[1:].to(copy=True)
    assert torch.equal(part.cpu(), before[1:] * 2)


def test_what_was_recorded_before_stays_recorded():
    logits, other = torch.randn(3, 50).to("tt"), torch.randn(4).to("tt") + 1
    assert not buffer_of(logits.argmax(-1)).pending
    assert buffer_of(other).pending


def test_many_positions_are_recorded():
    wide = torch.randn(MAX_INTEGERS + 1, 1).to("tt")
    assert buffer_of(wide.argmax(-1)).pending


LATER = """
import torch, tt_torch
from tt_xla.frontends.torch.device.native import NATIVE
x = torch.arange(3, device="tt:0") + 1
print(NATIVE.waits, (x + 1).tolist())
"""


@needs_compiler
def test_a_later_process_has_the_kernels_with_its_first_op(monkeypatch, way):
    monkeypatch.setenv("TTXLA_EMULATOR_CHAINS", "auto")
    run = subprocess.run([sys.executable, "-c", LATER], capture_output=True, text=True, timeout=120, check=True)
    assert run.stdout.split("\n")[0] == "False [2, 3, 4]"


def test_without_a_compiler_python_goes_on(monkeypatch):
    monkeypatch.setenv("TTXLA_EMULATOR_CHAINS", "auto")
    monkeypatch.setattr(native, "compiler", lambda: None)
    kernels = native.Native()
    kernels.ran()
    assert not kernels.waits


@needs_compiler
def test_a_source_that_the_compiler_refuses_is_given_up(monkeypatch, project_log):
    monkeypatch.setattr(native, "source", lambda: "#error refused")
    kernels = native.Native()
    with project_log.at_level(logging.DEBUG, logger().name):
        kernels.compile()
    assert not kernels.waits
    assert "stay in Python" in project_log.text
