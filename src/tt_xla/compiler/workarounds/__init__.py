"""Programs that TT-NN should take and does not, in a form that it takes: one file for each fault of its.

``enable_workarounds=false`` leaves programs as they are. Each file says in which ttnn the fault was seen; a test asks
TT-NN in mock mode whether it is still there, and fails once it is not, so that the file can go.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from tt_xla.compiler.rewriting import run_patterns
from tt_xla.compiler.workarounds import block_float_convolutions, narrow_convolutions, pad_of_vectors

TTIR = (*narrow_convolutions.PATTERNS,)
TTNN = (*block_float_convolutions.PATTERNS, *pad_of_vectors.PATTERNS)


def run_on_ttir(module: ModuleOp) -> None:
    run_patterns(module, *TTIR)


def run_on_ttnn(module: ModuleOp) -> None:
    run_patterns(module, *TTNN)
