"""The bytes of parameters that a program keeps in its own order are there once, and come back when they are read."""

from __future__ import annotations

import gc

import pytest
import torch
from torch import nn

from tt_xla.frontends.torch.device import buffer_of
from tt_xla.frontends.torch.device.buffers import MEMORY
from tt_xla.runtime import recorded_runs
from tt_xla.runtime.emulator.fast import onednn

pytestmark = pytest.mark.skipif(not onednn.available(), reason="this CPU's oneDNN does not multiply bfloat16")

OPTIONS = [{}, {"optimization_level": 1, "enable_trace": True}]


def model(tied=False):
    torch.manual_seed(0)
    made = nn.Sequential(nn.Linear(128, 96, bias=False), nn.ReLU(), nn.Linear(96, 128)).to(torch.bfloat16).eval()
    return made.to("tt"), [parameter.detach().clone() for parameter in made.parameters()]


def compiled(made, options):
    torch._dynamo.reset()
    return torch.compile(made, backend="tt", options=options)


def away(made):
    return [buffer_of(parameter).offloaded is not None for parameter in made.parameters()]


def run(call, times=5, seed=1):
    torch.manual_seed(seed)
    x = torch.randn(64, 128).to(torch.bfloat16).to("tt")
    with torch.no_grad():
        return [call(x).cpu() for _ in range(times)]


@pytest.mark.parametrize("options", OPTIONS)
def test_bytes_go_and_results_stay(options):
    made, _ = model()
    taken = MEMORY.current()
    results = run(compiled(made, options), 6)
    assert away(made) == [True, True, False]  # a bias is not made anything of
    assert all(torch.equal(result, results[0]) for result in results)
    assert MEMORY.current() == taken  # on the card they still are


@pytest.mark.parametrize("options", OPTIONS)
def test_they_come_back_as_they_were(options):
    made, parameters = model()
    call = compiled(made, options)
    first = run(call)[0]
    for ours, theirs in zip(made.parameters(), parameters, strict=True):
        assert torch.equal(ours.detach().cpu(), theirs.cpu())
    assert away(made) == [False, False, False]
    assert torch.equal(run(call)[-1], first)
    assert away(made) == [False, False, False]  # who reads them once reads them again


def test_other_contents_count():
    made, _ = model()
    call = compiled(made, {})
    run(call)
    with torch.no_grad():
        made[0].weight.mul_(2)
        expected = made(torch.ones(64, 128, dtype=torch.bfloat16, device="tt")).cpu()
        assert torch.equal(call(torch.ones(64, 128, dtype=torch.bfloat16, device="tt")).cpu(), expected)


def test_another_program_has_them_back():
    made, parameters = model()
    run(compiled(made, {}))
    torch.manual_seed(2)
    x = torch.randn(32, 128).to(torch.bfloat16)
    other = torch.compile(lambda x: x @ made[0].weight.t() + made[0].weight.sum(), backend="tt")
    with torch.no_grad():
        found = [other(x.to("tt")).cpu() for _ in range(4)]
    expected = x.float() @ parameters[0].cpu().float().t() + parameters[0].cpu().float().sum()
    torch.testing.assert_close(found[0].float(), expected, rtol=2**-6, atol=0.1)
    assert all(torch.equal(each, found[0]) for each in found)


def test_views_and_state_dicts_see_them():
    made, parameters = model()
    row = made[0].weight.detach()[3]
    run(compiled(made, {}))
    assert torch.equal(row.cpu(), parameters[0][3].cpu())
    state = made.state_dict()
    run(compiled(made, {}))
    assert torch.equal(state["2.weight"].cpu(), parameters[1].cpu())


def test_recorded_ops_keep_what_they_read():
    made, parameters = model()
    call = compiled(made, {})
    pending = made[0].weight.detach() * 2
    run(call)
    assert torch.equal(pending.cpu(), parameters[0].cpu() * 2)


def test_listeners_are_shown_bytes():
    made, parameters = model()
    call = compiled(made, {})
    run(call)
    with recorded_runs() as heard:
        run(call, 1)
    ((_, shown),) = heard
    assert any(torch.equal(tensor, parameters[0].cpu()) for tensor in shown if tensor.shape == parameters[0].shape)


def test_a_program_that_ends_leaves_them_readable():
    made, parameters = model()
    call = compiled(made, {})
    run(call)
    del call
    torch._dynamo.reset()
    gc.collect()
    assert torch.equal(made[0].weight.detach().cpu(), parameters[0].cpu())


def test_a_module_that_ends_leaves_nothing():
    before = MEMORY.current()
    made, parameters = model()
    run(compiled(made, {}))
    del made, parameters
    torch._dynamo.reset()
    gc.collect()
    assert MEMORY.current() == before
