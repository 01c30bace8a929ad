"""Recorded kernels on the device's clock: predicted durations, one after another.

The emulated card computes each kernel on the host, which takes far longer than a chip would. So the device has a clock
of its own, which stands still while a kernel is emulated: a kernel starts a gap after the one before it, as predicted,
or, where the program has only now been started, after the time that the host spent in between.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tt_xla.cost.shares import fidelity_of
from tt_xla.ir.layout import TILE, BufferType, round_up
from tt_xla.ir.program import HOST_OPS, TensorSpec
from tt_xla.profiling.op_codes import TRANSFERS, mnemonic, op_code
from tt_xla.profiling.recording import Op, Recording, Run

MATMULS = frozenset({"matmul", "linear"})


@dataclass(frozen=True, slots=True)
class Kernel:
    """One call of a kernel. ``host`` times are of the host's clock, ``start_ns`` of the device's."""

    op: Op
    run: int
    """Number of the run it belongs to."""
    replayed: bool
    """Whether it was replayed from a trace."""
    host_start: int
    host_end: int
    start_ns: float
    duration_ns: float
    gap_ns: float
    """Since the end of the kernel before."""
    idle_ns: int
    """Part of the gap that is not between two ops of one run: the host's own time."""

    @property
    def code(self) -> str:
        return op_code(self.op)[0]

    @property
    def category(self) -> str:
        return op_code(self.op)[1]

    @property
    def on_device(self) -> bool:
        """Whether the chip runs it: neither a move over PCIe nor work of the host's."""
        return self.op.instruction.op not in HOST_OPS and mnemonic(self.op) not in TRANSFERS


def kernels(recording: Recording) -> list[Kernel]:
    """All kernel calls that take device time, transfers and host work included, in order."""
    found: list[Kernel] = []
    clock, last_end = 0.0, recording.started
    for number, run in enumerate(recording.runs):
        first = True
        for called, start, end in recording.events[run.first : run.last]:
            op = recording.ops[called]
            duration = duration_ns(op, end - start)
            if not duration:
                continue
            gap, idle = _gap_ns(op, run), max(0, start - last_end) if first else 0
            replayed = op.traced and run.state == "captured"
            gap = max(gap, idle)
            found.append(Kernel(op, number, replayed, start, end, clock + gap, duration, gap, idle))
            clock += gap + duration
            last_end, first = end, False
        last_end = max(last_end, run.end)
    return found


def duration_ns(op: Op, measured_ns: int) -> float:
    """Predicted; of what the host computes on a card too, as measured. 0 for what takes no time, as views do."""
    return float(measured_ns) if op.instruction.op in HOST_OPS else op.instruction.cost.total_us * 1e3


def _gap_ns(op: Op, run: Run) -> float:
    target = op.program.target
    traced = op.traced and run.state == "captured"
    return 1e3 * (target.gap_us_traced if traced else target.gap_us_untraced)


def fidelity(op: Op) -> str:
    """``HiFi4``; empty for ops that have none."""
    if op_code(op)[0].startswith(("Matmul", "Conv2d")) or op.instruction.attributes.get("compute_config"):
        return {"lofi": "LoFi", "hifi2": "HiFi2", "hifi3": "HiFi3", "hifi4": "HiFi4"}[fidelity_of(op.instruction)]
    return ""


def padded(spec: TensorSpec) -> list[int]:
    """Sizes with tile padding, W, Z, Y and X; leading dimensions beyond four are part of W."""
    sizes = four(spec.shape)
    return [*sizes[:2], round_up(sizes[2], TILE), round_up(sizes[3], TILE)] if spec.layout.tiled else sizes


def four(shape: Sequence[int]) -> list[int]:
    """A shape as four sizes."""
    sizes = [1] * (4 - len(shape)) + list(shape)
    extra = sizes[: len(sizes) - 3]
    product = 1
    for size in extra:
        product *= size
    return [product, *sizes[-3:]]


def flops(op: Op) -> float:
    """Of a matrix product, counted on padded tiles as ``tt-perf-report`` does; 0 for other ops."""
    if mnemonic(op) not in MATMULS or len(op.inputs) < 2:
        return 0.0
    left, out = padded(op.inputs[0]), padded(op.outputs[0])
    inner = left[2] if op.instruction.attributes.get("transpose_a") else left[3]
    return 2.0 * out[0] * out[1] * out[2] * out[3] * inner


def peak_flops(op: Op) -> float:
    """Per second, of the cores that the op uses at its fidelity."""
    target = op.program.target
    return 2.0 * target.macs_per_cycle[fidelity_of(op.instruction)] * target.clock_hz * op.instruction.cost.cores


def utilisation(op: Op) -> float:
    """Of a matrix product: the part of the peak that it is predicted to reach; 0 for other ops."""
    peak, seconds = peak_flops(op), op.instruction.cost.total_us * 1e-6
    return flops(op) / seconds / peak if peak and seconds else 0.0


def dram_bytes(specs: Iterator[TensorSpec] | Sequence[TensorSpec]) -> int:
    return sum(spec.layout.bytes for spec in specs if spec.layout.buffer is BufferType.DRAM)


def dram_utilisation(op: Op) -> float:
    """The part of DRAM's peak bandwidth that the op is predicted to use."""
    seconds = op.instruction.cost.total_us * 1e-6
    moved = dram_bytes([*op.inputs, *op.outputs])
    return moved / seconds / op.program.target.dram_peak_bytes_per_second if seconds else 0.0


SLOW = 0.65
"""Below this part of either peak an op is slow, by the rule of ``tt-perf-report``."""


def bound(op: Op) -> str:
    """``FLOP``, ``DRAM``, ``BOTH``, ``SLOW`` or ``HOST``, by ``tt-perf-report``'s rules; empty where none applies."""
    if op.instruction.op in HOST_OPS:
        return "HOST"
    if mnemonic(op) not in MATMULS:
        return ""
    near = utilisation(op) >= SLOW, dram_utilisation(op) >= SLOW
    return {(True, True): "BOTH", (True, False): "FLOP", (False, True): "DRAM"}.get(near, "SLOW")
