"""Runs a user's script in this process, and finds the line of it that is executed."""

from __future__ import annotations

import contextlib
import inspect
import os
import sys
from collections.abc import Generator, Sequence
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


def script_line() -> str:
    """Returns the line of the script, or of the module that it imports, that called ``ttnn``."""
    frame = inspect.currentframe()
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    return "" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"
