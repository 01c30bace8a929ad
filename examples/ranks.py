"""Trains a small transformer on several emulated chips under torchrun, with FSDP and tensor parallelism.

    TTXLA_SYSTEM=n300-llmbox torchrun --standalone --nproc-per-node=4 examples/ranks.py --tensor-parallel 2

Each process is a rank with a chip of its own. With ``--device cpu`` the same script trains over gloo, for comparison.
"""

from __future__ import annotations

import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module


class Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.down(nn.functional.gelu(self.up(self.norm(x))))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="tt", choices=["tt", "cpu"])
    parser.add_argument("--tensor-parallel", type=int, default=1, help="ranks that share each layer (default 1)")
    parser.add_argument("--steps", type=int, default=5)
    options = parser.parse_args()

    dist.init_process_group("tt" if options.device == "tt" else "gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    if options.device == "tt":
        torch.tt.set_device(int(os.environ["LOCAL_RANK"]))
    shape = (size // options.tensor_parallel, options.tensor_parallel)
    mesh = init_device_mesh(options.device, shape, mesh_dim_names=("data", "model"))

    torch.manual_seed(0)
    model = nn.Sequential(*[Block(64) for _ in range(3)], nn.Linear(64, 8)).to(options.device)
    for block in model[:3]:
        parallelize_module(block, mesh["model"], {"up": ColwiseParallel(), "down": RowwiseParallel()})
        fully_shard(block, mesh=mesh["data"])
    fully_shard(model, mesh=mesh["data"])

    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    samples = torch.Generator().manual_seed(mesh.get_local_rank("data"))  # ranks that share layers share samples
    for step in range(options.steps):
        x = torch.randn(16, 64, generator=samples).to(options.device)
        loss = nn.functional.cross_entropy(model(x), x[:, :8].argmax(-1))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        loss = loss.detach()
        dist.all_reduce(loss, dist.ReduceOp.AVG)
        if rank == 0:
            print(f"step {step}: loss {loss.item():.4f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
