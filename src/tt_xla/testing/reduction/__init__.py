"""Reduces a failing program to the few ops that fail, as ``tt-xla reduce`` does.

``failures`` says what a failure is, ``trials`` runs a program, ``processes`` runs trials in child processes with
limits, ``graphs`` and ``edits`` make programs smaller, ``reducer`` decides which to try, ``recording`` runs a script in
a child process and keeps its programs, and ``report`` writes the files of a report. The functions for users are
imported on first use: the process of the tries runs the user's files before it imports anything that they may change.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tt_xla.testing.reduction.api import check, reduce

__all__ = ["check", "reduce"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from tt_xla.testing.reduction import api

    return getattr(api, name)
