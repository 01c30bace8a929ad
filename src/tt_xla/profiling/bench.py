"""The single-chip benchmark procedure on a recording: step times, device time, overhead, what the ops are.

On the emulated card a step's wall clock includes the emulation of its kernels, which a card computes itself. So the
*host* time is the wall clock without the kernels, and the wall clock of a card is taken to be the host's time, the
predicted device time, and the predicted gaps between its ops.
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from tt_xla.errors import EmptyRecordingError
from tt_xla.profiling.device_time import MATMULS, Kernel, bound, kernels, utilisation
from tt_xla.profiling.op_codes import COMPUTE, TM, mnemonic
from tt_xla.profiling.recording import Recording
from tt_xla.profiling.steps import Step, find_steps, steady

HOST_BOUND_OVERHEAD = 70.0
"""Percent of the wall clock that is not device time, from which on a workload is taken to be bound by the host."""

LONG_GAP_US = 6.5
"""Gaps between ops above it are the host's: ``tt-perf-report`` marks them."""


@dataclass(frozen=True)
class Spread:
    """Of the steady steps."""

    mean: float
    median: float
    min: float
    max: float

    @staticmethod
    def of(values: Sequence[float]) -> Spread:
        return Spread(statistics.fmean(values), statistics.median(values), min(values), max(values))


@dataclass(frozen=True)
class OpLine:
    """All calls of one kind of op in the step that is looked at."""

    code: str
    category: str
    count: int
    device_us: float
    share: float
    """Percent of device time."""
    bound: str
    utilisation: float | None
    """Percent of peak FLOPs, weighted with time; None but for matrix products."""
    source: str


@dataclass(frozen=True)
class Bench:
    """Microseconds and percents; times with ``wall`` are of the host's clock, ``device`` ones predicted."""

    system: str
    steps: int
    compile_steps: int
    compile_ms: float
    """Wall clock of the steps that compile."""
    measured_ms: Spread
    """Wall clock of a steady step, emulation included."""
    wall_ms: Spread
    """The same as on a card: host, device and gaps one after another."""
    host_ms: float
    """Mean of what the host did besides emulating kernels."""
    device_ms: float
    """Mean predicted device time."""
    gaps_ms: float
    overhead_percent: float
    """Of :attr:`wall_ms`."""
    measured_overhead_percent: float
    """Of :attr:`measured_ms`: what the procedure gives when the emulation counts as the host's."""
    op_count: int
    """Ops a step; those of the last one."""
    dispatch_us: float
    """What an op costs the host: (wall clock - device time) / ops."""
    host_ops: int
    """Ops of which the host does the work also on a card."""
    long_gaps: int
    """Ops that start more than 6.5 us after the one before."""
    categories: dict[str, float]
    """Percent of device time: Compute, TM, Other."""
    matmul_utilisation: float | None
    """Percent of peak FLOPs of matrix products, weighted with their time; None without one."""
    verdict: str
    reasons: tuple[str, ...]
    ops: tuple[OpLine, ...]
    """The last steady step, longest first."""
    slow: tuple[OpLine, ...]
    """Ops that are bound by neither the matrix unit nor DRAM, longest first: the best ones to work on."""
    partial: str
    """Why the script ended early; empty if it did not."""

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def measure(recording: Recording, count: int | None = None) -> Bench:
    """What the last ``count`` steady steps took.

    Raises:
        EmptyRecordingError: the script never stepped, or never without compiling.
    """
    steps = find_steps(recording)
    chosen = steady(steps, count)
    found = kernels(recording)
    per_step = [_within(found, step) for step in chosen]
    if not any(per_step):
        raise EmptyRecordingError("The steady steps run no op on the device: they read what was computed before.")
    host = [_ms(step.end - step.start) - _emulated_ms(recording, step) for step in chosen]
    device = [sum(kernel.duration_ns for kernel in each if kernel.on_device) / 1e6 for each in per_step]
    gaps = [sum(kernel.gap_ns for kernel in each if not kernel.idle_ns) / 1e6 for each in per_step]
    pcie = [sum(kernel.duration_ns for kernel in each if not kernel.on_device) / 1e6 for each in per_step]
    wall = [sum(parts) for parts in zip(host, device, gaps, pcie, strict=True)]
    measured = [_ms(step.end - step.start) for step in chosen]
    last = [kernel for kernel in per_step[-1] if kernel.on_device or kernel.category == "Host"]
    lines = _lines(last)
    mean_wall, mean_device = statistics.fmean(wall), statistics.fmean(device)
    overhead = _percent(mean_wall - mean_device, mean_wall)
    long_gaps = sum(kernel.gap_ns > LONG_GAP_US * 1e3 for kernel in last[1:])
    dispatch = 1e3 * (mean_wall - mean_device) / max(len(last), 1)
    verdict, reasons = _verdict(overhead, long_gaps, len(last), dispatch, lines)
    compiling = [step for step in steps if step.compiles]
    return Bench(
        system=recording.programs[0].target.name,
        steps=len(chosen),
        compile_steps=len(compiling),
        compile_ms=sum(_ms(step.end - step.start) for step in compiling),
        measured_ms=Spread.of(measured),
        wall_ms=Spread.of(wall),
        host_ms=statistics.fmean(host),
        device_ms=mean_device,
        gaps_ms=statistics.fmean(gaps),
        overhead_percent=overhead,
        measured_overhead_percent=_percent(statistics.fmean(measured) - mean_device, statistics.fmean(measured)),
        op_count=len(last),
        dispatch_us=dispatch,
        host_ops=sum(not kernel.on_device for kernel in last),
        long_gaps=long_gaps,
        categories=_categories(lines),
        matmul_utilisation=_weighted_utilisation(last),
        verdict=verdict,
        reasons=reasons,
        ops=tuple(lines),
        slow=tuple(line for line in lines if line.bound in ("SLOW", ""))[:10],
        partial=recording.error,
    )


