"""The device time of ops that move data between chips.

The time of a collective is a start, a handshake on each hop of the longest way, and the bytes that cross the narrowest
link. Bytes and ways are those of tenstorrent/tt-metal's ``tech_reports/CCLs/CCL_bandwidth.md``: on a line, the end of
the line receives through one link all that it lacks; a ring halves both. An all_reduce is a reduce_scatter and an
all_gather.

The constants were fitted to the measured points of that report (``tests/data/measured/ccl.csv``) by
``benchmarks/fit_collectives.py``, which also prices each system with constants fitted to the other ones.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tt_xla.cost.rates import Rates, Work
from tt_xla.cost.shares import inputs_of, traffic
from tt_xla.ir.layout import TensorLayout
from tt_xla.ir.mesh import Mesh, Shape
from tt_xla.ir.program import Cost, Instruction, TensorSpec
from tt_xla.ir.ranks import PROCESS_GROUP, row_of_ranks
from tt_xla.target import MeshAxis, Target, arrange


@dataclass(frozen=True, slots=True)
class Path:
    """Behaviour of an exchange on one topology."""

    hop_cycles: float
    """Cycles of handshakes and barriers for each hop, besides the hop itself."""
    efficiency: float
    """Part of a link's line rate that large tensors reach."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """Behaviour of one kind of exchange."""

    start_cycles: float
    """Cycles to launch, to open connections, and to wait for the last bytes."""
    line: Path
    ring: Path


EXCHANGES = {
    "all_gather": Exchange(4807.0, Path(1250.0, 0.936), Path(2345.0, 0.830)),
    "reduce_scatter": Exchange(4171.0, Path(3446.0, 0.750), Path(2965.0, 0.672)),
    "all_to_all": Exchange(2640.0, Path(904.0, 0.652), Path(2331.0, 0.672)),
}

EXCHANGES["broadcast"] = EXCHANGES["all_gather"]

STEPS: dict[str, tuple[str, ...]] = {
    "all_gather": ("all_gather",),
    "all_broadcast": ("all_gather",),
    "broadcast": ("broadcast",),
    "reduce_scatter": ("reduce_scatter",),
    "all_reduce": ("reduce_scatter", "all_gather"),
    "all_reduce_async": ("reduce_scatter", "all_gather"),
    "all_to_all": ("all_to_all",),
    "all_to_all_dispatch": ("all_to_all",),
    "all_to_all_dispatch_metadata": ("all_to_all",),
    "all_to_all_combine": ("all_to_all",),
}
"""Exchanges that an op consists of, by op."""


def collective(instruction: Instruction, values: Sequence[TensorSpec], rates: Rates, steps: tuple[str, ...]) -> Cost:
    """Returns the cost of an exchange between the chips along an axis of the mesh.

    Args:
        steps: exchanges that the op consists of, one after the other; keys of :data:`EXCHANGES`.
    """
    works = _works(instruction, values)
    axis = _axis(instruction, values, rates)
    if _gathers_to_reduce(instruction, values):
        works += works[:1] * axis.size
        return _cost(rates, [exchange("all_gather", axis, works[0].bytes * axis.size, rates)], works, axis)
    size = _exchanged_bytes(instruction, steps, works)
    return _cost(rates, [exchange(step, axis, size, rates) for step in steps], works, axis)


def _gathers_to_reduce(instruction: Instruction, values: Sequence[TensorSpec]) -> bool:
    """Returns whether each chip gathers all tensors and reduces them itself, as TT-NN's reductions add floats only.

    In a program for a mesh such a reduction is ops of its own (``ttir-decompose``); one of ranks is a single op.
    """
    kind = instruction.attributes.get("reduce_type")
    if PROCESS_GROUP not in instruction.attributes or kind is None:
        return False
    (spec,) = inputs_of(instruction, values)[:1]
    return kind not in ("sum", "mean") or not spec.layout.dtype.is_float


def least_link_us(instruction: Instruction, values: Sequence[TensorSpec], rates: Rates) -> float:
    """Returns the time of an exchange's bytes on the links at their line rate, without handshakes; 0 for other ops."""
    name = instruction.op.rpartition(".")[2]
    if name == "point_to_point":
        return _works(instruction, values)[0].bytes / rates.link_bandwidth / rates.links
    steps = STEPS.get(name)
    if steps is None:
        return 0.0
    axis = _axis(instruction, values, rates)
    works = _works(instruction, values)
    size = _exchanged_bytes(instruction, steps, works)
    if _gathers_to_reduce(instruction, values):
        steps, size = ("all_gather",), works[0].bytes * axis.size
    return sum(_bottleneck_bytes(step, axis.size, size) for step in steps) / _line_rate(axis, rates)


