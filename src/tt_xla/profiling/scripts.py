"""Runs a user's script as ``python script.py`` would, while it is recorded."""

from __future__ import annotations

import contextlib
import os
import runpy
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

from tt_xla.errors import OptionError
from tt_xla.profiling.recording import Recording, StopScript, Zone, recorded


def run_recorded(
    script: str,
    arguments: Sequence[str] = (),
    *,
    as_module: bool = False,
    functions: bool = False,
    enough: Callable[[Recording], bool] | None = None,
    keep_results: bool = False,
    keep_arguments: bool = False,
) -> Recording:
    """Runs ``script`` in this process. However it ends, what was recorded until then is given back.

    Args:
        as_module: ``script`` is the name of a module, as for ``python -m``.
        functions: also record calls of Python functions in the script's folder.
        enough: true ends the script.
        keep_results: keep what the first run of each program gives.
        keep_arguments: keep what it is given, and the StableHLO of each compilation.

    Raises:
        OptionError: there is no such script.
    """
    if not as_module and not Path(script).is_file():
        raise OptionError(f"There is no script '{script}'.", hint="Check the path, relative to the current folder.")
    with (
        recorded(enough, keep_results=keep_results, keep_arguments=keep_arguments) as recording,
        _as_main(script, arguments, as_module),
        _terminable(),
    ):
        zones = _functions(recording, Path(script).resolve().parent) if functions else contextlib.nullcontext()
        try:
            with zones:
                runpy.run_module(script, run_name="__main__") if as_module else runpy.run_path(script, None, "__main__")
        except StopScript:
            pass
        except SystemExit as error:
            if error.code not in (None, 0):
                recording.error = f"SystemExit: {error.code}"
        except BaseException as error:
            if not recording.stopped:  # frameworks wrap what ends a script; then it is no error of the script's
                recording.error = "".join(traceback.format_exception_only(error)).strip()
                traceback.print_exception(error)
    return recording


@contextlib.contextmanager
def _as_main(script: str, arguments: Sequence[str], as_module: bool) -> Generator[None]:
    """``sys.argv`` and ``sys.path`` as the script would find them."""
    argv, path, main = sys.argv, list(sys.path), sys.modules["__main__"]
    sys.argv = [script, *arguments]
    sys.path.insert(0, os.getcwd() if as_module else str(Path(script).resolve().parent))
    try:
        yield
    finally:
        sys.argv, sys.path[:], sys.modules["__main__"] = argv, path, main


@contextlib.contextmanager
def _terminable() -> Generator[None]:
    """SIGTERM ends the script as an exception does, so that the partial recording is kept."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def terminate(*_: Any) -> None:
        raise KeyboardInterrupt("SIGTERM")

    before = signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextlib.contextmanager
def _functions(recording: Recording, folder: Path) -> Generator[None]:
    """Records calls of functions whose source lies in ``folder``."""
    prefix, clock = str(folder) + os.sep, time.perf_counter_ns
    open_calls: list[tuple[FrameType, int]] = []

    def told(frame: FrameType, event: str, _: Any) -> None:
        if event not in ("call", "return") or not frame.f_code.co_filename.startswith(prefix):
            return
        if event == "call":
            open_calls.append((frame, clock()))
        elif open_calls and open_calls[-1][0] is frame:
            _, start = open_calls.pop()
            recording.zones.append(Zone(frame.f_code.co_qualname, start, clock(), len(open_calls)))

    sys.setprofile(told)
    try:
        yield
    finally:
        sys.setprofile(None)
