"""``torch_xla.debug.metrics``: counts compilations, runs, and ops that ran on the host (counters ``aten::op``)."""

from __future__ import annotations

from typing import Any

from tt_xla.frontends.torch.device import metrics as _metrics
from tt_xla.frontends.torch.xla_api import finder as _finder

MetricData = tuple[int, float, tuple[tuple[float, float], ...]]
"""Number of occurrences, total nanoseconds, and time stamp and nanoseconds of the last occurrences."""


def counter_names() -> list[str]:
    return sorted(_metrics.all_counters())


def counter_value(counter_name: str) -> int | None:
    """Returns the value of a counter, or None when it never counted."""
    return _metrics.all_counters().get(counter_name)


def metric_names() -> list[str]:
    return sorted(_metrics.totals)


def metric_data(metric_name: str) -> MetricData | None:
    """Returns the data of a metric, or None when it never occurred."""
    return _metrics.data(metric_name)


def metrics_report() -> str:
    return _metrics.report()


def short_metrics_report(counter_names: list[str] | None = None, metric_names: list[str] | None = None) -> str:
    """Returns a report of these counters and metrics. None reports all of them."""
    return _metrics.report(counter_names, metric_names)


def executed_fallback_ops() -> list[str]:
    """Returns the names of ops that ran on the host."""
    return [name for name in counter_names() if "::" in name]


def clear_all() -> None:
    _metrics.clear()


def clear_counters() -> None:
    _metrics.clear_counters()


def clear_metrics() -> None:
    _metrics.clear_metrics()


def __getattr__(name: str) -> Any:
    raise _finder.missing(__name__, name)
