"""A rank that trains a small model in each way in which PyTorch spreads one, and reports losses.

The first argument is the device, ``tt`` or ``cpu``.
"""

from __future__ import annotations

import os
import sys
import warnings

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as checkpoints
from launch import begin, report
from torch import nn
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FullyShardedDataParallel, MixedPrecisionPolicy, fully_shard
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleGPipe
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleInput,
    RowwiseParallel,
    SequenceParallel,
    loss_parallel,
    parallelize_module,
)
from torch.nn.parallel import DistributedDataParallel

warnings.simplefilter("ignore")
DEVICE = sys.argv[1]
begin("tt" if DEVICE == "tt" else "gloo")
RANK, SIZE = dist.get_rank(), dist.get_world_size()
BACKEND = "tt" if DEVICE == "tt" else "eager"


def model():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 16))


def mesh():
    return init_device_mesh(DEVICE, (SIZE,))


def batches(seed):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(4, 16, generator=generator).to(DEVICE) for _ in range(3)]


def losses(trained, seed=1 + RANK, optimizer=None):
    optimizer = optimizer or torch.optim.AdamW(trained.parameters(), lr=0.01)
    found = []
    for x in batches(seed):
        loss = trained(x).square().mean()
        loss = loss.full_tensor() if isinstance(loss, DTensor) else loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        found.append(loss.item())
    return found


def sharded(policy=None, over=None):
    whole, over = model().to(DEVICE), over or mesh()
    options = {"mesh": over} if policy is None else {"mesh": over, "mp_policy": policy}
    for layer in (whole[0], whole[2]):
        fully_shard(layer, **options)
    return fully_shard(whole, **options)


def data_parallel():
    return losses(DistributedDataParallel(model().to(DEVICE)))


def data_parallel_with_unused_parameters():
    whole = model()
    whole.unused = nn.Linear(3, 3)
    whole.forward = lambda x: whole[2](whole[1](whole[0](x)))
    return losses(DistributedDataParallel(whole.to(DEVICE), find_unused_parameters=True))


def data_parallel_compiled():
    return losses(torch.compile(DistributedDataParallel(model().to(DEVICE)), backend=BACKEND))


def data_parallel_compiled_for_several_buckets():
    """PyTorch cuts the graph where a bucket is full: each layer has one of 1.3 MB."""
    torch.manual_seed(0)
    wide = nn.Sequential(nn.Linear(16, 20480), nn.GELU(), nn.Linear(20480, 16)).to(DEVICE)
    trained = torch.compile(DistributedDataParallel(wide, bucket_cap_mb=1), backend=BACKEND)
    with torch.no_grad():
        evaluated = trained(batches(3)[0]).sum().item()
    return [evaluated, *losses(trained, optimizer=torch.optim.SGD(trained.parameters(), lr=0.001))]


def accumulated():
    trained = DistributedDataParallel(model().to(DEVICE))
    first, second, _ = batches(1 + RANK)
    with trained.no_sync():
        trained(first).sum().backward()
    trained(second).sum().backward()
    return trained.module[0].weight.grad.cpu().flatten()[:5].tolist()


def zero_redundancy():
    trained = DistributedDataParallel(model().to(DEVICE))
    return losses(trained, optimizer=ZeroRedundancyOptimizer(trained.parameters(), torch.optim.AdamW, lr=0.01))


def fully_sharded():
    return losses(sharded())


def fully_sharded_in_bfloat16():
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    return [round(loss, 2) for loss in losses(sharded(policy))]


def fully_sharded_and_compiled():
    trained = sharded()
    for layer in (trained[0], trained[2]):
        layer.compile(backend=BACKEND)
    return losses(trained)


def hybrid_sharded():
    return losses(sharded(over=init_device_mesh(DEVICE, (1, SIZE), mesh_dim_names=("replicas", "shards"))))


def flat_parameters():
    device = torch.device(DEVICE, 0) if DEVICE == "tt" else None
    return losses(FullyShardedDataParallel(model().to(DEVICE), device_id=device)) if device else data_parallel()


def recomputed():
    return losses(fully_shard(nn.Sequential(checkpoint_wrapper(model())).to(DEVICE), mesh=mesh()))


