"""The benchmark procedure for a single chip, on a recording: step times, device time, overhead and a table of ops.

On the emulated card the wall-clock time of a step includes the emulation of its kernels, which a card computes itself,
and with TT-NN it includes waiting for results. So *host* time is the wall-clock time without both, *card* time is the
predicted device time with the predicted gaps between ops and transfers, and the time of a step with a card is estimated
as the sum of both. Of several steps, figures are medians: one step in which the machine did something else does not
change them.
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from tt_xla.errors import EmptyRecordingError
from tt_xla.ir.op_table import CCL, COMPUTE, HOST, OTHER, TM
from tt_xla.profiling.communication import AxisLine, by_axis, communication_ns
from tt_xla.profiling.device_time import MATMULS, Kernel, kernels, perf_report_bound, utilisation
from tt_xla.profiling.micro_steps import MicroStep, find_micro_steps
from tt_xla.profiling.op_codes import mnemonic
from tt_xla.profiling.recording import Recording
from tt_xla.profiling.steps import find_steps, steady

HOST_BOUND_OVERHEAD = 70.0
"""Percent of the wall-clock time that is not device time, above which a workload is bound by the host."""

LONG_GAP_US = 6.5
"""Microseconds above which a gap between ops is due to the host; ``tt-perf-report`` marks such gaps."""


@dataclass(frozen=True)
class Spread:
    """Statistics of a time over the steady steps."""

    median: float
    mean: float
    min: float
    max: float

    @staticmethod
    def of(values: Sequence[float]) -> Spread:
        """Returns the statistics of at least one value."""
        return Spread(statistics.median(values), statistics.fmean(values), min(values), max(values))


@dataclass(frozen=True)
class MicroSteps:
    """Times of the forward and backward passes of the steady steps; predicted wall-clock times on a card."""

    per_step: float
    """Mean number of micro-steps in a step: more than 1 with gradient accumulation."""
    wall_ms: Spread
    """Time of a forward pass and its backward pass."""
    forward_ms: Spread | None
    """Time of a forward pass; None where one run holds both passes."""
    backward_ms: Spread | None
    """Time of a backward pass; None where one run holds both passes."""


@dataclass(frozen=True)
class OpLine:
    """All calls of one op with the same shapes in the last steady step."""

    code: str
    category: str
    count: int
    device_us: float
    share: float
    """Percent of device time."""
    bound: str
    """Limit of the op, as :func:`tt_xla.profiling.device_time.perf_report_bound` returns it."""
    utilisation: float | None
    """Percent of peak FLOPs, weighted by time; None for ops other than matrix products."""
    source: str
    """The user's line, ``file:line``."""


@dataclass(frozen=True)
class Bench:
    """Figures of a benchmark, in milliseconds unless a name says otherwise.

    ``measured`` and ``host`` times are those of this machine's clock. ``card``, ``device`` and ``gaps`` times are
    predicted. ``wall`` times are estimates that contain both.
    """

    system: str
    steps: int
    compile_steps: int
    compile_ms: float
    """Wall-clock time of the steps that compile."""
    measured_ms: Spread
    """Wall-clock time of a steady step, emulation or waiting for TT-NN included."""
    wall_ms: Spread
    """Wall-clock time of a steady step with a card at this machine: the sum of host time and card time."""
    card_ms: float
    """Median predicted time that the card alone takes for a step: ops, gaps between them, and transfers over PCIe."""
    host_ms: float
    """Median time of the host's work other than emulating kernels, and without waiting for a card."""
    device_ms: float
    """Median predicted time of the ops of a step."""
    gaps_ms: float
    """Median predicted time between the ops of a step."""
    overhead_percent: float
    """Percent of the median :attr:`wall_ms` that is not device time."""
    op_count: int
    """Number of ops in the last steady step."""
    dispatch_us: float
    """Microseconds an op that are not device time: (wall-clock time - device time) / number of ops."""
    host_ops: int
    """Number of ops that the host computes on a card too."""
    long_gaps: int
    """Number of ops that start more than 6.5 us after the op before."""
    communication_ms: float
    """Median predicted time of the ops in which chips exchange data; a part of :attr:`device_ms`."""
    links: tuple[AxisLine, ...]
    """Exchanges of the last steady step along each axis of the mesh, longest first: the first one's links bound it."""
    categories: dict[str, float]
    """Percent of device time by category: Compute, TM, CCL, Other."""
    matmul_utilisation: float | None
    """Percent of peak FLOPs that matrix products reach, weighted by their time; None if there are none."""
    micro_steps: MicroSteps | None
    """Times of forward and backward passes; None without backward passes that run apart from the optimizer."""
    verdict: str
    """``HOST-bound`` or ``DEVICE-bound``."""
    reasons: tuple[str, ...]
    """Reasons of the verdict, in words."""
    ops: tuple[OpLine, ...]
    """Ops of the last steady step, longest first."""
    slow: tuple[OpLine, ...]
    """Ops that neither the matrix unit nor DRAM limits, longest first; these gain most from work on them."""
    runtime: str
    """The runtime of the programs, as ``TTXLA_RUNTIME`` names it."""
    partial: str
    """Error that ended the script early; empty if it did not end early."""

    def as_dict(self) -> dict[str, Any]:
        """Returns the figures as plain data, for JSON."""
        return asdict(self)


