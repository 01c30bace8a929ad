"""The compile options of the process, which ``torch_xla.set_custom_compile_options`` sets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tt_xla.options import CompileOptions


class Settings:
    """Options given by the user for all compiled models; a new object at each change, so that ``is`` tells a change."""

    __slots__ = ("_parsed", "given")

    def __init__(self, given: Mapping[str, object]) -> None:
        self.given = dict(given)
        self._parsed = CompileOptions.parse(self.given)

    def with_own(self, own: Mapping[str, object]) -> CompileOptions:
        """These options, with those that one ``torch.compile`` call was given on top."""
        return CompileOptions.parse(self.given | dict(own)) if own else self._parsed


_current: Settings | None = None


def current() -> Settings:
    global _current
    if _current is None:
        _current = Settings({})
    return _current


def set_compile_options(options: Mapping[str, Any]) -> None:
    """Replaces the options of the process. Compiled models are compiled again at their next call.

    Raises:
        OptionError: a name is unknown or a value is bad.
    """
    global _current
    _current = Settings(options)


def renew() -> None:
    """Makes every compiled model compile again at its next call, with the same options."""
    set_compile_options(current().given)
