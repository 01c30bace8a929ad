"""Opens the mesh of a Program as TT-NN's mesh device, which has two dimensions, and places tensors on it.

Axes of one chip are left out, and neighbouring axes are folded row-major, so that every chip keeps its position. An
axis along which chips exchange tensors is never folded with another one, because TT-NN's collectives work along a whole
dimension of the mesh device.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from tt_xla.codegen.expressions import Call, Expression
from tt_xla.errors import UnsupportedOpError
from tt_xla.ir.mesh import Mesh, Sharding
from tt_xla.ir.program import Program
from tt_xla.target import arrange, load_target

AXIS = "cluster_axis"
"""Attribute of a collective that names the axis of the mesh along which it works."""


@dataclass(frozen=True)
class Placement:
    """The placement of a tensor by TT-NN's mappers and composers, over axes that each split at most one dimension."""

    shape: tuple[int, ...]
    """Number of chips along each axis; the axes are those of the mesh, or neighbouring ones as one."""
    dims: tuple[int | None, ...]
    """Dimension of the tensor that each axis splits; None for an axis along which it is replicated."""


@dataclass(frozen=True)
class DeviceMesh:
    """The mesh device that a Program with a mesh runs on."""

    mesh: Mesh
    """The mesh of the Program."""
    dimensions: tuple[tuple[int, ...], tuple[int, ...]]
    """Axes of the mesh that each dimension of the mesh device consists of, without axes of one chip."""
    ring: bool
    """Whether the links close the chips along a dimension to a ring."""
    routed: bool = False
    """Whether neighbours lack a link, so that their packets take ways over other chips."""
    physical_chips: tuple[int, ...] = ()
    """The chip at each position, where the user chose them; empty where TT-NN finds chips whose neighbours are
    linked."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the mesh device."""
        rows, columns = (math.prod(self.mesh.shape[axis] for axis in axes) for axes in self.dimensions)
        return rows, columns

    @property
    def fabric(self) -> str:
        """Name of the fabric config that collectives need."""
        if self.routed:
            return "FABRIC_2D"  # Packets of FABRIC_1D cannot turn from one row or column of chips into another.
        return "FABRIC_1D_RING" if self.ring else "FABRIC_1D"

    @cached_property
    def _used(self) -> tuple[int, ...]:
        return tuple(axis for axes in self.dimensions for axis in axes)

    def axis(self, axis: int | None) -> int | None:
        """Returns the dimension of the mesh device that an axis of several chips is; None for all chips."""
        if axis is None:
            return None
        return next(number for number, axes in enumerate(self.dimensions) if axis in axes)

    def chips(self, axis: int | None) -> int:
        """Returns the number of chips along an axis of the mesh; None stands for all chips."""
        return self.mesh.size if axis is None else self.mesh.shape[axis]

    def coordinates(self, coordinates: Sequence[int]) -> tuple[int, int]:
        """Returns the row and column of the chip at these coordinates of the mesh."""
        row, column = divmod(self.mesh.position(coordinates), self.shape[1])
        return row, column

    def placement(self, sharding: Sharding) -> Placement | None:
        """Returns how TT-NN places a tensor; None if none of its mappers can.

        A mapper splits each dimension along one axis, so the axes that split a dimension must be neighbours, major
        first.
        """
        dim_of = {axis: dim for dim, axes in enumerate(sharding.dims) for axis in axes}
        groups: list[list[int]] = []
        for axis in self._used:
            before = dim_of.get(groups[-1][-1]) if groups else None
            if groups and before is not None and dim_of.get(axis) == before:
                groups[-1].append(axis)
            else:
                groups.append([axis])
        for dim, axes in enumerate(sharding.dims):
            own = [axis for axis in axes if axis in self._used]
            if own and own not in [group for group in groups if dim_of.get(group[0]) == dim]:
                return None
        if not groups:
            return Placement((1,), (None,))
        shape = tuple(math.prod(self.mesh.shape[axis] for axis in group) for group in groups)
        return Placement(shape, tuple(dim_of.get(group[0]) for group in groups))

    def mapper(self, sharding: Sharding) -> Expression:
        """Returns the config of the mapper that splits a tensor; None for a tensor that every chip holds.

        Raises:
            UnsupportedOpError: no mapper of TT-NN splits it like this.
        """
        if not sharding.axes & {*self._used}:
            return None
        placement = self._placed(sharding)
        kinds = tuple(
            Call("ttnn.PlacementReplicate") if dim is None else Call("ttnn.PlacementShard", (dim,))
            for dim in placement.dims
        )
        return Call("ttnn.MeshMapperConfig", (kinds, *self._override(placement)))

    def composer(self, sharding: Sharding) -> Expression:
        """Returns the config of the composer that joins the shards of a tensor; None if every chip holds all of it.

        The composer stacks replicas along new first dimensions, as many as :meth:`replicated_axes` says.

        Raises:
            UnsupportedOpError: no composer of TT-NN joins it like this.
        """
        if not sharding.axes & {*self._used}:
            return None
        placement = self._placed(sharding)
        first = self.replicated_axes(sharding)
        fresh = iter(range(first))
        dims = tuple(next(fresh) if dim is None else dim + first for dim in placement.dims)
        return Call("ttnn.MeshComposerConfig", (dims, *self._override(placement)))

    def replicated_axes(self, sharding: Sharding) -> int:
        """Returns the number of axes in a tensor's placement along which it is replicated."""
        return self._placed(sharding).dims.count(None)

    def check_reduced(self, sharding: Sharding) -> None:
        """Checks that a tensor is no partial sums.

        Raises:
            UnsupportedOpError: it is, and TT-NN would have to add the chips' tensors.
        """
        if {*sharding.unreduced} & {*self._used}:
            names = ", ".join(self.mesh.axes[axis] for axis in sharding.unreduced)
            raise UnsupportedOpError(
                f"An argument or result of the program is partial sums along the mesh axes {names}, and TT-NN's "
                "mappers and composers do not add tensors.",
                hint="Reshard it to a sharding without unreduced axes inside the program.",
            )

    def _placed(self, sharding: Sharding) -> Placement:
        self.check_reduced(sharding)
        placement = self.placement(sharding)
        if placement is None:
            raise UnsupportedOpError(
                f"TT-NN's mappers cannot split a tensor's dimensions over the axes {sharding.dims} of the mesh "
                f"{self.mesh.shape}: the axes that split one dimension must be neighbours, the major one first.",
                hint="Name the axes of the sharding in the order of the mesh.",
            )
        return placement

    def _override(self, placement: Placement) -> tuple[Expression, ...]:
        """Returns the mesh shape that a config needs where it is not that of the mesh device."""
        return () if placement.shape == self.shape else (Call("ttnn.MeshShape", (placement.shape,)),)


