"""Output of commands: JSON alone where it is asked for, and consoles that are as wide as their tables."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Generator, Mapping
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TextIO

import click

from tt_xla.errors import OutputError
from tt_xla.json_text import to_json
from tt_xla.publish import Content, publish

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_FILE_WIDTH = 180
"""Characters in a line of a table that goes to a file or a pipe."""

_LABEL_WIDTH = 50
"""Characters beside a progress bar."""

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

    It takes no markup: texts in brackets stand as they are.

    Args:
        folds: whether cells of tables continue in a second line, rather than make the table wider than the console.
    """
    from rich.console import Console

    width = None if sys.stdout.isatty() else _FILE_WIDTH
    return Console(highlight=False, markup=False, soft_wrap=not folds, width=width)


def table(*columns: str, title: str | None = None) -> Table:
    """A table without a frame. A column whose name begins with ``>`` has numbers, which stand at its right."""
    from rich.table import Table

    made = Table(box=None, title=title)
    for name in columns:
        side: Literal["left", "right"] = "right" if name.startswith(">") else "left"
        made.add_column(name.removeprefix(">"), justify=side, no_wrap=side == "right", overflow="fold")
    return made


@contextlib.contextmanager
def progress_bar(label: str = "") -> Generator[Callable[[int, str], None]]:
    """Shows on standard error how far work is: a bar, which goes when it is done; lines where that is no terminal.

    It yields a function, which takes the number of steps to come and what they are, or 0 and what came out of a step.

    Args:
        label: what is done before the first of them.
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    screen = Console(stderr=True, highlight=False, soft_wrap=True)
    with Progress(*columns, console=screen, transient=True, disable=not screen.is_terminal) as bar:
        task = bar.add_task(label, total=0)

        def step(coming: int, text: str = "") -> None:
            if text and bar.disable:
                click.echo(f"{text}: {coming} trials" if coming else text, err=True)
            description = text[:_LABEL_WIDTH] or None
            bar.update(task, total=(bar.tasks[0].total or 0) + coming, advance=not coming, description=description)

        yield step
