"""Runs commands: their exit status, their errors in one paragraph each, and Ctrl-C.

The exit status is 0 if the work was done, 1 if it failed or results differ, 2 for wrong usage (an option, an argument
or an environment variable), and 130 after Ctrl-C.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
import traceback
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn, TypeVar

import click

from tt_xla.environment import variable
from tt_xla.errors import OptionError, TTXLAError

FAILED, MISUSED, INTERRUPTED = 1, 2, 130
"""Exit statuses; 0 is success."""

_PATIENCE_S = 1.5
"""Seconds after Ctrl-C in which a call of a library, or another thread, may end by itself."""

Item = TypeVar("Item")


def for_each(items: Iterable[Item], work: Callable[[Item], object]) -> bool:
    """Does the work for each item. An error is reported and does not affect the other items.

    Returns:
        Whether the work failed for an item.
    """
    failed = False
    for item in items:
        try:
            work(item)
        except BrokenPipeError:  # whoever reads the output, such as head, has enough
            raise
        except (TTXLAError, OSError) as error:
            report_error(error)
            failed = True
    return failed


def report_error(error: BaseException) -> None:
    """Prints an error as one paragraph on standard error, after a traceback if the log level is VERBOSE."""
    if variable("TTXLA_LOGGER_LEVEL").upper() == "VERBOSE":
        traceback.print_exception(error)
    click.echo(f"error: {_message(error)}", err=True)


def _message(error: BaseException) -> str:
    if isinstance(error, TTXLAError):
        return " ".join(str(error).split())
    if isinstance(error, OSError):
        message = error.strerror or str(error) or type(error).__name__
        path = f"'{error.filename}': " if error.filename is not None else ""
        return f"{path}{message}. {_next_step(error)}"
    return (
        f"{type(error).__name__}: {' '.join(str(error).split())}. This is a bug in tt-xla; please report it. "
        "TTXLA_LOGGER_LEVEL=VERBOSE shows where it happened."
    )


def _next_step(error: OSError) -> str:
    """A hint for the user on an error of the operating system."""
    if isinstance(error, FileNotFoundError):
        return "Check the path, relative to the current folder."
    if isinstance(error, IsADirectoryError):
        return "Give one or more files."
    if isinstance(error, PermissionError):
        return "Check its permissions, or give another path."
    if isinstance(error, FileExistsError | NotADirectoryError):
        return "Give --out a folder, or a path that does not exist yet."
    return "Check that the disk has space and that the path can be read and written."


def run_command(command: click.Command, name: str, arguments: Sequence[str] | None = None) -> NoReturn:
    """Runs a command, and ends the process with its exit status.

    Args:
        command: the command.
        name: name of the command in its messages.
        arguments: command line; None for that of the process.
    """
    from tt_xla.runtime.exit_note import EXIT_NOTE

    EXIT_NOTE.wanted = False  # commands show the predictions themselves
    try:
        with _Interruption():
            status: Any = command.main(args=arguments, prog_name=name, standalone_mode=False)
    except click.UsageError as error:
        path = error.ctx.command_path if error.ctx else name
        message = " ".join(error.format_message().split())
        click.echo(f"error: {message} See '{path} --help'.", err=True)
        status = MISUSED
    except click.Abort as error:
        if isinstance(error.__cause__, EOFError):  # click takes it for the end of the user's input
            report_error(error.__cause__)
            sys.exit(FAILED)
        click.echo("interrupted", err=True)
        status = INTERRUPTED
    except BrokenPipeError:
        sys.stderr.close()
        status = FAILED
    except OptionError as error:
        report_error(error)
        status = MISUSED
    except Exception as error:
        report_error(error)
        status = FAILED
    sys.exit(status)


class _Interruption:
    """Ends the process soon after Ctrl-C, also where Python cannot: in a long call of a library, or joining a thread.

    Python's handler raises KeyboardInterrupt as soon as it can, so that a command shows what it has. A script that
    handles the signal itself is left alone.
    """

    def __init__(self) -> None:
        self._raised = threading.Event()
        self._wakeup: socket.socket | None = None

    def __enter__(self) -> None:
        in_main = threading.current_thread() is threading.main_thread()
        if not in_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
            return
        signalled, self._wakeup = socket.socketpair()
        self._wakeup.setblocking(False)
        signal.set_wakeup_fd(self._wakeup.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGINT, self._handle)
        threading.Thread(target=self._watch, args=(signalled,), daemon=True).start()

    def _handle(self, number: int, frame: object) -> None:
        self._raised.set()
        raise KeyboardInterrupt

    def _watch(self, signalled: socket.socket) -> None:
        """Waits for signals in a thread, which runs while the main thread is in a library."""
        with signalled:
            while data := signalled.recv(64):
                if signal.SIGINT not in data or signal.getsignal(signal.SIGINT) != self._handle:
                    continue
                if not self._raised.wait(_PATIENCE_S):
                    os.write(2, b"interrupted\n")
                    os._exit(INTERRUPTED)

    def __exit__(self, *_: object) -> None:
        if self._wakeup is None:
            return
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        self._wakeup.close()
        if self._raised.is_set():  # threads that still compute do not keep the process
            end = threading.Timer(_PATIENCE_S, os._exit, (INTERRUPTED,))
            end.daemon = True
            end.start()