def device_mesh(program: Program) -> DeviceMesh | None:
    """Returns the mesh device that a Program runs on; None for a Program for one chip.

    Raises:
        UnsupportedOpError: chips exchange tensors along more axes than TT-NN's mesh devices have.
        MeshError: the mesh does not fit the links of the Program's system.
    """
    mesh = program.mesh
    if mesh is None:
        return None
    used = [axis for axis, size in enumerate(mesh.shape) if size > 1]
    alone = {
        int(step.attributes[AXIS])
        for function in program.functions
        for step in function.body
        if step.attributes.get(AXIS) is not None
    }
    dimensions = _folded(used, alone)
    if dimensions is None:
        raise UnsupportedOpError(
            f"TT-NN's mesh devices have two dimensions; program '{program.name}' exchanges tensors along axes "
            f"{', '.join(map(str, sorted(alone & {*used})))} of its mesh {'x'.join(map(str, mesh.shape))}.",
            hint="Use a mesh with at most two axes of several chips.",
        )
    shape = tuple(math.prod(mesh.shape[axis] for axis in axes) for axes in dimensions)
    arrangement = arrange(load_target(program.target), shape, mesh.devices)
    return DeviceMesh(
        mesh,
        dimensions,
        ring=any(axis.ring for axis in arrangement.axes),
        routed=any(axis.routes is not None for axis in arrangement.axes),
        physical_chips=arrangement.chips if mesh.devices else (),
    )


def _folded(used: Sequence[int], alone: set[int]) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Returns the axes of each dimension of the mesh device, with those in ``alone`` not folded; None for no way.

    A mesh of one axis is a row of chips; others have rows and columns if possible.
    """
    for cut in (*range(1, len(used)), 0):
        parts = tuple(used[:cut]), tuple(used[cut:])
        if not any(len(part) > 1 and alone & {*part} for part in parts):
            return parts
    return None
