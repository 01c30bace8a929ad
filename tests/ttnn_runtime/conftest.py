"""Fixtures for the TT-NN runtime: a replacement for ttnn that computes a few ops, and TT-NN itself in mock mode."""

from __future__ import annotations

import contextlib
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch

from tt_xla.codegen.mock import ttnn_python
from tt_xla.errors import RuntimeUnavailableError
from tt_xla.runtime.ttnn import launch
from tt_xla.runtime.ttnn.process import Worker

STAND_IN = Path(__file__).with_name("stand_in")


@dataclass
class StandIn:
    log: Path
    tan: Path

    def calls(self) -> Counter[str]:
        """Returns the calls since the last time this was read."""
        counts = (
            Counter(line.split()[0] for line in self.log.read_text().splitlines()) if self.log.exists() else Counter()
        )
        self.log.write_text("")
        return counts


@contextlib.contextmanager
def installed_card(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, **variables: str) -> Iterator[None]:
    """Selects the runtime with a worker that runs this interpreter and acts as an installed p150."""
    monkeypatch.setattr(launch, "CARDS", tmp_path)
    own = {"TTXLA_RUNTIME": "ttnn", "TTXLA_SYSTEM": "p150", "TTXLA_TTNN_PYTHON": sys.executable}
    for name, value in (own | variables).items():
        monkeypatch.setenv(name, value)
    launch.close_workers()
    torch._dynamo.reset()
    yield
    launch.close_workers()


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[StandIn]:
    """Selects the runtime with the replacement for ttnn."""
    created = StandIn(tmp_path / "log", tmp_path / "tan")
    variables = {"STAND_IN_LOG": str(created.log), "STAND_IN_TAN": str(created.tan), "PYTHONPATH": str(STAND_IN)}
    with installed_card(tmp_path, monkeypatch, **variables):
        yield created


@pytest.fixture
def emulated_ttnn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Selects the runtime with our own ttnn, which has all ops and computes them on the emulated card."""
    with installed_card(tmp_path, monkeypatch):
        yield


class Crossing:
    """Bytes that crossed between the processes since they were last read."""

    def __init__(self) -> None:
        self._taken = 0, 0

    def take(self) -> tuple[int, int]:
        """Returns how many were sent and received."""
        worker, (sent, received) = launch.worker(), self._taken
        self._taken = worker.sent_bytes, worker.received_bytes
        return worker.sent_bytes - sent, worker.received_bytes - received


@pytest.fixture
def crossing(request: pytest.FixtureRequest) -> Crossing:
    """Counts what crosses, with the replacement for ttnn unless the test asks for our own."""
    if "emulated_ttnn" not in request.fixturenames:
        request.getfixturevalue("stand_in")
    return Crossing()


def watch_requests(monkeypatch: pytest.MonkeyPatch, watch: Callable[[dict[str, Any], Mapping[str, Any]], None]) -> None:
    """Has a function called with each request to a worker and its arrays."""
    for name in ("request", "post"):
        method = getattr(Worker, name)

        def watched(
            self: Worker, message: dict[str, Any], arrays: Mapping[str, Any], *rest: Any, method: Any = method
        ) -> Any:
            watch(message, arrays)
            return method(self, message, arrays, *rest)

        monkeypatch.setattr(Worker, name, watched)


@pytest.fixture
def mock_runtime(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    try:
        ttnn_python()
    except RuntimeUnavailableError as error:
        pytest.skip(str(error))
    monkeypatch.setenv("TTXLA_RUNTIME", "ttnn-mock")
    monkeypatch.delenv("TTXLA_SYSTEM", raising=False)
    launch.close_workers()
    torch._dynamo.reset()
    yield
    launch.close_workers()
