"""Writes an HTML page about a run of models: outcomes, correlations, predicted throughput, compile times,
regressions."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from tt_xla.markup import escape
from tt_xla.publish import publish
from tt_xla.testing.models.records import OUTCOMES, Record

_STYLE = """
body { font: 14px system-ui, sans-serif; margin: 2em; } table { border-collapse: collapse; }
th, td { padding: .3em .7em; border-bottom: 1px solid #ddd; text-align: left; vertical-align: top; }
td.n { text-align: right; font-variant-numeric: tabular-nums; } details { max-width: 50em; white-space: pre-wrap; }
.passed { color: #17692b; } .failed, .xpassed { color: #b3151d; } .skipped, .xfailed { color: #7a5b00; }
"""
_REGRESSION_FACTOR = 1.1
"""Ratio to the previous compile time or predicted time above which a time is a regression."""


def regressions(now: Mapping[str, Record], before: Mapping[str, Record]) -> list[tuple[str, str]]:
    """Returns the tests that did better in a previous run, each with what got worse.

    Args:
        now: records by test.
        before: records of the previous run by test.
    """
    worse: list[tuple[str, str]] = []
    for test, record in now.items():
        old = before.get(test)
        if old is None:
            continue
        if old.outcome == "passed" and record.outcome not in ("passed", "skipped"):
            worse.append((test, f"passed before, {record.outcome} now"))
        if old.pcc is not None and (record.pcc is None or math.isnan(record.pcc) or record.pcc < old.pcc - 0.005):
            worse.append((test, f"PCC {old.pcc:.4f} before, {_number(record.pcc, '.4f') or 'none'} now"))
        if old.device_us and record.device_us and record.device_us > old.device_us * _REGRESSION_FACTOR:
            worse.append((test, f"predicted {old.device_us:.1f} us before, {record.device_us:.1f} us now"))
        if old.compile_s and record.compile_s and record.compile_s > old.compile_s * _REGRESSION_FACTOR + 1:
            worse.append((test, f"compiled in {old.compile_s:.1f} s before, {record.compile_s:.1f} s now"))
    return worse


def page(now: Mapping[str, Record], before: Mapping[str, Record] | None = None) -> str:
    """Returns the page. Texts that come from models are escaped."""
    counts = Counter(record.outcome for record in now.values())
    head = ", ".join(f"<b class={name}>{counts[name]} {name}</b>" for name in OUTCOMES if counts[name])
    parts = [f"<!doctype html><meta charset=utf-8><title>Models</title><style>{_STYLE}</style>"]
    parts.append(f"<h1>{len(now)} tests of models</h1><p>{head}</p>")
    if before is not None:
        worse = regressions(now, before)
        rows = "".join(f"<tr><td>{escape(test)}<td>{escape(change)}" for test, change in worse)
        parts.append(f"<h2>{len(worse)} regressions</h2><table>{rows}</table>")
    columns = "test, outcome, bring-up, PCC, samples/s (predicted), compile s, chip us (predicted), seconds, message"
    parts.append("<h2>Tests</h2><table><tr>" + "".join(f"<th>{name}" for name in columns.split(", ")))
    parts += [_row(record) for _, record in sorted(now.items())]
    return "\n".join([*parts, "</table>", ""])


def _row(record: Record) -> str:
    message = "\n".join(filter(None, (record.reason, record.error)))
    first, _, rest = message.partition("\n")
    shown = f"<details><summary>{escape(first)}</summary>{escape(rest)}</details>" if rest else escape(first)
    numbers = (
        _number(record.pcc, ".4f"),
        _number(record.samples_per_s, ",.0f"),
        _number(record.compile_s, ".2f"),
        _number(record.device_us, ",.1f"),
        _number(record.seconds, ".1f"),
    )
    cells = "".join(f"<td class=n>{number}" for number in numbers)
    outcome, bringup = record.outcome, escape(record.bringup_status)
    return f"<tr><td>{escape(record.test)}<td class={outcome}>{outcome}<td>{bringup}{cells}<td>{shown}"


def _number(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)


def write(folder: Path, now: Mapping[str, Record], before: Mapping[str, Record] | None = None) -> Path:
    """Writes ``index.html`` into a folder, and returns its path.

    Raises:
        OSError: the folder cannot be written.
    """
    publish(folder, {"index.html": page(now, before).encode()})
    return folder / "index.html"
