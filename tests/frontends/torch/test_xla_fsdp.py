"""Parameters, and states of optimizers, that replicas share."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

torch_xla = pytest.importorskip("torch_xla")

import torch_xla.core.xla_model as xm  # noqa: E402
import torch_xla.runtime as xr  # noqa: E402
from torch_xla._internal import pjrt  # noqa: E402
from torch_xla.distributed.fsdp import (  # noqa: E402
    XlaFullyShardedDataParallel,
    checkpoint_module,
    consolidate_sharded_model_checkpoints,
    consolidate_sharded_state_dicts,
)
from torch_xla.distributed.fsdp.wrap import always_wrap_policy  # noqa: E402
from torch_xla.distributed.zero_redundancy_optimizer import ZeroRedundancyOptimizer  # noqa: E402


@pytest.fixture(autouse=True)
def _two_chips(monkeypatch, exact):
    monkeypatch.setenv("TTXLA_SYSTEM", "n300")
    torch.manual_seed(0)


class Model(nn.Module):
    """A network with a tied weight, a bias whose size is odd, and a buffer."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(4, 4, bias=False), nn.Linear(4, 4, bias=False)
        self.second.weight = self.first.weight
        self.last = nn.Linear(4, 3)
        self.register_buffer("scale", torch.tensor(2.0))

    def forward(self, x):
        return self.last(torch.tanh(self.second(torch.tanh(self.first(x))))) * self.scale


def trained_on_the_cpu(model, batch, steps=2):
    model = copy.deepcopy(model)
    optimizer = torch.optim.SGD(model.parameters(), 0.5, momentum=0.9)
    for _ in range(steps):
        optimizer.zero_grad()
        model(batch).square().mean().backward()
        optimizer.step()
    return model.state_dict()


def check(got, expected):
    assert [*got] == [*expected]
    for name, value in expected.items():
        torch.testing.assert_close(got[name].cpu(), value, rtol=1e-4, atol=1e-5)


WRAPPERS = {
    "one": XlaFullyShardedDataParallel,
    "that keeps parameters": lambda model: XlaFullyShardedDataParallel(model, reshard_after_forward=False),
    "of checkpoints": lambda model: XlaFullyShardedDataParallel(checkpoint_module(model)),
}


@pytest.mark.parametrize("name", WRAPPERS)
def test_training_is_that_of_the_entire_batch(name, tmp_path):
    model, batch = Model(), torch.randn(8, 4)

    def function():
        wrapped = WRAPPERS[name](copy.deepcopy(model))
        optimizer = torch.optim.SGD(wrapped.parameters(), 0.5, momentum=0.9)
        own = batch.chunk(xr.world_size())[xr.global_ordinal()].to("xla").requires_grad_(name == "of checkpoints")
        for _ in range(2):
            optimizer.zero_grad()
            wrapped(own).square().mean().backward()
            optimizer.step()
            torch_xla.sync()
        assert sum(parameter.numel() for parameter in wrapped.parameters()) == (16 + 12 + 4) // xr.world_size()
        return xm._maybe_convert_to_cpu(wrapped.state_dict()), wrapped.get_shard_metadata()

    states = pjrt.run_multiprocess(function)
    expected = trained_on_the_cpu(model, batch)
    check(consolidate_sharded_state_dicts([state for state, _ in states.values()], states[0][1]), expected)
    with pytest.raises(ValueError, match="shared by 2 replicas, and 1 state"):
        consolidate_sharded_state_dicts([states[0][0]], states[0][1])
    for rank, (state, metadata) in states.items():
        torch.save({"model": state, "shard_metadata": metadata}, tmp_path / f"rank{rank}.pth")
    whole, path = consolidate_sharded_model_checkpoints(f"{tmp_path}/rank")
    check(torch.load(path)["model"], whole)
    Model().load_state_dict(whole)
    (tmp_path / "rank0.pth").unlink()
    with pytest.raises(ValueError, match=r"are those of the ranks \[1\]"):
        consolidate_sharded_model_checkpoints(f"{tmp_path}/rank", "1.pth")
    with pytest.raises(FileNotFoundError, match="No file fits"):
        consolidate_sharded_model_checkpoints(f"{tmp_path}/none")


def test_training_goes_on_from_the_parts_that_each_replica_saved(tmp_path):
    model, batch = Model(), torch.randn(8, 4)

    def trained(first, last):
        wrapped = XlaFullyShardedDataParallel(copy.deepcopy(model), auto_wrap_policy=always_wrap_policy)
        optimizer = torch.optim.AdamW(wrapped.parameters(), 0.1)
        scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
        path = tmp_path / f"rank-{xr.global_ordinal()}-of-{xr.world_size()}.pth"
        if first:
            saved = torch.load(path)
            wrapped.load_state_dict(saved["model"])
            optimizer.load_state_dict(saved["optimizer"])
            scheduler.load_state_dict(saved["scheduler"])
        own, losses = batch.chunk(xr.world_size())[xr.global_ordinal()].to("xla"), []
        for step in range(first, last):
            optimizer.zero_grad()
            loss = wrapped(own).square().mean()
            loss.backward()
            optimizer.step()
            scheduler.step()
            losses.append(loss.item())
            if step == 1 and not first:
                states = {"model": wrapped, "optimizer": optimizer, "scheduler": scheduler}
                saved = {name: holder.state_dict() for name, holder in states.items()}
                xm.save({**saved, "shard_metadata": wrapped.get_shard_metadata()}, path, master_only=False)
        return losses

    entire = pjrt.run_multiprocess(trained, 0, 4)
    resumed = pjrt.run_multiprocess(trained, 2, 4)
    assert len({*entire[0]}) == 4
    for ordinal, losses in resumed.items():
        assert losses == pytest.approx(entire[ordinal][2:], rel=1e-6)


