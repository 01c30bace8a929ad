"""``torch_xla.distributed.spmd``, which scripts import as ``xs``: meshes and shardings of tensors."""

from __future__ import annotations

import ast
import math
from collections.abc import Sequence
from enum import IntEnum
from typing import Any

import numpy as np
import torch
import torch_xla.runtime as _runtime

from tt_xla.frontends.torch.device import chips as _chips
from tt_xla.frontends.torch.device import placements as _placements
from tt_xla.frontends.torch.device.chips import DEVICE_TYPE as _DEVICE_TYPE
from tt_xla.frontends.torch.device.placements import Placement as _Placement
from tt_xla.frontends.torch.xla_api import finder as _finder
from tt_xla.ir import mesh as _mesh
from tt_xla.ir.hlo_sharding import REPLICATED as _REPLICATED
from tt_xla.ir.hlo_sharding import hlo_sharding as _hlo_sharding

PartitionSpec = tuple[Any, ...]


class ShardingType(IntEnum):
    REPLICATED = 0
    MAXIMAL = 1
    TUPLE = 2
    TILED = 3
    MANUAL = 4
    PARTIAL = 5
    UNKNOWN = 6


class Mesh:
    """A grid of devices. Partition specs name its axes.

    Args:
        device_ids: all device numbers, in any shape.
        mesh_shape: number of devices along each axis.
        axis_names: name of each axis, or None.

    Raises:
        ValueError: the shape does not match the number of devices, the names do not match the shape, or a device is
            not there or comes twice.
    """

    def __init__(
        self,
        device_ids: np.ndarray | Sequence[int],
        mesh_shape: Sequence[int],
        axis_names: Sequence[str] | None = None,
    ) -> None:
        self.device_ids = np.asarray(device_ids).reshape(-1)
        self._chips = tuple(map(int, self.device_ids))  # unlike an array, a constant of a graph that dynamo traces
        self.mesh_shape = tuple(int(size) for size in mesh_shape)
        self.axis_names = None if axis_names is None else tuple(axis_names)
        if math.prod(self.mesh_shape) != len(self.device_ids):
            raise ValueError(f"A mesh of shape {self.mesh_shape} does not hold {len(self.device_ids)} devices.")
        if self.axis_names is not None:
            if len(self.axis_names) != len(self.mesh_shape):
                raise ValueError(f"{len(self.axis_names)} axis names for a mesh of shape {self.mesh_shape}.")
            if len(set(self.axis_names)) != len(self.axis_names):
                raise ValueError(f"Axis names repeat: {self.axis_names}.")
        count, ids = _runtime.global_runtime_device_count(), self._chips
        missing = sorted({device for device in ids if not 0 <= device < count})
        if missing:
            raise ValueError(
                f"The mesh names devices {missing}; the system has {count}: 0 to {count - 1}. "
                "TTXLA_SYSTEM selects another system, such as n300 with two chips."
            )
        if len(set(ids)) != len(ids):
            raise ValueError(f"The mesh names a device twice: {list(ids)}.")
        if len(ids) > 1:
            _placements.announce()

    def size(self) -> int:
        return len(self._chips)

    def shape(self) -> dict[str, int]:
        """Returns the number of devices along each axis, by name."""
        return dict(zip(self._names, self.mesh_shape, strict=True))

    @property
    def _names(self) -> tuple[str, ...]:
        return self.axis_names or tuple(f"axis_{index}" for index in range(len(self.mesh_shape)))

    def get_logical_mesh(self) -> np.ndarray:
        return self.device_ids.reshape(self.mesh_shape)

    def get_axis_name_idx(self, name: str) -> int | None:
        return self.axis_names.index(name) if self.axis_names and name in self.axis_names else None

    def _plain(self) -> tuple[_mesh.Mesh, tuple[int, ...]]:
        """Returns the mesh as the compiler knows it, and the device at each of its positions."""
        return _mesh.Mesh(self.mesh_shape, self._names), self._chips


class HybridMesh(Mesh):
    """A mesh of all devices in the order of the system. Its size along each axis is a product of two numbers.

    Args:
        ici_mesh_shape: number of devices along each axis that links within one slice join.
        dcn_mesh_shape: number of slices along each axis: 1, since a system is one slice.
        axis_names: name of each axis, or None.

    Raises:
        ValueError: there are several slices, or the shape does not match the number of devices.
    """

    def __init__(
        self,
        *,
        ici_mesh_shape: Sequence[int],
        dcn_mesh_shape: Sequence[int] | None = None,
        axis_names: Sequence[str] | None = None,
    ) -> None:
        self.ici_mesh_shape = tuple(ici_mesh_shape)
        self.dcn_mesh_shape = (1,) * len(self.ici_mesh_shape) if dcn_mesh_shape is None else tuple(dcn_mesh_shape)
        if len(self.dcn_mesh_shape) != len(self.ici_mesh_shape) or math.prod(self.dcn_mesh_shape) != 1:
            raise ValueError(
                f"dcn_mesh_shape={self.dcn_mesh_shape} asks for several slices, or for other axes than "
                f"ici_mesh_shape={self.ici_mesh_shape}. A system is one slice: leave dcn_mesh_shape out."
            )
        super().__init__(range(_runtime.global_runtime_device_count()), self.ici_mesh_shape, axis_names)


