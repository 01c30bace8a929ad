"""Tests of checkpoints of models that chips share: planners of parts, the manager, and PyTorch's own planners."""

from __future__ import annotations

import os
import signal
import threading

import pytest
import torch
import torch.distributed.checkpoint as dist_cp
import torch_xla.distributed.spmd as xs
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor.parallel import ColwiseParallel, parallelize_module
from torch_xla import _XLAC
from torch_xla.experimental.distributed_checkpoint import (
    CheckpointManager,
    SPMDLoadPlanner,
    SPMDSavePlanner,
    prime_optimizer,
)

pytestmark = [
    pytest.mark.usefixtures("chips_as_one_device"),
    pytest.mark.filterwarnings("ignore:torch.distributed is disabled"),
]


def layer(*shape: int, spec=(0, 1), features=(16, 24)) -> nn.Linear:
    """Returns a linear layer with a split weight on a mesh, and a bias that every chip has in full."""
    made = nn.Linear(*features).to("tt")
    mesh = xs.Mesh(range(8), shape)
    xs.mark_sharding(made.weight, mesh, spec)
    xs.mark_sharding(made.bias, mesh, (None,))
    return made


def equal(first: nn.Module, second: nn.Module) -> bool:
    pairs = zip(first.parameters(), second.parameters(), strict=True)
    return all(torch.equal(own.cpu(), other.cpu()) for own, other in pairs)


@pytest.mark.parametrize(
    ("saved", "loaded", "features"),
    [
        ({"spec": (0, 1)}, {"spec": (1, 0)}, (16, 24)),
        ({"spec": (0, None)}, {"spec": (None, 1)}, (16, 24)),
        ({"spec": ((0, 1), None)}, {"spec": (None, (0, 1))}, (13, 17)),
    ],
    ids=["all chips", "replicas", "padding"],
)
def test_a_checkpoint_is_read_on_another_mesh(tmp_path, saved, loaded, features):
    first, second = layer(2, 4, features=features, **saved), layer(4, 2, features=features, **loaded)
    before = xs.sharding_of(second.weight)
    dist_cp.save({"model": first.state_dict()}, checkpoint_id=tmp_path, planner=SPMDSavePlanner())
    dist_cp.load({"model": second.state_dict()}, checkpoint_id=tmp_path, planner=SPMDLoadPlanner())
    assert equal(first, second)
    assert xs.sharding_of(second.weight) == before
    plain = nn.Linear(*features)
    dist_cp.load({"model": plain.state_dict()}, checkpoint_id=tmp_path)
    assert equal(first, plain)


@pytest.mark.parametrize(
    ("spec", "sharded", "written", "read"),
    [((0, 1), {"weight"}, 8, 8), ((0, None), {"weight"}, 2, 8), ((None, None), set(), 1, 1)],
)
def test_each_part_is_written_once_and_read_by_each_chip(tmp_path, spec, sharded, written, read):
    first = layer(2, 4, spec=spec)
    planner = SPMDSavePlanner()
    planner.set_up_planner(first.state_dict(), True)
    names = [item.index.fqn for item in planner.create_local_plan().items]
    assert (names.count("weight"), names.count("bias")) == (written, 1)
    assert set(planner.sharded_state_dict) == sharded
    dist_cp.save(first.state_dict(), checkpoint_id=tmp_path)
    reader = SPMDLoadPlanner()
    reader.set_up_planner(first.state_dict(), dist_cp.FileSystemReader(tmp_path).read_metadata(), True)
    assert [item.dest_index.fqn for item in reader.create_local_plan().items].count("weight") == read


def test_a_tensor_of_another_shape_is_refused(tmp_path):
    dist_cp.save(layer(2, 4, features=(8, 24)).state_dict(), checkpoint_id=tmp_path)
    other = layer(2, 4)
    with pytest.raises(dist_cp.CheckpointException, match=r"for 'weight', expected a tensor of shape \[24, 16\]"):
        dist_cp.load(other.state_dict(), checkpoint_id=tmp_path, planner=SPMDLoadPlanner())


def test_pytorchs_planners_write_and_read_whole_tensors(tmp_path):
    mesh = init_device_mesh("tt", (8,), mesh_dim_names=("model",))
    first, second = (parallelize_module(nn.Sequential(nn.Linear(16, 24)), mesh, {"0": ColwiseParallel()}) for _ in "ab")
    dist_cp.save(first.state_dict(), checkpoint_id=tmp_path)
    dist_cp.load(second.state_dict(), checkpoint_id=tmp_path)
    assert equal(first, second)
    assert xs.sharding_of(second[0].weight) == "{devices=[8,1]0,1,2,3,4,5,6,7}"


# The manager ---------------------------------------------------------------------------------------------------------


