"""Errors of the emulated ``ttnn``: TT-NN's own words, then what to do."""

from __future__ import annotations

from tt_xla.errors import TTXLAError


class TTFatal(TTXLAError, RuntimeError):
    """A condition that TT-NN checks with ``TT_FATAL`` does not hold."""

    def __str__(self) -> str:
        message = self.message.rstrip()
        return " ".join(filter(None, [f"TT_FATAL: {message}{'' if message.endswith(('.', '!')) else '.'}", self.hint]))


def no_tensors_of(dtype: object) -> TTFatal:
    """Returns the error for a data type that the emulated card lacks."""
    return TTFatal(f"The emulated card has no tensors of {dtype}", hint="Convert the tensor to ttnn.int32.")


class OutOfMemoryError(TTFatal):
    """A tensor does not fit into the memory of the device."""


class IncompatibleArguments(TypeError):
    """Arguments that TT-NN's bindings do not take: too many or too few, or of other kinds."""
