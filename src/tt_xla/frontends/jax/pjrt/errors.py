"""PJRT errors for exceptions, and exceptions that signal handlers raise while a slot runs."""

from __future__ import annotations

import contextlib
import signal
import threading
import traceback
from typing import Any

from tt_xla import errors
from tt_xla.frontends.jax.pjrt.structs import ERROR_CODES

CODES: list[tuple[type[BaseException], str]] = [
    (errors.ResourceExhaustedError, "RESOURCE_EXHAUSTED"),
    (errors.UnsupportedOpError, "UNIMPLEMENTED"),
    (errors.InternalCompilerError, "INTERNAL"),
    (errors.VerificationError, "INTERNAL"),
    (errors.OptionError, "INVALID_ARGUMENT"),
    (errors.CompileError, "INVALID_ARGUMENT"),
    (errors.ProgramFormatError, "DATA_LOSS"),
    (errors.SystemDescriptionError, "NOT_FOUND"),
    (errors.ExecutionError, "FAILED_PRECONDITION"),
    (errors.TTXLAError, "UNKNOWN"),
    (MemoryError, "RESOURCE_EXHAUSTED"),
    (NotImplementedError, "UNIMPLEMENTED"),
    (KeyboardInterrupt, "CANCELLED"),
]


class PluginError(errors.TTXLAError):
    """The plugin refuses a call.

    Args:
        code: name of a ``PJRT_Error_Code``.
        message: what happened.
        hint: what to do next.
    """

    def __init__(self, code: str, message: str, *, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.code = code


def describe(error: BaseException) -> tuple[int, bytes]:
    """Returns the code and the message of the PJRT error for an exception that a slot raised."""
    if isinstance(error, PluginError):
        code = error.code
    else:
        code = next((name for kind, name in CODES if isinstance(error, kind)), "INTERNAL")
    if isinstance(error, errors.TTXLAError):
        message = str(error)
    else:
        trace = "".join(traceback.format_exception(error)).rstrip()
        message = f"{type(error).__name__}: {error}\nThis is a fault of tt-xla; please report it.\n{trace}"
    return ERROR_CODES[code], message.encode("utf-8", "replace")


# Signals -------------------------------------------------------------------------------------------------------------
#
# A signal handler of the user may raise between any two bytecodes of a slot. The C part then runs the slot again while
# signals wait, and raises the handler's exception in the main thread after jaxlib has returned.

_HOLDABLE = [
    number for number in signal.valid_signals() if number not in (signal.SIGKILL, signal.SIGSTOP, signal.SIGSEGV)
]
_held: dict[int, Any] = {}
"""The user's handlers of the signals that are made to wait, by signal number."""

_arrived: list[int] = []
"""Numbers of the signals that arrived while they were made to wait."""


def find_interrupt(error: BaseException) -> BaseException | None:
    """Returns the exception that a signal handler raised: ``error`` or one of its causes; None if there is none.

    The exception may have been raised in an earlier slot.
    """
    if threading.current_thread() is not threading.main_thread():
        return None
    codes = {_code(handler) for handler in (*map(signal.getsignal, _HOLDABLE), *_held.values())}
    codes.discard(None)
    cause: BaseException | None = error
    while cause is not None:
        frames = (frame for frame, _ in traceback.walk_tb(cause.__traceback__))
        is_known = isinstance(cause, KeyboardInterrupt) or hasattr(cause, "_tt_interrupt")
        if is_known or any(frame.f_code in codes for frame in frames):
            with contextlib.suppress(AttributeError):
                cause._tt_interrupt = True  # type: ignore[attr-defined]
            return cause
        cause = cause.__cause__  # not __context__, which may be an exception that the user is handling
    return None


def _code(handler: Any) -> Any:
    """Returns the code object of a signal handler; None for a handler without one."""
    handler = getattr(handler, "func", handler)
    handler = getattr(handler, "__func__", handler)
    if callable(handler) and not hasattr(handler, "__code__"):
        handler = getattr(type(handler).__call__, "__func__", type(handler).__call__)
    return getattr(handler, "__code__", None)


def hold() -> None:
    """Makes signals wait until :func:`let_go` is called. A signal may interrupt this function; it is called again."""
    if threading.current_thread() is not threading.main_thread():
        return
    for number in _HOLDABLE:
        handler = signal.getsignal(number)
        if callable(handler) and handler is not _arrive:
            _held[number] = handler
            signal.signal(number, _arrive)


def let_go(_: object = None) -> None:
    """Restores the user's handlers and delivers the signals that waited. Raises what the handlers raise."""
    if threading.current_thread() is not threading.main_thread():
        return
    for number, handler in list(_held.items()):
        if signal.getsignal(number) is _arrive:
            signal.signal(number, handler)
        del _held[number]
    while _arrived:
        signal.raise_signal(_arrived.pop())


def _arrive(number: int, frame: object) -> None:
    _arrived.append(number)
