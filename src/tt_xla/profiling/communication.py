"""The exchanges between chips in a recording: the links that they use, and the time that they take."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from tt_xla.errors import MeshError
from tt_xla.profiling.device_time import Kernel
from tt_xla.profiling.recording import LoadedProgram, Op
from tt_xla.target import MeshAxis, arrange
from tt_xla.target.mesh_axis import describe_axis


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
    program = op.program
    number = op.instruction.attributes.get("cluster_axis")
    axes = mesh_axes(program)
    if number is None or program.mesh is None or number >= len(axes):
        return "all", f"{program.mesh.size} chips" if program.mesh is not None else "", None
    axis = axes[number]
    return program.mesh.axes[number], describe_axis(axis, program.target.ethernet_bytes_per_second), axis.narrowest


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
    if op.program.mesh is None or (number is not None and number >= len(axes)):
        return named
    chosen = axes if number is None else axes[number : number + 1]
    rings = number is not None and chosen[0].ring
    return named | {
        "ring_size": math.prod(axis.size for axis in chosen),
        "num_links": attributes.get("num_links") or min((axis.links for axis in chosen), default=1),
        "topology": f"Topology::{'Ring' if rings else 'Linear'}",
    }
