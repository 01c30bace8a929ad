"""Python functions that compiled programs call back, for ``jax.pure_callback`` and ``jax.debug.print``.

A program contains only the name of a function, which is unique among processes. The function stays registered as long
as its :class:`Callback` is alive.
"""

from __future__ import annotations

import itertools
import os
import traceback
import uuid
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from tt_xla.errors import ExecutionError

TARGET = "tt.python_callback"
"""Target of the custom call that represents a callback in StableHLO; its backend config is the function's name."""

Function = Callable[..., Sequence[Any]]
"""A function that takes and returns NumPy arrays."""


class Callback:
    """A function and the name under which it is registered."""

    def __init__(self, function: Function, name: str) -> None:
        self.function = function
        self.name = name

    def __call__(self, arrays: Sequence[Any]) -> Sequence[Any]:
        """Calls the function.

        Raises:
            ExecutionError: the function failed; the message has its traceback.
        """
        try:
            return self.function(*arrays)
        except BaseException as error:
            # BaseException, because half of the program has run: an interrupt must not make it start again.
            trace = "".join(traceback.format_exception(error)).rstrip()
            raise ExecutionError(f"A Python function that the program calls back failed.\n{trace}") from None


_PROCESS = uuid.uuid4().hex
_numbers = itertools.count()
_registered: weakref.WeakValueDictionary[str, Callback] = weakref.WeakValueDictionary()


def register(function: Function) -> Callback:
    """Registers a function under a new name; the caller keeps the result as long as a program may call it."""
    callback = Callback(function, f"{_PROCESS}:{os.getpid()}:{next(_numbers)}")
    _registered[callback.name] = callback
    return callback


def registered(name: str) -> Callback | None:
    """Returns the callback of a name; None if it belongs to another process or is gone."""
    return _registered.get(name)


def find(name: str) -> Callback:
    """Returns the callback of a name.

    Raises:
        ExecutionError: the callback belongs to another process, or is gone.
    """
    callback = _registered.get(name)
    if callback is None:
        raise ExecutionError(
            f"The program calls back the Python function '{name}', which this process does not have.",
            hint="A program with callbacks runs only in the process that compiled it; compile it in this process.",
        )
    return callback
