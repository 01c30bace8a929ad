"""The findings of the checks of ``tt-xla doctor``."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class State(enum.StrEnum):
    """The outcome of a check."""

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
    """The next step for the user; empty where nothing is to be done."""
