"""The roofline: the least time in which a chip could run an op, whatever the kernel.

An op needs at least the time of its arithmetic at the matrix unit's peak on all cores at the op's fidelity, that of its
bytes in DRAM at the documented bandwidth, and, for an exchange between chips, that of its bytes at the links' line
rate. The longest of these is the roofline (Williams, Waterman and Patterson, "Roofline: an insightful visual
performance model", CACM 52(4), 2009, with a third roof for links). Arithmetic and bytes are those of the logical
shapes, so padding to tiles counts as distance from the roofline. docs/cost_model.md states the definition.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from tt_xla.cost import collective, families
from tt_xla.cost.rates import rates_of
from tt_xla.cost.shares import fidelity_of, inputs_of
from tt_xla.ir.layout import TILE, BufferType
from tt_xla.ir.mesh import Mesh
from tt_xla.ir.program import Cost, Instruction, TensorSpec
from tt_xla.ir.ranks import row_of_ranks
from tt_xla.target import Target

LABELS = {"compute": "compute", "dram": "DRAM", "noc": "NoC", "launch": "dispatch", "link": "links"}
"""Bounds of ops in words, by the name that :attr:`tt_xla.ir.program.Cost.bound` returns."""

_PRODUCTS = (*families.MATMULS, "minimal_matmul")
_PARTLY_READ = ("embedding", "gather", "mesh_partition", "rows_gather", "slice_dynamic", "slice_static")
"""Ops that read no more elements of each operand than their result has."""


@dataclass(frozen=True)
class Roofline:
    """The least times of an op in microseconds: of arithmetic, of bytes in DRAM, and of bytes on links."""

    compute_us: float = 0.0
    dram_us: float = 0.0
    link_us: float = 0.0

    @property
    def us(self) -> float:
        """The longest of the three times."""
        return max(self.compute_us, self.dram_us, self.link_us)

    @property
    def roof(self) -> str:
        """The name of the longest time: ``compute``, ``DRAM`` or ``links``; empty if all are 0."""
        times = {"compute": self.compute_us, "DRAM": self.dram_us, "links": self.link_us}
        return max(times, key=lambda name: times[name]) if self.us else ""


def roofline(instruction: Instruction, values: Sequence[TensorSpec], target: Target, mesh: Mesh | None) -> Roofline:
    """Returns the roofline of an op on one chip. Transfers between host and device, and ops of the host, have none.

    Args:
        instruction: the op, whose operands and results are positions in ``values``.
        values: shapes and layouts of the function's values.
        target: the system.
        mesh: the chips that run the program; None for one chip.

    Raises:
        MeshError: the system cannot form the mesh.
    """
    specs = (*inputs_of(instruction, values)[:1], *(values[number] for number in instruction.results))
    if any(not spec.layout.on_device for spec in specs):
        return Roofline()
    rates = rates_of(target, row_of_ranks(instruction.attributes) or mesh)
    link_us = collective.least_link_us(instruction, values, rates)
    dram_us = 1e6 * dram_bytes(instruction, values) / target.dram_peak_bytes_per_second
    compute_us = 1e6 * operations(instruction, values) / peak_operations(target, fidelity_of(instruction))
    return Roofline(compute_us, dram_us, link_us)


def peak_operations(target: Target, fidelity: str) -> float:
    """Returns the operations per second that the matrix units of all cores of a chip reach at a fidelity.

    A multiplication and an addition count as two operations.
    """
    return 2.0 * target.macs_per_cycle[fidelity] * target.clock_hz * target.cores


def operations(instruction: Instruction, values: Sequence[TensorSpec]) -> float:
    """Returns the arithmetic operations of an op.

    Products, convolutions and attention count two for each multiplication of their matrix products, without padding
    and without what a causal mask leaves out. Other ops count one for each element of their first result.
    """
    name = instruction.op.rpartition(".")[2]
    inputs = inputs_of(instruction, values)
    if not instruction.results or name in collective.STEPS:
        return 0.0
    result = values[instruction.results[0]]
    if name in _PRODUCTS:
        transposed = instruction.attributes.get("transpose_a") and len(inputs[0].shape) > 1
        return 2.0 * math.prod(result.shape) * inputs[0].shape[-2 if transposed else -1]
    if name in families.CONVOLUTIONS:
        return _convolution(instruction, inputs, result)
    if name in families.ATTENTIONS:
        return _decode(inputs) if "decode" in name else _attention(instruction, inputs)
    return float(math.prod(result.shape))


def _convolution(instruction: Instruction, inputs: Sequence[TensorSpec], result: TensorSpec) -> float:
    """Returns the operations of a convolution; a transposed one multiplies each input position by the kernel."""
    attributes = instruction.attributes
    kernel = attributes.get("kernel_size") or 1
    window = kernel if isinstance(kernel, int) else math.prod(kernel)
    spec = inputs[0] if "transpose" in instruction.op else result
    channels = int(attributes.get("in_channels") or inputs[0].shape[-1]) // int(attributes.get("groups") or 1)
    outputs = int(attributes.get("out_channels") or result.shape[-1])
    return 2.0 * math.prod(spec.shape[:-1]) * window * channels * outputs


def _attention(instruction: Instruction, inputs: Sequence[TensorSpec]) -> float:
    """Returns the operations of attention over many queries, which are the last positions of the keys."""
    query, key, value = inputs[0], inputs[1], inputs[min(2, len(inputs) - 1)]
    rows, length = query.shape[-2], key.shape[-2]
    keys = length - (rows - 1) / 2 if instruction.attributes.get("is_causal") and rows <= length else float(length)
    window = instruction.attributes.get("sliding_window_size")
    if window:
        keys = min(keys, float(window))
    return 2.0 * math.prod(query.shape[:-1]) * keys * (query.shape[-1] + value.shape[-1])


def _decode(inputs: Sequence[TensorSpec]) -> float:
    """Returns the operations of attention with one query per head, which attends to all keys of its sequence."""
    query, key, value = inputs[0], inputs[1], inputs[min(2, len(inputs) - 1)]
    return 2.0 * key.shape[0] * key.shape[-2] * query.shape[-2] * (query.shape[-1] + value.shape[-1])


def dram_bytes(instruction: Instruction, values: Sequence[TensorSpec]) -> float:
    """Returns the bytes that an op moves between DRAM and the cores at least, without padding.

    Each tensor in DRAM is read or written once. An op that reads or writes a part of a tensor moves that part only.
    """
    name = instruction.op.rpartition(".")[2]
    read = [values[number] for number in dict.fromkeys(instruction.operand_values())]
    results = [values[number] for number in instruction.results]
    if name in families.CACHE_WRITES:  # the new rows come from one tensor and go into the other
        return 2.0 * _bytes(read[1]) if len(read) > 1 else 0.0
    most = math.prod(results[0].shape) if name in _PARTLY_READ and results else math.inf
    return sum(_bytes(spec, most) for spec in read) + sum(map(_bytes, results))


def _bytes(spec: TensorSpec, most: float = math.inf) -> float:
    """Returns the bytes of at most ``most`` elements of a tensor in DRAM; 0 for a tensor elsewhere."""
    if spec.layout.buffer is not BufferType.DRAM or spec.layout.dtype.is_host_only:
        return 0.0
    return min(math.prod(spec.shape), most) * spec.layout.dtype.tile_bytes / TILE**2


def bound(cost: Cost, gap_us: float = 0.0) -> str:
    """Returns the bound of an op, a value of :data:`LABELS`, or ``PCIe``; empty for an op that takes no time.

    Args:
        cost: the predicted time of the op and its parts.
        gap_us: time until the next op starts, which counts as dispatch like the launch.
    """
    if not cost.total_us:
        return ""
    largest = msgspec.structs.replace(cost, launch_us=cost.launch_us + gap_us).bound
    return "PCIe" if largest == "noc" and not cost.cores else LABELS[largest]  # transfers use no core
