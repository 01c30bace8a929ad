"""Runs a user's script as ``python script.py`` does, and records it."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

from tt_xla.errors import OptionError
from tt_xla.locks import Lock
from tt_xla.profiling.observing import recorded
from tt_xla.profiling.recording import Recording, StopScript, Zone
from tt_xla.testing.scripts import run_to_end


def run_recorded(
    script: str,
    arguments: Sequence[str] = (),
    *,
    as_module: bool = False,
    functions: bool = False,
    enough: Callable[[Recording], bool] | None = None,
    keep_results: bool = False,
    keep_arguments: bool = False,
    stopped: Callable[[], bool] = lambda: False,
) -> Recording:
    """Runs a script in this process and returns its recording, however the script ends.

    Args:
        script, arguments, as_module: As for :func:`run_script`.
        functions: Whether to record calls of Python functions in the script's folder.
        enough, keep_results, keep_arguments: As for :func:`.recorded`.
        stopped: Whether something else has stopped the script, so that its error is a proper end of it.

    Raises:
        OptionError: The script does not exist.
    """

    def is_stopped() -> bool:
        return recording.stopped or stopped()

    check_exists(script, as_module=as_module)
    with recorded(enough, keep_results=keep_results, keep_arguments=keep_arguments) as recording:
        recording.script, recording.date = script, time.strftime("%Y-%m-%d %H:%M")
        zones = _functions(recording, Path(script).resolve().parent) if functions else contextlib.nullcontext()
        with zones:
            error = run_script(script, arguments, as_module=as_module, stopped=is_stopped)
        recording.error = error or recording.error
    return recording


def check_exists(script: str, *, as_module: bool = False) -> None:
    """Raises :class:`OptionError` if a script does not exist."""
    if not as_module and not Path(script).is_file():
        raise OptionError(
            f"The script '{script}' does not exist.", hint="Check the path, relative to the current folder."
        )


def run_script(
    script: str, arguments: Sequence[str] = (), *, as_module: bool = False, stopped: Callable[[], bool]
) -> str:
    """Runs a script in this process and returns the error that ended it, which is printed; empty without one.

    Args:
        script: Path of the script, or name of the module.
        arguments: The script's command-line arguments.
        as_module: Whether ``script`` is the name of a module, as for ``python -m``.
        stopped: Whether the script was ended by :class:`StopScript`, which a framework may wrap in its own error.
    """
    with _terminable(stopped):
        return run_to_end(
            script,
            arguments,
            as_module=as_module,
            ignored=lambda error: isinstance(error, StopScript) or (stopped() and not isinstance(error, SystemExit)),
        )


@contextlib.contextmanager
def _terminable(stopped: Callable[[], bool]) -> Generator[None]:
    """Makes SIGTERM raise an exception in the script, so that the partial recording is kept.

    A thread of the script that :class:`StopScript` ends sends the signal too: the main thread may be waiting for it.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def terminate(*_: Any) -> None:
        raise StopScript if stopped() else KeyboardInterrupt("SIGTERM")

    runs, lock = True, Lock()
    main_thread = threading.get_ident()

    def thread_ended(ending: threading.ExceptHookArgs) -> None:
        if not issubclass(ending.exc_type, StopScript):
            hook_before(ending)
            return
        with lock:
            if runs:
                signal.pthread_kill(main_thread, signal.SIGTERM)

    before, hook_before = signal.signal(signal.SIGTERM, terminate), threading.excepthook
    threading.excepthook = thread_ended
    try:
        yield
    finally:
        with lock:  # no thread sends the signal when it is no longer handled here
            runs = False
        threading.excepthook = hook_before
        signal.signal(signal.SIGTERM, before)


@contextlib.contextmanager
def _functions(recording: Recording, folder: Path) -> Generator[None]:
    """Records calls of functions whose source is in a folder."""
    prefix, clock = str(folder) + os.sep, time.perf_counter_ns
    open_calls: list[tuple[FrameType, int]] = []

    def record_call(frame: FrameType, event: str, _: Any) -> None:
        if event not in ("call", "return") or not frame.f_code.co_filename.startswith(prefix):
            return
        if event == "call":
            open_calls.append((frame, clock()))
        elif open_calls and open_calls[-1][0] is frame:
            _, start = open_calls.pop()
            recording.zones.append(Zone(frame.f_code.co_qualname, start, clock(), len(open_calls)))

    sys.setprofile(record_call)
    try:
        yield
    finally:
        sys.setprofile(None)
