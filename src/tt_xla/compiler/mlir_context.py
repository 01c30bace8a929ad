"""The MLIR context that users' modules are parsed in, and their text."""

from __future__ import annotations

import re
from typing import Any

from jaxlib.mlir import ir

from tt_xla.host import new_mlir_context

_SLICE_OF_A_SCALAR = re.compile(r"stablehlo\.dynamic_slice (%[\w#]+), , sizes = \[\]")
_MOST_READ = 1 << 20
"""Bytes of modules after which a context is replaced; it keeps every type, location and constant it has seen."""

_context: tuple[ir.Context, int] | None = None
"""The current context and the number of bytes parsed in it."""


def context(reading: int) -> ir.Context:
    """Returns the MLIR context for parsing users' modules. It knows JAX's dialects and accepts unregistered ones.

    Args:
        reading: Number of bytes that the caller will parse. A context that has parsed too many is replaced; modules
            in it stay valid.
    """
    global _context
    mlir_context, bytes_read = _context or (None, 0)
    if mlir_context is None or bytes_read >= _MOST_READ:
        mlir_context, bytes_read = new_mlir_context(), 0
    _context = mlir_context, bytes_read + reading
    return mlir_context


def module_text(module: Any, *, locations: bool = False) -> str:
    """The text of a module in a form that parses again.

    StableHLO prints a ``dynamic_slice`` of a scalar, which has no start indices, in a form that its parser refuses. It
    is the identity, and written as a reshape.

    Args:
        module: a module of ``jaxlib.mlir``.
        locations: whether the text has the locations of the ops.
    """
    return _SLICE_OF_A_SCALAR.sub(r"stablehlo.reshape \1", module.operation.get_asm(enable_debug_info=locations))


def copy_of(module: Any, *, locations: bool = True) -> Any:
    """A copy of a module, in the same context."""
    return ir.Module.parse(module_text(module, locations=locations), module.context)
