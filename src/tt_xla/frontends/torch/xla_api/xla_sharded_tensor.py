"""``torch_xla.distributed.spmd.xla_sharded_tensor``: tensors that say how chips share them, and their shards."""

from __future__ import annotations

import copy as _copy
import functools as _functools
from collections.abc import Sequence
from dataclasses import dataclass
from types import EllipsisType as _EllipsisType
from typing import TYPE_CHECKING, Any

import torch
import torch_xla.distributed.spmd as _spmd
from torch.distributed.device_mesh import DeviceMesh as _DeviceMesh
from torch.distributed.tensor import DTensor as _DTensor
from torch.distributed.tensor import Partial as _Partial
from torch.distributed.tensor import Replicate as _Replicate
from torch.distributed.tensor import Shard as _Shard

from tt_xla.frontends.torch.device import chips as _chips
from tt_xla.frontends.torch.device import placements as _placements
from tt_xla.frontends.torch.device.buffers import is_computed as _is_computed
from tt_xla.frontends.torch.device.marking import has_contents as _has_contents
from tt_xla.frontends.torch.device.marking import placement_of as _placement_of
from tt_xla.frontends.torch.device.programs import synchronize as _synchronize
from tt_xla.frontends.torch.private.dtensor import make_subclass as _make_subclass
from tt_xla.ir import mesh as _mesh
from tt_xla.runtime.mesh.shards import join as _join
from tt_xla.runtime.mesh.shards import split as _split

if TYPE_CHECKING:  # imported where a checkpoint is written or read, because few processes do
    from torch.distributed.checkpoint.metadata import ChunkStorageMetadata, MetadataIndex
    from torch.distributed.checkpoint.planner import WriteItem


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
    indices: list[slice] | _EllipsisType
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


class _Absent:
    """An attribute of a base class that a subclass does not have."""

    def __get__(self, instance: object, owner: type) -> Any:
        raise AttributeError(f"{owner.__name__} is no wrapper around other tensors.")


