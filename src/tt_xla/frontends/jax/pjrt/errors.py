"""Exceptions as PJRT errors, and which exceptions a signal handler raised."""

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
    """A call that the plugin refuses.

    Args:
        code: name of a ``PJRT_Error_Code``.
    """

    def __init__(self, code: str, message: str, *, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.code = code


def describe(error: BaseException) -> tuple[int, bytes]:
    """Code and message of the PJRT error for an exception that a slot raised."""
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


# Signals: a handler of the user's may raise between any two bytecodes of a slot. The slot is then run again with the
# handlers held, and what was raised is raised in the main thread when jaxlib has returned.

_HOLDABLE = [
    number for number in signal.valid_signals() if number not in (signal.SIGKILL, signal.SIGSTOP, signal.SIGSEGV)
]
_held: dict[int, Any] = {}
_arrived: list[int] = []


def find_interrupt(error: BaseException) -> BaseException | None:
    """What a signal handler raised, now or in an earlier slot: ``error`` itself, or what it was raised from."""
    if threading.current_thread() is not threading.main_thread():
        return None
    codes = {_code(handler) for handler in (*map(signal.getsignal, _HOLDABLE), *_held.values())}
    codes.discard(None)
    found: BaseException | None = error
    while found is not None:
        frames = (frame for frame, _ in traceback.walk_tb(found.__traceback__))
        known = isinstance(found, KeyboardInterrupt) or hasattr(found, "_tt_interrupt")
        if known or any(frame.f_code in codes for frame in frames):
            with contextlib.suppress(AttributeError):
                found._tt_interrupt = True  # type: ignore[attr-defined]
            return found
        found = found.__cause__  # not __context__: that may be an exception the user is handling
    return None


def _code(handler: Any) -> Any:
    handler = getattr(handler, "func", handler)
    handler = getattr(handler, "__func__", handler)
    if callable(handler) and not hasattr(handler, "__code__"):
        handler = getattr(type(handler).__call__, "__func__", type(handler).__call__)
    return getattr(handler, "__code__", None)


def hold() -> None:
    """Makes signals wait until :func:`let_go`. May be interrupted and called again."""
    if threading.current_thread() is not threading.main_thread():
        return
    for number in _HOLDABLE:
        handler = signal.getsignal(number)
        if callable(handler) and handler is not _arrive:
            _held[number] = handler
            signal.signal(number, _arrive)


def let_go(_: object = None) -> None:
    """Puts the handlers back and runs them for the signals that came; may raise what they raise."""
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
