"""``torch_xla.debug.metrics_compare_utils``: reads reports of metrics and finds what has changed."""

from __future__ import annotations

import re
import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

_METRIC = re.compile(
    r"Metric: (?P<name>\S+)\s+TotalSamples: (?P<samples>\d+)\s+Accumulator: (?P<total>\S+)[^P]+"
    r"Percentiles: (?P<percentiles>[^\n]+)"
)
_COUNTER = re.compile(r"Counter: (\S+)\s+Value: (\d+)")
_UNITS = {
    "sec": {"d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6},
    "mb": {"PB": 1e9, "TB": 1e6, "GB": 1e3, "MB": 1.0, "KB": 1e-3, "B": 1e-6},
}
"""Units of durations in seconds, and of amounts of memory in megabytes."""

_BASE_EXPRESSION = "v <= v_mean + (v_stddev * 2.0)"


def _metric_str_to_number(metric_str: str) -> tuple[float, str]:
    """Returns the number in a text such as ``01m29s615ms`` or ``1.54MB``, and its unit: ``sec``, ``mb`` or none.

    Raises:
        ValueError: the text is neither a number, a duration nor an amount of memory.
    """
    parts = re.findall(r"([\d.]+)([a-zA-Z]*)", metric_str)
    if not parts or "".join(number + unit for number, unit in parts) != metric_str:
        raise ValueError(f"{metric_str!r} is neither a number, a duration nor an amount of memory.")
    if len(parts) == 1 and not parts[0][1]:
        return float(metric_str), ""
    for name, units in _UNITS.items():
        if all(unit in units for _, unit in parts):
            return sum(float(number) * units[unit] for number, unit in parts), name
    raise ValueError(f"{metric_str!r} has a unit that is none of {[*_UNITS['sec'], *_UNITS['mb']]}.")


def parse_metrics_report(report: str, dehumanize: bool = True) -> dict[str, Any]:
    """Reads a report of metrics.

    Args:
        report: text of ``metrics_report``; other lines are left out.
        dehumanize: whether the values are numbers alone, or numbers with their texts.

    Returns:
        Numbers by names such as ``CompileTime__Accumulator_sec`` and ``MarkStep__Value``.
    """
    numbers: dict[str, Any] = {}
    for metric in _METRIC.finditer(report):
        texts = {"TotalSamples": metric["samples"], "Accumulator": metric["total"]}
        for percentile in metric["percentiles"].split("; "):
            percent, _, text = percentile.partition("%=")
            texts[f"Percentile_{percent}"] = text.strip()
        for name, text in texts.items():
            number, unit = _metric_str_to_number(text)
            numbers["_".join([f"{metric['name']}__{name}", *filter(None, [unit])])] = (
                number if dehumanize else (number, text)
            )
    return numbers | {f"{name}__Value": int(value) for name, value in _COUNTER.findall(report)}


def get_data_points_from_metrics_reports(metrics_reports: Sequence[str]) -> dict[str, list[Any]]:
    """Reads several reports.

    Returns:
        For each name a list with the number of each report, in their order; None where a report lacks it.
    """
    points: defaultdict[str, list[Any]] = defaultdict(lambda: [None] * len(metrics_reports))
    for position, report in enumerate(metrics_reports):
        for name, number in parse_metrics_report(report).items():
            points[name][position] = number
    return points


def compare_metrics(
    data_points: Mapping[str, Sequence[Any]], metrics_report: str, config: Mapping[str, str] | None = None
) -> str:
    """Compares a report with earlier ones.

    Args:
        data_points: numbers of the earlier reports.
        metrics_report: the report.
        config: for names such as ``CompileTime__Accumulator_sec_expression``, a Python expression of ``v``, ``v_mean``
            and ``v_stddev`` that holds for usual values; ``base_expression`` is for all others. The expressions run as
            code.

    Returns:
        A line for each number that is unusual.
    """
    expressions = {"base_expression": _BASE_EXPRESSION} | dict(config or {})
    lines = ""
    for name, value in sorted(parse_metrics_report(metrics_report).items()):
        earlier = [number for number in data_points.get(name, ()) if number is not None]
        if not earlier:
            lines += f"Found new aten counter: {name}: {value}\n" if name.startswith("aten::") else ""
            continue
        mean, deviation = statistics.fmean(earlier), statistics.pstdev(earlier)
        expression = expressions.get(f"{name}_expression", expressions["base_expression"])
        if not eval(expression, None, {"v": value, "v_mean": mean, "v_stddev": deviation}):
            lines += (
                f"{name} failed its expression check. Expression: {expression}.  Mean: {mean}.  Stddev: {deviation}.  "
                f"Actual Value: {value}\n"
            )
    return lines
