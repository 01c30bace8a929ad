"""Errors of the emulated ``ttnn``: TT-NN's own words, then what to do."""

from __future__ import annotations

from tt_xla.errors import TTXLAError


class TTFatal(TTXLAError, RuntimeError):
    """A condition that TT-NN checks with ``TT_FATAL`` does not hold."""

    def __str__(self) -> str:
        return f"TT_FATAL: {super().__str__()}"


class OutOfMemoryError(TTFatal):
    """A tensor does not fit into the memory of the device."""