def set_global_mesh(mesh: Mesh) -> None:
    """Sets the mesh of programs that have collectives, but no argument with a sharding."""
    _chips.STATE.global_mesh = mesh
    _placements.set_default_mesh(*mesh._plain())


def get_global_mesh() -> Mesh | None:
    return _chips.STATE.global_mesh


def get_1d_mesh(axis_name: str | None = None) -> Mesh:
    """Returns a mesh of all devices in a row."""
    count = _runtime.global_runtime_device_count()
    return Mesh(range(count), (count,), (axis_name,) if axis_name else None)


def mark_sharding(t: torch.Tensor, mesh: Mesh, partition_spec: PartitionSpec) -> torch.Tensor:
    """Splits a tensor over a mesh: programs that take it run on all devices of the mesh, each on its part.

    In a function that ``torch.compile`` compiles, an argument is split before each run, and an intermediate tensor is
    split from there on.

    Args:
        t: the tensor, on device ``tt``.
        mesh: the mesh.
        partition_spec: for each dimension, the axis or axes that split it, major first, or None.

    Returns:
        The tensor.

    Raises:
        TypeError: ``t`` is no tensor, or ``mesh`` no mesh.
        ValueError: the spec does not have one entry per dimension, uses an axis twice, or names an unknown axis; or the
            mesh has several devices and the tensor is on the CPU or on a chip other than the first.
    """
    if not (isinstance(t, torch.Tensor) and isinstance(mesh, Mesh)):
        raise TypeError(f"mark_sharding takes a tensor and a Mesh, got {type(t).__name__} and {type(mesh).__name__}.")
    dims = _spec_axes(tuple(t.shape), mesh, partition_spec)
    if mesh.size() == 1:
        if not torch.compiler.is_compiling():
            t.tt_replicated = True  # type: ignore[attr-defined]
        return t
    if t.device.type != _DEVICE_TYPE:
        raise ValueError(
            f"mark_sharding takes a tensor on device 'tt', got one on '{t.device}'. Move it with .to('tt') first."
        )
    if t.device.index:
        raise ValueError(
            f"mark_sharding takes a tensor on tt:0, which stands for all chips of a mesh, got one on '{t.device}', a "
            "single chip. Move it with .to('tt:0') first."
        )
    if torch.compiler.is_compiling():
        return _marked(t, mesh, dims, gradient=False)
    plain, chips = mesh._plain()
    _placements.place(t, _Placement(plain, chips, _mesh.Sharding(dims), tuple(t.shape)))
    return t


def mark_sharding_with_gradients(t: torch.Tensor, mesh: Mesh, partition_spec: PartitionSpec) -> torch.Tensor:
    """Returns a tensor with the contents of ``t`` that is split over a mesh. Its gradient is split in the same way.

    Args:
        t: the tensor.
        mesh: the mesh.
        partition_spec: for each dimension, the axis or axes that split it, major first, or None.

    Raises:
        ValueError: the spec does not have one entry per dimension, uses an axis twice, or names an unknown axis.
    """
    dims = _spec_axes(tuple(t.shape), mesh, partition_spec)
    return t if mesh.size() == 1 else _marked(t, mesh, dims, gradient=True)


def _marked(t: torch.Tensor, mesh: Mesh, dims: tuple[tuple[int, ...], ...], *, gradient: bool) -> torch.Tensor:
    """Returns the result of the op that marks a tensor in a graph."""
    return torch.ops.tt.mark_sharding(t, *_mark_arguments(mesh, dims), gradient)


def _mark_arguments(mesh: Mesh, dims: tuple[tuple[int, ...], ...]) -> tuple[list[int], list[int], list[str], list[str]]:
    """Returns a mesh and the axes that split each dimension as arguments of ``torch.ops.tt.mark_sharding``."""
    axes = [" ".join([str(axis) for axis in dim]) for dim in dims]
    return list(mesh._chips), list(mesh.mesh_shape), list(mesh._names), axes


_XLA = torch.library.Library("xla", "FRAGMENT")
_XLA.define(
    "dynamo_mark_sharding(Tensor input, int[] device_ids, int[] mesh_shape, str axis_names, str partition_spec)"
    " -> Tensor"
)


