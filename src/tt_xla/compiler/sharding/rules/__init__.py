"""Rules of the localiser. Importing this package registers the rules of all op families."""

from tt_xla.compiler.sharding.rules import (
    contraction,
    control,
    creation,
    elementwise,
    gathering,
    indexing,
    linear_algebra,
    manual,
    reduction,
    slices,
    sliding,
    sorting,
    structure,
)

FAMILIES = (
    contraction,
    control,
    creation,
    elementwise,
    gathering,
    indexing,
    linear_algebra,
    manual,
    reduction,
    slices,
    sliding,
    sorting,
    structure,
)

__all__ = ["FAMILIES"]
