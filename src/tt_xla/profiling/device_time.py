"""Places recorded kernels on the device's clock, one after another, with predicted durations.

The emulated card computes each kernel on the host, which takes far longer than a chip would. So the device has a clock
of its own, which stops while a kernel is emulated. A kernel starts after the predicted gap to the kernel before it, or,
if it is the first of a run, after the time that the host spent between the two.

A program for several chips is the same on each of them, so the clock is that of the first chip. What the card emulates
for the other chips takes no time on it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tt_xla.cost.roofline import Roofline, roofline
from tt_xla.cost.roofline import bound as bound_of
from tt_xla.cost.shares import fidelity_of
from tt_xla.ir.device_operations import TRANSFERS
from tt_xla.ir.layout import TILE, BufferType, round_up
from tt_xla.ir.op_table import FIDELITY_LABELS
from tt_xla.ir.program import HOST_OPS, TensorSpec
from tt_xla.profiling.op_codes import mnemonic, op_code
from tt_xla.profiling.recording import Op, Recording, Run

MATMULS = frozenset({"matmul", "linear"})
"""TTNN ops that are matrix products, by name without dialect."""


@dataclass(frozen=True, slots=True)
class Kernel:
    """One call of a kernel. ``host`` times are nanoseconds of the host's clock, ``start_ns`` of the device's."""

    op: Op
    run: int
    """Number of the run that the call belongs to."""
    replayed: bool
    """Whether the call was replayed from a trace."""
    host_start: int
    host_end: int
    start_ns: float
    duration_ns: float
    gap_ns: float
    """Time since the end of the kernel before."""
    idle_ns: int
    """Host time in the gap before the first kernel of a run; 0 for the other kernels."""

    @property
    def code(self) -> str:
        """Name of the op in profiler files."""
        return op_code(self.op)[0]

    @property
    def category(self) -> str:
        """Category of the op in ``tt-perf-report``."""
        return op_code(self.op)[1]

    @property
    def on_device(self) -> bool:
        """Whether the chip runs the op, which is neither a transfer over PCIe nor a computation on the host."""
        return self.op.instruction.op not in HOST_OPS and mnemonic(self.op) not in TRANSFERS


def kernels(recording: Recording, *, host_idle: bool = True) -> list[Kernel]:
    """Returns the first chip's kernel calls that take time, transfers and host computations included, in order.

    Args:
        recording: The recording.
        host_idle: Whether the chip waits for the host between runs; otherwise all gaps are predicted ones.
    """
    kernel_calls: list[Kernel] = []
    clock, last_end = 0.0, recording.started
    for number, run in enumerate(recording.runs):
        first = True
        for op_number, start, end in recording.events[run.first : run.last]:
            op = recording.ops[op_number]
            duration = duration_ns(op, end - start)
            if not duration or op.chip:
                continue
            idle = max(0, start - last_end - recording.interrupted_ns(last_end, start)) if first and host_idle else 0
            replayed = op.traced and run.state == "captured"
            gap = max(_gap_ns(op, run), idle)
            kernel_calls.append(Kernel(op, number, replayed, start, end, clock + gap, duration, gap, idle))
            clock += gap + duration
            last_end, first = end, False
        last_end = max(last_end, run.end)
    return kernel_calls


def duration_ns(op: Op, measured_ns: int) -> float:
    """Returns an op's predicted duration, or the measured one if the host computes it on a card too.

    The duration of an op that takes no time, such as a view, is 0.
    """
    return float(measured_ns) if op.instruction.op in HOST_OPS else op.instruction.cost.total_us * 1e3


def _gap_ns(op: Op, run: Run) -> float:
    target = op.program.target
    traced = op.traced and run.state == "captured"
    return 1e3 * (target.gap_us_traced if traced else target.gap_us_untraced)


def fidelity(op: Op) -> str:
    """Returns the math fidelity, such as ``HiFi4``; empty for ops without one."""
    if op_code(op)[0].startswith(("Matmul", "Conv2d")) or op.instruction.attributes.get("compute_config"):
        return FIDELITY_LABELS[fidelity_of(op.instruction)]
    return ""


def padded_sizes(spec: TensorSpec) -> list[int]:
    """Returns the sizes W, Z, Y and X of a tensor with tile padding."""
    sizes = four_sizes(spec.shape)
    return [*sizes[:2], round_up(sizes[2], TILE), round_up(sizes[3], TILE)] if spec.layout.tiled else sizes


def four_sizes(shape: Sequence[int]) -> list[int]:
    """Returns a shape as four sizes W, Z, Y and X; W is the product of all dimensions before the last three."""
    sizes = [1] * (4 - len(shape)) + list(shape)
    return [math.prod(sizes[:-3]), *sizes[-3:]]


def flops(op: Op) -> float:
    """Returns the operations of a matrix product, counted on padded tiles as in ``tt-perf-report``; 0 for other ops."""
    if mnemonic(op) not in MATMULS or len(op.inputs) < 2:
        return 0.0
    left, out = padded_sizes(op.inputs[0]), padded_sizes(op.outputs[0])
    inner = left[2] if op.instruction.attributes.get("transpose_a") else left[3]
    return 2.0 * out[0] * out[1] * out[2] * out[3] * inner


def peak_flops(op: Op) -> float:
    """Returns the peak operations per second of the cores that an op uses, at its fidelity."""
    target = op.program.target
    return 2.0 * target.macs_per_cycle[fidelity_of(op.instruction)] * target.clock_hz * op.instruction.cost.cores


def utilisation(op: Op) -> float:
    """Returns the fraction of peak FLOPs that a matrix product is predicted to reach; 0 for other ops."""
    peak, seconds = peak_flops(op), op.instruction.cost.total_us * 1e-6
    return flops(op) / seconds / peak if peak and seconds else 0.0


def dram_bytes(specs: Iterable[TensorSpec]) -> int:
    """Returns the bytes of those tensors that are in DRAM."""
    return sum(spec.layout.bytes for spec in specs if spec.layout.buffer is BufferType.DRAM)


def dram_utilisation(op: Op) -> float:
    """Returns the fraction of DRAM's peak bandwidth that an op is predicted to use."""
    seconds = op.instruction.cost.total_us * 1e-6
    moved = dram_bytes([*op.inputs, *op.outputs])
    return moved / seconds / op.program.target.dram_peak_bytes_per_second if seconds else 0.0


