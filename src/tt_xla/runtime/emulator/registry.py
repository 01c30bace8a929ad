"""The table of kernels.

A kernel is a plain function of torch tensors, and it is the definition of its op. It is called with a
:class:`Context`, the operands by their TTNN names and the attributes by theirs. What it returns is rounded to the dtype
of the instruction's result (:mod:`tt_xla.runtime.emulator.bind`). Kernels know nothing of faster ways.

With ``numerics=bit_exact``, ops that :mod:`tt_xla.runtime.emulator.bit_exact` computes as the chip's instructions do
have a second kernel there.
"""

from __future__ import annotations

import difflib
import functools
import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from tt_xla.errors import ExecutionError
from tt_xla.registry import Registry

FAMILIES = (
    "attention",
    "caches",
    "collective",
    "convolution",
    "creation",
    "data_movement",
    "deformable_attention",
    "delta_rules",
    "elementwise",
    "experts",
    "gradients",
    "groups",
    "heads",
    "host",
    "images",
    "indexing",
    "layout",
    "matrix",
    "moreh",
    "moreh_backward",
    "normalization",
    "paged",
    "pointwise",
    "pooling",
    "quantization",
    "random",
    "rearrangement",
    "reduction",
    "sparse_attention",
    "spectra",
)
"""Modules of :mod:`tt_xla.runtime.emulator.kernels`."""

BIT_EXACT = (
    "attention",
    "batch_norm",
    "conversions",
    "convolutions",
    "decode_attention",
    "divisions",
    "elementwise",
    "gradients",
    "group_norm",
    "indices",
    "moreh_norms",
    "moreh_optimizers",
    "moreh_products",
    "moreh_sums",
    "moves",
    "norms",
    "pairs",
    "pooling",
    "products",
    "reductions",
    "rotary",
    "rows",
    "running",
    "sorting",
    "unordinary",
    "variances",
)
"""Modules of :mod:`tt_xla.runtime.emulator.bit_exact` that define kernels."""

_Function = TypeVar("_Function", bound=Callable[..., Any])


@dataclass(frozen=True)
class Kernel:
    """The definition of one op."""

    op: str
    function: Callable[..., Any]
    keeps_values: bool
    """Whether each element of the result is an element of the operand in the same place. If the two have one block
    format, the result needs no second packing."""
    prepared: bool = False
    """Whether ``function`` takes context and attributes alone, and returns the function of the operands."""

    @property
    def family(self) -> str:
        """Name of the module of :mod:`tt_xla.runtime.emulator.kernels` that defines the kernel."""
        return self.function.__module__.rpartition(".")[2]


_TABLE: Registry[str, Kernel] = Registry("kernel")
_BIT_EXACT_TABLE: Registry[str, Kernel] = Registry("bit-exact kernel")


def kernel(
    *ops: str, keeps_values: bool = False, prepared: bool = False, bit_exact: bool = False
) -> Callable[[_Function], _Function]:
    """Registers a function as the kernel of ``ops``; see :class:`Kernel` for the other flags.

    Args:
        bit_exact: whether it is the kernel for ``numerics=bit_exact`` alone.

    Raises:
        ValueError: one of the ops has a kernel already.
    """

    table = _BIT_EXACT_TABLE if bit_exact else _TABLE

    def register(function: _Function) -> _Function:
        for op in ops:
            table[op] = Kernel(op, function, keeps_values, prepared)
        return function

    return register


@functools.cache
def kernels() -> Mapping[str, Kernel]:
    """Returns every kernel by the name of its op."""
    for family in FAMILIES:
        importlib.import_module(f"tt_xla.runtime.emulator.kernels.{family}")
    return _TABLE


@functools.cache
def bit_exact_kernels() -> Mapping[str, Kernel]:
    """Returns the kernels that stand in for those of :func:`kernels` with ``numerics=bit_exact``, by op."""
    for family in BIT_EXACT:
        importlib.import_module(f"tt_xla.runtime.emulator.bit_exact.{family}")
    return _BIT_EXACT_TABLE


def find(op: str, location: str = "", *, bit_exact: bool = False) -> Kernel:
    """Returns the kernel of ``op``, with ``bit_exact`` the one for ``numerics=bit_exact`` where there is one.

    Raises:
        ExecutionError: the op has no kernel; the message names ops with similar names.
    """
    if bit_exact and op in bit_exact_kernels():
        return bit_exact_kernels()[op]
    table = kernels()
    if op in table:
        return table[op]
    near = difflib.get_close_matches(op, sorted(table), n=3)
    hint = f"Similar names are {', '.join(near)}. " if near else ""
    raise ExecutionError(
        f"The emulated card has no kernel for {op}.",
        hint=f"{hint}Kernels are registered in tt_xla/runtime/emulator/kernels.",
        location=location,
    )
