"""Lowering of TTIR to TTNN. Importing this package registers the lowerings of all op families."""

from tt_xla.compiler.ttir_to_ttnn import (
    attention,
    caches,
    collective,
    contraction,
    control,
    creation,
    elementwise,
    host,
    indexing,
    normalization,
    ranks,
    reduction,
    structure,
    window,
)
from tt_xla.compiler.ttir_to_ttnn.lowering import run

FAMILIES = (
    attention,
    caches,
    collective,
    contraction,
    control,
    creation,
    elementwise,
    host,
    indexing,
    normalization,
    ranks,
    reduction,
    structure,
    window,
)
"""Modules that register lowerings."""

__all__ = ["FAMILIES", "run"]
