"""The compile options of the session, which ``torch_xla.set_custom_compile_options`` sets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tt_xla.frontends.torch import session
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


def current() -> Settings:
    """Returns the options of the session."""
    own = session.current
    if own.settings is None:
        own.settings = Settings({})
    return own.settings


def set_compile_options(options: Mapping[str, Any]) -> None:
    """Replaces the options of the session. Compiled models compile again at their next call.

    Raises:
        OptionError: a name is unknown or a value is bad.
    """
    session.current.settings = Settings(options)


def reset() -> None:
    """Drops the options of the session. The next use reads the defaults from the environment anew."""
    session.current.settings = None


def renew() -> None:
    """Makes every compiled model compile again at its next call, with the same options."""
    set_compile_options(current().options)
