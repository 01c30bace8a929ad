"""Python functions that compiled programs call back, as ``jax.pure_callback`` and ``jax.debug.print`` want it.

A program has a function's name, which no other process has; the function lives as long as what holds its Callback.
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
"""The target of the custom call that stands for one in StableHLO; its backend config is the name."""

Function = Callable[..., Sequence[Any]]
"""From NumPy arrays to NumPy arrays."""


class Callback:
    """A function, and the name that it was registered under."""

    def __init__(self, function: Function, name: str) -> None:
        self.function = function
        self.name = name

    def __call__(self, arrays: Sequence[Any]) -> Sequence[Any]:
        """Raises:
        ExecutionError: the function failed; the message has its traceback.
        """
        try:
            return self.function(*arrays)
        except BaseException as error:
            # BaseException: half of the program has run. An interrupt must not have it run again from the start.
            trace = "".join(traceback.format_exception(error)).rstrip()
            raise ExecutionError(f"A Python function that the program calls back failed.\n{trace}") from None


_PROCESS = uuid.uuid4().hex
_numbers = itertools.count()
_registered: weakref.WeakValueDictionary[str, Callback] = weakref.WeakValueDictionary()


def register(function: Function) -> Callback:
    """Gives a function a name; keep the result as long as a program may call it."""
    made = Callback(function, f"{_PROCESS}:{os.getpid()}:{next(_numbers)}")
    _registered[made.name] = made
    return made


def registered(name: str) -> Callback | None:
    return _registered.get(name)


def find(name: str) -> Callback:
    """The function of a name.

    Raises:
        ExecutionError: it was of another process, or is gone.
    """
    found = _registered.get(name)
    if found is None:
        raise ExecutionError(
            f"The program calls back a Python function, '{name}', that this process does not have.",
            hint="Programs with callbacks run in the process that compiled them; compile it here.",
        )
    return found
