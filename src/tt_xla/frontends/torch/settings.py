"""The compile options of the process, which ``torch_xla.set_custom_compile_options`` sets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tt_xla.options import CompileOptions


class Settings:
    """Options that the user set for all compiled models. Every change makes a new object, so ``is`` detects changes."""

    __slots__ = ("_parsed", "options")

    def __init__(self, options: Mapping[str, object]) -> None:
        self.options = dict(options)
        self._parsed = CompileOptions.parse(self.options)

    def with_own(self, own: Mapping[str, object]) -> CompileOptions:
        """Returns these options, overridden by the options ``own`` of one ``torch.compile`` call."""
        return CompileOptions.parse(self.options | dict(own)) if own else self._parsed


_current: Settings | None = None


def current() -> Settings:
    """Returns the options of the process."""
    global _current
    if _current is None:
        _current = Settings({})
    return _current


def set_compile_options(options: Mapping[str, Any]) -> None:
    """Replaces the options of the process. Compiled models compile again at their next call.

    Raises:
        OptionError: a name is unknown or a value is bad.
    """
    global _current
    _current = Settings(options)


def reset() -> None:
    """Drops the options of the process. The next use reads the defaults from the environment anew."""
    global _current
    _current = None


def renew() -> None:
    """Makes every compiled model compile again at its next call, with the same options."""
    set_compile_options(current().options)
