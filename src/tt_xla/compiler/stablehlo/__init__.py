"""Import of StableHLO into TTIR. Importing this package registers the converters of all op families."""

from tt_xla.compiler.stablehlo import (
    bits,
    collective,
    composites,
    contraction,
    control,
    creation,
    elementwise,
    empty,
    expand,
    gather,
    reduction,
    scatter,
    slices,
    sort,
    structure,
    window,
)
from tt_xla.compiler.stablehlo.importer import import_module
from tt_xla.compiler.stablehlo.parse import parse_module, print_vhlo
from tt_xla.compiler.stablehlo.signature import DONATION

FAMILIES = (
    bits,
    collective,
    composites,
    contraction,
    control,
    creation,
    elementwise,
    empty,
    expand,
    gather,
    reduction,
    scatter,
    slices,
    sort,
    structure,
    window,
)

__all__ = ["DONATION", "FAMILIES", "import_module", "parse_module", "print_vhlo"]
