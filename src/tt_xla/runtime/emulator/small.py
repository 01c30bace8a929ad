"""Small tensors, of which sums and functions are computed in float64.

What is left of a float64 in a float32 shows neither the order of a sum nor which library a function came from, but for
about one value in 2**28, and sums that cancel to less than that part of their terms. So the second engine, whose loops
are others than torch's, gives the bits of the kernels.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import torch

from tt_xla import options
from tt_xla.ir.program import TensorSpec
from tt_xla.runtime.emulator import place
from tt_xla.runtime.emulator.chains.build import compiler
from tt_xla.runtime.emulator.containers import CONTAINERS

ELEMENTS = 1 << 14
"""Of a small tensor, at most."""

MULTIPLICATIONS = 1 << 16
"""Of a small product, at most."""

FUNCTIONS = {name: name for name in ("gelu", "mish", "sigmoid", "silu")} | {
    name: f"std::{name}" for name in ("cos", "erf", "erfc", "exp", "expm1", "log", "log1p", "sin", "tan", "tanh")
}
"""Functions of one number of which libraries give bits of their own, and their names in the second engine's C++."""

FLOATS = (torch.bfloat16, torch.float32)


def available() -> bool:
    """Whether there may be a second engine, without which nothing is gained."""
    return options.emulator_chains() != "off" and place.device().type == "cpu" and compiler() is not None


def are_small(specs: Iterable[Any]) -> bool:
    """Whether all of these are small tensors of bfloat16 or float32, and there is a second engine."""
    return available() and all(
        isinstance(spec, TensorSpec) and CONTAINERS[spec.layout.dtype] in FLOATS and math.prod(spec.shape) <= ELEMENTS
        for spec in specs
    )


def is_small_product(specs: Iterable[Any], multiplications: int) -> bool:
    """Whether a product of these operands, with so many multiplications, is small."""
    return 0 < multiplications <= MULTIPLICATIONS and are_small(specs)