class XLAShardedTensor(_DTensor):
    """A tensor over the memory of another one, whose sharding it shows. Results of ops on it are such tensors too.

    It is a ``DTensor`` for code that asks for one's mesh and placements. All chips are in this process, so it has the
    elements of the whole tensor, and an op on it is the op on a tensor of the device.

    Args:
        elem: the tensor. Gradients flow through the result to it.
        mesh_shape: shape of the mesh to show in place of that of the tensor's mark.
        partition_spec: partition spec to show, with indices of axes.
        requires_grad: makes the result a leaf that does or does not require gradients; None leaves it a part of the
            graph of ``elem``.
    """

    __torch_dispatch__ = torch.Tensor.__torch_dispatch__  # a tensor of its device, as plain tensors are
    __tensor_flatten__ = _Absent()
    __tensor_unflatten__ = _Absent()

    _shown_mesh_shape: tuple[int, ...] | None = None
    _shown_spec: tuple[Any, ...] | None = None
    _cached_spec: Any = None
    _cached_for: Any = None
    _is_marked = False

    @staticmethod
    def __new__(
        cls,
        elem: torch.Tensor,
        mesh_shape: Sequence[int] | None = None,
        partition_spec: Sequence[Any] | None = None,
        *args: Any,
        requires_grad: bool | None = None,
    ) -> XLAShardedTensor:
        _tell_dynamo()
        if requires_grad is None and elem.requires_grad:
            tensor = elem.as_subclass(cls)
        else:
            tensor = _make_subclass(cls, elem, bool(requires_grad))
        tensor._is_marked = True
        if isinstance(elem, XLAShardedTensor):
            tensor.show(elem._shown_mesh_shape, elem._shown_spec)
        tensor.show(mesh_shape, partition_spec)
        return tensor

    def __init__(self, *args: Any, **options: Any) -> None:
        """Does nothing: a DTensor is complete when it is made."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Runs an op, and returns its results as tensors of this class. DTensor's own refuses plain arguments."""
        return super(_DTensor, cls).__torch_function__(func, types, args, kwargs or {})

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return f"XLAShardedTensor({self._contents})"

    def __deepcopy__(self, memo: dict[int, Any]) -> torch.Tensor:
        """Returns a copy with the same sharding."""
        if not self.is_leaf:
            return super().__deepcopy__(memo)  # raises PyTorch's error
        if id(self) not in memo:
            whole = _copy.deepcopy(self._contents, memo)
            copied = XLAShardedTensor(whole, requires_grad=self.requires_grad)
            for name, value in vars(self).items():
                if name not in ("_cached_spec", "_cached_for"):
                    setattr(copied, name, _copy.deepcopy(value, memo))
            if self.grad is not None:
                copied.grad = _copy.deepcopy(self.grad, memo)
            memo[id(self)] = copied
        return memo[id(self)]

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Pickles the whole tensor without its sharding, so that ``torch.load`` restores it on any system."""
        whole = self._contents
        if isinstance(self, torch.nn.Parameter):
            return torch.nn.Parameter(whole, self.requires_grad).__reduce_ex__(protocol)
        return whole.requires_grad_(self.requires_grad).__reduce_ex__(protocol)

    def __create_write_items__(self, fqn: str, object: Any) -> list[WriteItem]:
        """Returns what PyTorch's planner writes to a checkpoint: the whole tensor."""
        from torch.distributed.checkpoint.metadata import MetadataIndex, TensorProperties
        from torch.distributed.checkpoint.planner import TensorWriteData, WriteItem, WriteItemType

        (chunk,) = self.__create_chunk_list__()
        data = TensorWriteData(chunk, TensorProperties.create_from_tensor(self._contents), self.shape)
        return [WriteItem(index=MetadataIndex(fqn, chunk.offsets), type=WriteItemType.TENSOR, tensor_data=data)]

    def __create_chunk_list__(self) -> list[ChunkStorageMetadata]:
        """Returns what PyTorch's planner reads from a checkpoint: the whole tensor."""
        from torch.distributed.checkpoint.metadata import ChunkStorageMetadata

        return [ChunkStorageMetadata(offsets=torch.Size([0] * self.dim()), sizes=self.shape)]

    def __get_tensor_shard__(self, index: MetadataIndex) -> torch.Tensor:
        """Returns the whole tensor."""
        return self._contents

    @property
    def global_tensor(self) -> torch.Tensor:
        """The whole tensor, over the same memory. Gradients flow from a marked tensor's, not from an op's result."""
        return self.full_tensor() if self._is_marked else self._contents

    @property
    def _contents(self) -> torch.Tensor:
        """The whole tensor, over the same memory and without gradients."""
        return self.full_tensor().detach()

    def full_tensor(self, *, grad_placements: Any = None) -> torch.Tensor:
        """Returns the whole tensor, through which gradients flow to this one."""
        return self.as_subclass(torch.Tensor)

    def to_local(self, *, grad_placements: Any = None) -> torch.Tensor:
        """Returns the part of this process, which is the whole tensor: :attr:`local_shards` has those of the chips."""
        return self.full_tensor()

    @property
    def sharding_spec(self) -> str:
        """The sharding in XLA's notation, or an empty string."""
        return _spmd.sharding_of(self)

    @property
    def sharding_type(self) -> _spmd.ShardingType | None:
        """The kind of sharding; None for a tensor without one."""
        return _spmd.sharding_type_of(self)

    def show(self, mesh_shape: Sequence[int] | None = None, partition_spec: Sequence[Any] | None = None) -> None:
        """Sets mesh shape and partition spec to show in place of those of the tensor's mark. None keeps one."""
        if mesh_shape is not None:
            self._shown_mesh_shape = tuple(mesh_shape)
        if partition_spec is not None:
            self._shown_spec = tuple(partition_spec)

    @property
    def mesh_shape(self) -> tuple[int, ...] | None:
        """Number of chips along each axis of the mesh; None for a tensor without a sharding."""
        if self._shown_mesh_shape is not None:
            return self._shown_mesh_shape
        placement = _placement_of(self)
        return None if placement is None else placement.mesh.shape

    @property
    def partition_spec(self) -> tuple[Any, ...] | None:
        """For each dimension, the index of the mesh axis that splits it, the indices of several, or None."""
        if self._shown_spec is not None:
            return self._shown_spec
        placement = _placement_of(self)
        return None if placement is None else _spmd.spec_of(placement.sharding.dims)

    @property
    def _spec(self) -> Any:
        """The sharding as a ``DTensorSpec``, kept until mesh shape or partition spec change.

        The result of an op is computed first, because the compiler decides how chips share it.

        Raises:
            ValueError: the tensor has no sharding.
        """
        if None in (self.mesh_shape, self.partition_spec) and _has_contents(self) and not _is_computed(self):
            _synchronize(only=[self._contents])
        shown = (self.mesh_shape, self.partition_spec)
        if self._cached_spec is None or self._cached_for != shown:
            self._cached_spec, self._cached_for = self._new_spec(*shown), shown
        return self._cached_spec

    def _new_spec(self, mesh_shape: tuple[int, ...] | None, partition_spec: tuple[Any, ...] | None) -> Any:
        missing = [name for name in ("mesh_shape", "partition_spec") if getattr(self, name) is None]
        if mesh_shape is None or partition_spec is None:
            raise ValueError(
                f"{' and '.join(missing)} must be specified to create a DTensorSpec: the tensor has no sharding. "
                "mark_sharding and wrap_as_sharded_tensor set one."
            )
        size = _mesh.Mesh(mesh_shape, ()).size
        placement = _placement_of(self)
        chips = range(size) if placement is None or len(placement.chips) != size else placement.chips
        mesh = _DeviceMesh("xla", torch.tensor(chips, device="cpu").reshape(mesh_shape))
        dims = _mesh.spec_axes(partition_spec, (), len(mesh_shape))
        split = {axis: dim for dim, axes in enumerate(dims) for axis in axes}
        placed = tuple(_Shard(split[axis]) if axis in split else _Replicate() for axis in range(len(mesh_shape)))
        shape, stride = self.shape, self.stride()
        shown = torch.empty_strided(shape, stride, dtype=self.dtype, device="meta")
        return _DTensor.from_local(shown, mesh, placed, run_check=False, shape=shape, stride=stride)._spec

    def invalidate_spec_cache(self) -> None:
        """Drops the kept ``DTensorSpec``."""
        self._cached_spec = None

    @property
    def placements(self) -> tuple[Any, ...]:
        """For each axis of the mesh, ``Shard`` or ``Replicate``.

        Raises:
            ValueError: the tensor has no sharding.
        """
        try:
            return self._spec.placements
        except ValueError as error:
            raise ValueError(
                "Placements not available: XLAShardedTensor requires mesh_shape and partition_spec to be set. Use "
                "mark_sharding() to properly initialize sharding information."
            ) from error

    def redistribute(
        self, device_mesh: Any = None, placements: Sequence[Any] | None = None, *, async_op: bool = False, **_: Any
    ) -> XLAShardedTensor:
        """Splits the tensor in another way: the mark replaces that of the tensor.

        Args:
            device_mesh: an ``xs.Mesh`` or a ``DeviceMesh`` of type ``xla``; by default that of the tensor.
            placements: ``Shard`` or ``Replicate`` for each axis of the mesh; by default ``Replicate``.
            async_op: whether the result is a copy, so that the tensor keeps its mark.

        Returns:
            The tensor, or its copy, with the new sharding.

        Raises:
            ValueError: there is not one placement for each axis.
            NotImplementedError: a placement is ``Partial``.
            IndexError: a placement names a dimension that the tensor lacks.
        """
        from torch_xla.distributed.spmd.api import convert_to_xla_mesh, convert_to_xla_partition_spec

        device_mesh = self.device_mesh if device_mesh is None else device_mesh
        mesh = device_mesh if isinstance(device_mesh, _spmd.Mesh) else convert_to_xla_mesh(device_mesh)
        placed = [_Replicate()] * len(mesh.mesh_shape) if placements is None else list(placements)
        if len(placed) != len(mesh.mesh_shape):
            raise ValueError(
                f"Number of placements ({len(placed)}) must match mesh dimensions ({len(mesh.mesh_shape)})."
            )
        for placement in placed:
            if isinstance(placement, _Partial):
                raise NotImplementedError(
                    "redistribute takes Shard and Replicate, got Partial: a tensor of this process is whole, not a sum "
                    "that is to be computed."
                )
            if isinstance(placement, _Shard) and not -self.dim() <= placement.dim < self.dim():
                raise IndexError(
                    f"Shard dimension {placement.dim} is out of bounds for a tensor with {self.dim()} dimensions."
                )
        tensor = self.full_tensor().clone() if async_op else self.full_tensor()
        return _spmd.mark_sharding(tensor, mesh, convert_to_xla_partition_spec(tensor, placed))

    @property
    def local_shards(self) -> list[XLAShard]:
        """Copies of the parts of all chips, in the order of the mesh; empty for a tensor without a sharding."""
        placement = self._whole_placement()
        if placement is None:
            return []
        mesh, sharding, host = placement.mesh, placement.sharding, self._contents.cpu()
        counts: dict[tuple[int, ...], int] = {}
        shards: list[XLAShard] = []
        indices = _shard_indices(placement)
        for position, (data, index) in enumerate(zip(_split(host, sharding, mesh), indices, strict=True)):
            replica = counts[index] = counts.get(index, -1) + 1
            region = [slice(part.start, part.stop, 1) for part in sharding.region(mesh, host.shape, position)]
            shown = ... if len(set(indices)) == 1 else region
            shards.append(XLAShard(data.clone(), shown, f"TT:{placement.chips[position]}", replica))
        return shards

    def _whole_placement(self) -> _placements.Placement | None:
        """Returns the placement of the tensor, that on a row of all chips if every chip has it in full."""
        placement = _placement_of(self)
        if placement is not None or not self.sharding_spec:
            return placement
        count = _chips.chip_count()
        row = _mesh.Mesh((count,), ("axis_0",))
        return _placements.Placement(row, tuple(range(count)), _mesh.replicated(self.dim()), tuple(self.shape))

    def load_local_shards_(self, shards: Sequence[XLAShard]) -> None:
        """Replaces the contents by the parts of all chips, in the order of :attr:`local_shards`.

        Raises:
            RuntimeError: the tensor is not split, or the parts do not have the shapes of its own.
        """
        own = self.local_shards
        expected, got = [list(shard.data.shape) for shard in own], [list(shard.data.shape) for shard in shards]
        placement = _placement_of(self)
        if placement is None or self.sharding_type is _spmd.ShardingType.REPLICATED:
            raise RuntimeError("load_local_shards_ takes the parts of a tensor that is split; use copy_ for this one.")
        if got != expected:
            raise RuntimeError(f"load_local_shards_ expects parts of the shapes {expected}, got {got}.")
        whole = _join([shard.data for shard in shards], placement.sharding, placement.mesh, tuple(self.shape))
        with torch.no_grad():
            self._contents.copy_(whole)


@_functools.cache
def _tell_dynamo() -> None:
    """Makes dynamo guard these tensors. It is imported with the first of them, because that takes half a second."""
    from tt_xla.frontends.torch.private.dynamo import guard_as_tensor

    guard_as_tensor(XLAShardedTensor)


def _shard_indices(placement: _placements.Placement) -> list[tuple[int, ...]]:
    """Returns which part of the tensor each position of the mesh has."""
    positions = range(placement.mesh.size)
    return [placement.sharding.shard_index(placement.mesh, position) for position in positions]
