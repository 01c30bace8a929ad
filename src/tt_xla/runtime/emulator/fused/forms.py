"""Ops that C++ can write in several forms, and which form has the bits of an op's own call.

A library adds the terms of a sum in an order of its own, with vectors of a certain length, which shows in the last
bits. The forms of an op are the orders that C++ can follow. They are tried beside the call on drawn operands that show
the order; an op that has none of the forms stays a call of its own.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from tt_xla.runtime.emulator.context import Call, Context
from tt_xla.runtime.emulator.functions import FUNCTIONS
from tt_xla.runtime.emulator.fused.calls import FLOATS, NUMBER, CppFunction
from tt_xla.runtime.emulator.fused.cpp import Operand, Place
from tt_xla.runtime.emulator.fused.verify import operands_of, same_bits

Attributes = Mapping[str, Any]


@dataclass(frozen=True)
class Family:
    """Ops that are written in the same forms."""

    ops: tuple[str, ...]
    takes: Callable[[Context, Attributes], bool]
    """Whether C++ could compute an op of the family, in a form that is still to be found."""
    forms: Callable[[Context, Attributes, Sequence[Operand]], Mapping[str, str]]
    """Returns the forms that may have the bits of an op whose operands lie so, and for each the name of the function
    that it needs in the compiled :data:`~.families.PROBE`."""
    drawn: Callable[[Context, Attributes, Sequence[Operand]], Iterator[list[torch.Tensor]]]
    """Draws operands on whose results the form shows."""
    computed: Callable[[ctypes.CDLL, str, Context, Attributes, Sequence[torch.Tensor]], torch.Tensor]
    """Computes the op in a form, by the compiled probe."""
    room: Callable[[Context, Attributes], int]
    """Returns the number of floats of scratch memory that ``emit`` uses."""
    emit: Callable[[Context, Attributes, Sequence[Place], Place, str], Iterator[str]]
    """Writes the C++ of an op in a form: from the places of its operands to that of its result, with scratch memory at
    ``room``."""
    probe: str
    """C++ of the functions that :attr:`computed` calls."""
    calls: int
    """Number of torch calls that take as long as an op of the family does on its own, about."""


def form_of(
    family: Family,
    call: Call,
    context: Context,
    attributes: Attributes,
    operands: Sequence[Operand],
    library: ctypes.CDLL,
) -> str | None:
    """Returns the form in which C++ has the bits of ``call``; None if there is none.

    Args:
        family: the family of the op.
        call: the op as it was bound.
        operands: shapes and strides of its operands in a run.
        library: the compiled probe.
    """
    symbols = family.forms(context, attributes, operands)
    forms = [form for form, symbol in symbols.items() if hasattr(library, symbol)]
    for tensors in (*family.drawn(context, attributes, operands), *operands_of(operands)):
        if not forms:
            break
        expected = call(*tensors)
        forms = [
            form for form in forms if same_bits(family.computed(library, form, context, attributes, tensors), expected)
        ]
    return forms[0] if forms else None


def function(library: ctypes.CDLL, name: str, tensors: int, sizes: int) -> CppFunction:
    """Returns a function of the probe, which takes a number of tensors of float32 and then of sizes."""
    return CppFunction(library[name], [FLOATS] * tensors + [NUMBER] * sizes)


PROBED_FUNCTIONS = tuple(name for name, each in FUNCTIONS.items() if each.follows_library)
"""Functions of one number whose C++ has the bits of torch's on some CPUs and versions of torch only."""


def bfloat16_cpp(name: str) -> str:
    """Returns the C++ expression of a function as an op of bfloat16, before its result is rounded."""
    return FUNCTIONS[name].bfloat16_cpp or FUNCTIONS[name].cpp


FUNCTION_PROBES = "\n".join(
    f'extern "C" void {kind}_{name}(const float* x, float* y, long n) {{\n'
    f"  for (long i = 0; i < n; ++i) y[i] = {cpp.format(x='x[i]', p='')};\n}}"
    for name in PROBED_FUNCTIONS
    for kind, cpp in (("float32", FUNCTIONS[name].cpp), ("bfloat16", bfloat16_cpp(name)))
)
"""C++ that :func:`find_functions` calls."""

agreement: dict[str, bool] = {}
"""Whether a function's C++ has the bits of torch's in this process, by name, for those that were tried."""

_STEP = 65521
"""Distance between the bit patterns of the float32 numbers that functions are tried on: a prime."""


def find_functions(names: Sequence[str], library: ctypes.CDLL) -> None:
    """Finds out, once in a process, whether the C++ of these functions has the bits of torch's."""
    for name in names:
        if name not in agreement:
            agreement[name] = _agrees(name, library)


def has_cpp(name: str) -> bool:
    """Whether a function of one number is written in C++ that, as far as it was tried, has the bits of torch's."""
    return name in FUNCTIONS and bool(FUNCTIONS[name].cpp) and agreement.get(name, True)


def _agrees(name: str, library: ctypes.CDLL) -> bool:
    """Whether a function has the bits of torch's for a sample of float32 and for all of bfloat16."""
    patterns = torch.arange(-(1 << 31), 1 << 31, _STEP, dtype=torch.int64, device="cpu")
    all_bfloat16 = torch.arange(-(1 << 15), 1 << 15, dtype=torch.int16, device="cpu").view(torch.bfloat16)
    for kind, numbers in (("float32", patterns.to(torch.int32).view(torch.float32)), ("bfloat16", all_bfloat16)):
        wide = numbers.to(torch.float32)
        result = torch.empty_like(wide)
        function(library, f"{kind}_{name}", 2, 1)(wide, result, len(wide))
        if not same_bits(result.to(numbers.dtype), FUNCTIONS[name].compute(numbers)):
            return False
    return True
