"""``torch_xla.experimental``: loops that are one program, and functions that are traced once."""

from __future__ import annotations

import gc
import itertools
import sys
import threading
import weakref

import pytest
import torch
import torch_xla
import torch_xla.debug.metrics as met
from torch import nn
from torch_xla.core.xla_builder import _jax_to_xla_computation_cache_elements
from torch_xla.experimental.assume_pure import PureModule, assume_pure, assume_pure_torch
from torch_xla.experimental.callback import on_ready_callback, on_ready_event
from torch_xla.experimental.fori_loop import fori_loop, while_loop
from torch_xla.experimental.gradient_accumulation import gradient_accumulation
from torch_xla.experimental.scan import scan
from torch_xla.experimental.scan_layers import scan_layers

from tt_xla.frontends.torch import host_ops


@pytest.fixture(autouse=True)
def _exact(monkeypatch):
    monkeypatch.setenv("TTXLA_NUMERICS", "exact")
    before = host_ops.counts()
    yield
    assert host_ops.counts() == before


def _unrolled(fn, init, xs):
    carry, ys = init, []
    for x in xs:
        carry, y = fn(carry, x)
        ys.append(y)
    return carry, torch.stack(ys)


def _with_gradients(loop, fn, init, xs):
    init, xs = (value.clone().requires_grad_() for value in (init, xs))
    carry, ys = loop(fn, init, xs)
    (carry.sum() + (ys * ys).sum()).backward()
    return [value.detach().cpu() for value in (carry, ys, init.grad, xs.grad)]


def test_a_scan_and_its_gradients_are_those_of_the_loop():
    def fn(carry, x):
        return torch.cos(carry) * x, carry + x * torch.tensor([0.5, -0.25]).to(x.device)

    init, xs = torch.tensor([0.3, 0.7]), torch.arange(8.0).view(4, 2) / 8
    expected = _with_gradients(_unrolled, fn, init, xs)
    for device in "cpu", "tt":
        results = _with_gradients(scan, fn, init.to(device), xs.to(device))
        for result, value in zip(results, expected, strict=True):
            torch.testing.assert_close(result, value, rtol=1e-4, atol=1e-4)


def test_a_scan_is_few_programs_and_records_fewer_ops_than_it_has_steps():
    def so_far():  # other tests of the process may leave tensors that are made while this one runs, hence the bounds
        runs = met.metric_data("ExecuteTime")
        return (runs[0] if runs else 0), met.counter_value("CreateXlaTensor") or 0

    for length in 3, 200:
        xs = torch.linspace(0, 1, 2 * length).view(length, 2).to("tt").requires_grad_()
        torch_xla.sync()
        runs, tensors = so_far()
        carry, _ = scan(lambda carry, x: (torch.cos(carry) * x, x), torch.zeros(2, device="tt"), xs)
        carry.sum().backward()
        torch_xla.sync()
        late_runs, late_tensors = so_far()
        assert 0 < late_runs - runs < 10
        assert 0 < late_tensors - tensors < 100


def test_a_scan_without_gradients_may_write_to_its_arguments():
    def grow(carry, x):
        carry += x
        return carry, carry

    init, xs = torch.zeros(1, device="tt"), torch.tensor([1.0, 2.0, 3.0], device="tt")
    final, sums = scan(grow, init, xs)
    assert [final.tolist(), sums.flatten().tolist(), init.tolist()] == [[6], [1, 3, 6], [0]]


def test_a_loop_in_a_function_that_is_one_program():
    def fn(xs):
        carry, _ = scan(lambda carry, x: (carry + x, x), torch.zeros(2, device="tt"), xs * 2)
        return carry + 1

    compiled = torch_xla.compile(fn, full_graph=True)
    assert compiled(torch.ones(3, 2, device="tt")).tolist() == [7, 7]
    with pytest.raises(RuntimeError, match="full_graph=True"):
        torch_xla.compile(lambda x: (x + 1).tolist(), full_graph=True)(torch.ones(2, device="tt"))


