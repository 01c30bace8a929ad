"""Parameters that a program keeps in a form of its own are held once, and are restored when they are read."""

from __future__ import annotations

import gc

import pytest
import torch
from torch import nn

from tt_xla.frontends.torch import session
from tt_xla.frontends.torch.device import buffer_of
from tt_xla.runtime import recorded_runs
from tt_xla.runtime.emulator.fast import onednn

pytestmark = pytest.mark.skipif(not onednn.available(), reason="this CPU's oneDNN does not multiply bfloat16")

OPTIONS = [{}, {"optimization_level": 1, "enable_trace": True}]


def model(tied=False):
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(128, 96, bias=False), nn.ReLU(), nn.Linear(96, 128)).to(torch.bfloat16).eval()
    return network.to("tt"), [parameter.detach().clone() for parameter in network.parameters()]


def compiled(network, options):
    torch._dynamo.reset()
    return torch.compile(network, backend="tt", options=options)


def offloaded_flags(network):
    return [buffer_of(parameter).offloaded is not None for parameter in network.parameters()]


def run(call, times=5, seed=1):
    torch.manual_seed(seed)
    x = torch.randn(64, 128).to(torch.bfloat16).to("tt")
    with torch.no_grad():
        return [call(x).cpu() for _ in range(times)]


@pytest.mark.parametrize("options", OPTIONS)
def test_bytes_go_and_results_stay(options):
    network, _ = model()
    gc.collect()  # reference cycles may hold tensors of earlier tests
    allocated = session.current.memory[0].allocated
    results = run(compiled(network, options), 6)
    assert offloaded_flags(network) == [True, True, False]  # the program keeps a bias as it is
    assert all(torch.equal(result, results[0]) for result in results)
    assert session.current.memory[0].allocated == allocated  # the card still holds them


@pytest.mark.parametrize("options", OPTIONS)
def test_they_come_back_as_they_were(options):
    network, parameters = model()
    call = compiled(network, options)
    first = run(call)[0]
    for ours, theirs in zip(network.parameters(), parameters, strict=True):
        assert torch.equal(ours.detach().cpu(), theirs.cpu())
    assert offloaded_flags(network) == [False, False, False]
    assert torch.equal(run(call)[-1], first)
    assert offloaded_flags(network) == [False, False, False]  # bytes that were read once stay


def test_other_contents_count():
    network, _ = model()
    call = compiled(network, {})
    run(call)
    with torch.no_grad():
        network[0].weight.mul_(2)
        expected = network(torch.ones(64, 128, dtype=torch.bfloat16, device="tt")).cpu()
        assert torch.equal(call(torch.ones(64, 128, dtype=torch.bfloat16, device="tt")).cpu(), expected)


def test_another_program_has_them_back():
    network, parameters = model()
    run(compiled(network, {}))
    torch.manual_seed(2)
    x = torch.randn(32, 128).to(torch.bfloat16)
    other = torch.compile(lambda x: x @ network[0].weight.t() + network[0].weight.sum(), backend="tt")
    with torch.no_grad():
        results = [other(x.to("tt")).cpu() for _ in range(4)]
    expected = x.float() @ parameters[0].cpu().float().t() + parameters[0].cpu().float().sum()
    torch.testing.assert_close(results[0].float(), expected, rtol=2**-6, atol=0.1)
    assert all(torch.equal(each, results[0]) for each in results)


def test_views_and_state_dicts_see_them():
    network, parameters = model()
    row = network[0].weight.detach()[3]
    run(compiled(network, {}))
    assert torch.equal(row.cpu(), parameters[0][3].cpu())
    state = network.state_dict()
    run(compiled(network, {}))
    assert torch.equal(state["2.weight"].cpu(), parameters[1].cpu())


def test_recorded_ops_keep_what_they_read():
    network, parameters = model()
    call = compiled(network, {})
    pending = network[0].weight.detach() * 2
    run(call)
    assert torch.equal(pending.cpu(), parameters[0].cpu() * 2)


def test_listeners_are_shown_bytes():
    network, parameters = model()
    call = compiled(network, {})
    run(call)
    with recorded_runs() as heard:
        run(call, 1)
    ((_, shown),) = heard
    assert any(torch.equal(tensor, parameters[0].cpu()) for tensor in shown if tensor.shape == parameters[0].shape)


def test_a_program_that_ends_leaves_them_readable():
    network, parameters = model()
    call = compiled(network, {})
    run(call)
    del call
    torch._dynamo.reset()
    gc.collect()
    assert torch.equal(network[0].weight.detach().cpu(), parameters[0].cpu())


def test_a_module_that_ends_leaves_nothing():
    before = session.current.memory[0].allocated
    network, parameters = model()
    run(compiled(network, {}))
    del network, parameters
    torch._dynamo.reset()
    gc.collect()
    assert session.current.memory[0].allocated == before


def test_a_host_op_beside_them_leaves_them_offloaded():
    network, _ = model()

    def with_host_op(x):
        y = network(x)
        return y, torch.linalg.eigvalsh((x @ x.t()).float())

    results = run(lambda x: torch.compile(with_host_op, backend="tt")(x)[0], 6)
    assert offloaded_flags(network) == [True, True, False]
    assert all(torch.equal(result, results[0]) for result in results)
