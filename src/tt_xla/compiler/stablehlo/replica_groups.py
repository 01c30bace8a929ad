"""The chips that a collective op names, as positions in the mesh.

A StableHLO process is a replica and a partition; its position is ``replica * partitions + partition``. A module of one
replica may name positions in every form, as the localiser and XLA do. Groups are a table of ids or, as JAX 0.12 writes
them, the axes of a mesh along which the groups lie.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import sdy, stablehlo
from numpy.typing import NDArray

from tt_xla.errors import MalformedModuleError

ORDERED = ("stablehlo.all_gather", "stablehlo.all_to_all", "stablehlo.reduce_scatter")
"""Collectives over axes of the mesh that depend on the order of the chips in a group."""
OVER_AXES = ("stablehlo.all_reduce", *ORDERED)
"""Collectives that run along axes of the mesh."""
COLLECTIVES = (*OVER_AXES, "stablehlo.collective_broadcast", "stablehlo.collective_permute")
OVER_BOTH = ("stablehlo.all_gather", "stablehlo.all_reduce", "stablehlo.reduce_scatter")
"""Collectives whose groups of replicas are, with a channel, those of all their partitions."""
POSITIONS = ("stablehlo.partition_id", "stablehlo.replica_id")
"""Ops that return a number of the chip itself."""

_MOST_CHIPS = 1 << 16
"""Largest mesh whose groups are written out; a damaged module may name one that no memory holds."""


def groups_of(op: Any, chips: int, replicas: int) -> list[list[int]]:
    """Returns the groups of positions that a collective names.

    Args:
        op: a StableHLO collective with ``replica_groups``.
        chips: number of chips of the mesh.
        replicas: number of replicas of the module.

    Raises:
        MalformedModuleError: a group names a chip or a mesh axis that does not exist.
    """
    ids = [[number for number in row if number >= 0] for row in table_of(op).tolist()]
    groups = _processes([row for row in ids if row], op, chips, replicas)
    _check_positions([position for group in groups for position in group], op, chips)
    return groups


def table_of(op: Any) -> NDArray[np.int64]:
    """Returns the ids in the groups that a collective names, a row for each group; -1 fills short rows.

    Args:
        op: a StableHLO collective with ``replica_groups``.

    Raises:
        MalformedModuleError: the groups lie along an axis that their mesh does not have, or the mesh is too large.
    """
    groups = op.attributes["replica_groups"]
    if isinstance(groups, ir.DenseElementsAttr):
        return np.array(groups, np.int64, ndmin=2)
    along_axes: Any = stablehlo.ReplicaGroupMeshAxesAttr(groups)
    sizes, ids = _mesh_of(op, along_axes.mesh)
    first, offsets = np.arange(len(ids)), np.zeros(1, np.int64)
    for axis in map(stablehlo.AxisRefAttr, along_axes.axes):
        stride, size = _digit(axis, sizes)
        first = first[first // stride % max(size, 1) == 0]
        offsets = (offsets[:, None] + stride * np.arange(size)).reshape(-1)
    table = first[:, None] + offsets
    if table.size != len(ids):  # an axis is not in the mesh, is named twice, or has no such part
        raise MalformedModuleError(
            f"The replica_groups of a {op.operation.name} are {groups}, expected axes of a mesh with the axes {sizes}, "
            "each once, or parts that divide them.",
            location=str(op.location),
        )
    return ids[table]


def _mesh_of(op: Any, mesh: Any) -> tuple[dict[str, int], NDArray[np.int64]]:
    """Returns the sizes of the axes of a mesh that groups lie along, and the id at each position of the mesh.

    Raises:
        MalformedModuleError: the mesh has more chips than any system.
    """
    if isinstance(mesh, ir.FlatSymbolRefAttr):
        module = op.operation
        while module.parent is not None:
            module = module.parent
        declared = ir.SymbolTable(module)[mesh.value]
        attribute: Any = sdy.MeshAttr(declared.attributes["mesh"])
        sizes = {axis.name: axis.size for axis in map(sdy.MeshAxisAttr, attribute.axes)}
        ids = list(attribute.device_ids)
    else:
        attribute = stablehlo.MeshAttr(mesh)
        sizes = {axis.name: axis.size for axis in map(stablehlo.MeshAxisAttr, attribute.axes)}
        ids = [] if attribute.device_ids is None else np.array(attribute.device_ids).tolist()
    chips = math.prod(sizes.values())
    if not 0 < chips <= _MOST_CHIPS:
        raise MalformedModuleError(
            f"The replica_groups of a {op.operation.name} lie along axes of a mesh of {chips} chips, expected at most "
            f"{_MOST_CHIPS}.",
            location=str(op.location),
        )
    return sizes, np.array(ids or range(chips), np.int64)


def _digit(axis: Any, sizes: dict[str, int]) -> tuple[int, int]:
    """Returns stride and size of the positions along an axis of a mesh or a part of one; size 0 if it is not there."""
    if axis.name not in sizes:
        return 1, 0
    stride = math.prod([*sizes.values()][[*sizes].index(axis.name) + 1 :])
    if axis.sub_axis_info is None:
        return stride, sizes[axis.name]
    part: Any = stablehlo.SubAxisInfoAttr(axis.sub_axis_info)
    if min(part.pre_size, part.size) < 1 or sizes[axis.name] % (part.pre_size * part.size):
        return 1, 0
    return stride * (sizes[axis.name] // (part.pre_size * part.size)), part.size


def covering_groups_of(op: Any, chips: int, replicas: int) -> list[list[int]]:
    """Returns the groups of a collective in which every chip takes part, in groups of one size.

    Raises:
        MalformedModuleError: a chip is in no group, or the groups differ in size.
    """
    groups = groups_of(op, chips, replicas)
    if sum(map(len, groups)) != chips or len({len(group) for group in groups}) != 1:
        raise MalformedModuleError(
            f"The replica_groups of a {op.operation.name} are {groups}, expected groups of one size with each of the "
            f"{chips} chips."
        )
    if op.operation.name not in ORDERED:
        return [sorted(group) for group in groups]
    return groups


def pairs_of(op: Any, chips: int, replicas: int) -> list[tuple[int, int]]:
    """Returns source and target position of each pair of a ``collective_permute``.

    Raises:
        MalformedModuleError: a chip does not exist.
    """
    rows: list[list[int]] = np.array(op.attributes["source_target_pairs"], np.int64).reshape(-1, 2).tolist()
    processes = [_processes([row], op, chips, replicas) for row in rows]
    pairs = [(source, target) for group in processes for source, target in group]
    _check_positions([position for pair in pairs for position in pair], op, chips)
    return pairs


def _check_positions(positions: Iterable[int], op: Any, chips: int) -> None:
    """Checks that a collective names chips of the mesh only.

    Raises:
        MalformedModuleError: a chip does not exist.
    """
    beyond = sorted(position for position in set(positions) if not 0 <= position < chips)
    if beyond:
        raise MalformedModuleError(
            f"A {op.operation.name} names the chips {beyond}, expected positions from 0 to {chips - 1}."
        )


def numbers_of_chips(name: str, chips: int, replicas: int) -> NDArray[np.int64]:
    """Returns the ``stablehlo.partition_id`` or ``stablehlo.replica_id`` of each chip, by position."""
    replica, partition = np.divmod(np.arange(chips), chips // replicas)
    return partition if name == "stablehlo.partition_id" else replica


def _processes(ids: list[list[int]], op: Any, chips: int, replicas: int) -> list[list[int]]:
    """Returns groups of positions from groups of ids of replicas, partitions or both, as StableHLO defines them."""
    attributes, name = op.attributes, op.operation.name
    partitions = chips // replicas
    over_both = name in OVER_BOTH
    with_channel = has_channel(op)
    is_global = "use_global_device_ids" in attributes
    if not ids:
        ids = [list(range(chips if is_global else partitions if with_channel and not over_both else replicas))]
    if is_global or (replicas == 1 and max(map(max, ids)) > 0):
        return ids
    if with_channel and over_both:  # cross_replica_and_partition
        return [[replica * partitions + part for part in range(partitions) for replica in row] for row in ids]
    if with_channel:  # cross_partition
        return [[replica * partitions + part for part in row] for row in ids for replica in range(replicas)]
    return [[replica * partitions + part for replica in row] for row in ids for part in range(partitions)]


def has_channel(op: Any) -> bool:
    """Whether a collective has a channel, with which it is between partitions too."""
    attributes = op.attributes
    return "channel_handle" in attributes and stablehlo.ChannelHandle(attributes["channel_handle"]).handle > 0
