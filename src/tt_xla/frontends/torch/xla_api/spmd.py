"""``torch_xla.distributed.spmd``, which scripts import as ``xs``: meshes and shardings on one device.

On a mesh of one device every sharding keeps the whole tensor. Larger meshes are refused.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import IntEnum
from typing import Any

import numpy as np
import torch

from tt_xla.frontends.torch.xla_api import finder as _finder

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
        ValueError: the shape does not match the number of devices, or the names do not match the shape.
        NotImplementedError: there is more than one device.
    """

    def __init__(
        self,
        device_ids: np.ndarray | Sequence[int],
        mesh_shape: Sequence[int],
        axis_names: Sequence[str] | None = None,
    ) -> None:
        self.device_ids = np.asarray(device_ids).reshape(-1)
        self.mesh_shape = tuple(int(size) for size in mesh_shape)
        self.axis_names = None if axis_names is None else tuple(axis_names)
        if math.prod(self.mesh_shape) != len(self.device_ids):
            raise ValueError(f"A mesh of shape {self.mesh_shape} does not hold {len(self.device_ids)} devices.")
        if self.axis_names is not None:
            if len(self.axis_names) != len(self.mesh_shape):
                raise ValueError(f"{len(self.axis_names)} axis names for a mesh of shape {self.mesh_shape}.")
            if len(set(self.axis_names)) != len(self.axis_names):
                raise ValueError(f"Axis names repeat: {self.axis_names}.")
        if len(self.device_ids) > 1:
            raise NotImplementedError(
                f"A mesh of {len(self.device_ids)} devices is not supported: programs run on one device. "
                "Make the mesh of xr.global_runtime_device_count() devices."
            )

    def size(self) -> int:
        return len(self.device_ids)

    def shape(self) -> dict[str, int]:
        """Returns the number of devices along each axis, by name."""
        names = self.axis_names or tuple(f"axis_{index}" for index in range(len(self.mesh_shape)))
        return dict(zip(names, self.mesh_shape, strict=True))

    def get_logical_mesh(self) -> np.ndarray:
        return self.device_ids.reshape(self.mesh_shape)

    def get_axis_name_idx(self, name: str) -> int | None:
        return self.axis_names.index(name) if self.axis_names and name in self.axis_names else None


_global_mesh: Mesh | None = None


def set_global_mesh(mesh: Mesh) -> None:
    global _global_mesh
    _global_mesh = mesh


def get_global_mesh() -> Mesh | None:
    return _global_mesh


def get_1d_mesh(axis_name: str | None = None) -> Mesh:
    return Mesh([0], (1,), (axis_name,) if axis_name else None)


def mark_sharding(t: torch.Tensor, mesh: Mesh, partition_spec: PartitionSpec) -> torch.Tensor:
    """Checks a partition spec and marks a tensor with it. The tensor stays whole on the one device.

    Args:
        t: the tensor.
        mesh: the mesh.
        partition_spec: for each dimension, the axis or axes that split it, or None.

    Returns:
        The tensor.

    Raises:
        ValueError: the spec does not have one entry per dimension, uses an axis twice, or names an unknown axis.
    """
    if len(partition_spec) != t.dim():
        raise ValueError(
            f"The partition spec {partition_spec} has {len(partition_spec)} entries, the tensor has shape "
            f"{list(t.shape)}. Give one entry, an axis or None, for each dimension."
        )
    used = [axis for entry in partition_spec for axis in (entry if isinstance(entry, tuple) else (entry,))]
    used = [axis for axis in used if axis is not None]
    known = [*(mesh.axis_names or ()), *range(len(mesh.mesh_shape))]
    for axis in used:
        if axis not in known:
            raise ValueError(f"The partition spec {partition_spec} names {axis!r}; the mesh has the axes {known}.")
        if used.count(axis) > 1:
            raise ValueError(f"The partition spec {partition_spec} uses axis {axis!r} twice.")
    t.tt_sharding = "{replicated}"  # type: ignore[attr-defined]
    return t


def clear_sharding(t: torch.Tensor) -> torch.Tensor:
    """Removes the mark of :func:`mark_sharding` from a tensor and returns the tensor."""
    if hasattr(t, "tt_sharding"):
        del t.tt_sharding
    return t


def sharding_of(t: torch.Tensor) -> str:
    """Returns the sharding of a tensor in XLA's notation, or an empty string for a tensor without one."""
    return getattr(t, "tt_sharding", "")


def __getattr__(name: str) -> Any:
    raise _finder.missing(__name__, name)
