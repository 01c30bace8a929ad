"""Workarounds for TT-NN faults: programs that TT-NN should accept and does not, rewritten so that it does.

``enable_workarounds=false`` leaves programs as they are. Each module covers one fault and names the ttnn version that
has it. A test asks TT-NN in mock mode whether the fault is still there, and fails once it is gone, so that the module
can be removed.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from tt_xla.compiler.rewriting import run_patterns
from tt_xla.compiler.workarounds import block_float_convolutions, narrow_convolutions, pad_of_vectors

TTIR = (*narrow_convolutions.PATTERNS,)
TTNN = (*block_float_convolutions.PATTERNS, *pad_of_vectors.PATTERNS)


def run_on_ttir(module: ModuleOp) -> None:
    """Applies the workarounds that work on TTIR."""
    run_patterns(module, *TTIR)


def run_on_ttnn(module: ModuleOp) -> None:
    """Applies the workarounds that work on TTNN."""
    run_patterns(module, *TTNN)
