"""Tests of JAX on systems of several chips. A system's folder is collected if TTXLA_SYSTEM names the system."""

from __future__ import annotations

import os
from pathlib import Path

HERE = Path(__file__).parent


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    is_system = collection_path.parent == HERE and collection_path.is_dir()
    return True if is_system and os.environ.get("TTXLA_SYSTEM") != collection_path.name else None
