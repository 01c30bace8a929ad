"""A device of the emulated card for each test."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture
def ttnn() -> Any:
    """Returns module ``ttnn`` on the emulated card."""

    module = pytest.importorskip("ttnn")
    if not hasattr(module.Device, "predicted_us") and "tt_xla" not in module.__file__:
        pytest.skip("the real ttnn is installed")
    return module


@pytest.fixture
def device(ttnn: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setenv("TTXLA_SYSTEM", "p150")
    opened = ttnn.open_device(device_id=0, l1_small_size=32768)
    yield opened
    ttnn.close_device(opened)
