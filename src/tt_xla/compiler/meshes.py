"""Groups of chips as axes of a mesh, and the mesh that a module is for.

Collectives of StableHLO name groups of positions; those of TT-NN run along one axis of the mesh.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import DenseArrayBase, DenseIntOrFPElementsAttr, ModuleOp, TensorType, i64
from xdsl.ir import Attribute, Operation

from tt_xla.errors import MalformedModuleError
from tt_xla.ir.mesh import Mesh, Shape
from tt_xla.ir.ttcore import MeshesAttr

MESHES = "ttcore.meshes"
"""Attribute of a module that gives the shape of its mesh, in TTIR and TTNN."""

DEVICES = "tt.devices"
"""Attribute of a module whose mesh is on devices that the user chose: the number of the device at each position."""

Groups = Sequence[Sequence[int]]
"""Groups of positions, each in the order in which its members count."""


@dataclass(frozen=True)
class GroupAxes:
    """The axes of a mesh along which the members of each group differ."""

    axes: tuple[int, ...]
    """Indices of the axes, major first: the last one varies fastest within a group."""
    order: tuple[int, ...] | None = None
    """For each member, its place in ``Mesh.groups(axes)``; None if the members are in that order."""
    places: tuple[tuple[int, int], ...] | None = None
    """Pairs of a chip and the chip that takes its part in ``Mesh.groups(axes)``; None if each chip takes its own."""


def axes_of(mesh: Mesh, groups: Groups) -> GroupAxes | None:
    """Returns the axes that groups of positions are made of, or None if the groups are no axes of the mesh.

    Groups may be listed in any order. Their members must all be in the same order.
    """
    origin = [mesh.coordinates(position) for position in groups[0]]
    varying = [axis for axis in range(len(mesh.shape)) if len({place[axis] for place in origin}) > 1]
    if math.prod(mesh.shape[axis] for axis in varying) != len(origin):
        return None
    listed = {tuple(group) for group in groups}
    if len(listed) * len(origin) != mesh.size:
        return None
    for axes in itertools.permutations(varying):
        if listed == {tuple(group) for group in mesh.groups(axes)}:
            return GroupAxes(axes)
    return _reordered(mesh, tuple(varying), listed)


def axes_elsewhere(mesh: Mesh, groups: Groups) -> GroupAxes | None:
    """Returns axes with as many chips as groups that are no axes of the mesh, and the chips that take part for theirs.

    Args:
        mesh: The mesh.
        groups: Groups of one size, which name each chip once.

    Returns:
        Fewest axes of that size; None if there are none.
    """
    size, rank = len(groups[0]), len(mesh.shape)
    for axes in itertools.chain.from_iterable(itertools.combinations(range(rank), n) for n in range(rank + 1)):
        if math.prod(mesh.shape[axis] for axis in axes) == size:
            pairs = zip(sorted(map(list, groups)), mesh.groups(axes), strict=True)
            places = [pair for group, taken in pairs for pair in zip(group, taken, strict=True)]
            return GroupAxes(axes, places=tuple(places))
    return None


def _reordered(mesh: Mesh, axes: tuple[int, ...], listed: set[tuple[int, ...]]) -> GroupAxes | None:
    """Returns the axes of groups whose members are in an order of their own, the same in each group."""
    canonical = {frozenset(group): group for group in mesh.groups(axes)}
    orders: set[tuple[int, ...]] = set()
    for group in listed:
        members = canonical.get(frozenset(group))
        if members is None:
            return None
        orders.add(tuple(members.index(position) for position in group))
    return GroupAxes(axes, orders.pop()) if len(orders) == 1 else None


def split(mesh: Mesh, groups: Groups) -> Mesh | None:
    """Returns the mesh with axes split so that the groups may become axes; None if no split does that.

    Every axis of the result is a part of one axis of the mesh, in the same order.
    """
    group = sorted(min(groups, key=min))
    cuts = _cuts([position - group[0] for position in group])
    if cuts is None:
        return None
    cuts |= set(strides(mesh.shape)) | {mesh.size}
    ordered = sorted(cuts, reverse=True)
    if any(outer % inner for outer, inner in itertools.pairwise(ordered)):
        return None
    shape: list[tuple[int, ...]] = []
    for size, stride in zip(mesh.shape, strides(mesh.shape), strict=True):
        inside = [cut for cut in ordered if stride <= cut <= stride * size]
        shape.append(tuple(outer // inner for outer, inner in itertools.pairwise(inside)) or (1,))
    refined = with_parts(mesh, shape)
    members = [sorted(group) for group in groups]
    return refined if axes_of(refined, members) is not None else None


def with_parts(mesh: Mesh, shape: Sequence[Sequence[int]]) -> Mesh:
    """Returns a mesh whose axes are split into parts of these sizes, major first."""
    names = [
        [name] if len(parts) == 1 else [f"{name}_{index}" for index in range(len(parts))]
        for name, parts in zip(mesh.axes, shape, strict=True)
    ]
    return Mesh(tuple(itertools.chain.from_iterable(shape)), tuple(itertools.chain.from_iterable(names)))


def _cuts(offsets: list[int]) -> set[int] | None:
    """Returns the strides at which a regular set of offsets, which starts at 0, divides positions; else None."""
    cuts: set[int] = set()
    while len(offsets) > 1:
        stride, count = offsets[1], 1
        while count < len(offsets) and offsets[count] == count * stride:
            count += 1
        if len(offsets) % count:
            return None
        cuts |= {stride, stride * count}
        offsets = offsets[::count]
    return cuts


def strides(shape: Shape) -> tuple[int, ...]:
    """Returns the distance in positions between neighbours along each axis."""
    return tuple(math.prod(shape[axis + 1 :]) for axis in range(len(shape)))


def parts_of(mesh: Mesh, refined: Mesh) -> list[tuple[int, ...]]:
    """Returns, for each axis of a mesh, the axes of a refined mesh that it was split into, major first."""
    parts: list[tuple[int, ...]] = []
    position = 0
    for size in mesh.shape:
        start, product = position, 1
        while position < len(refined.shape) and (product < size or position == start):
            product *= refined.shape[position]
            position += 1
        parts.append(tuple(range(start, position)))
    return parts


def dense(rows: Sequence[Sequence[int]]) -> DenseIntOrFPElementsAttr:
    """Returns rows of equal length as a dense i64 attribute."""
    array = np.array(rows, np.int64)
    return DenseIntOrFPElementsAttr.from_list(TensorType(i64, array.shape), array.reshape(-1).tolist())


def dense_groups(sizes: Shape, axis: int) -> DenseIntOrFPElementsAttr:
    """Returns the groups of the chips along an axis of a mesh of these sizes, as ``replica_groups``."""
    return dense(Mesh(sizes, ()).groups((axis,)))


def mesh_attributes(shape: Shape, devices: Sequence[int] = ()) -> dict[str, Attribute]:
    """Returns the attributes of a module for a mesh of this shape, on the devices that the user chose."""
    attributes: dict[str, Attribute] = {MESHES: MeshesAttr((("mesh", shape),))}
    return attributes | ({DEVICES: DenseArrayBase.from_list(i64, devices)} if devices else {})


def mesh_shape(module: ModuleOp) -> Shape | None:
    """Returns the shape of a module's mesh; None for a module for one chip."""
    meshes = module.attributes.get(MESHES)
    if not isinstance(meshes, MeshesAttr) or not meshes.data:
        return None
    return meshes.data[0][1]


