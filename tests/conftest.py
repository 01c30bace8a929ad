"""Garbage collection, and the model runner's module, which is collected when asked for: ``pytest tests/runner/...``."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest


def pytest_collection_finish() -> None:
    """What was imported stays: looking for garbage among it takes up to half a second each time."""
    gc.collect()
    gc.freeze()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    runner = Path(__file__).parent / "runner"
    asked = any("runner" in str(argument) for argument in config.args)
    return True if collection_path == runner and not asked else None
