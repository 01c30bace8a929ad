"""The Python side of tt-metal's profiler, for scripts written for it: ``import tracy; tracy.signpost("step_1_start")``.

``python -m tracy -p -r -o DIR script.py`` runs a script under :mod:`tt_xla.profiling`.
"""

from __future__ import annotations

import sys

__all__ = ["signpost"]


def signpost(header: str, message: str | None = None) -> None:
    """Marks this moment in what is being recorded; does nothing where nothing is."""
    recording = sys.modules.get("tt_xla.profiling.recording")  # not imported unless somebody records
    if recording is not None:
        recording.signpost(header, message or "")