def tensor_parallel():
    plan = {"0": ColwiseParallel(), "2": RowwiseParallel()}
    return losses(parallelize_module(model().to(DEVICE), mesh(), plan), seed=5)


def sequence_parallel():
    torch.manual_seed(0)
    trained = nn.Sequential(nn.LayerNorm(16), nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 16)).to(DEVICE)
    plan = {
        "0": SequenceParallel(sequence_dim=0),
        "1": ColwiseParallel(input_layouts=Shard(0)),
        "3": RowwiseParallel(output_layouts=Replicate()),
    }
    parallelize_module(trained, mesh(), plan)
    inputs = PrepareModuleInput(input_layouts=Replicate(), desired_input_layouts=Shard(0))
    return losses(parallelize_module(trained, mesh(), inputs), seed=5)


def parallel_loss():
    torch.manual_seed(0)
    plan = {"0": ColwiseParallel(output_layouts=Shard(-1), use_local_output=False)}
    trained = parallelize_module(nn.Sequential(nn.Linear(16, 32)).to(DEVICE), mesh(), plan)
    with loss_parallel():
        loss = nn.functional.cross_entropy(trained(batches(5)[0]), torch.tensor([1, 2, 3, 4], device=DEVICE))
        loss.backward()
    return loss.full_tensor().item()


def tensors():
    torch.manual_seed(0)
    one = distribute_tensor(torch.randn(8, 8), mesh(), [Shard(0)])
    other = distribute_tensor(torch.randn(8, 8), mesh(), [Shard(1)])
    product = (one @ other).redistribute(placements=[Replicate()]).to_local()
    return [product.cpu().flatten()[:8].tolist(), one.softmax(-1).sum(0).full_tensor().tolist()]


def clipped():
    trained = sharded()
    trained(batches(1 + RANK)[0]).square().mean().backward()
    return nn.utils.clip_grad_norm_(trained.parameters(), 0.01).full_tensor().item()


def pipelined():
    found = []
    for schedule in (ScheduleGPipe, Schedule1F1B):
        whole = model()
        part = (whole[:2] if RANK == 0 else whole[2:]).to(DEVICE)
        stage = PipelineStage(part, RANK, SIZE, next(part.parameters()).device)
        steps = schedule(stage, 2, loss_fn=nn.functional.mse_loss)
        own = steps.step(batches(1)[0]) if RANK == 0 else steps.step(target=torch.zeros(4, 16, device=DEVICE))
        gradient = next(part.parameters()).grad.cpu().flatten()[:5].tolist()
        found.append([gradient, [] if own is None else own.detach().cpu().flatten()[:5].tolist()])
    return found


def saved_and_loaded():
    folder = os.path.join(os.path.dirname(os.environ["REPORT"]), "checkpoint")
    states = []
    for seed in (1, 9):
        trained = sharded()
        optimizer = torch.optim.AdamW(trained.parameters(), lr=0.01)
        before = losses(trained, seed + RANK, optimizer)
        of_model, of_optimizer = get_state_dict(trained, optimizer)
        state = {"model": of_model, "optimizer": of_optimizer}
        if seed == 1:
            checkpoints.save(state, checkpoint_id=folder)
        else:
            checkpoints.load(state, checkpoint_id=folder)
            set_state_dict(trained, optimizer, model_state_dict=state["model"], optim_state_dict=state["optimizer"])
        states.append([before, losses(trained, 20 + RANK, optimizer)])
    assert states[0][1] == states[1][1]
    return states[0]


WAYS = (
    *(
        data_parallel,
        data_parallel_with_unused_parameters,
        data_parallel_compiled,
        data_parallel_compiled_for_several_buckets,
        accumulated,
        zero_redundancy,
        fully_sharded,
        fully_sharded_in_bfloat16,
    ),
    *(fully_sharded_and_compiled, hybrid_sharded, flat_parameters, recomputed, tensor_parallel, sequence_parallel),
    *(parallel_loss, tensors, clipped, pipelined, saved_and_loaded),
)
report({way.__name__: way() for way in WAYS})
dist.destroy_process_group()
