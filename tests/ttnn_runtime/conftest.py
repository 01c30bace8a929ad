"""Fixtures for the TT-NN runtime: a replacement for ttnn that computes a few ops, and TT-NN itself in mock mode."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch

from tt_xla.codegen.mock import ttnn_python
from tt_xla.errors import RuntimeUnavailableError
from tt_xla.runtime.ttnn import launch

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


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[StandIn]:
    """Selects the runtime with the replacement for ttnn, which acts as an installed p150."""
    created = StandIn(tmp_path / "log", tmp_path / "tan")
    monkeypatch.setattr(launch, "CARDS", tmp_path)
    for name, value in {
        "TTXLA_RUNTIME": "ttnn",
        "TTXLA_SYSTEM": "p150",
        "TTXLA_TTNN_PYTHON": sys.executable,
        "PYTHONPATH": str(STAND_IN),
        "STAND_IN_LOG": str(created.log),
        "STAND_IN_TAN": str(created.tan),
    }.items():
        monkeypatch.setenv(name, value)
    launch.close_workers()
    torch._dynamo.reset()
    yield created
    launch.close_workers()


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
