"""A device of the emulated card for each test."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch

from tt_xla.ttnn_api.operation import unrefused


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


class Card:
    """Calls functions with torch tensors, and returns their results as torch tensors.

    Values are compared in float32, also those of functions that TT-NN has for bfloat16 alone.
    """

    def __init__(self, ttnn: Any, device: Any) -> None:
        self.ttnn, self.device = ttnn, device

    def put(self, value: Any, layout: Any = None) -> Any:
        if isinstance(value, list) and value and isinstance(value[0], torch.Tensor):
            return [self.put(each, layout) for each in value]
        if not isinstance(value, torch.Tensor):
            return value
        return self.ttnn.from_torch(value, layout=layout or self.ttnn.TILE_LAYOUT, device=self.device)

    def back(self, value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return [self.back(each) for each in value]
        return value if value is None else self.ttnn.to_torch(value)

    def __call__(self, name: str, *arguments: Any, **options: Any) -> Any:
        function = self.ttnn
        for part in name.split("."):
            function = getattr(function, part)
        named = {key: self.put(value) for key, value in options.items()}
        with unrefused():
            return self.back(function(*map(self.put, arguments), **named))


@pytest.fixture
def card(ttnn: Any, device: Any) -> Card:
    return Card(ttnn, device)


def drawn(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def close(result: torch.Tensor, expected: torch.Tensor) -> None:
    torch.testing.assert_close(result, expected, rtol=1e-4, atol=1e-4)