def measure(recording: Recording, count: int | None = None) -> Bench:
    """Returns the figures of the last steady steps.

    Args:
        recording: The recording of a script.
        count: Number of steps at most; None for all steady steps.

    Raises:
        EmptyRecordingError: The script has no steps, every step compiles, or the steady steps run nothing on the
            device.
    """
    steps = find_steps(recording)
    chosen = steady(steps, count)
    kernel_calls = kernels(recording)
    per_step = [_within(kernel_calls, step.start, step.end) for step in chosen]
    if not any(per_step):
        raise EmptyRecordingError("The steady steps run no op on the device; they only read earlier results.")
    times = [_times(recording, calls, step.start, step.end) for step, calls in zip(chosen, per_step, strict=True)]
    wall, measured = Spread.of([time.wall for time in times]), Spread.of([time.measured for time in times])
    last = [kernel for kernel in per_step[-1] if kernel.on_device or kernel.category == HOST]
    lines = _lines(last)
    device = statistics.median(time.device for time in times)
    overhead = _percent(wall.median - device, wall.median)
    long_gaps = sum(kernel.gap_ns > LONG_GAP_US * 1e3 for kernel in last[1:])
    dispatch = 1e3 * (wall.median - device) / max(len(last), 1)
    verdict, reasons = _verdict(overhead, long_gaps, len(last), dispatch, lines)
    compiling = [step for step in steps if step.compiles]
    return Bench(
        system=recording.programs[0].target.name,
        steps=len(chosen),
        compile_steps=len(compiling),
        compile_ms=sum(_ms(step.end - step.start) for step in compiling),
        measured_ms=measured,
        wall_ms=wall,
        card_ms=statistics.median(time.card for time in times),
        host_ms=statistics.median(time.host for time in times),
        device_ms=device,
        gaps_ms=statistics.median(time.gaps for time in times),
        overhead_percent=overhead,
        op_count=len(last),
        dispatch_us=dispatch,
        host_ops=sum(not kernel.on_device for kernel in last),
        long_gaps=long_gaps,
        communication_ms=statistics.median(communication_ns(calls) for calls in per_step) / 1e6,
        links=by_axis(last),
        categories=_categories(lines),
        matmul_utilisation=_weighted_utilisation(last),
        micro_steps=_micro_steps(recording, kernel_calls, find_micro_steps(recording, chosen), len(chosen)),
        verdict=verdict,
        reasons=reasons,
        ops=tuple(lines),
        slow=tuple(line for line in lines if line.bound in ("SLOW", ""))[:10],
        runtime=recording.runtime,
        partial=recording.error,
    )


def _within(kernel_calls: Sequence[Kernel], start: int, end: int) -> list[Kernel]:
    """Returns the calls that start within a span of the host's clock."""
    return [kernel for kernel in kernel_calls if start <= kernel.host_start < end]


@dataclass(frozen=True)
class _Times:
    """Milliseconds of a span of the script."""

    measured: float
    """Time of this machine's clock, without the recorder's own work."""
    host: float
    """The same without emulating kernels, or waiting for a card."""
    device: float
    gaps: float
    pcie: float

    @property
    def card(self) -> float:
        return self.device + self.gaps + self.pcie

    @property
    def wall(self) -> float:
        return self.host + self.card


