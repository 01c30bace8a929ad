"""Planners of ``torch.distributed.checkpoint`` that write and read the parts of split tensors."""

from __future__ import annotations

import dataclasses
from typing import Any

import torch
import torch_xla.distributed.spmd as _spmd
from torch.distributed.checkpoint import DefaultLoadPlanner, DefaultSavePlanner
from torch.distributed.checkpoint.default_planner import create_default_local_load_plan
from torch.distributed.checkpoint.metadata import Metadata, MetadataIndex, TensorProperties, TensorStorageMetadata
from torch.distributed.checkpoint.planner import (
    LoadPlan,
    ReadItem,
    SavePlan,
    TensorWriteData,
    WriteItem,
    WriteItemType,
)
from torch.distributed.checkpoint.planner_helpers import create_read_items_for_chunk_list
from torch_xla.distributed.spmd.xla_sharded_tensor import XLAShard, XLAShardedTensor

from tt_xla.frontends.torch.trees import tree_map_only
from tt_xla.frontends.torch.xla_api.checkpoint_shards import CpuShards, chunk_of, filled_shards, is_sharded_tensor


def _separated(state_dict: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns the split tensors of a flat state dict, and the rest, with plain tensors."""
    wrapped = {name: _spmd.wrap_if_sharded(value) for name, value in state_dict.items()}
    sharded = {
        name: value for name, value in wrapped.items() if is_sharded_tensor(value) or isinstance(value, CpuShards)
    }
    rest = {name: value for name, value in state_dict.items() if name not in sharded}
    return sharded, tree_map_only(torch.Tensor, _spmd.unwrap_sharded_tensor, rest)


class SPMDSavePlanner(DefaultSavePlanner):
    """Writes each part of a split tensor once, and everything else as PyTorch's planner does.

    Attributes:
        sharded_state_dict: the split tensors, by name.
        unsharded_state_dict: everything else, by name.
    """

    def __init__(self) -> None:
        super().__init__()
        self.sharded_state_dict: dict[str, Any] = {}
        self.unsharded_state_dict: dict[str, Any] = {}
        self._shards: dict[str, list[XLAShard]] = {}
        """The parts of each split tensor that are written."""

    def set_up_planner(  # type: ignore[override]  # torch_xla's order of arguments; PyTorch passes them by name
        self, state_dict: dict[str, Any], is_coordinator: bool = False, storage_meta: Any = None
    ) -> None:
        super().set_up_planner(state_dict, storage_meta, is_coordinator)
        self.sharded_state_dict, self.unsharded_state_dict = _separated(self.state_dict)
        self.state_dict = self.unsharded_state_dict
        self._shards = {
            name: [shard for shard in filled_shards(tensor) if not shard.replica_id]
            for name, tensor in self.sharded_state_dict.items()
        }

    def create_local_plan(self) -> SavePlan:
        items = [item for name in self.sharded_state_dict for item in self._write_items(name)]
        plan = super().create_local_plan()
        self.plan = dataclasses.replace(plan, items=[*plan.items, *items])
        return self.plan

    def _write_items(self, name: str) -> list[WriteItem]:
        tensor = self.sharded_state_dict[name]
        size = tensor.global_shape if isinstance(tensor, CpuShards) else tensor.shape
        items: list[WriteItem] = []
        for number, shard in enumerate(self._shards[name]):
            chunk = chunk_of(shard)
            data = TensorWriteData(chunk, TensorProperties.create_from_tensor(shard.data), size)
            index = MetadataIndex(name, chunk.offsets, number)
            items.append(WriteItem(index=index, type=WriteItemType.SHARD, tensor_data=data))
        return items

    def lookup_object(self, index: MetadataIndex) -> Any:
        if index.fqn not in self._shards:
            return super().lookup_object(index)
        return next(shard.unpadded_data for shard in self._shards[index.fqn] if chunk_of(shard).offsets == index.offset)


class SPMDLoadPlanner(DefaultLoadPlanner):
    """Reads into the parts of split tensors, and into everything else as PyTorch's planner does.

    A checkpoint may come from another mesh. The state dict has to be on the device and marked; it is written in place,
    each split tensor once all its parts are read.

    Attributes:
        sharded_state_dict: the split tensors, by name.
        unsharded_state_dict: everything else, by name.
    """

    def __init__(self) -> None:
        super().__init__()
        self.sharded_state_dict: dict[str, XLAShardedTensor] = {}
        self.unsharded_state_dict: dict[str, Any] = {}
        self._shards: dict[str, list[XLAShard]] = {}
        """All parts of each split tensor that is being read."""
        self._pending: dict[str, int] = {}
        """Number of elements that are still to be read into the parts of each."""

    def set_up_planner(
        self, state_dict: dict[str, Any], metadata: Metadata | None = None, is_coordinator: bool = False
    ) -> None:
        super().set_up_planner(state_dict, metadata, is_coordinator)
        self.sharded_state_dict, self.unsharded_state_dict = _separated(self.state_dict)
        self.state_dict = self.unsharded_state_dict

    def create_local_plan(self) -> LoadPlan:
        assert self.metadata is not None
        plan = create_default_local_load_plan(self.unsharded_state_dict, self.metadata)
        items: list[ReadItem] = []
        for name, tensor in self.sharded_state_dict.items():
            stored = self.metadata.state_dict_metadata.get(name)
            if not isinstance(stored, TensorStorageMetadata) or stored.size != tensor.shape:
                raise RuntimeError(
                    f"The checkpoint has {stored} for '{name}', expected a tensor of shape {list(tensor.shape)}."
                )
            items += create_read_items_for_chunk_list(name, stored, list(map(chunk_of, filled_shards(tensor))))
        return dataclasses.replace(plan, items=[*plan.items, *items])

    def lookup_tensor(self, index: MetadataIndex) -> torch.Tensor:
        if index.fqn not in self.sharded_state_dict:
            return super().lookup_tensor(index)
        if index.fqn not in self._shards:
            self._shards[index.fqn] = self.sharded_state_dict[index.fqn].local_shards
            self._pending[index.fqn] = sum(shard.unpadded_data.numel() for shard in self._shards[index.fqn])
        assert index.index is not None
        filled = [shard for shard in self._shards[index.fqn] if shard.unpadded_data.numel()]
        return filled[index.index].data

    def commit_tensor(self, read_item: ReadItem, tensor: torch.Tensor) -> None:
        name = read_item.dest_index.fqn
        if name not in self.sharded_state_dict:
            return
        self._pending[name] -= read_item.lengths.numel()
        if not self._pending[name]:
            self.sharded_state_dict[name].load_local_shards_(self._shards.pop(name))
