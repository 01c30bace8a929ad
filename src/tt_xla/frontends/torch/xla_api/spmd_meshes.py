"""Meshes of ``torch_xla.distributed.spmd``, and the shardings that partition specs mean on them."""

from __future__ import annotations

import ast
import math
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
import torch_xla.runtime as _runtime

from tt_xla.frontends.torch import session
from tt_xla.frontends.torch.device.placements import ChipMesh, Placement, announce, set_default_mesh
from tt_xla.ir import mesh as _mesh
from tt_xla.ir.hlo_sharding import hlo_sharding

PartitionSpec = tuple[Any, ...]


class SpecError(AssertionError, ValueError):
    """A mesh or a partition spec does not fit. ``torch_xla`` asserts that it does."""


class ShardingType(IntEnum):
    """How many chips have each part of a tensor: all, one, or some."""

    REPLICATED = 0
    MAXIMAL = 1
    TUPLE = 2
    TILED = 3
    MANUAL = 4
    PARTIAL = 5
    UNKNOWN = 6


@dataclass(frozen=True)
class OpSharding:
    """How tensors of a rank are split over a mesh.

    Attributes:
        mesh: the mesh.
        chips: number of the chip at each position of the mesh.
        sharding: the mesh axes that split each dimension.
    """

    mesh: _mesh.Mesh
    chips: tuple[int, ...]
    sharding: _mesh.Sharding

    @property
    def type(self) -> ShardingType:
        """The kind of sharding."""
        positions = range(self.mesh.size)
        parts = len({self.sharding.shard_index(self.mesh, position) for position in positions})
        if parts == 1:
            return ShardingType.REPLICATED
        return ShardingType.TILED if parts == self.mesh.size else ShardingType.PARTIAL

    def placement(self, shape: Sequence[int]) -> Placement:
        """Returns the placement of a tensor of a shape."""
        return Placement(self.mesh, self.chips, self.sharding, tuple(shape))

    def __str__(self) -> str:
        return hlo_sharding(self.sharding, self.mesh, self.chips)


class Mesh:
    """A grid of devices. Partition specs name its axes.

    Args:
        device_ids: all device numbers, in any shape.
        mesh_shape: number of devices along each axis.
        axis_names: name of each axis, or None.

    Raises:
        SpecError: the shape does not match the number of devices, the names do not match the shape, or a device is not
            there or comes twice. It is an AssertionError and a ValueError.
    """

    def __init__(
        self,
        device_ids: np.ndarray | Sequence[int],
        mesh_shape: Sequence[int],
        axis_names: Sequence[str] | None = None,
    ) -> None:
        self.device_ids = np.asarray(device_ids).reshape(-1)
        self.chips = tuple(map(int, self.device_ids))  # unlike an array, a constant of a graph that dynamo traces
        self.mesh_shape = tuple(int(size) for size in mesh_shape)
        self.axis_names = None if axis_names is None else tuple(axis_names)
        self._check()
        if len(self.chips) > 1:
            announce()

    def _check(self) -> None:
        ids, names, size = self.chips, self.axis_names, math.prod(self.mesh_shape)
        if names is not None:
            if len(names) != len(self.mesh_shape):
                raise SpecError(
                    f"Number of axis names ({len(names)}) must match mesh dimensions ({len(self.mesh_shape)})."
                )
            if len(set(names)) != len(names):
                raise SpecError(f"Axis names must be unique, got: {names}.")
        if size != len(ids):
            raise SpecError(
                f"Number of device IDs ({len(ids)}) must match mesh size ({size}), the product of {self.mesh_shape}."
            )
        if len(set(ids)) != len(ids):
            raise SpecError(f"Device IDs must be unique, got: {list(ids)}.")
        count = _runtime.global_runtime_device_count()
        missing = sorted({device for device in ids if not 0 <= device < count})
        if missing:
            raise SpecError(
                f"Device IDs must be less than mesh size of the system: the mesh names devices {missing}; the system "
                f"has {count}: 0 to {count - 1}. TTXLA_SYSTEM selects another system, such as n300 with two chips."
            )

    def size(self) -> int:
        """Returns the number of devices."""
        return len(self.chips)

    def shape(self) -> OrderedDict[str | int, int]:
        """Returns the number of devices along each axis, by name, or by index where the axes have no names."""
        return OrderedDict(zip(self.axis_names or range(len(self.mesh_shape)), self.mesh_shape, strict=True))

    def get_logical_mesh(self) -> np.ndarray:
        """Returns the device numbers in the shape of the mesh."""
        return self.device_ids.reshape(self.mesh_shape)

    def get_axis_name_idx(self, name: str) -> int | None:
        """Returns the index of an axis; None if no axis has the name."""
        return self.axis_names.index(name) if self.axis_names and name in self.axis_names else None

    def get_op_sharding(self, partition_spec: PartitionSpec) -> OpSharding:
        """Returns how a partition spec splits tensors.

        Raises:
            ValueError: the spec uses an axis twice, or names an unknown axis.
        """
        dims = _mesh.spec_axes(partition_spec, self.axis_names or (), len(self.mesh_shape))
        return OpSharding(*self.chip_mesh(), _mesh.Sharding(dims))

    def get_jax_mesh(self) -> Any:
        """Returns a ``jax.sharding.Mesh`` of the devices of the same numbers.

        Raises:
            ValueError: JAX has no device of a number.
        """
        import jax

        devices = {device.id: device for device in jax.devices()}
        missing = [number for number in self.chips if number not in devices]
        if missing:
            raise ValueError(f"JAX has no devices {missing}; it has {sorted(devices)}.")
        names = self.axis_names or tuple(map(str, range(len(self.mesh_shape))))
        array = np.empty(len(self.chips), dtype=object)
        array[:] = [devices[number] for number in self.chips]
        return jax.sharding.Mesh(array.reshape(self.mesh_shape), names)

    @property
    def axes(self) -> tuple[str, ...]:
        """Name of each axis, also where the user gave none."""
        return self.axis_names or tuple([f"axis_{index}" for index in range(len(self.mesh_shape))])

    def chip_mesh(self) -> ChipMesh:
        """Returns the mesh as the compiler knows it, and the device at each of its positions."""
        return _mesh.Mesh(self.mesh_shape, self.axes), self.chips

    def __str__(self) -> str:
        return str({"device_ids": list(self.chips), "mesh_shape": self.mesh_shape, "axis_names": self.axis_names})

    @classmethod
    def from_str(cls, mesh_str: str) -> Mesh | None:
        """Returns the mesh that a text describes, as ``str`` of a mesh does; None for any other text."""
        try:
            described = ast.literal_eval(mesh_str.replace("Mesh", ""))
            return cls(described["device_ids"], described["mesh_shape"], described["axis_names"])
        except (ValueError, SyntaxError, KeyError, TypeError):
            return None


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


def set_global_mesh(mesh: Mesh | None) -> None:
    """Sets the mesh of programs that have collectives, but no argument with a sharding; None sets the row of all chips.

    It is also the mesh of ``SpmdFullyShardedDataParallel`` and of manual sharding where they are given none.
    """
    session.current.chips.global_mesh = mesh
    set_default_mesh(*(mesh or get_1d_mesh()).chip_mesh())


def get_global_mesh() -> Mesh | None:
    """Returns the mesh that :func:`set_global_mesh` set last, or None."""
    return session.current.chips.global_mesh


def get_1d_mesh(axis_name: str | None = None) -> Mesh:
    """Returns a mesh of all devices in a row."""
    count = _runtime.global_runtime_device_count()
    return Mesh(range(count), (count,), (axis_name,) if axis_name else None)
