"""The table of kernels.

A kernel is a plain function of torch tensors, and it is the definition of its op. It is called with a
:class:`Context`, the operands by their TTNN names and the attributes by theirs. What it returns is rounded to the dtype
of the instruction's result (:mod:`tt_xla.runtime.emulator.bind`). Kernels know nothing of faster ways.
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
    "elementwise",
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
)

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


def kernel(*ops: str, keeps_values: bool = False, prepared: bool = False) -> Callable[[_Function], _Function]:
    """Registers a function as the kernel of ``ops``; see :class:`Kernel` for the flags.

    Raises:
        ValueError: one of the ops has a kernel already.
    """

    def register(function: _Function) -> _Function:
        for op in ops:
            _TABLE[op] = Kernel(op, function, keeps_values, prepared)
        return function

    return register


@functools.cache
def kernels() -> Mapping[str, Kernel]:
    """Returns every kernel by the name of its op."""
    for family in FAMILIES:
        importlib.import_module(f"tt_xla.runtime.emulator.kernels.{family}")
    return _TABLE


def find(op: str, location: str = "") -> Kernel:
    """Returns the kernel of ``op``.

    Raises:
        ExecutionError: the op has no kernel; the message names ops with similar names.
    """
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
