"""Rules of the localiser. Importing this package registers the rules of all op families."""

from tt_xla.compiler.sharding.rules import (
    contraction,
    control,
    creation,
    elementwise,
    indexing,
    manual,
    reduction,
    structure,
)

__all__ = ["contraction", "control", "creation", "elementwise", "indexing", "manual", "reduction", "structure"]
