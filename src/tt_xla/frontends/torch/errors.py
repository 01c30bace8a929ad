"""Errors of the compiler and the runtime in the classes that PyTorch scripts catch."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Generator

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


@contextlib.contextmanager
def in_torch_classes() -> Generator[None]:
    """Context manager that makes errors of ours instances of PyTorch's classes too, as :func:`as_torch_error` does."""
    try:
        yield
    except TTXLAError as error:
        as_torch_error(error)
        raise


def _add_base(error: TTXLAError, base: type[BaseException]) -> None:
    if not isinstance(error, base):
        error.__class__ = _with_base(type(error), base)


@functools.cache
def _with_base(kind: type[TTXLAError], base: type[BaseException]) -> type[TTXLAError]:
    """Returns a class with the name of ``kind`` that is a subclass of both."""
    return type(kind.__name__, (kind, base), {"__module__": kind.__module__})


__all__ = ["as_torch_error", "in_torch_classes"]
