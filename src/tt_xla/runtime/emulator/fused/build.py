"""C++ to functions: compiled by the machine's compiler, and kept on disk."""

from __future__ import annotations

import ctypes
import functools
import hashlib
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tt_xla import disk_cache, environment
from tt_xla.locks import Lock
from tt_xla.runtime.emulator.fused.calls import CppFunction, Parameter
from tt_xla.runtime.emulator.report import cpu_flags

_FLAGS = (
    "-std=c++17",
    "-march=native",
    "-fPIC",
    "-fopenmp",
    "-ffp-contract=off",
    "-fno-math-errno",
    "-fno-trapping-math",
    *(("-mprefer-vector-width=256",) if platform.machine() in ("x86_64", "AMD64") else ()),
)
"""Flags that change no bit: products and sums are not contracted, and sums keep their order."""

_KIND = "fused"
"""Kind of the entries of the cache on disk."""

_ONE_COMPILER = Lock()
"""Held while a compiler runs where there is no cache on disk, whose lock all processes share."""

_LONGEST_S = 600
"""Seconds that one call of the compiler may take."""


@functools.cache
def compiler() -> str | None:
    """Returns the path of the C++ compiler, ``CXX`` or a usual name; None where there is none, or no Linux."""
    if not sys.platform.startswith("linux"):
        return None
    return next((path for name in environment.cxx_names() if (path := shutil.which(name))), None)


@functools.cache
def machine() -> bytes:
    """Returns the cache key of compiled code besides its source: the compiler, its flags and the CPU's features."""
    path = compiler() or ""
    status = os.stat(path) if path else None
    return repr((path, status and (status.st_size, status.st_mtime_ns), cpu_flags(), _FLAGS)).encode()


@dataclass(frozen=True)
class Needs:
    """The other files and libraries that a source uses.

    Attributes:
        flags: further flags of the compiler, such as the folders of their headers.
        libraries: paths of their libraries.
        version: their version, which is part of the key in the cache on disk.
    """

    flags: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()
    version: str = ""


@dataclass(frozen=True)
class Build:
    """A source compiled to a library."""

    key: str
    """Key of the library in the cache on disk."""
    library: ctypes.CDLL

    @classmethod
    def of(cls, source: str, *, optimize: bool = True, needs: Needs | None = None) -> Build:
        """Compiles C++, or loads the library from the cache on disk.

        Args:
            source: the C++.
            optimize: whether the compiler takes its time to make fast code.
            needs: headers and libraries of others that the source uses; None for none.

        Raises:
            FileNotFoundError: there is no compiler.
            subprocess.SubprocessError: the compiler refused the source, or took too long.
            OSError: the library cannot be loaded.
        """
        level = _level(optimize)
        key = _key(source, level, needs)
        library = _load(key)
        if library is None:
            cache = disk_cache.current()
            with _ONE_COMPILER if cache is None else cache.alone(_KIND):
                library = _load(key) or _compiled(source, key, level, needs or Needs())
        return cls(key, library)

    @classmethod
    def found(cls, source: str, *, optimize: bool = True, needs: Needs | None = None) -> Build | None:
        """Returns the library that :meth:`of` has made of C++ before, or None where the cache on disk has none."""
        return cls.kept(_key(source, _level(optimize), needs))

    @classmethod
    def kept(cls, key: str) -> Build | None:
        """Returns a library of the cache on disk by its key, or None where there is none."""
        library = _load(key)
        return None if library is None else cls(key, library)

    def function(self, name: str, parameters: Sequence[Parameter]) -> CppFunction:
        """Returns a function of the library, which checks the tensors that it is given.

        Raises:
            AttributeError: the library has no such function.
        """
        return CppFunction(self.library[name], parameters)

    def fused_kernel(self, name: str) -> Callable[..., int]:
        """Returns a function of the library that takes pointers to inputs, to results and to an arena, for
        :func:`~.calls.fused_call`.

        Raises:
            AttributeError: the library has no such function.
        """
        function = self.library[name]  # as an attribute, library and function would keep each other alive
        function.argtypes, function.restype = [ctypes.c_void_p] * 3, ctypes.c_long
        return function

    def link(self, pointers: Mapping[str, str], other: Build) -> None:
        """Has function pointers of the library, by name, point to functions of another one."""
        for name, target in pointers.items():
            address = ctypes.cast(other.library[target], ctypes.c_void_p).value
            ctypes.c_void_p.in_dll(self.library, name).value = address


def _level(optimize: bool) -> str:
    return "-O3" if optimize else "-O0"


def _key(source: str, level: str, needs: Needs | None) -> str:
    text = machine() + level.encode() + (repr(needs) if needs else "").encode() + source.encode()
    return hashlib.blake2b(text, digest_size=16).hexdigest()


def _in_background() -> list[str]:
    """Returns the prefix of a command that runs at low priority (`nice -n 19`), unless the program waits for it."""
    nice = shutil.which("nice")
    waits = threading.current_thread() is threading.main_thread()
    return [nice, "-n", "19"] if nice and not waits else []


def _load(key: str) -> ctypes.CDLL | None:
    """Loads a library from the cache on disk; returns None where there is none, or one for another machine."""
    cache = disk_cache.current()
    path = None if cache is None else cache.file(_KIND, key)
    try:
        return None if path is None else _opened(path)
    except OSError:
        return None


def _compiled(source: str, key: str, level: str, needs: Needs) -> ctypes.CDLL:
    """Compiles and loads a library, and stores it in the cache on disk.

    The library uses the OpenMP threads of the one that torch has loaded; none is linked.
    """
    command = compiler()
    if command is None:
        raise FileNotFoundError("The C++ compiler is gone.")
    with tempfile.TemporaryDirectory(prefix="tt-xla-fused-") as directory:
        text, code, library = (Path(directory) / f"fused.{end}" for end in ("cpp", "o", "so"))
        text.write_text(source)
        for arguments in (
            [*_FLAGS, level, *needs.flags, "-c", str(text), "-o", str(code)],
            ["-shared", str(code), *needs.libraries, "-o", str(library)],
        ):
            run_command([*_in_background(), command, *arguments], _LONGEST_S)
        cache = disk_cache.current()
        if cache is not None:
            cache.put(_KIND, key, library.read_bytes())
        return _opened(library)


def run_command(command: Sequence[str], seconds: float) -> None:
    """Runs a command, and ends it with all processes that it started when it takes too long or the wait is interrupted.

    Raises:
        subprocess.SubprocessError: it failed, with what it wrote, or took longer than ``seconds``.
    """
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, process_group=0) as process:
        try:
            output, errors = process.communicate(timeout=seconds)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command, output, errors)


def _opened(path: Path) -> ctypes.CDLL:
    """Loads a library, which is unloaded once nobody holds it or one of its functions.

    A thread that calls a function holds it. At the end of the process nothing is unloaded: other threads may compute.
    """
    library = ctypes.CDLL(str(path))
    weakref.finalize(library, _close, library._handle).atexit = False
    return library


def _close(handle: int) -> None:
    close = ctypes.CDLL(None).dlclose
    close.argtypes = [ctypes.c_void_p]
    close(handle)
