"""The table of calls: the TT-NN function and its arguments for each op of a Program.

Importing this module registers the rows of all op families.
"""

from __future__ import annotations

from tt_xla.codegen.calls import (
    attention,
    collective,
    contraction,
    elementwise,
    memory,
    reduction,
    structure,
    window,
)
from tt_xla.codegen.calls.registry import CALLS, Op, call_of

__all__ = [
    "CALLS",
    "Op",
    "attention",
    "call_of",
    "collective",
    "contraction",
    "elementwise",
    "memory",
    "reduction",
    "structure",
    "window",
]