def _within(found: Sequence[Kernel], step: Step) -> list[Kernel]:
    return [kernel for kernel in found if step.start <= kernel.host_start < step.end]


def _emulated_ms(recording: Recording, step: Step) -> float:
    return _ms(sum(end - start for _, start, end in recording.events if step.start <= start < step.end))


def _ms(nanoseconds: float) -> float:
    return nanoseconds / 1e6


def _percent(part: float, whole: float) -> float:
    return 100 * part / whole if whole else 0.0


def _lines(found: Sequence[Kernel]) -> list[OpLine]:
    """Kernels by op code and shapes, longest first."""
    groups: defaultdict[tuple[str, bytes], list[Kernel]] = defaultdict(list)
    for kernel in found:
        groups[kernel.code, kernel.op.identity].append(kernel)
    total = sum(kernel.duration_ns for kernel in found) or 1.0
    lines: list[OpLine] = []
    for (code, _), group in groups.items():
        op, us = group[0].op, sum(kernel.duration_ns for kernel in group) / 1e3
        known = 100 * utilisation(op) if mnemonic(op) in MATMULS else None
        shapes = ", ".join("x".join(map(str, spec.shape)) or "scalar" for spec in op.inputs[:2])
        lines.append(
            OpLine(
                f"{code.removesuffix('DeviceOperation')} {shapes}",
                group[0].category,
                len(group),
                us,
                _percent(us * 1e3, total),
                bound(op),
                known,
                op.instruction.location,
            )
        )
    return sorted(lines, key=lambda line: -line.device_us)


def _categories(lines: Sequence[OpLine]) -> dict[str, float]:
    total = sum(line.device_us for line in lines)
    found = {COMPUTE: 0.0, TM: 0.0, "Other": 0.0}
    for line in lines:
        found[line.category if line.category in found else "Other"] += _percent(line.device_us, total)
    return found


def _weighted_utilisation(found: Sequence[Kernel]) -> float | None:
    products = [kernel for kernel in found if mnemonic(kernel.op) in MATMULS]
    total = sum(kernel.duration_ns for kernel in products)
    if not total:
        return None
    return 100 * sum(utilisation(kernel.op) * kernel.duration_ns for kernel in products) / total


def _verdict(
    overhead: float, long_gaps: int, count: int, dispatch: float, lines: Sequence[OpLine]
) -> tuple[str, tuple[str, ...]]:
    """``HOST-bound`` by the procedure's rule, else what most device time goes to."""
    if overhead > HOST_BOUND_OVERHEAD:
        reasons = [f"overhead is {overhead:.0f} % of the wall clock, more than {HOST_BOUND_OVERHEAD:.0f} %"]
        if 2 * long_gaps > count:
            reasons.append(f"{long_gaps} of {count} ops start more than {LONG_GAP_US} us after the one before")
        reasons.append(f"an op costs the host {dispatch:.1f} us: fewer ops (fusion, trace) or larger batches help")
        return "HOST-bound", tuple(reasons)
    by_bound: defaultdict[str, float] = defaultdict(float)
    for line in lines:
        by_bound[line.bound or line.category] += line.share
    largest = max(by_bound, key=lambda name: by_bound[name])
    return "DEVICE-bound", (f"{by_bound[largest]:.0f} % of device time are ops of kind {largest}",)