def _exchanged_bytes(instruction: Instruction, steps: tuple[str, ...], works: Sequence[Work]) -> int:
    """Returns the bytes of the tensor before it is split, or after it is joined.

    Of an all_to_all between parts of different sizes, it is the larger one of what the rank sends and receives.
    """
    if instruction.attributes.get("sent"):
        return max(work.bytes for work in works)
    return sum(work.bytes for work in works[1:]) if steps == ("all_gather",) else works[0].bytes


def _line_rate(axis: MeshAxis, rates: Rates) -> float:
    """Returns the bytes per microsecond of the links between neighbours.

    Chips of other groups share the links between neighbours that are several chips apart.
    """
    return rates.link_bandwidth * axis.links * (2 if axis.ring else 1) / axis.sharing


def exchange(kind: str, axis: MeshAxis, size: float, rates: Rates) -> tuple[float, float]:
    """Returns the time to start an exchange and the time on its links, in microseconds.

    Args:
        kind: key of :data:`EXCHANGES`.
        axis: the chips that take part.
        size: bytes of the tensor before it is split, or after it is joined; for an all_to_all, of a chip's tensor.
        rates: speeds of the chips.
    """
    figures = EXCHANGES[kind]
    path = figures.ring if axis.ring else figures.line
    hops = axis.size / 2 if axis.ring else axis.size - 1
    crossing = _bottleneck_bytes(kind, axis.size, size) / (_line_rate(axis, rates) * path.efficiency)
    if (kind == "all_gather" and axis.size > 1) or (
        kind == "all_to_all" and axis.size == 2
    ):  # only from its own tensors
        crossing = max(crossing, size / axis.size / (rates.sender_bandwidth * axis.links))
    return figures.start_cycles * rates.cycle_us, hops * (
        axis.stride * rates.hop + path.hop_cycles * rates.cycle_us
    ) + crossing


