"""The MLIR context that users' modules are parsed in."""

from __future__ import annotations

from jaxlib.mlir import ir

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
        from jax._src.interpreters import mlir

        mlir_context, bytes_read = mlir.make_ir_context(), 0
        mlir_context.allow_unregistered_dialects = True
    _context = mlir_context, bytes_read + reading
    return mlir_context