def roofline_of(op: Op) -> Roofline:
    """Returns the least times in which a chip could run an op (:mod:`tt_xla.cost.roofline`)."""
    program = op.program.program
    values = next(function.values for function in program.functions if function.name == op.function)
    return roofline(op.instruction, values, op.program.target, op.program.mesh)


def cost_model_bound(op: Op) -> str:
    """Returns the largest part of an op's predicted time, which bounds it.

    One of ``compute``, ``DRAM``, ``NoC``, ``dispatch``, ``links`` and ``PCIe``; the gap to the next op is dispatch.
    """
    target = op.program.target
    return bound_of(op.instruction.cost, target.gap_us_traced if op.traced else target.gap_us_untraced)


SLOW = 0.65
"""Fraction of a peak from which on an op is bound by it, as in ``tt-perf-report``."""


def perf_report_bound(op: Op) -> str:
    """Returns the bound of an op in the words of ``tt-perf-report``; empty if it is unknown.

    ``FLOP``, ``DRAM``, ``BOTH``, ``SLOW`` and ``HOST`` are as in ``tt-perf-report``; ``LINK`` is an exchange between
    chips.
    """
    if op.instruction.op in HOST_OPS:
        return "HOST"
    if op.instruction.cost.bound == "link":
        return "LINK"
    if mnemonic(op) not in MATMULS:
        return ""
    near = utilisation(op) >= SLOW, dram_utilisation(op) >= SLOW
    return {(True, True): "BOTH", (True, False): "FLOP", (False, True): "DRAM"}.get(near, "SLOW")
