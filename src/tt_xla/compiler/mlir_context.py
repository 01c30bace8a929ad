"""The MLIR context in which users' modules are read."""

from __future__ import annotations

from jaxlib.mlir import ir

_MOST_READ = 1 << 20
"""Bytes of modules that one context reads. It keeps every type, location and constant that it has seen."""

_context: tuple[ir.Context, int] | None = None
"""The one in use, and how many bytes it has read."""


def context(reading: int) -> ir.Context:
    """The MLIR context for modules that users bring; it knows JAX's dialects and lets others stand as they are.

    Args:
        reading: how many bytes will be read in it. One that has read enough is left to its modules.
    """
    global _context
    found, read = _context or (None, 0)
    if found is None or read >= _MOST_READ:
        from jax._src.interpreters import mlir

        found, read = mlir.make_ir_context(), 0
        found.allow_unregistered_dialects = True
    _context = found, read + reading
    return found
