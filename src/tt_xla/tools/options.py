"""The options that several commands share. Each is declared here once, so that it has one name everywhere."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tt_xla.environment import system_for_now
from tt_xla.errors import OptionError
from tt_xla.target import system_names
from tt_xla.tools.output import json_alone

if TYPE_CHECKING:
    from tt_xla.options import CompileOptions

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]
"""A decorator of the function behind a command."""


FILE = click.Path(path_type=Path, exists=True, dir_okay=False)
FOLDER = click.Path(path_type=Path, exists=True, file_okay=False)
"""Types of options that name what is there."""

inputs_option = click.option(
    "--inputs", type=FILE, metavar="NPZ", help="A file with the arguments in order (default: random numbers)."
)
models_root_option = click.option("--models-root", type=FOLDER, help="Folder with model loaders.")


class NumberRange(click.FloatRange):
    """A range of floats, without NaN."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail(f"{value} is no number.", param, ctx)
        return number


def system_option(
    *aliases: str,
    text: str = "System to compile for (default: TTXLA_SYSTEM, or n150); tt-xla info lists all.",
    **settings: Any,
) -> Decorator:
    """Adds ``--system``, which counts as ``TTXLA_SYSTEM`` while the command runs, also in its child processes.

    Args:
        aliases: older names of the option, such as ``--arch``.
        text: the help.
        settings: further settings of the option. With ``expose_value=True`` the command gets the name as ``system``.
    """
    kind, settings = click.Choice(system_names()), {"expose_value": False} | settings
    return click.option(
        "--system", *aliases, "system", type=kind, metavar="NAME", callback=_select, help=text, **settings
    )


def _select(context: click.Context, parameter: click.Parameter, name: str | None) -> str | None:
    if name is not None:
        context.with_resource(system_for_now(name))
    return name


def out_option(*aliases: str, text: str, metavar: str = "DIR", **settings: Any) -> Decorator:
    """Adds ``-o`` and ``--out``, the place of what the command writes, which it gets as ``out``.

    Args:
        aliases: older names of the option, such as ``--export``.
        text: the help.
        metavar: what the place is.
        settings: further settings of the option, such as its default.
    """
    kind = click.Path(path_type=Path)
    return click.option("-o", "--out", *aliases, "out", type=kind, metavar=metavar, help=text, **settings)


def json_option(text: str) -> Decorator:
    """Adds ``--json``, with which standard output has JSON alone. The command gets the flag as ``as_json``."""

    def decorated(command: Callable[..., Any]) -> Callable[..., Any]:
        @click.option("--json", "as_json", is_flag=True, help=text)
        @functools.wraps(command)
        def run(*arguments: Any, as_json: bool, **named: Any) -> Any:
            if not as_json:
                return command(*arguments, as_json=False, **named)
            with json_alone():
                return command(*arguments, as_json=True, **named)

        return run

    return decorated


def compile_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds ``--level`` and ``--option``. The command gets those that are given, by name, as ``options``."""

    @click.option("--level", type=click.IntRange(0, 2), help="Optimization level: 0 (default), 1 or 2.")
    @click.option(
        "--option", "option_texts", multiple=True, metavar="NAME=VALUE", help="Set a compile option; may be repeated."
    )
    @functools.wraps(command)
    def run(*arguments: Any, level: int | None, option_texts: tuple[str, ...], **named: Any) -> Any:
        return command(*arguments, options=_values(level, option_texts), **named)

    return run


def _values(level: int | None, option_texts: Sequence[str]) -> dict[str, object]:
    """The values of --level and --option by the name of the compile option.

    Raises:
        UsageError: a text is not NAME=VALUE, an option is unknown or has a bad value, or two contradict each other.
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
    parsed(values)
    return values


def parsed(values: dict[str, object]) -> CompileOptions:
    """Returns compile options from their values by name.

    Raises:
        UsageError: an option is unknown, has a bad value, or contradicts another one.
    """
    from tt_xla.options import CompileOptions

    try:
        return CompileOptions.parse(values)
    except OptionError as error:
        raise click.UsageError(str(error)) from error
