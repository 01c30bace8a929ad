"""The families of ops that are written in one of several forms, and the library that tries the forms."""

from __future__ import annotations

from tt_xla.runtime.emulator.context import Context
from tt_xla.runtime.emulator.fused.convolutions import CONVOLUTIONS
from tt_xla.runtime.emulator.fused.cpp import PRELUDE
from tt_xla.runtime.emulator.fused.forms import FUNCTION_PROBES, Attributes, Family
from tt_xla.runtime.emulator.fused.products import PRODUCTS
from tt_xla.runtime.emulator.fused.reductions import LAYER_NORM, SOFTMAX, SUMS
from tt_xla.runtime.emulator.fused.torch_cpp import TORCH_CPP

_FAMILIES = (PRODUCTS, CONVOLUTIONS, SOFTMAX, LAYER_NORM, SUMS)

_BY_OP = {op: family for family in _FAMILIES for op in family.ops}

HEADER = PRELUDE + TORCH_CPP
"""C++ that the source of every library begins with."""


def library(source: str) -> str:
    """Returns the C++ of a library with these functions, after all that they use.

    The CPU's instructions for pairs of bfloat16 are left out where no function uses them: their header takes as long to
    compile as the functions of a language model.
    """
    pairs = "#define PAIRS\n" if "multiply_pairs" in source else ""
    return pairs + HEADER + source


PROBE = library("\n".join([*(family.probe for family in _FAMILIES), FUNCTION_PROBES]))
"""Source of the library that tries the forms. It is the same for all programs."""


def family_of(context: Context, attributes: Attributes) -> Family | None:
    """Returns the family of an op that C++ could compute, in a form that is still to be found; None for other ops."""
    family = _BY_OP.get(context.op)
    return family if family is not None and family.takes(context, attributes) else None
