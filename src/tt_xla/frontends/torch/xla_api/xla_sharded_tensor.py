"""``torch_xla.distributed.spmd.xla_sharded_tensor``: tensors that say how chips share them, and their shards."""

from __future__ import annotations

import copy as _copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch_xla.distributed.spmd as _spmd

from tt_xla.frontends.torch.device import placements as _placements
from tt_xla.frontends.torch.private.functions import make_subclass as _make_subclass
from tt_xla.frontends.torch.private.functions import without_torch_function as _without_torch_function
from tt_xla.frontends.torch.xla_api import finder as _finder
from tt_xla.runtime.mesh.shards import join as _join
from tt_xla.runtime.mesh.shards import split as _split


@dataclass
class XLAShard:
    """A copy of the part of a tensor that one chip has.

    Attributes:
        data: the part on the CPU, with the padding of an uneven split.
        indices: slices of the whole tensor that the part is, or ``...`` for a tensor that every chip has in full.
        shard_device: name of the chip, such as ``TT:3``.
        replica_id: number of the chip among those that have the same part.
    """

    data: torch.Tensor
    indices: Any
    shard_device: str
    replica_id: int

    @property
    def unpadded_data(self) -> torch.Tensor:
        """The part without padding."""
        return self.data[self._unpadded]

    @unpadded_data.setter
    def unpadded_data(self, part: torch.Tensor) -> None:
        self.data[self._unpadded] = part

    @property
    def _unpadded(self) -> Any:
        return ... if self.indices is ... else tuple(slice(0, part.stop - part.start) for part in self.indices)


class XLAShardedTensor(torch.Tensor):
    """A tensor over the memory of another one, whose sharding it shows. Ops on it are those on the tensor itself."""

    @staticmethod
    def __new__(cls, elem: torch.Tensor, *args: Any, **kwargs: Any) -> XLAShardedTensor:
        return elem.as_subclass(cls) if elem.requires_grad else _make_subclass(cls, elem)

    __torch_function__ = _without_torch_function

    def detach(self) -> XLAShardedTensor:
        return super().detach().as_subclass(XLAShardedTensor)  # so that nn.Parameter accepts the tensor

    def __deepcopy__(self, memo: dict[int, Any]) -> torch.Tensor:
        """Returns a copy with the same sharding."""
        if not self.is_leaf:
            return super().__deepcopy__(memo)  # raises PyTorch's error
        if id(self) not in memo:
            copied = XLAShardedTensor(_copy.deepcopy(self.global_tensor.detach(), memo))
            copied.requires_grad_(self.requires_grad)
            for name, value in _copy.deepcopy(vars(self), memo).items():
                setattr(copied, name, value)
            if self.grad is not None:
                copied.grad = _copy.deepcopy(self.grad, memo)
            memo[id(self)] = copied
        return memo[id(self)]

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Pickles the whole tensor without its sharding, so that ``torch.load`` restores it on any system."""
        whole = self.global_tensor.detach()
        if isinstance(self, torch.nn.Parameter):
            return torch.nn.Parameter(whole, self.requires_grad).__reduce_ex__(protocol)
        return whole.requires_grad_(self.requires_grad).__reduce_ex__(protocol)

    @property
    def global_tensor(self) -> torch.Tensor:
        """The whole tensor."""
        return self.as_subclass(torch.Tensor)

    @property
    def sharding_spec(self) -> str:
        """The sharding in XLA's notation, or an empty string."""
        return _spmd.sharding_of(self)

    @property
    def sharding_type(self) -> _spmd.ShardingType | None:
        """The kind of sharding; None for a tensor that was not marked."""
        placement = _placements.placement_of(self)
        if placement is None:
            return _spmd.ShardingType.REPLICATED if self.sharding_spec else None
        shards = len(set(_shard_indices(placement)))
        if shards == 1:
            return _spmd.ShardingType.REPLICATED
        return _spmd.ShardingType.TILED if shards == placement.mesh.size else _spmd.ShardingType.PARTIAL

    @property
    def mesh_shape(self) -> tuple[int, ...] | None:
        """Number of chips along each axis of the mesh; None for a tensor that was not marked."""
        placement = _placements.placement_of(self)
        return None if placement is None else placement.mesh.shape

    @property
    def partition_spec(self) -> tuple[Any, ...] | None:
        """For each dimension, the index of the mesh axis that splits it, the indices of several, or None."""
        placement = _placements.placement_of(self)
        if placement is None:
            return None
        return tuple(axes[0] if len(axes) == 1 else axes or None for axes in placement.sharding.dims)

    @property
    def local_shards(self) -> list[XLAShard]:
        """Copies of the parts of all chips, in the order of the mesh; empty for a tensor that was not marked."""
        placement = _placements.placement_of(self)
        if placement is None:
            return []
        mesh, sharding, host = placement.mesh, placement.sharding, self.global_tensor.detach().cpu()
        counts: dict[tuple[int, ...], int] = {}
        shards: list[XLAShard] = []
        indices = _shard_indices(placement)
        for position, (data, index) in enumerate(zip(_split(host, sharding, mesh), indices, strict=True)):
            replica = counts[index] = counts.get(index, -1) + 1
            region = ... if len(set(indices)) == 1 else list(sharding.region(mesh, host.shape, position))
            shards.append(XLAShard(data.clone(), region, f"TT:{placement.chips[position]}", replica))
        return shards

    def load_local_shards_(self, shards: Sequence[XLAShard]) -> None:
        """Replaces the contents by the parts of all chips, in the order of :attr:`local_shards`.

        Raises:
            ValueError: the tensor was not marked, or the parts do not have the shapes of its own.
        """
        own = self.local_shards
        expected, got = [list(shard.data.shape) for shard in own], [list(shard.data.shape) for shard in shards]
        if not own or got != expected:
            raise ValueError(f"load_local_shards_ expects parts of the shapes {expected}, got {got}.")
        placement = _placements.placement_of(self)
        assert placement is not None
        whole = _join([shard.data for shard in shards], placement.sharding, placement.mesh, tuple(self.shape))
        with torch.no_grad():
            self.global_tensor.copy_(whole)


def _shard_indices(placement: _placements.Placement) -> list[tuple[int, ...]]:
    """Returns which part of the tensor each position of the mesh has."""
    positions = range(placement.mesh.size)
    return [placement.sharding.shard_index(placement.mesh, position) for position in positions]


def __getattr__(name: str) -> Any:
    raise _finder.missing(__name__, name)
