"""``torch_xla.experimental.distributed_checkpoint._helpers``: the names by which scripts move states to the CPU."""

from __future__ import annotations

from tt_xla.frontends.torch.xla_api.checkpoint_shards import CpuShards as _CpuShards
from tt_xla.frontends.torch.xla_api.checkpoint_shards import is_sharded_tensor as _is_sharded_tensor
from tt_xla.frontends.torch.xla_api.checkpoint_shards import sharded_cpu_state_dict as _sharded_cpu_state_dict

__all__ = ["_CpuShards", "_is_sharded_tensor", "_sharded_cpu_state_dict"]
