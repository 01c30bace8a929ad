"""Counters and timings of the device, under the names that ``torch_xla.debug.metrics`` reports.

Counters named ``aten::op`` count ops that ran on the host because they have no lowering to the device.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict, deque
from collections.abc import Collection
from types import TracebackType

from tt_xla.frontends.torch import host_ops

COMPILE_TIME = "CompileTime"
EXECUTE_TIME = "ExecuteTime"
COMPILED = "UncachedCompile"
REUSED = "CachedCompile"

KEPT = 1024
"""Number of samples kept per metric."""

counters: Counter[str] = Counter()
samples: defaultdict[str, deque[tuple[float, float]]] = defaultdict(lambda: deque(maxlen=KEPT))
"""Time stamp (seconds) and duration (nanoseconds) of the last occurrences, by metric."""
totals: defaultdict[str, tuple[int, float]] = defaultdict(lambda: (0, 0.0))
"""Number of occurrences and their total duration in nanoseconds, by metric."""


def count(name: str, times: int = 1) -> None:
    """Adds ``times`` to a counter."""
    counters[name] += times


def all_counters() -> dict[str, int]:
    """Returns all counters, including those of ops that ran on the host, which are named without their overload."""
    merged = Counter(counters)
    for name, times in host_ops.counts().items():
        namespace, op, *_ = name.split(".")
        merged[f"{namespace}::{op}"] += times
    return dict(merged)


class timed:
    """Context manager that adds the duration of a block to a metric, unless the block raises."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __enter__(self) -> None:
        self._start = time.perf_counter_ns()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if error is not None:
            return
        duration = float(time.perf_counter_ns() - self._start)
        occurrences, total = totals[self.name]
        totals[self.name] = (occurrences + 1, total + duration)
        samples[self.name].append((time.time(), duration))


def data(name: str) -> tuple[int, float, tuple[tuple[float, float], ...]] | None:
    """Returns the number of occurrences of a metric, their total nanoseconds, and the last of them with time stamps.

    The result is None when the metric never occurred.
    """
    return (*totals[name], tuple(samples[name])) if name in totals else None


def clear_counters() -> None:
    """Resets all counters."""
    counters.clear()
    host_ops.reset()


def clear_metrics() -> None:
    """Resets all metrics."""
    samples.clear()
    totals.clear()


def clear() -> None:
    """Resets all counters and metrics."""
    clear_counters()
    clear_metrics()


def report(counter_names: Collection[str] | None = None, metric_names: Collection[str] | None = None) -> str:
    """Returns metrics and counters as text, in torch_xla's form.

    Args:
        counter_names: counters to report; None reports all.
        metric_names: metrics to report; None reports all.
    """
    lines: list[str] = []
    for name, (occurrences, total) in sorted(totals.items()):
        if metric_names is not None and name not in metric_names:
            continue
        durations = sorted(duration for _, duration in samples[name])
        percentile_99 = durations[min(len(durations) - 1, len(durations) * 99 // 100)]
        lines += [
            f"Metric: {name}",
            f"  TotalSamples: {occurrences}",
            f"  Accumulator: {_duration(total)}",
            f"  Percentiles: 50%={_duration(durations[len(durations) // 2])}; 99%={_duration(percentile_99)}",
        ]
    for name, times in sorted(all_counters().items()):
        if counter_names is None or name in counter_names:
            lines += [f"Counter: {name}", f"  Value: {times}"]
    return "\n".join(lines) + "\n"


def _duration(nanoseconds: float) -> str:
    """Returns a duration as text with a unit: us, ms or s."""
    if nanoseconds < 1e6:
        return f"{nanoseconds / 1e3:.1f}us"
    return f"{nanoseconds / 1e6:.3f}ms" if nanoseconds < 1e9 else f"{nanoseconds / 1e9:.3f}s"
