"""What all tests share: garbage collection, options of the process, and that the runner is collected when asked for.

``pytest tests/runner/...`` asks for it.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest


def pytest_collection_finish() -> None:
    """What was imported stays: looking for garbage among it takes up to half a second each time."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def options_of_torch_stay() -> Iterator[None]:
    """What a test sets for all of torch, as tuning does within its process, ends with it."""
    before = getattr(sys.modules.get("tt_xla.frontends.torch.settings"), "_current", None)
    yield
    settings = sys.modules.get("tt_xla.frontends.torch.settings")
    if settings is not None:
        settings._current = before


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    runner = Path(__file__).parent / "runner"
    asked = any("runner" in str(argument) for argument in config.args)
    return True if collection_path == runner and not asked else None