def test_a_scan_of_a_pure_function_is_traced_at_its_first_call():
    calls = itertools.count()

    def fn(carry, x):
        next(calls)
        return carry + x, {"product": carry * x, "nothing": None, "count": torch.ones_like(x, dtype=torch.int32)}

    xs = torch.arange(6.0).view(3, 2).to("tt").requires_grad_()
    traced = []
    for _ in range(3):
        carry, ys = scan(fn, torch.zeros(2, device="tt"), xs, is_fn_pure=True)
        (carry.sum() + ys["product"].sum()).backward()
        traced.append(next(calls))
    assert traced[1:] == [traced[0] + 1, traced[0] + 2]  # the counts of this loop alone
    assert ys["nothing"] is None
    assert ys["count"].cpu().tolist() == [[1, 1]] * 3


def test_each_iteration_of_a_scan_draws_its_own_numbers():
    def fn(carry, x):
        return carry, x + torch.rand(2, device="tt")

    _, ys = scan(fn, torch.zeros(2, device="tt"), torch.zeros(3, 2, device="tt"))
    assert len(set(ys.cpu().flatten().tolist())) == 6


def test_a_scan_refuses_what_it_cannot_loop_over():
    init, xs = torch.zeros(2, device="tt"), torch.zeros(3, 2, device="tt")
    with pytest.raises(ValueError, match="takes a function"):
        scan(7, init, xs)
    with pytest.raises(ValueError, match=r"lengths \[2, 3\]"):
        scan(lambda carry, x: (carry, carry), init, (xs, xs[:2]))
    with pytest.raises(RuntimeError, match="in-place operation"):
        scan(lambda carry, x: (carry.add_(x), x), init.clone().requires_grad_(), xs)
    with pytest.raises(AssertionError, match="Pass it in init"):
        scan(lambda carry, x: (carry + init, x), init, xs)


@pytest.mark.parametrize("is_layer_pure", [False, True])
def test_scanned_layers_are_those_in_a_sequence(is_layer_pure):
    layers = [nn.Sequential(nn.Linear(4, 4), nn.Tanh()).to("tt") for _ in range(3)]
    x = torch.arange(4.0).to("tt")
    gradients = []
    for run in (lambda: nn.Sequential(*layers)(x), lambda: scan_layers(layers, x, is_layer_pure=is_layer_pure)):
        run().sum().backward()
        gradients.append([layer[0].weight.grad.cpu() for layer in layers])
        nn.Sequential(*layers).zero_grad()
    for one, other in zip(*gradients, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)
    assert scan_layers([], x) is x


def test_what_is_kept_for_a_pure_layer_ends_with_it():
    """Another layer may have its address later."""
    copies = weakref.WeakSet()

    class Doubled(nn.Linear):
        def forward(self, x):
            return super().forward(x) * 2

        def __setstate__(self, state):
            super().__setstate__(state)
            copies.add(self)

    layer, x = Doubled(2, 2).to("tt"), torch.ones(2, device="tt")
    scan_layers([layer], x, is_layer_pure=True)
    kept = len(copies)
    del layer
    gc.collect()
    assert [kept, len(copies)] == [1, 0]


@pytest.mark.parametrize(
    ("other", "message"), [(nn.Linear(2, 3), "Shape mismatch"), (nn.Linear(2, 2, bias=False), "mismatched keys")]
)
def test_scanned_layers_are_alike(other, message):
    with pytest.raises(ValueError, match=message):
        scan_layers([nn.Linear(2, 2), other], torch.zeros(2))


def test_a_loop_ends_on_the_device():
    weight = torch.full((2,), 3.0, device="tt")

    def body(i, x):
        return i + 1, x * weight

    i, x = while_loop(lambda i, x: i < 4, body, (torch.tensor(0, device="tt"), torch.ones(2, device="tt")))
    assert (i.item(), x.tolist()) == (4, [81.0, 81.0])
    left, x = fori_loop(torch.tensor(2, device="tt"), torch.tensor(5, device="tt"), lambda x: x * weight, x / 81)
    assert (left.item(), x.tolist()) == (0, [27.0, 27.0])


