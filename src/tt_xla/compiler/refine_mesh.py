"""Preparation of a localised module's mesh: every group of a collective is made of axes of the mesh afterwards, or has
as many chips as some axes have together.

TT-NN's meshes have rows and columns, so a mesh of one axis gets a first axis of size 1, as in upstream.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from typing import Any

import msgspec

from tt_xla.compiler import meshes
from tt_xla.compiler.meshes import Groups
from tt_xla.compiler.sharding import Localised
from tt_xla.compiler.stablehlo.annotations import replicas
from tt_xla.compiler.stablehlo.outline import walk
from tt_xla.compiler.stablehlo.replica_groups import OVER_AXES, covering_groups_of
from tt_xla.ir.mesh import Mesh, Shape, Sharding

_AXES = 2
"""Least number of axes of a mesh."""


def run(localised: Localised) -> Localised:
    """Returns the module with a mesh of at least two axes, some of them parts of the former axes.

    Other chips take part for those of groups that no mesh makes to axes; only the size of these groups counts.

    Raises:
        MalformedModuleError: the groups of a collective do not name each chip once.
    """
    mesh = localised.mesh
    for groups in _groups(localised):
        if meshes.axes_of(mesh, groups) is None:
            mesh = meshes.split(mesh, groups) or _with_size(mesh, len(groups[0]))
    added = max(0, _AXES - len(mesh.shape))
    if mesh == localised.mesh and not added:
        return localised
    parts = [tuple(part + added for part in axis) for axis in meshes.parts_of(localised.mesh, mesh)]
    return dataclasses.replace(
        localised,
        mesh=msgspec.structs.replace(_with_rows(mesh), devices=localised.mesh.devices),
        arguments=tuple(_refined(argument, parts) for argument in localised.arguments),
        results=tuple(_refined(result, parts) for result in localised.results),
    )


def _with_size(mesh: Mesh, size: int) -> Mesh:
    """Returns a mesh some axes of which have ``size`` chips together; ``size`` divides the number of chips.

    Each axis in turn, the last one first, gives the largest part that divides what is missing. The product of these
    parts is ``size``, since each prime factor of it is one of some axis.
    """
    consecutive = [[*range(start, start + size)] for start in range(0, mesh.size, size)]
    if meshes.axes_elsewhere(mesh, consecutive) is not None:
        return mesh
    shape: list[tuple[int, ...]] = []
    for length in reversed(mesh.shape):
        part = math.gcd(length, size)
        size //= part
        shape.insert(0, (length // part, part) if 1 < part < length else (length,))
    return meshes.with_parts(mesh, shape)


def _groups(localised: Localised) -> Iterator[Groups]:
    """Yields the groups of each collective that works along axes."""
    module: Any = localised.module
    count = replicas(module, localised.mesh.size)
    for op in walk(module.operation):
        if op.name in OVER_AXES:
            yield covering_groups_of(op, localised.mesh.size, count)


def _with_rows(mesh: Mesh) -> Mesh:
    """Returns a mesh with axes of size 1 before the others, if it has less than two."""
    missing = range(_AXES - len(mesh.shape))
    names = [f"rows{index or ''}" for index in missing]
    return Mesh(
        (*(1 for _ in missing), *mesh.shape), (*("_" * (name in mesh.axes) + name for name in names), *mesh.axes)
    )


def _refined(tensor: tuple[Sharding, Shape], parts: list[tuple[int, ...]]) -> tuple[Sharding, Shape]:
    """Returns sharding and global shape of an argument or result in terms of a refined mesh's axes."""
    sharding, shape = tensor
    dims = tuple(tuple(part for axis in axes for part in parts[axis]) for axes in sharding.dims)
    return Sharding(dims, tuple(sorted(part for axis in sharding.unreduced for part in parts[axis]))), shape
