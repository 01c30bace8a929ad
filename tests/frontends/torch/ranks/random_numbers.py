"""A rank that draws random numbers of DTensors, and reports them."""

from __future__ import annotations

import torch
import torch.distributed as dist
from launch import begin, report
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Replicate, Shard, distribute_tensor, rand

begin("tt")
mesh = init_device_mesh("tt", (2,))
torch.manual_seed(3)
halves = rand(4, 2, device_mesh=mesh, placements=[Shard(0)])
copies = rand(2, 2, device_mesh=mesh, placements=[Replicate()])
dropped = torch.nn.functional.dropout(distribute_tensor(torch.ones(64, 64), mesh, [Shard(0)]), 0.5)
generator = torch.Generator("tt").manual_seed(5)
weight = distribute_tensor(torch.zeros(4, 4), mesh, [Shard(1)])
weight.normal_(generator=generator)
after = torch.rand(2, device="tt")
torch.manual_seed(3)
again = rand(4, 2, device_mesh=mesh, placements=[Shard(0)])
report(
    {
        "halves": halves.full_tensor().tolist(),
        "copies": copies.to_local().tolist(),
        "dropped": (dropped.full_tensor() == 0).float().mean().item(),
        "weight": weight.full_tensor().tolist(),
        "after": after.tolist(),
        "again": again.full_tensor().tolist(),
    }
)
dist.destroy_process_group()