def test_gradients_of_small_batches_add_up_and_compile_once():
    model = nn.Linear(3, 1).to("tt")
    x, y = torch.arange(12.0).view(4, 3).to("tt"), torch.arange(4.0).view(4, 1).to("tt")
    nn.functional.mse_loss(model(x), y).backward()
    expected = model.weight.grad.cpu()
    model.zero_grad()

    def step(x, y, count):
        return nn.functional.mse_loss(model(x), y), count + 1

    _, count = gradient_accumulation(step, (x, y), model, torch.tensor(0, device="tt"))
    assert count.item() == 4
    torch.testing.assert_close(model.weight.grad.cpu(), expected, rtol=1e-3, atol=1e-3)
    compiled = met.metric_data("CompileTime")[0]
    gradient_accumulation(step, (x, y), model, torch.tensor(0, device="tt"))
    assert met.metric_data("CompileTime")[0] <= compiled + 1
    with pytest.raises(ValueError, match="of one length"):
        gradient_accumulation(step, (), model)
    with pytest.raises(AssertionError, match="in place"):
        gradient_accumulation(lambda x, y, count: (model(x).sum(), count.add_(1)), (x, y), model, count)


@pytest.mark.parametrize(("batch_first", "shape", "layers"), [(False, (4, 2), 1), (True, (3, 4, 2), 2)])
def test_a_gru_is_pytorchs(monkeypatch, batch_first, shape, layers):
    own = nn.GRU
    monkeypatch.setattr(nn, "GRU", own)
    monkeypatch.delitem(sys.modules, "torch_xla.experimental.gru", raising=False)
    from torch_xla.experimental.gru import GRU

    assert nn.GRU is GRU
    assert type(GRU(2, 3, bidirectional=True)) is own
    looped, expected = GRU(2, 3, layers, batch_first=batch_first), own(2, 3, layers, batch_first=batch_first)
    looped.load_state_dict(expected.state_dict())
    looped = looped.to("tt")
    x, results = torch.randn(shape), []
    for module, device in ((expected, "cpu"), (looped, "tt")):
        results.append(module(x.to(device)))
        sum(result.sum() for result in results[-1]).backward()
    for one, other in zip(*results, strict=True):
        torch.testing.assert_close(one.detach().cpu(), other.detach().cpu(), rtol=1e-3, atol=1e-3)
    for one, other in zip(looped.parameters(), expected.parameters(), strict=True):
        torch.testing.assert_close(one.grad.cpu(), other.grad, rtol=1e-3, atol=1e-3)


def test_a_pure_function_is_traced_once_for_inputs_of_a_kind():
    calls = itertools.count()

    @assume_pure
    def fn(pair, *, scale):
        next(calls)
        return {"product": pair[0] @ pair[1] * scale}

    before = _jax_to_xla_computation_cache_elements()
    for size in 2, 2, 3:
        x = torch.eye(size, device="tt", requires_grad=True)
        fn((x, x), scale=3)["product"].sum().backward()
        assert torch.equal(x.grad.cpu(), torch.full((size, size), 6.0))
    assert next(calls) == 2
    assert _jax_to_xla_computation_cache_elements() - before == 2 * 2
    nested = assume_pure(lambda x: fn((x, x), scale=2)["product"] + 1)
    assert torch.equal(nested(torch.eye(2, device="tt")).cpu(), 2 * torch.eye(2) + 1)


def test_a_pure_module_trains():
    module = nn.Linear(2, 2).to("tt")
    PureModule(module)(torch.ones(3, 2, device="tt")).sum().backward()
    assert module.weight.grad.cpu().tolist() == [[3.0, 3.0], [3.0, 3.0]]


def test_the_numbers_of_a_pure_function_come_from_its_seed():
    fn = assume_pure(lambda x: x + torch.rand_like(x), add_rng_seed_argument=True)
    x = torch.zeros(4, device="tt")
    one, other, again = (fn(x, rng_seed=seed).cpu() for seed in (1, 2, 1))
    assert torch.equal(one, again)
    assert not torch.equal(one, other)
    with pytest.raises(AssertionError, match="rng_seed="):
        fn(x)


def test_a_pure_function_without_gradients():
    with pytest.raises(AssertionError, match="no gradients"):
        assume_pure_torch(torch.sin)
    with torch.no_grad():
        fn = assume_pure_torch(torch.sin, use_cache=True)
        assert torch.equal(fn(torch.zeros(2, device="tt")).cpu(), torch.zeros(2))


def test_a_callback_runs_when_a_tensor_is_there():
    x = torch.ones(2, device="tt") + 1
    called, given = threading.Event(), []
    on_ready_callback(x, lambda tensor: (given.append(tensor), called.set()))
    assert called.wait(60)
    assert given[0] is x
    assert on_ready_event(x).wait(60)


def test_the_package_has_xm():
    assert torch_xla.xm is torch_xla.core.xla_model