def mesh_devices(module: ModuleOp) -> tuple[int, ...]:
    """Returns the number of the device at each position of a module's mesh; nothing if the user chose none."""
    devices = module.attributes.get(DEVICES)
    return tuple(map(int, devices.iter_values())) if isinstance(devices, DenseArrayBase) else ()


def mesh_of(module: ModuleOp) -> Mesh | None:
    """Returns the mesh that a module is for, with numbers as names of its axes; None for one chip."""
    shape = mesh_shape(module) or ()
    names = tuple(map(str, range(len(shape))))
    return Mesh(shape, names, mesh_devices(module)) if math.prod(shape) > 1 else None


def mesh_shape_of(op: Operation) -> Shape:
    """Returns the shape of the mesh that an op's module is for.

    Raises:
        MalformedModuleError: the module does not say.
    """
    ancestor: Operation | None = op
    while ancestor is not None:
        shape = mesh_shape(ancestor) if isinstance(ancestor, ModuleOp) else None
        if shape is not None:
            return shape
        ancestor = ancestor.parent_op()
    raise MalformedModuleError(
        f"'{op.name}' works between chips, but the module has no mesh.",
        hint=f'Add the attribute {MESHES} = #ttcore.meshes<[<"mesh" = 1x2>]> to the module.',
    )


def axis_size(op: Operation, axis: int) -> int:
    """Returns the number of chips along an axis of the mesh that an op's module is for.

    Raises:
        MalformedModuleError: the module has no mesh, or the mesh has no such axis.
    """
    shape = mesh_shape_of(op)
    if axis >= len(shape):
        raise MalformedModuleError(f"'{op.name}' has cluster_axis {axis}; the mesh {shape} has {len(shape)} axes.")
    return shape[axis]