@torch.library.impl(_XLA, "dynamo_mark_sharding", "CompositeImplicitAutograd")
def _dynamo_mark_sharding(
    input: torch.Tensor, device_ids: list[int], mesh_shape: list[int], axis_names: str, partition_spec: str
) -> torch.Tensor:
    """Marks a tensor of the device, as :func:`mark_sharding` does; any other tensor is returned as it is.

    Args:
        axis_names: tuple of the names as Python writes it, such as ``"('data', 'model')"``.
        partition_spec: the spec as Python writes it.
    """
    if input.device.type != _DEVICE_TYPE:
        return input
    mesh = Mesh(device_ids, mesh_shape, ast.literal_eval(axis_names))
    return mark_sharding(input, mesh, ast.literal_eval(partition_spec))


def _spec_axes(shape: tuple[int, ...], mesh: Mesh, partition_spec: PartitionSpec) -> tuple[tuple[int, ...], ...]:
    """Returns the indices of the mesh axes that split each dimension.

    Raises:
        ValueError: the spec does not have one entry per dimension, uses an axis twice, or names an unknown axis.
    """
    if len(partition_spec) != len(shape):
        raise ValueError(
            f"The partition spec {partition_spec} has {len(partition_spec)} entries, the tensor has shape "
            f"{list(shape)}. Give one entry, an axis or None, for each dimension."
        )
    return _mesh.spec_axes(partition_spec, mesh.axis_names or (), len(mesh.mesh_shape))


def clear_sharding(t: torch.Tensor) -> torch.Tensor:
    """Removes the sharding of a tensor and returns the tensor."""
    if hasattr(t, "tt_replicated"):
        del t.tt_replicated
    _placements.unplace(t)
    return t


def sharding_of(t: torch.Tensor) -> str:
    """Returns the sharding of a tensor in XLA's notation, or an empty string for a tensor without one.

    Results of programs for several chips have the sharding that the program gave them.
    """
    placement = _placements.placement_of(t)
    if placement is not None:
        return _hlo_sharding(placement.sharding, placement.mesh, placement.chips)
    return _REPLICATED if hasattr(t, "tt_replicated") or _placements.is_replicated_result(t) else ""


def wrap_as_sharded_tensor(
    t: torch.Tensor, mesh_shape: Sequence[int] | None = None, partition_spec: PartitionSpec | None = None
) -> Any:
    """Returns the tensor as an ``XLAShardedTensor``, which shows its sharding and its shards."""
    sharded_tensor = __getattr__("XLAShardedTensor")
    return t if isinstance(t, sharded_tensor) else sharded_tensor(t)


def unwrap_sharded_tensor(t: torch.Tensor) -> torch.Tensor:
    """Returns the tensor that an ``XLAShardedTensor`` shows; any other tensor as it is."""
    return t.as_subclass(torch.Tensor) if isinstance(t, __getattr__("XLAShardedTensor")) else t


def wrap_if_sharded(x: Any) -> Any:
    """Returns a tensor that has a sharding as an ``XLAShardedTensor``, and anything else as it is."""
    return wrap_as_sharded_tensor(x) if isinstance(x, torch.Tensor) and sharding_of(x) else x


def xla_patched_nn_linear_forward(m: torch.nn.Linear, input: torch.Tensor) -> torch.Tensor:
    """Computes a linear layer without joining the dimensions of its input, so that each may be split on its own."""
    product = torch.einsum("...n,mn->...m", input, m.weight)
    return product if m.bias is None else product + m.bias


def apply_backward_optimization_barrier(m: torch.nn.Module) -> None:
    """Does nothing: the compiler fuses no gradients across layers."""


def _no_manual_sharding(name: str) -> NotImplementedError:
    return NotImplementedError(
        f"{name} is not supported: tensors have the shapes of the whole tensor in PyTorch. Use "
        "tt_torch.sharding_constraint_tensor to say how chips share a result, or jax.shard_map for code on shards."
    )


def enable_manual_sharding(t: torch.Tensor, partition_spec: PartitionSpec, *, mesh: Mesh | None = None) -> Any:
    """Is not supported: tensors are always whole here.

    Raises:
        NotImplementedError: always.
    """
    raise _no_manual_sharding("enable_manual_sharding")


def disable_manual_sharding(
    t: torch.Tensor, partition_spec: PartitionSpec, full_shape: torch.Size, *, mesh: Mesh | None = None
) -> Any:
    """Is not supported: tensors are always whole here.

    Raises:
        NotImplementedError: always.
    """
    raise _no_manual_sharding("disable_manual_sharding")


_SUBMODULES = {
    "XLAShard": "xla_sharded_tensor",
    "XLAShardedTensor": "xla_sharded_tensor",
    "auto_policy": "api",
    "convert_to_xla_mesh": "api",
    "convert_to_xla_partition_spec": "api",
    "xla_distribute_module": "api",
    "xla_distribute_tensor": "api",
}
"""Submodules that define further names of this module, and import it."""


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:
        return getattr(_finder.attribute(__name__, _SUBMODULES[name]), name)
    return _finder.attribute(__name__, name)
