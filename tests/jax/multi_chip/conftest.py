"""Tests of JAX on systems of several chips. A system's folder is collected if TTXLA_SYSTEM names the system."""

from __future__ import annotations

import os
from pathlib import Path

HERE = Path(__file__).parent

SYSTEMS = {"n300": "n300", "llmbox": "n300-llmbox"}
"""System of each folder."""


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    if collection_path.parent != HERE or collection_path.name not in SYSTEMS:
        return None
    return True if os.environ.get("TTXLA_SYSTEM") != SYSTEMS[collection_path.name] else None
