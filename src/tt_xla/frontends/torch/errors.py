"""Errors of the compiler and the runtime in the classes that PyTorch scripts catch."""

from __future__ import annotations

import functools
from types import TracebackType

import torch

from tt_xla.errors import ResourceExhaustedError, TTXLAError


def as_torch_error(error: BaseException) -> BaseException:
    """Makes an error of ours an instance of PyTorch's class too, in place.

    ``except torch.OutOfMemoryError`` then catches :class:`~tt_xla.errors.ResourceExhaustedError`, and
    ``except RuntimeError`` catches every other error of ours. Errors of other packages stay as they are.

    Returns:
        The same object.
    """
    if isinstance(error, ResourceExhaustedError):
        _add_base(error, torch.OutOfMemoryError)
    elif isinstance(error, TTXLAError):
        _add_base(error, RuntimeError)
    return error


class Surfacing:
    """Context manager within which our errors pass dynamo unchanged, not wrapped in ``BackendCompilerFailed``.

    Running out of memory raises ``torch.OutOfMemoryError`` too.
    """

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, TTXLAError):
            from tt_xla.frontends.torch.private.dynamo import ShortenTraceback

            if not isinstance(error, ShortenTraceback):
                _add_base(error, ShortenTraceback)
                error.first_useful_frame = None  # type: ignore[attr-defined]
        if isinstance(error, ResourceExhaustedError):
            _add_base(error, torch.OutOfMemoryError)


def _add_base(error: TTXLAError, base: type[BaseException]) -> None:
    if not isinstance(error, base):
        error.__class__ = _with_base(type(error), base)


@functools.cache
def _with_base(kind: type[TTXLAError], base: type[BaseException]) -> type[TTXLAError]:
    """Returns a class with the name of ``kind`` that is a subclass of both."""
    return type(kind.__name__, (kind, base), {"__module__": kind.__module__})


__all__ = ["Surfacing", "as_torch_error"]
