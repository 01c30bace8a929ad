"""The parts of split tensors in checkpoints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
import torch_xla.distributed.spmd as _spmd
from torch.distributed.checkpoint.metadata import ChunkStorageMetadata
from torch_xla.distributed.spmd.xla_sharded_tensor import XLAShard, XLAShardedTensor

from tt_xla.frontends.torch.trees import tree_map


@dataclass
class CpuShards:
    """The parts of a split tensor on the CPU.

    Attributes:
        shards: the parts, in the order of the mesh.
        global_shape: shape of the tensor.
    """

    shards: list[XLAShard]
    global_shape: torch.Size


def is_sharded_tensor(x: Any) -> bool:
    """Returns whether different chips have different parts of a tensor. It is False for one that shows no sharding."""
    return isinstance(x, XLAShardedTensor) and x.sharding_type not in (None, _spmd.ShardingType.REPLICATED)


def filled_shards(tensor: XLAShardedTensor | CpuShards) -> list[XLAShard]:
    """Returns the parts of a split tensor that have elements, without those that are padding alone."""
    shards = tensor.shards if isinstance(tensor, CpuShards) else tensor.local_shards
    return [shard for shard in shards if shard.unpadded_data.numel()]


def chunk_of(shard: XLAShard) -> ChunkStorageMetadata:
    """Returns where in the whole tensor a part is."""
    assert isinstance(shard.indices, list), "every chip has the tensor in full"
    starts, ends = [part.start for part in shard.indices], [part.stop for part in shard.indices]
    sizes = torch.Size(end - start for start, end in zip(starts, ends, strict=True))
    return ChunkStorageMetadata(offsets=torch.Size(starts), sizes=sizes)


def sharded_cpu_state_dict(state_dict: dict[str, Any]) -> dict[str, Any]:
    """Returns a copy of a state dict on the CPU, in which split tensors are :class:`CpuShards`."""

    def on_cpu(x: Any) -> Any:
        wrapped = _spmd.wrap_if_sharded(x)
        if is_sharded_tensor(wrapped):
            return CpuShards(wrapped.local_shards, wrapped.shape)
        return _spmd.unwrap_sharded_tensor(x).detach().cpu() if isinstance(x, torch.Tensor) else x

    return tree_map(on_cpu, state_dict)
