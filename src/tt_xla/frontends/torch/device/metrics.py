"""What the device has done: counters and timings, under the names that ``torch_xla.debug.metrics`` reports.

Counters named ``aten::op`` count ops that ran on the host because the device has no way to run them.
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

counters: Counter[str] = Counter()
samples: defaultdict[str, deque[tuple[float, float]]] = defaultdict(lambda: deque(maxlen=KEPT))
"""Time stamp and nanoseconds of the last occurrences."""
totals: defaultdict[str, tuple[int, float]] = defaultdict(lambda: (0, 0.0))
"""Number of occurrences and their nanoseconds in all."""


def count(name: str, times: int = 1) -> None:
    counters[name] += times


def all_counters() -> dict[str, int]:
    """Counters, with those of ops that ran on the host, which are named without their overload."""
    found = Counter(counters)
    for name, times in host_ops.counts().items():
        namespace, op, *_ = name.split(".")
        found[f"{namespace}::{op}"] += times
    return dict(found)


class timed:
    """Adds the time of a block to a metric, unless the block raises."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __enter__(self) -> None:
        self._start = time.perf_counter_ns()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if error is not None:
            return
        taken = float(time.perf_counter_ns() - self._start)
        occurrences, sum_before = totals[self.name]
        totals[self.name] = (occurrences + 1, sum_before + taken)
        samples[self.name].append((time.time(), taken))


def data(name: str) -> tuple[int, float, tuple[tuple[float, float], ...]] | None:
    """Occurrences of a metric, their nanoseconds in all, and the last of them; None when it never occurred."""
    return (*totals[name], tuple(samples[name])) if name in totals else None


def clear_counters() -> None:
    counters.clear()
    host_ops.reset()


def clear_metrics() -> None:
    samples.clear()
    totals.clear()


def clear() -> None:
    """Sets every counter and metric to nothing."""
    clear_counters()
    clear_metrics()


def report(counter_names: Collection[str] | None = None, metric_names: Collection[str] | None = None) -> str:
    """Metrics and counters as text, in torch_xla's form; all of them, or those of some names."""
    lines: list[str] = []
    for name, (occurrences, total) in sorted(totals.items()):
        if metric_names is not None and name not in metric_names:
            continue
        kept = sorted(taken for _, taken in samples[name])
        last = kept[min(len(kept) - 1, len(kept) * 99 // 100)]
        lines += [
            f"Metric: {name}",
            f"  TotalSamples: {occurrences}",
            f"  Accumulator: {_duration(total)}",
            f"  Percentiles: 50%={_duration(kept[len(kept) // 2])}; 99%={_duration(last)}",
        ]
    for name, times in sorted(all_counters().items()):
        if counter_names is None or name in counter_names:
            lines += [f"Counter: {name}", f"  Value: {times}"]
    return "\n".join(lines) + "\n"


def _duration(nanoseconds: float) -> str:
    if nanoseconds < 1e6:
        return f"{nanoseconds / 1e3:.1f}us"
    return f"{nanoseconds / 1e6:.3f}ms" if nanoseconds < 1e9 else f"{nanoseconds / 1e9:.3f}s"