def test_the_manager_saves_at_intervals_and_restores(tmp_path):
    manager = CheckpointManager(tmp_path, save_interval=10, chkpt_on_preemption=False)
    first, second = layer(2, 4), layer(4, 2)
    state = {"model": first.state_dict(), "epoch": 3}
    assert [manager.save(step, state) for step in (0, 1, 10)] == [True, False, True]
    assert manager.save(7, state, force=True)
    assert manager.all_steps() == [0, 7, 10]
    restored = {"model": second.state_dict(), "epoch": 0}
    manager.restore(7, restored)
    assert equal(first, second)
    assert restored["epoch"] == 3
    with pytest.raises(AssertionError, match=r"untracked step 5. Valid steps are: \[0, 7, 10\]"):
        manager.restore(5, restored)


def test_the_manager_keeps_the_latest_also_of_an_earlier_run(tmp_path):
    state = layer(2, 4).state_dict()
    manager = CheckpointManager(tmp_path, 1, max_to_keep=2, chkpt_on_preemption=False)
    for step in (3, 2, 2, 1):
        manager.save(step, state)
    assert manager.all_steps() == [1, 2]
    (tmp_path / "other").mkdir()
    later = CheckpointManager(tmp_path, 1, max_to_keep=2, chkpt_on_preemption=False)
    later.save(9, state)
    assert later.all_steps() == [1, 9]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["1", "9", "other"]


def test_the_manager_saves_in_a_thread_what_the_state_was(tmp_path, monkeypatch):
    manager = CheckpointManager(tmp_path, 1, chkpt_on_preemption=False)
    first, second, may_write = layer(2, 4), layer(4, 2), threading.Event()
    before = first.weight.detach().clone().cpu()
    save = dist_cp.save
    monkeypatch.setattr(dist_cp, "save", lambda *args, **options: (may_write.wait(60), save(*args, **options)))
    assert manager.save_async(0, {"model": first.state_dict()})
    with torch.no_grad():
        first.weight.zero_()
    assert manager.all_steps() == []
    may_write.set()
    manager.join()
    manager.restore(0, {"model": second.state_dict()})
    assert torch.equal(second.weight.detach().cpu(), before)


def test_an_error_of_the_thread_is_raised_by_join(tmp_path, monkeypatch):
    manager = CheckpointManager(tmp_path, 1, chkpt_on_preemption=False)
    monkeypatch.setattr(dist_cp, "save", lambda *args, **options: (_ for _ in ()).throw(OSError("disk full")))
    manager.save_async(0, {})
    with pytest.raises(OSError, match="disk full"):
        manager.join()
    manager.join()


def test_a_process_that_is_told_to_terminate_saves_at_the_next_step(tmp_path):
    try:
        manager = CheckpointManager(tmp_path, 100)
        assert not manager.save(1, {})
        os.kill(os.getpid(), signal.SIGTERM)
        assert manager.reached_preemption(2)
        assert manager.save(2, {})
    finally:
        _XLAC._deactivate_preemption_sync_manager()
    with pytest.raises(AssertionError, match="Preemption detection not enabled"):
        CheckpointManager(tmp_path, 100, chkpt_on_preemption=False).reached_preemption(1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"save_interval": 0}, "save_interval must be positive, got 0"),
        ({"save_interval": 1, "max_to_keep": -1}, "max_to_keep must be non-negative, got -1"),
        ({"save_interval": 1, "max_pending_async": 0}, "max_pending_async must be positive, got 0"),
    ],
)
def test_numbers_of_the_manager(tmp_path, options, message):
    with pytest.raises(AssertionError, match=message):
        CheckpointManager(tmp_path, **options)


def test_an_optimizer_without_state_gets_one_to_read_into(tmp_path):
    first, second = layer(2, 4), layer(2, 4)
    optimizers = [torch.optim.AdamW(module.parameters()) for module in (first, second)]
    first(torch.ones(4, 16).to("tt")).square().sum().backward()
    optimizers[0].step()
    prime_optimizer(optimizers[1])
    assert xs.sharding_of(second.weight.grad) == xs.sharding_of(second.weight)
    states = [
        {"model": module.state_dict(), "optim": optimizer.state_dict()}
        for module, optimizer in zip((first, second), optimizers, strict=True)
    ]
    manager = CheckpointManager(tmp_path, 1, chkpt_on_preemption=False)
    manager.save(0, states[0])
    manager.restore(0, states[1])
    second.load_state_dict(states[1]["model"])
    optimizers[1].load_state_dict(states[1]["optim"])
    assert equal(first, second)
    saved, read = (
        optimizer.state[module.weight] for optimizer, module in zip(optimizers, (first, second), strict=True)
    )
    assert torch.equal(read["exp_avg"].cpu(), saved["exp_avg"].cpu())
