"""A pytest plugin that records which lines of a folder each test executes, and its processor time.

``python -m tests.mutants lines`` copies this file into an environment of its own, where a ``.pth`` file loads it into
each process that a test starts. It imports nothing of this package. Each line costs one callback per test: the callback
disables the event, and every test begins by enabling all events again. Needs ``sys.monitoring``, so Python 3.12.
"""

from __future__ import annotations

import atexit
import json
import os
import pickle
import resource
import sys
import time
import zlib
from collections.abc import Callable, Generator
from pathlib import Path
from types import CodeType
from typing import Any

_FREE_TOOLS = (3, 4)
"""Numbers of tools for ``sys.monitoring`` that Python leaves to others; two, since tests of this file record too."""
_settings: dict[str, str] = {}
if (_file := Path(__file__).with_suffix(".json")).exists():
    _settings = json.loads(_file.read_text())
_lines: dict[str, set[int]] = {}
_journal: _Journal | None = None


def _callback(root: str, keep: Callable[[str, int], object]) -> Callable[[CodeType, int], object]:
    """Returns the callback for lines. It needs no global name, which the interpreter clears before its last lines."""
    disable = sys.monitoring.DISABLE

    def executed(code: CodeType, line: int) -> object:
        if code.co_filename.startswith(root):
            keep(code.co_filename.removeprefix(root), line)
        return disable

    return executed


def _collect(file: str, line: int, lines: dict[str, set[int]] = _lines) -> None:
    lines.setdefault(file, set()).add(line)


class _Journal:
    """Writes each line of a child at once, since children may be killed. The file's first line is the test."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._file: int | None = None

    def write(self, file: str, line: int, write: Callable[[int, bytes], int] = os.write) -> None:
        try:
            if self._file is None:
                if not (test := _test()):
                    return
                path = f"{self._folder}/{os.getpid()}.{time.monotonic_ns()}.lines"
                self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
                write(self._file, f"{test}\n".encode())
            write(self._file, f"{line} {file}\n".encode())
        except (AttributeError, OSError, TypeError):
            self._file = None  # the child has closed all its files, or its interpreter ends

    def forked(self) -> None:
        """Leaves the file to the parent; the next line begins another one."""
        self._file = None


_tool: int | None = None
"""This module's number while it records."""


def start(root: str, keep: Callable[[str, int], object] = _collect) -> None:
    """Begins to record the lines of files whose paths begin with ``root``."""
    global _tool
    if _tool is None:
        monitoring = sys.monitoring
        _tool = next(number for number in _FREE_TOOLS if monitoring.get_tool(number) is None)
        monitoring.use_tool_id(_tool, "mutants")
        monitoring.register_callback(_tool, monitoring.events.LINE, _callback(root, keep))
        monitoring.set_events(_tool, monitoring.events.LINE)


def stop() -> None:
    global _tool
    if _tool is not None:
        monitoring = sys.monitoring
        monitoring.set_events(_tool, monitoring.events.NO_EVENTS)
        monitoring.register_callback(_tool, monitoring.events.LINE, None)
        monitoring.free_tool_id(_tool)
        _tool = None


def take() -> dict[str, list[int]]:
    """Returns the lines since the last call, by file below the root."""
    taken = {file: sorted(lines) for file, lines in _lines.items()}
    _lines.clear()
    return taken


def _processor_s(who: int) -> float:
    usage = resource.getrusage(who)
    return usage.ru_utime + usage.ru_stime


def _write(kind: str, name: str, processor_s: float = 0.0) -> None:
    """Appends a record, with the lines since the last one.

    The kinds are ``test``, whose processor time is the test process's own, ``reaped``, whose time is that of processes
    that the test has waited for, ``child``, and ``collection``.
    """
    data = zlib.compress(pickle.dumps((kind, name, processor_s, take())), 1)
    path = Path(_settings["records"], f"{os.getpid()}.bin")
    with path.open("ab") as file:
        file.write(len(data).to_bytes(8, "little") + data)


def _test() -> str:
    """Returns the running test, which pytest names in the environment, so that children know it too."""
    return os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" (")[0]


def child() -> None:
    """Records the lines of a process that a test has started, which a fork server may serve to later tests."""
    global _journal
    if _settings and _journal is None:
        _journal = _Journal(_settings["records"])
        start(_settings["root"], _journal.write)
        _write_time_at_exit()


def _write_time_at_exit() -> None:
    process = os.getpid()

    def write() -> None:
        if os.getpid() == process and _test():
            _write("child", _test(), _processor_s(resource.RUSAGE_SELF))

    atexit.register(write)
    if "multiprocessing.util" in sys.modules:  # multiprocessing ends its forks without atexit
        sys.modules["multiprocessing.util"].Finalize(None, write, exitpriority=100)


def _forked() -> None:
    """A fork of a process of pytest writes what it executes as other children do."""
    global _journal
    if _tool is None:
        return
    _lines.clear()
    if _journal is None:
        stop()
        child()
    else:
        _journal.forked()
        _write_time_at_exit()
    sys.monitoring.restart_events()


def pytest_configure(config: Any) -> None:
    start(_settings["root"])


def pytest_collection_finish(session: Any) -> None:
    _write("collection", "")


def pytest_runtest_protocol(item: Any, nextitem: Any) -> Generator[None, object, object]:
    take()
    sys.monitoring.restart_events()
    kinds = {"test": resource.RUSAGE_SELF, "reaped": resource.RUSAGE_CHILDREN}
    before = {kind: _processor_s(who) for kind, who in kinds.items()}
    result = yield
    for kind, who in kinds.items():
        _write(kind, item.nodeid, _processor_s(who) - before[kind])
    return result


if _settings:
    os.register_at_fork(after_in_child=_forked)
if "pytest" in sys.modules:
    import pytest

    pytest_runtest_protocol = pytest.hookimpl(wrapper=True, tryfirst=True)(pytest_runtest_protocol)
