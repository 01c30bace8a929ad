"""Output of commands: JSON alone where it is asked for, and consoles that are as wide as their tables."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Generator, Mapping
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click

from tt_xla.errors import OutputError
from tt_xla.json_text import to_json
from tt_xla.publish import Content, publish

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

_FILE_WIDTH = 180
"""Characters in a line of a table that goes to a file or a pipe."""

_json_output: ContextVar[TextIO | None] = ContextVar("json_output", default=None)
"""Standard output while everything else goes to standard error; None where both are used as always."""


@contextlib.contextmanager
def json_alone() -> Generator[None]:
    """Keeps standard output for :func:`print_json`; all else, also of scripts and libraries, goes to standard error."""
    sys.stdout.flush()
    output, kept = sys.stdout, os.dup(1) if _is_descriptor_1(sys.stdout) else None
    if kept is not None:
        output = os.fdopen(kept, "w", encoding="utf-8")
        os.dup2(2, 1)
    token = _json_output.set(output)
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    finally:
        _json_output.reset(token)
        if kept is not None:
            output.flush()
            os.dup2(kept, 1)
            output.close()


def _is_descriptor_1(stream: TextIO) -> bool:
    """Whether a stream writes where libraries and child processes do; one of a test may not."""
    try:
        return os.path.sameopenfile(stream.fileno(), 1)
    except OSError:
        return False


def print_json(value: object, *, indent: int | None = None) -> None:
    """Prints plain data as JSON on standard output; see :func:`.to_json`."""
    click.echo(to_json(value, indent=indent), file=_json_output.get())


@contextlib.contextmanager
def writing(out: Path) -> Generator[None]:
    """Creates the folder above the file or folder of ``--out``, which the block writes.

    Raises:
        OutputError: it cannot be written.
    """
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        yield
    except OSError as error:
        place = f" ('{error.filename}')" if error.filename not in (None, str(out)) else ""
        raise OutputError(
            f"--out '{out}' cannot be written: {error.strerror or error}{place}.",
            hint="Give --out a place that is writable or does not exist yet.",
        ) from error


def publish_out(out: Path, files: Mapping[str, Content]) -> None:
    """Writes files to the folder of ``--out``, all or none. Of what is there, it replaces only what a command wrote.

    Raises:
        OutputError: they cannot be written, or other files are in these places.
    """
    with writing(out):
        publish(out, files, keep_others=True)


def console(*, folds: bool = False) -> Console:
    """A console as wide as the terminal, or wide enough for a table where standard output is no terminal.

    Args:
        folds: whether cells of tables continue in a second line, rather than make the table wider than the console.
    """
    from rich.console import Console

    width = None if sys.stdout.isatty() else _FILE_WIDTH
    return Console(highlight=False, soft_wrap=not folds, width=width)


def progress_bar() -> Progress:
    """A bar on standard error that counts to a total and goes when it is done."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    screen = Console(stderr=True, highlight=False, soft_wrap=True)
    return Progress(*columns, console=screen, transient=True, disable=not screen.is_terminal)


__all__ = ["console", "json_alone", "print_json", "progress_bar", "publish_out", "writing"]
