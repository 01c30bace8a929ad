"""The exchanges between chips in a recording: the links that they use, and the time that they take."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from tt_xla.errors import MeshError
from tt_xla.ir.ranks import CLUSTER_AXIS, PROCESS_GROUP, row_of_ranks
from tt_xla.profiling.device_time import Kernel
from tt_xla.profiling.recording import LoadedProgram, Op
from tt_xla.target import MeshAxis, arrange
from tt_xla.target.mesh_axis import describe_axis
from tt_xla.target.routes import links_along


@dataclass(frozen=True)
class AxisLine:
    """The exchanges along one axis of the mesh."""

    axis: str
    """Name of the axis; ``all`` for exchanges of all chips."""
    links: str
    """Topology and channels of the axis in words."""
    narrowest: tuple[int, int] | None
    """Chips of a hop with the fewest channels."""
    count: int
    """Number of exchanges."""
    device_us: float
    """Predicted time of the exchanges."""


def is_exchange(op: Op) -> bool:
    """Returns whether chips exchange data in an op."""
    return op.instruction.cost.link_us > 0.0


def communication_ns(kernels: Iterable[Kernel]) -> float:
    """Returns the predicted time of the kernel calls in which chips exchange data."""
    return sum(kernel.duration_ns for kernel in kernels if is_exchange(kernel.op))


def by_axis(kernels: Iterable[Kernel]) -> tuple[AxisLine, ...]:
    """Returns the exchanges along each axis of the mesh, longest first."""
    groups: defaultdict[tuple[str, str, tuple[int, int] | None], list[Kernel]] = defaultdict(list)
    for kernel in kernels:
        if is_exchange(kernel.op):
            groups[_axis_key(kernel.op)].append(kernel)
    lines = [
        AxisLine(name, links, narrowest, len(group), sum(kernel.duration_ns for kernel in group) / 1e3)
        for (name, links, narrowest), group in groups.items()
    ]
    return tuple(sorted(lines, key=lambda line: -line.device_us))


def _axis_key(op: Op) -> tuple[str, str, tuple[int, int] | None]:
    program, attributes = op.program, op.instruction.attributes
    if PROCESS_GROUP in attributes:
        axis = axis_of_ranks(op)
        links = f"{attributes['ranks']} ranks" if axis is None else _links_in_words(axis, program)
        return f"process group {attributes[PROCESS_GROUP]}", links, axis and axis.narrowest
    number = attributes.get("cluster_axis")
    axes = mesh_axes(program)
    if number is None or program.mesh is None or number >= len(axes):
        return "all", f"{program.mesh.size} chips" if program.mesh is not None else "", None
    axis = axes[number]
    return program.mesh.axes[number], _links_in_words(axis, program), axis.narrowest


def _links_in_words(axis: MeshAxis, program: LoadedProgram) -> str:
    return describe_axis(axis, program.target.ethernet_bytes_per_second)


def axis_of_ranks(op: Op) -> MeshAxis | None:
    """Returns the links between the chips of the ranks that an exchange of ``torch.distributed`` has.

    Returns:
        The links; None for other exchanges, and for ranks on several hosts.
    """
    mesh = row_of_ranks(op.instruction.attributes)
    return None if mesh is None else arrange(op.program.target, mesh.shape, mesh.devices).axes[CLUSTER_AXIS]


def links_of_ranks(op: Op) -> tuple[tuple[int, int], ...]:
    """Returns the links that an exchange of ``torch.distributed`` uses, as pairs of chips; none if they are unknown."""
    mesh, target = row_of_ranks(op.instruction.attributes), op.program.target
    if mesh is None:
        return ()
    return links_along(target, arrange(target, mesh.shape, mesh.devices), CLUSTER_AXIS)


def mesh_axes(program: LoadedProgram) -> Sequence[MeshAxis]:
    """Returns the links along each axis of a program's mesh; none for one chip, or if the system lacks links."""
    if program.mesh is None:
        return ()
    try:
        return arrange(program.target, program.mesh.shape, program.mesh.devices).axes
    except MeshError:
        return ()


def link_attributes(op: Op) -> dict[str, Any]:
    """Returns the attributes of an exchange as tt-metal's profiler names them."""
    attributes, axes = op.instruction.attributes, mesh_axes(op.program)
    dim = attributes.get("all_gather_dim", attributes.get("scatter_dim"))
    named: dict[str, Any] = {} if dim is None else {"dim": dim}
    number = attributes.get("cluster_axis")
    if PROCESS_GROUP in attributes:
        axis = axis_of_ranks(op)
        rings = axis is not None and axis.ring
        links = 1 if axis is None else axis.links
        return named | {"ring_size": attributes["ranks"], "num_links": links, "topology": _topology(ring=rings)}
    if op.program.mesh is None or (number is not None and number >= len(axes)):
        return named
    chosen = axes if number is None else axes[number : number + 1]
    rings = number is not None and chosen[0].ring
    return named | {
        "ring_size": math.prod(axis.size for axis in chosen),
        "num_links": attributes.get("num_links") or min((axis.links for axis in chosen), default=1),
        "topology": _topology(ring=rings),
    }


def _topology(*, ring: bool) -> str:
    return f"Topology::{'Ring' if ring else 'Linear'}"
