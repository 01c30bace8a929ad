"""A pytest plugin that runs a sample of the collected tests with a time limit, and records the outcome of each.

Environment variables:

- ``CONFORMANCE_RESULTS``: File that receives one JSON object a line. Tests that it already contains are not run again.
- ``CONFORMANCE_SAMPLE``: Number of tests to run; 0 for all.
- ``CONFORMANCE_EACH_FILE``: Number of tests of each file to run; 0 for all.
- ``CONFORMANCE_SEED``: Chooses another sample.
- ``CONFORMANCE_ONLY``: File with the names of the tests to run.
- ``CONFORMANCE_SECONDS``: Limit of processor time for each test.
- ``CONFORMANCE_WALL_SECONDS``: Limit of wall-clock time for each test; ten times as long unless set.

:mod:`conformance.torch_xla_child` uses its parts for tests that pytest does not collect.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import signal
from collections import Counter
from collections.abc import Generator
from pathlib import Path

import pytest

RESULTS = Path(os.environ["CONFORMANCE_RESULTS"])
SAMPLE = int(os.environ.get("CONFORMANCE_SAMPLE", "0"))
EACH_FILE = int(os.environ.get("CONFORMANCE_EACH_FILE", "0"))
SEED = os.environ.get("CONFORMANCE_SEED", "")
SECONDS = int(os.environ.get("CONFORMANCE_SECONDS", "60"))
WALL_SECONDS = int(os.environ.get("CONFORMANCE_WALL_SECONDS", str(10 * SECONDS)))

_RANK = pytest.StashKey[int]()
"""The place of a test among those of its file."""


class OutOfTimeError(BaseException):
    """Ends a test that takes too long. It is no ``Exception``, so that no test catches it."""


def name_of(item: pytest.Item) -> str:
    """Returns the class and the function of a test, with its parameters."""
    return short_name(item.nodeid)


def short_name(node: str) -> str:
    """Returns the last two parts of a test's id, with all of its parameters."""
    head, bracket, parameters = node.partition("[")
    return "::".join(head.split("::")[-2:]) + bracket + parameters


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    only = os.environ.get("CONFORMANCE_ONLY")
    if only:
        names = set(Path(only).read_text().split("\n"))
        items[:] = [item for item in items if name_of(item) in names]
    elif SAMPLE or EACH_FILE:
        # The order of hashes gives the same sample in each run, spread over the file.
        items.sort(key=lambda item: place_of(name_of(item)))
        if EACH_FILE:
            ranks: Counter[Path] = Counter()
            for item in items:
                ranks[item.path] += 1
                item.stash[_RANK] = ranks[item.path]
            items[:] = sorted((item for item in items if item.stash[_RANK] <= EACH_FILE), key=lambda item: item.path)
        if SAMPLE:
            del items[SAMPLE:]
    done = recorded()
    items[:] = [item for item in items if name_of(item) not in done]


def place_of(name: str) -> bytes:
    """Returns the sort key of a test in an order that is arbitrary and the same in each run."""
    return hashlib.sha256(f"{SEED}{name}".encode()).digest()


def recorded() -> set[str]:
    """Returns the names of the tests whose outcome is recorded."""
    lines = RESULTS.read_text().splitlines() if RESULTS.exists() else []
    return {json.loads(line)["name"] for line in lines}


def write(name: str, outcome: str, reason: str = "") -> None:
    """Appends the outcome of a test to the results."""
    with RESULTS.open("a") as file:
        file.write(json.dumps({"name": name, "outcome": outcome, "reason": reason[-600:]}) + "\n")


@contextlib.contextmanager
def running(name: str) -> Generator[None]:
    """Ends what takes too long with an :class:`OutOfTimeError`, and has a file name it while it runs.

    The file, which ends in ``.running``, remains if the process dies.
    """

    def stop(number: int, frame: object) -> None:
        raise OutOfTimeError(f"the test took more than {SECONDS} s of processor time, or {WALL_SECONDS} s in all")

    marker = RESULTS.with_suffix(".running")
    marker.write_text(name)
    limits = {signal.SIGPROF: (signal.ITIMER_PROF, SECONDS), signal.SIGALRM: (signal.ITIMER_REAL, WALL_SECONDS)}
    for number, (timer, seconds) in limits.items():
        signal.signal(number, stop)
        signal.setitimer(timer, seconds)
    try:
        yield
    finally:
        for timer, _ in limits.values():
            signal.setitimer(timer, 0)
        marker.unlink(missing_ok=True)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    with running(name_of(item)):
        return (yield)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    name = short_name(report.nodeid)
    if report.when == "call" or (report.when == "setup" and report.outcome != "passed"):
        reason = "" if report.passed else str(report.longrepr)
        write(name, report.outcome, reason)
