"""``torch_xla.debug.metrics``: counts compilations, runs, and ops that ran on the host (counters ``aten::op``)."""

from __future__ import annotations

from tt_xla.frontends.torch import session as _session
from tt_xla.frontends.torch.device import metrics as _metrics

MetricData = tuple[int, float, tuple[tuple[float, float], ...]]
"""Number of occurrences, total nanoseconds, and time stamp and nanoseconds of the last occurrences."""


_MAIN_METRICS = (
    _metrics.COMPILE_TIME,
    _metrics.EXECUTE_TIME,
    _metrics.TO_DEVICE_TIME,
    _metrics.FROM_DEVICE_TIME,
)


def counter_names() -> list[str]:
    return sorted(_metrics.all_counters())


def counter_value(name: str) -> int | None:
    """Returns the value of a counter, or None when it never counted."""
    return _metrics.all_counters().get(name)


def metric_names() -> list[str]:
    return sorted(_session.current.totals)


def metric_data(name: str) -> MetricData | None:
    """Returns the data of a metric, or None when it never occurred."""
    return _metrics.data(name)


def metrics_report() -> str:
    return _metrics.report()


def short_metrics_report(counter_names: list[str] | None = None, metric_names: list[str] | None = None) -> str:
    """Returns a report of these counters and metrics, and of all ops that ran on the host.

    Args:
        counter_names: the counters; None for those of the main ones.
        metric_names: the metrics; None for compilations, runs and copies.
    """
    counters = {*(counter_names or (_metrics.REUSED, _metrics.STEPS)), *executed_fallback_ops()}
    return _metrics.report(counters, metric_names or _MAIN_METRICS)


def executed_fallback_ops() -> list[str]:
    """Returns the names of ops that ran on the host."""
    return [name for name in counter_names() if "::" in name and not name.startswith("xla::")]


def clear_all() -> None:
    _metrics.clear()


def clear_counters() -> None:
    _metrics.clear_counters()


def clear_metrics() -> None:
    _metrics.clear_metrics()
