"""C++ to functions: compiled by the machine's compiler in a thread that waits for it, and kept on disk."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

from tt_xla import options
from tt_xla.log import logger

_FLAGS = (
    "-std=c++17",
    "-O3",
    "-march=native",
    "-fPIC",
    "-fopenmp",
    "-ffp-contract=off",
    "-fno-math-errno",
    "-fno-trapping-math",
)
"""Nothing that changes a bit: no contraction, no other order."""

_LONGEST_S = 120


@functools.cache
def compiler() -> str | None:
    """The path of the C++ compiler, ``CXX`` or the usual names; None where there is none, or no Linux."""
    if not sys.platform.startswith("linux"):
        return None
    return next((found for name in options.cxx_names() if (found := shutil.which(name))), None)


@functools.cache
def _machine() -> bytes:
    """What else the code depends on: the compiler, and what ``native`` means to it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        cpu = next((line for line in lines if line.startswith(("flags", "Features"))), "")
    except OSError:
        cpu = ""
    path = compiler() or ""
    status = os.stat(path) if path else None
    return repr((path, status and (status.st_size, status.st_mtime_ns), cpu, _FLAGS)).encode()


class Build:
    """A source on its way to a library. With ``wait`` it is there, or failed, when the constructor returns."""

    def __init__(self, source: str, *, wait: bool) -> None:
        self.library: ctypes.CDLL | None = None
        self.done = False
        self._source = source
        key = hashlib.blake2b(_machine() + source.encode(), digest_size=16).hexdigest()
        self._path = options.cache_directory() / "chains" / f"{key}.so"
        self._thread = threading.Thread(target=self._run, name="tt-xla chains", daemon=True)
        if self._path.exists():
            self._run()
            return
        self._thread.start()
        if wait:
            self.wait()

    def wait(self) -> None:
        """Until it is there, or failed."""
        if self._thread.ident is not None:
            self._thread.join()

    def function(self, name: str, count: int) -> Callable[..., None]:
        """One of ``count`` pointers.

        Raises:
            AttributeError: there is no library, or it has no such function.
        """
        found = getattr(self.library, name)
        found.argtypes, found.restype = [ctypes.c_void_p] * count, None
        return found

    def _run(self) -> None:
        try:
            self.library = _load(self._path) or _compiled(self._source, self._path)
        except (OSError, subprocess.SubprocessError) as error:
            logger().info("chains of elementwise ops stay with torch: %s", error)
        self.done = True


def _load(path: Path) -> ctypes.CDLL | None:
    try:
        return ctypes.CDLL(str(path)) if path.exists() else None
    except OSError:  # of a disk that was full, or another machine
        path.unlink(missing_ok=True)
        return None


def _compiled(source: str, path: Path) -> ctypes.CDLL:
    """Compiled in a directory of its own, then put where it is looked for; without a disk to keep it, used from there.

    Threads are those of the OpenMP that torch has loaded, so that none is linked.
    """
    command = compiler()
    assert command is not None
    with tempfile.TemporaryDirectory(prefix="tt-xla-chains-") as directory:
        text, code, library = (Path(directory) / f"chains.{end}" for end in ("cpp", "o", "so"))
        text.write_text(source)
        for arguments in ([*_FLAGS, "-c", str(text), "-o", str(code)], ["-shared", str(code), "-o", str(library)]):
            subprocess.run([command, *arguments], check=True, capture_output=True, timeout=_LONGEST_S)
        beside = path.with_suffix(f".{os.getpid()}.{threading.get_ident()}")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(library, beside)
            beside.replace(path)
        except OSError as error:
            logger().info("compiled chains are not kept: %s", error)
            with contextlib.suppress(OSError):
                beside.unlink()
        return ctypes.CDLL(str(library))