def _times(recording: Recording, calls: Sequence[Kernel], start: int, end: int) -> _Times:
    """Returns the times of a span of the host's clock, in which ``calls`` start."""
    emulated = sum(stop - begin for _, begin, stop in recording.events if start <= begin < end)
    emulated += recording.waited_ns(start, end)
    measured = end - start - recording.interrupted_ns(start, end)
    return _Times(
        measured=_ms(measured),
        host=_ms(measured - emulated),
        device=_ms(sum(kernel.duration_ns for kernel in calls if kernel.on_device)),
        gaps=_ms(sum(kernel.gap_ns for kernel in calls if not kernel.idle_ns)),
        pcie=_ms(sum(kernel.duration_ns for kernel in calls if not kernel.on_device)),
    )


def _micro_steps(
    recording: Recording, kernel_calls: Sequence[Kernel], found: Sequence[MicroStep], steps: int
) -> MicroSteps | None:
    """Returns the times of the micro-steps of ``steps`` steps; None if there are none."""
    if not found:
        return None

    def spread(spans: Sequence[tuple[int, int]]) -> Spread:
        return Spread.of([_times(recording, _within(kernel_calls, *span), *span).wall for span in spans])

    parted = [(one.start, one.backward, one.end) for one in found if one.backward is not None]
    return MicroSteps(
        per_step=len(found) / steps,
        wall_ms=spread([(one.start, one.end) for one in found]),
        forward_ms=spread([(start, backward) for start, backward, _ in parted]) if parted else None,
        backward_ms=spread([(backward, end) for _, backward, end in parted]) if parted else None,
    )


def _ms(nanoseconds: float) -> float:
    return nanoseconds / 1e6


def _percent(part: float, total: float) -> float:
    return 100 * part / total if total else 0.0


def _lines(kernel_calls: Sequence[Kernel]) -> list[OpLine]:
    """Returns a line for each op code with its shapes, longest first."""
    groups: defaultdict[tuple[str, bytes], list[Kernel]] = defaultdict(list)
    for kernel in kernel_calls:
        groups[kernel.code, kernel.op.identity].append(kernel)
    total = sum(kernel.duration_ns for kernel in kernel_calls) or 1.0
    lines: list[OpLine] = []
    for (code, _), group in groups.items():
        op, us = group[0].op, sum(kernel.duration_ns for kernel in group) / 1e3
        percent_of_peak = 100 * utilisation(op) if mnemonic(op) in MATMULS else None
        shapes = ", ".join("x".join(map(str, spec.shape)) or "scalar" for spec in op.inputs[:2])
        lines.append(
            OpLine(
                f"{code.removesuffix('DeviceOperation')} {shapes}",
                group[0].category,
                len(group),
                us,
                _percent(us * 1e3, total),
                perf_report_bound(op),
                percent_of_peak,
                op.instruction.location,
            )
        )
    return sorted(lines, key=lambda line: -line.device_us)


def _categories(lines: Sequence[OpLine]) -> dict[str, float]:
    total = sum(line.device_us for line in lines)
    shares = {COMPUTE: 0.0, TM: 0.0, CCL: 0.0, OTHER: 0.0}
    for line in lines:
        shares[line.category if line.category in shares else OTHER] += _percent(line.device_us, total)
    return shares


def _weighted_utilisation(kernel_calls: Sequence[Kernel]) -> float | None:
    """Returns the percent of peak FLOPs that matrix products reach, weighted by time; None if there are none."""
    products = [kernel for kernel in kernel_calls if mnemonic(kernel.op) in MATMULS]
    total = sum(kernel.duration_ns for kernel in products)
    if not total:
        return None
    return 100 * sum(utilisation(kernel.op) * kernel.duration_ns for kernel in products) / total


def _verdict(
    overhead: float, long_gaps: int, count: int, dispatch: float, lines: Sequence[OpLine]
) -> tuple[str, tuple[str, ...]]:
    """Returns the verdict by the procedure's rule, and its reasons."""
    if overhead > HOST_BOUND_OVERHEAD:
        reasons = [f"overhead is {overhead:.0f} % of the wall-clock time, more than {HOST_BOUND_OVERHEAD:.0f} %"]
        if 2 * long_gaps > count:
            reasons.append(f"{long_gaps} of {count} ops start more than {LONG_GAP_US} us after the op before")
        reasons.append(f"an op costs the host {dispatch:.1f} us; fewer ops (fusion, trace) or larger batches help")
        return "HOST-bound", tuple(reasons)
    by_bound: defaultdict[str, float] = defaultdict(float)
    for line in lines:
        by_bound[line.bound or line.category] += line.share
    largest = max(by_bound, key=lambda name: by_bound[name])
    return "DEVICE-bound", (f"ops of kind {largest} take {by_bound[largest]:.0f} % of device time",)
