"""What a check of ``tt-xla doctor`` finds."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class State(enum.StrEnum):
    """What a check says."""

    OK = "ok"
    WARNING = "warning"
    ERROR = "error"
    NONE = "absent"
    """There is nothing to check, and nothing needs it."""


@dataclass(frozen=True)
class Finding:
    """The result of a check."""

    name: str
    state: State
    text: str
    advice: str = ""
    """What to do about it; empty where nothing is to be done."""
