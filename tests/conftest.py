"""The model runner's module is collected when it is asked for: ``pytest tests/runner/test_models.py``."""

from __future__ import annotations

from pathlib import Path

import pytest


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    runner = Path(__file__).parent / "runner"
    asked = any("runner" in str(argument) for argument in config.args)
    return True if collection_path == runner and not asked else None