@pytest.mark.parametrize(("reshard_after_forward", "gathered"), [(True, 2), (False, 0)])
def test_backward_passes_gather_parameters_that_were_freed(reshard_after_forward, gathered, monkeypatch):
    model = nn.Sequential(nn.Linear(4, 4, bias=False), nn.Tanh(), nn.Linear(4, 4, bias=False))
    loss = XlaFullyShardedDataParallel(model, reshard_after_forward)(torch.ones(2, 4, device="xla").requires_grad_())
    calls, gather = [], xm.all_gather
    monkeypatch.setattr(xm, "all_gather", lambda *args: [calls.append(args), gather(*args)][1])
    loss.sum().backward()
    assert len(calls) == gathered


def test_inner_modules_are_wrapped_by_a_policy():
    model = nn.Sequential(nn.Linear(4, 4), nn.Sequential(nn.Linear(4, 4), nn.Tanh()))
    wrapped = XlaFullyShardedDataParallel(copy.deepcopy(model), auto_wrap_policy=always_wrap_policy)
    assert isinstance(wrapped[0], XlaFullyShardedDataParallel)
    assert isinstance(wrapped[1][0], XlaFullyShardedDataParallel)
    x = torch.randn(2, 4)
    torch.testing.assert_close(wrapped(x.to("xla")).cpu(), model(x))
    check(consolidate_sharded_state_dicts([wrapped.state_dict()], wrapped.get_shard_metadata()), model.state_dict())
    with pytest.raises(TypeError, match="wrapped already"):
        XlaFullyShardedDataParallel(wrapped)


def test_gradients_are_clipped_by_the_norm_of_all_parts():
    model, batch = nn.Linear(4, 4, bias=False), torch.randn(2, 4)

    def function():
        wrapped = XlaFullyShardedDataParallel(copy.deepcopy(model))
        wrapped(batch.to("xla")).square().sum().backward()
        norm = wrapped.clip_grad_norm_(0.5)
        largest = wrapped.clip_grad_norm_(0.01, float("inf"))
        return norm.item(), largest.item(), next(wrapped.parameters()).grad.cpu()

    results = pjrt.run_multiprocess(function)
    model(batch).square().sum().backward()
    norm = nn.utils.clip_grad_norm_(model.parameters(), 0.5)
    assert results[0][0] == pytest.approx(norm.item(), rel=1e-4)
    assert results[0][1] == pytest.approx(model.weight.grad.abs().max().item(), rel=1e-4)
    nn.utils.clip_grad_norm_(model.parameters(), 0.01, float("inf"))
    joined = torch.cat([gradient for *_, gradient in results.values()]).reshape(4, 4)
    torch.testing.assert_close(joined, model.weight.grad, rtol=1e-3, atol=1e-5)


def test_a_module_computes_in_another_dtype_and_begins_without_memory():
    wrapped = XlaFullyShardedDataParallel(nn.Linear(4, 4, device="meta"), compute_dtype=torch.bfloat16)
    result = wrapped(torch.ones(2, 4, device="xla"))
    assert (result.dtype, next(wrapped.parameters()).dtype) == (torch.bfloat16, torch.float32)
    result.sum().backward()
    assert [parameter.grad.dtype for parameter in wrapped.parameters()] == [torch.float32] * 2


@pytest.mark.parametrize("clips", [False, True])
def test_an_optimizer_whose_states_are_shared(clips):
    model, batch = nn.Linear(4, 3), torch.randn(4, 4)

    def function():
        own = copy.deepcopy(model).to("xla")
        optimizer = ZeroRedundancyOptimizer(
            own.parameters(), torch.optim.SGD, lr=0.5, momentum=0.9, grad_clipping=clips, max_norm=0.1
        )
        for _ in range(2):
            optimizer.zero_grad()
            own(batch.chunk(xr.world_size())[xr.global_ordinal()].to("xla")).square().mean().backward()
            optimizer.step()
            torch_xla.sync()
        shapes = [tuple(state["momentum_buffer"].shape) for state in optimizer.state_dict()["base_state"].values()]
        return xm._maybe_convert_to_cpu(own.state_dict()), shapes

    results = pjrt.run_multiprocess(function)
    optimizer = torch.optim.SGD(model.parameters(), 0.5, momentum=0.9)
    for _ in range(2):
        optimizer.zero_grad()
        model(batch).square().mean().backward()
        if clips:
            nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        optimizer.step()
    for state, shapes in results.values():
        check(state, model.state_dict())
        assert shapes == [(2, 4), (2,)]


def test_the_state_of_such_an_optimizer_is_restored():
    def optimizer_of(model):
        return ZeroRedundancyOptimizer(
            model.parameters(), torch.optim.Adam, lr=0.1, grad_clipping=False, save_master_weights=True
        )

    models = [nn.Linear(4, 3).to("xla") for _ in range(2)]
    optimizers = list(map(optimizer_of, models))

    def step(number):
        optimizers[number].zero_grad()
        models[number](torch.ones(2, 4, device="xla")).sum().backward()
        optimizers[number].step()

    step(0)
    optimizers[1].load_state_dict(optimizers[0].state_dict())
    for number in range(2):
        step(number)
    check(models[1].state_dict(), {name: value.cpu() for name, value in models[0].state_dict().items()})
    lazy = ZeroRedundancyOptimizer(models[0].parameters(), torch.optim.SGD, lr=1.0, lazy_init=True)
    with pytest.raises(RuntimeError, match=r"Call init_zero\(\)"):
        lazy.step()
