"""A pytest plugin: runs a sample of the collected tests, each within a time limit, and writes down how each one ended.

The environment says what to do: ``CONFORMANCE_RESULTS`` (a file, one JSON object a line is appended; tests that are in
it already are not run again), ``CONFORMANCE_SAMPLE`` (how many tests to run, 0 for all), ``CONFORMANCE_ONLY`` (a file
with the names of the tests to run), ``CONFORMANCE_SECONDS`` (of processor time, per test; ten times as many pass on the
clock before a test that waits for something is stopped).
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
from collections.abc import Generator
from pathlib import Path

import pytest

RESULTS = Path(os.environ["CONFORMANCE_RESULTS"])
SAMPLE = int(os.environ.get("CONFORMANCE_SAMPLE", "0"))
SECONDS = int(os.environ.get("CONFORMANCE_SECONDS", "60"))


class OutOfTimeError(BaseException):
    """Not an Exception, so that no test swallows it."""


def name_of(item: pytest.Item) -> str:
    return "::".join(item.nodeid.split("::")[-2:])


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    only = os.environ.get("CONFORMANCE_ONLY")
    if only:
        wanted = set(Path(only).read_text().split("\n"))
        items[:] = [item for item in items if name_of(item) in wanted]
    elif SAMPLE:
        # The same sample each time, spread over the file.
        items.sort(key=lambda item: hashlib.sha256(name_of(item).encode()).digest())
        del items[SAMPLE:]
    if RESULTS.exists():
        done = {json.loads(line)["name"] for line in RESULTS.read_text().splitlines()}
        items[:] = [item for item in items if name_of(item) not in done]


def write(name: str, outcome: str, reason: str = "") -> None:
    with RESULTS.open("a") as file:
        file.write(json.dumps({"name": name, "outcome": outcome, "reason": reason[-600:]}) + "\n")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    def stop(number: int, frame: object) -> None:
        raise OutOfTimeError(f"more than {SECONDS} s")

    marker = RESULTS.with_suffix(".running")
    marker.write_text(name_of(item))  # left behind when the process dies
    limits = {signal.SIGPROF: (signal.ITIMER_PROF, SECONDS), signal.SIGALRM: (signal.ITIMER_REAL, 10 * SECONDS)}
    for number, (timer, seconds) in limits.items():
        signal.signal(number, stop)
        signal.setitimer(timer, seconds)
    try:
        return (yield)
    finally:
        for timer, _ in limits.values():
            signal.setitimer(timer, 0)
        marker.unlink(missing_ok=True)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    name = "::".join(report.nodeid.split("::")[-2:])
    if report.when == "call" or (report.when == "setup" and report.outcome != "passed"):
        reason = "" if report.passed else str(report.longrepr)
        write(name, report.outcome, reason)
