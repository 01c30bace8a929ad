"""A rank that adds tensors with others, and reports the bits; or, with ``mesh``, a mesh of as many chips that does."""

from __future__ import annotations

import sys

import numpy as np
import torch
from launch import begin, report

CHIPS = 4
SHAPES = ((128, 128), (32, 96), (256, 128), (5, 7), (33,), (2, 3, 64), (33, 1000), (512, 128))


def parts(shape, dtype):
    generator = torch.Generator().manual_seed(sum(shape))
    return [torch.randn(shape, generator=generator).to(dtype) for _ in range(CHIPS)]


def bits(tensor):
    return tensor.float().numpy().view(np.int32).flatten().tolist()


def of_ranks():
    import torch.distributed as dist

    begin("tt")
    sums = []
    for dtype in (torch.float32, torch.bfloat16):
        for shape in SHAPES:
            tensor = parts(shape, dtype)[dist.get_rank()].to("tt")
            dist.all_reduce(tensor)
            sums.append(bits(tensor.cpu()))
    dist.destroy_process_group()
    return sums


def of_mesh():
    import jax
    from jax.sharding import Mesh, PartitionSpec

    mesh = Mesh(np.array(jax.devices("tt")[:CHIPS]), ("x",))
    add = jax.jit(
        jax.shard_map(
            lambda x: jax.lax.psum(x[0], "x"), mesh=mesh, in_specs=PartitionSpec("x"), out_specs=PartitionSpec()
        )
    )
    sums = []
    for dtype in (torch.float32, torch.bfloat16):
        for shape in SHAPES:
            joined = torch.stack(parts(shape, dtype)).float().numpy()
            values = jax.numpy.asarray(joined, "bfloat16" if dtype is torch.bfloat16 else "float32")
            sums.append(bits(torch.from_numpy(np.asarray(add(values), np.float32))))
    return sums


report(of_mesh() if "mesh" in sys.argv else of_ranks())
