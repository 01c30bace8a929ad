"""The compile options that commands take: ``--level`` and ``--option NAME=VALUE``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from tt_xla.errors import OptionError

if TYPE_CHECKING:
    from tt_xla.options import CompileOptions


def option_values(level: int | None, option_texts: Sequence[str]) -> dict[str, object]:
    """Returns the values of --level and --option by the name of the compile option.

    Raises:
        UsageError: a text is not NAME=VALUE, or the two contradict each other.
    """
    values: dict[str, object] = {}
    for text in option_texts:
        name, separator, value = text.partition("=")
        if not separator:
            raise click.UsageError(f"--option got {text!r}; expected NAME=VALUE, as in enable_trace=true.")
        values[name.strip()] = value.strip()
    if level is not None:
        if str(values.get("optimization_level", level)) != str(level):
            raise click.UsageError(
                f"--level {level} and --option optimization_level={values['optimization_level']} contradict each other."
            )
        values["optimization_level"] = level
    return values


def parsed_options(level: int | None, option_texts: Sequence[str]) -> CompileOptions:
    """Returns the compile options of --level and --option.

    Raises:
        UsageError: an option is unknown, has a bad value, or contradicts another one.
    """
    from tt_xla.options import CompileOptions

    try:
        return CompileOptions.parse(option_values(level, option_texts))
    except OptionError as error:
        raise click.UsageError(str(error)) from error
