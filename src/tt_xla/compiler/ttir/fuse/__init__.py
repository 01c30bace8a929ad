"""Fusion of op groups that the chip has one op for: one module and one table of patterns per family."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from tt_xla.compiler.rewriting import run_patterns
from tt_xla.compiler.ttir import fold
from tt_xla.compiler.ttir.fuse import (
    activation,
    attention,
    cast,
    concat,
    convolution,
    heads,
    linear,
    normalization,
    padding,
    reduction,
    rotary,
    softmax,
    sort,
)

PATTERNS = (
    *reduction.PATTERNS,
    *cast.PATTERNS,
    *activation.PATTERNS,
    *normalization.PATTERNS,
    *softmax.PATTERNS,
    *attention.PATTERNS,
    *heads.PATTERNS,
    *linear.PATTERNS,
    *padding.PATTERNS,
    *convolution.PATTERNS,
    *sort.PATTERNS,
    *concat.PATTERNS,
    *rotary.PATTERNS,
)
"""All fusions except those of transposes, in the order in which they are tried."""


def run(module: ModuleOp, *, permute_matmul: bool = True, exact: bool = False) -> None:
    """Fuses until nothing is left to fuse.

    Args:
        module: TTIR module that is changed in place.
        permute_matmul: Makes transposes of operands flags of matrix products.
        exact: Leaves out what may change results.
    """
    transposes = linear.TRANSPOSES if permute_matmul else ()
    run_patterns(module, *fold.MOVES, *transposes, *PATTERNS, exact=exact)
