"""The table of calls: for each op of a Program, the TT-NN function and its arguments.

The families register their rows when this module is imported.
"""

from __future__ import annotations

from tt_xla.codegen.calls import (
    attention,
    caches,
    contraction,
    elementwise,
    indexing,
    memory,
    reduction,
    structure,
    trace,
    window,
)
from tt_xla.codegen.calls.registry import CALLS, Op, call_of

__all__ = [
    "CALLS",
    "Op",
    "attention",
    "caches",
    "call_of",
    "contraction",
    "elementwise",
    "indexing",
    "memory",
    "reduction",
    "structure",
    "trace",
    "window",
]
