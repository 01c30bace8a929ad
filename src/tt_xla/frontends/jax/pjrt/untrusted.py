"""Programs of unknown origin: a process of its own reads it, so that damage in it ends that process and not the user's.

What JAX compiles comes from a module in this process, which jaxlib has just written: :func:`trust_jax` makes such
programs known, and they are read here at no cost. What comes another way, as a file that someone handed to the client,
is read there first, within a time limit, and here as that process has written it anew.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import selectors
import subprocess
import sys
import threading
import time
from collections.abc import Generator
from pathlib import Path
from typing import IO, Any

from tt_xla.errors import MalformedModuleError
from tt_xla.frontends.jax.pjrt.reader_process import HEADER

TIME_LIMIT = 10.0
"""Seconds that reading may take, with the start of the process, and a second more for each MB."""

_lock = threading.RLock()
_process: subprocess.Popen[bytes] | None = None
_owner = 0
_own_compilations: list[None] = []


def trust_jax() -> None:
    """Makes the programs known that JAX compiles from modules of this process."""
    from jax._src import compiler

    for name in ("backend_compile_and_load", "backend_compile"):
        compile_module = getattr(compiler, name, None)
        if compile_module is not None and not hasattr(compile_module, "trusted_by_tt"):
            setattr(compiler, name, _trusting(compile_module))


def _trusting(compile_module: Any) -> Any:
    @functools.wraps(compile_module)
    def trusted(*args: Any, **kwargs: Any) -> Any:
        with own_compilation():
            return compile_module(*args, **kwargs)

    trusted.trusted_by_tt = True  # type: ignore[attr-defined]
    return trusted


@contextlib.contextmanager
def own_compilation() -> Generator[None]:
    """While it lasts, programs that reach the plugin are taken for jaxlib's own, on whichever thread they do."""
    _own_compilations.append(None)
    try:
        yield
    finally:
        _own_compilations.pop()


def checked(data: bytes, name: str) -> bytes:
    """A program that this process can read: ``data`` itself, or bytecode written anew from it.

    Raises:
        MalformedModuleError: it cannot be read, or not in reasonable time and memory.
    """
    if _own_compilations:
        return data
    with _lock:
        answer = _ask(data, name)
    if answer.startswith(b"+"):
        return answer[1:]
    reason = answer[1:].decode("utf-8", "replace").strip().rstrip(".")
    raise MalformedModuleError(
        f"'{name}' is not a well-formed StableHLO module: {reason}.",
        hint="Write it again; it may be cut off or of a newer StableHLO version.",
    )


def _ask(data: bytes, name: str) -> bytes:
    process = _running()
    requests, answers = process.stdin, process.stdout
    assert requests is not None
    assert answers is not None
    finished = False
    try:
        try:
            requests.write(HEADER.pack(len(data)) + data)
            requests.flush()
            deadline = time.monotonic() + TIME_LIMIT + len(data) / 1e6
            size = HEADER.unpack(_read(answers, HEADER.size, deadline))[0]
            answer = _read(answers, size, deadline)
            finished = True
        finally:
            if not finished:  # also where a signal handler raised: what is on its way would answer the next request
                _stop()
    except TimeoutError:
        problem = f"reading it does not end (it was stopped after {TIME_LIMIT:.0f} s)"
    except (EOFError, BrokenPipeError):
        problem = "MLIR's reader breaks on it"
    else:
        return answer
    raise MalformedModuleError(
        f"'{name}' is not a well-formed StableHLO module: {problem}.",
        hint="Write it again from the program that it came from.",
    )


def _read(answers: IO[bytes], size: int, deadline: float) -> bytes:
    """Bytes from the process, which is waited for until the deadline."""
    data = bytearray()
    with selectors.DefaultSelector() as selector:
        selector.register(answers, selectors.EVENT_READ)
        while len(data) < size:
            if not selector.select(max(0.0, deadline - time.monotonic())):
                raise TimeoutError
            piece = os.read(answers.fileno(), min(1 << 20, size - len(data)))
            if not piece:
                raise EOFError
            data += piece
    return bytes(data)


def _running() -> subprocess.Popen[bytes]:
    """The process, started where there is none; a forked child does not share its parent's."""
    global _process, _owner
    if _process is None or _owner != os.getpid() or _process.poll() is not None:
        path = os.pathsep.join(entry for entry in sys.path if entry)
        process = subprocess.Popen(
            [sys.executable, "-P", str(Path(__file__).with_name("reader_process.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": path},
            start_new_session=True,  # Ctrl-C is for the user's program
        )
        _process, _owner = process, os.getpid()
    return _process


@atexit.register
def _stop() -> None:
    global _process
    process, _process = _process, None
    if process is not None and _owner == os.getpid():
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()
