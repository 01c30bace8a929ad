"""``torch_xla.experimental.deprecation``: functions under older names, which warn once."""

from __future__ import annotations

import functools
import logging
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any


def deprecated(
    module: ModuleType, new: Callable[..., Any], old_name: str | None = None, extra_msg: str | None = None
) -> Callable[..., Any]:
    """Makes a function that calls another one and warns at the first call.

    Args:
        module: the module of the older name.
        new: the function.
        old_name: the older name; by default that of the function.
        extra_msg: a further sentence of the warning.
    """
    warnings = [
        f"{module.__name__}.{old_name or new.__name__} is deprecated. Use {new.__module__}.{new.__name__} instead."
        + (f" {extra_msg}" if extra_msg else "")
    ]

    @functools.wraps(new)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        if warnings:
            logging.warning(warnings.pop())
        return new(*args, **kwargs)

    return wrapped


def mark_deprecated(
    new: Callable[..., Any], extra_msg: str | None = None
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator that replaces a function by another one, and warns at the first call."""
    return lambda old: deprecated(sys.modules[old.__module__], new, old.__name__, extra_msg)


def register_deprecated(module: ModuleType, new: Callable[..., Any]) -> None:
    """Gives a module a function under the function's own name, which warns at the first call."""
    setattr(module, new.__name__, deprecated(module, new))