def _bottleneck_bytes(kind: str, chips: int, size: float) -> float:
    """Returns the bytes that cross the narrowest cut between chips, in one direction if they are on a line."""
    if kind == "all_to_all":
        return (chips // 2) * ((chips + 1) // 2) / chips * size
    if kind == "broadcast":
        return size
    return (chips - 1) / chips * size


SCATTERING = ("ttnn.reduce_scatter", "ttnn.all_reduce")
"""Ops that have a buffer of their own for what other chips send: TT-NN's ``reduce_scatter_minimal_async``."""


def scatter_buffers(
    instruction: Instruction, values: Sequence[TensorSpec], target: Target, mesh: Mesh | None
) -> tuple[TensorSpec | None, TensorSpec | None]:
    """Returns the buffers that an op of :data:`SCATTERING` allocates in DRAM besides its result.

    The first one is for what arrives: as large as the operand for a ring, twice that for a line. The second one is the
    chip's part of the sum, of an all_reduce whose tensor the chips can divide. Both are None for one chip, and for a
    reduction that gathers.
    """
    (spec,) = inputs_of(instruction, values)[:1]
    mesh = row_of_ranks(instruction.attributes) or mesh
    if mesh is None or _gathers_to_reduce(instruction, values):
        return None, None
    axis = arrange(target, mesh.shape, mesh.devices).axes[int(instruction.attributes["cluster_axis"])]
    if axis.size == 1:
        return None, None
    arriving = spec.shape if axis.ring else (2, *spec.shape)
    dims = [dim for dim, size in enumerate(spec.shape) if size % axis.size == 0]
    part = None
    if instruction.op == "ttnn.all_reduce" and dims:
        dim = dims[0]
        part = _in_dram((*spec.shape[:dim], spec.shape[dim] // axis.size, *spec.shape[dim + 1 :]), spec)
    return _in_dram(arriving, spec), part


def _in_dram(shape: Shape, like: TensorSpec) -> TensorSpec:
    return TensorSpec(shape, TensorLayout.of(shape, like.layout.dtype, tiled=like.layout.tiled))


def point_to_point(instruction: Instruction, values: Sequence[TensorSpec], rates: Rates, _: Any) -> Cost:
    """Returns the cost of sending a tensor from one chip to another, along one axis of the mesh after the other."""
    works = _works(instruction, values)
    axes, sender, receiver = rates.axes, *_places(instruction)
    if not len(axes) == len(sender) == len(receiver):
        axes, sender, receiver = (_unknown_axis(rates),), (0,), (1,)
    hops = 0
    for axis, first, second in zip(axes, sender, receiver, strict=True):
        distance = abs(first - second)
        hops += axis.stride * min(distance, axis.size - distance if axis.ring else distance)
    figures = EXCHANGES["all_to_all"]
    efficiency = figures.line.efficiency
    # One worker sends through one channel.
    crossing = works[0].bytes / min(rates.link_bandwidth * efficiency, rates.sender_bandwidth) if hops else 0.0
    way = hops * rates.hop + (figures.line.hop_cycles * rates.cycle_us if hops else 0.0)
    return _cost(rates, [(figures.start_cycles * rates.cycle_us, way + crossing)], works, axes[0])


def _places(instruction: Instruction) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Returns the coordinates of the chips that send and receive; empty where the op does not name them."""
    sender, receiver = (instruction.attributes.get(name) or () for name in ("sender_coord", "receiver_coord"))
    return tuple(map(int, sender)), tuple(map(int, receiver))


def with_statistics(cost: Cost, instruction: Instruction, values: Sequence[TensorSpec], rates: Rates) -> Cost:
    """Returns the cost of a norm whose chips exchange a column of tiles with the sums of their rows."""
    axis = _axis(instruction, values, rates)
    rows = math.prod(values[instruction.results[0]].shape[:-1])
    start, link = exchange("all_gather", axis, rows * _STATISTICS_BYTES * axis.size, rates)
    total = cost.total_us + start + link
    return Cost(
        total, cost.compute_us, cost.dram_us, cost.noc_us, cost.launch_us + start, cost.cores, cost.link_us + link
    )


_STATISTICS_BYTES = 32 * 2
"""Bytes of a row of a bfloat16 tile, in which a chip sends the sum of a row."""


def _works(instruction: Instruction, values: Sequence[TensorSpec]) -> list[Work]:
    """Returns the first operand, which is the tensor that moves, and the results."""
    specs = [*inputs_of(instruction, values)[:1], *(values[number] for number in instruction.results)]
    return [Work(spec.layout) for spec in specs]


def _cost(rates: Rates, steps: Sequence[tuple[float, float]], works: Sequence[Work], axis: MeshAxis) -> Cost:
    """Returns the cost of exchanges one after the other. Each chip reads and writes its tensors meanwhile."""
    launch = sum(start for start, _ in steps)
    link = sum(time for _, time in steps)
    cores = 2 * axis.links
    dram, _ = traffic(works, rates, 1.0 / cores)
    return Cost(launch + max(link, dram), 0.0, dram, 0.0, launch, cores, link)


def _axis(instruction: Instruction, values: Sequence[TensorSpec], rates: Rates) -> MeshAxis:
    """Returns the axis along which an op exchanges, with the links and the topology that the op asks for."""
    number = instruction.attributes.get("cluster_axis")
    if number is not None and int(number) < len(rates.axes):
        axis = rates.axes[int(number)]
    elif number is None and rates.axes:
        axis = _all_chips(rates)
    else:
        axis = _unknown_axis(rates, int(instruction.attributes.get("ranks") or _shares(instruction, values)))
    links = instruction.attributes.get("num_links")
    topology = instruction.attributes.get("topology")
    ring = axis.ring if topology is None else str(topology) == "ring" and axis.size > 2
    used = axis.links if links is None else max(int(links), 1)
    return MeshAxis(axis.size, ring, used, axis.stride, routes=axis.routes)


def _all_chips(rates: Rates) -> MeshAxis:
    """Returns all chips of the mesh as one row."""
    size = math.prod(axis.size for axis in rates.axes)
    several = [axis for axis in rates.axes if axis.size > 1]
    links = min((axis.links for axis in several), default=1)
    return several[0] if len(several) == 1 else MeshAxis(size, ring=False, links=links, stride=1)


def _unknown_axis(rates: Rates, size: int = 2) -> MeshAxis:
    """Returns a line of chips for an op of a program that names no mesh."""
    return MeshAxis(size, ring=False, links=rates.links, stride=1)


def _shares(instruction: Instruction, values: Sequence[TensorSpec]) -> int:
    """Returns the number of chips, as far as the shapes of a gather or scatter tell it; else 2."""
    before = inputs_of(instruction, values)[:1]
    after = [values[number] for number in instruction.results[:1]]
    sizes = sorted(math.prod(spec.shape) for spec in itertools.chain(before, after))
    return max(sizes[-1] // sizes[0], 2) if sizes and sizes[0] else 2
