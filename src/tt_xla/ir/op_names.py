"""Names of the ops of a program, by which override files choose them (:mod:`tt_xla.overrides`)."""

from __future__ import annotations

from collections import Counter
from pathlib import PurePath


class OpNames:
    """Names the ops of a program, one after another."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def name(self, op: str, location: str) -> str:
        """Returns the name of the next op.

        Args:
            op: full name, ``ttnn.matmul``.
            location: the user's source line, ``/home/me/model.py:12:8``; empty if it is unknown.
        """
        stem = op.removeprefix("ttnn.") + (f"@{PurePath(location).name}" if location else "")
        self._counts[stem] += 1
        return f"{stem}#{self._counts[stem] - 1}"


UNNAMED = ("ttnn.to_memory_config", "ttnn.deallocate", "ttnn.get_device")
"""Ops without a name: those that follow from the choices for others."""
