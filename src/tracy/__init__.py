"""The Python API of tt-metal's profiler, for scripts that use it: ``import tracy; tracy.signpost("step_1_start")``.

``python -m tracy -p -r -o DIR script.py`` runs a script under :mod:`tt_xla.profiling`.
"""

from __future__ import annotations

import sys

__all__ = ["signpost"]


def signpost(header: str, message: str | None = None) -> None:
    """Marks this moment in the current recording; does nothing without one."""
    recording = sys.modules.get("tt_xla.profiling.recording")  # The module is imported only by a recording.
    if recording is not None:
        recording.signpost(header, message or "")
