"""Runs a user's script in this process, and finds the line of it that is executed."""

from __future__ import annotations

import contextlib
import inspect
import os
import runpy
import sys
import traceback
from collections.abc import Callable, Generator, Sequence
from pathlib import Path

import tt_xla

_PACKAGE = str(Path(tt_xla.__file__).parent)


@contextlib.contextmanager
def as_main(script: str, arguments: Sequence[str], *, as_module: bool = False) -> Generator[None]:
    """Sets ``sys.argv`` and ``sys.path`` as ``python script.py`` does, and restores them."""
    argv, path, main = sys.argv, list(sys.path), sys.modules["__main__"]
    sys.argv = [script, *arguments]
    sys.path.insert(0, os.getcwd() if as_module else str(Path(script).resolve().parent))
    try:
        yield
    finally:
        sys.argv, sys.path[:], sys.modules["__main__"] = argv, path, main


def run_to_end(
    script: str,
    arguments: Sequence[str] = (),
    *,
    as_module: bool = False,
    ignored: Callable[[BaseException], bool] = lambda error: False,
) -> str:
    """Runs a script in this process, also if Ctrl-C or an exception ends it, whose traceback is printed as always.

    Args:
        script: path of the script, or name of the module.
        arguments: its command-line arguments.
        as_module: whether ``script`` is the name of a module, as for ``python -m``.
        ignored: whether an exception is a proper end of the script.

    Returns:
        The error that ended the script, with its line; empty without one.
    """
    with as_main(script, arguments, as_module=as_module):
        try:
            runpy.run_module(script, run_name="__main__") if as_module else runpy.run_path(script, None, "__main__")
        except SystemExit as error:
            return "" if error.code in (None, 0) or ignored(error) else f"SystemExit: {error.code}"
        except BaseException as error:
            if ignored(error):
                return ""
            traceback.print_exception(error)
            return "".join(traceback.format_exception_only(error)).strip()
    return ""


def script_line() -> str:
    """Returns the line of the script, or of the module that it imports, that called ``ttnn``."""
    frame = inspect.currentframe()
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    return "" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"
