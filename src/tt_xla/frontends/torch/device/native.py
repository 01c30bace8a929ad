"""Registers the kernels of ``native.cpp``, which compute ops on few integers without Python.

PyTorch calls a kernel in Python in some 35 us, of which the op itself takes 2: a decoder runs 25 such ops a token. The
machine's C++ compiler builds the kernels against the headers of the PyTorch that is installed, in the background once
a process has run many such ops. They are kept in the cache on disk, where later processes find them with their first
op. Without a compiler, or where it refuses, the kernels in Python compute the same.
"""

from __future__ import annotations

import contextlib
import ctypes
import subprocess
import sysconfig
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import torch

from tt_xla import environment
from tt_xla.frontends.torch import session
from tt_xla.frontends.torch.device.buffers import Buffer
from tt_xla.frontends.torch.device.kinds import MAX_INTEGERS
from tt_xla.frontends.torch.private.storages import UntypedStorage
from tt_xla.locks import Lock
from tt_xla.log import logger
from tt_xla.runtime.emulator.fused.background import start
from tt_xla.runtime.emulator.fused.build import Build, Needs, compiler

MAX_PAIRS = 1 << 18
"""Product of the operands' numbers of elements up to which a result, which may combine all of them, has few enough."""

_WORTH_COMPILING = 1000
"""Ops on few integers after which a process has the kernels compiled, which takes some 20 s."""

_COMPUTING = (
    *("_to_copy", "abs", "amax", "amin", "any", "any.dim", "all", "all.dim", "arange", "arange.start"),
    *("arange.start_step", "bitwise_not", "cat", "clamp", "clone", "cumsum", "floor_divide", "full", "full_like"),
    *("gather", "index.Tensor", "index_select", "isin.Scalar_Tensor", "isin.Tensor_Scalar", "isin.Tensor_Tensor"),
    *("logical_not", "max", "maximum", "min", "minimum", "neg", "new_full", "new_ones", "new_zeros", "ones"),
    *("ones_like", "sum", "sum.dim_IntList", "where.self", "zeros", "zeros_like"),
    *(f"{name}.Tensor" for name in ("add", "bitwise_and", "bitwise_or", "bitwise_xor", "mul", "remainder", "sub")),
    *(f"{name}.{kind}" for name in ("eq", "ge", "gt", "le", "lt", "ne") for kind in ("Scalar", "Tensor")),
    *("logical_and", "logical_or", "logical_xor", "remainder.Scalar"),
)
"""Ops that compute one new tensor, whose elements are integers where those of its operands are."""

KERNELS = {
    **dict.fromkeys(_COMPUTING, "computes"),
    "_copy_from": "copies",
    **dict.fromkeys(("_reshape_alias", "unfold", "view"), "views"),
    "as_strided": "views_as_strided",
}
"""Kinds of the kernels in C++ by name of the overload."""


class Native:
    """The kernels in C++, from the first op on few integers to when they are registered."""

    def __init__(self) -> None:
        self._in_python: Mapping[str, Callable[..., Any]] = {}
        self._fallback: Callable[..., Any] | None = None
        self._lock = Lock()
        self._libraries: list[torch.library.Library] = []
        """Kernels in Python that those in C++ go on to; they last as long as their libraries."""
        self._runs = 0
        self._thread: threading.Thread | None = None
        self._build: Build | None = None
        self._switch: ctypes.c_bool | None = None
        """Whether the kernels in C++ compute; None before they are registered."""
        self.waits = True
        """Whether ops on few integers are to be reported by :meth:`ran`."""

    def offer(self, kernels: Mapping[str, Callable[..., Any]], fallback: Callable[..., Any]) -> None:
        """Takes the kernels in Python: those of single ops by name of the overload, and that of all others."""
        self._in_python, self._fallback = kernels, fallback

    def ran(self) -> None:
        """Records that Python has computed an op on few integers."""
        self._runs += 1
        is_first, is_many = self._runs == 1, self._runs % _WORTH_COMPILING == 0
        if (is_first or is_many) and self._lock.acquire(blocking=False):
            try:
                self._advance(compiles=is_many)
            except (OSError, subprocess.SubprocessError) as error:
                self._give_up(error)
            finally:
                self._lock.release()

    def _advance(self, *, compiles: bool) -> None:
        if environment.emulator_chains() == "off":
            return
        if compiler() is None:
            self.waits = False
        elif self._thread is None:
            self._build = Build.found(source(), needs=_needs())
            if self._build is None and compiles:
                self._thread = start(self.compile)
        # PyTorch changes its table of kernels without a lock.
        if self._build is not None and threading.active_count() == 1:
            self._register(self._build)

    def compile(self) -> None:
        """Compiles the kernels, or gives them up."""
        try:
            self._build = Build.of(source(), needs=_needs())
        except (OSError, subprocess.SubprocessError) as error:
            self._give_up(error)

    def _give_up(self, error: Exception) -> None:
        self.waits = False
        said = error.stderr.decode(errors="replace") if isinstance(error, subprocess.CalledProcessError) else ""
        logger().debug("Ops on few integers stay in Python: %s %s", error, said)

    def _register(self, build: Build) -> None:
        assert self._fallback is not None
        others, ops = torch.library.Library("_", "IMPL"), torch.library.Library("aten", "IMPL")
        others.fallback(self._fallback, "PrivateUse2")
        for name in KERNELS.keys() & self._in_python.keys():
            ops.impl(name, self._in_python[name], "PrivateUse2")
        self._libraries = [others, ops]
        objects = [ctypes.py_object] * 3
        register = ctypes.PYFUNCTYPE(None, *objects, ctypes.c_char_p, ctypes.c_long, ctypes.c_long)(
            ("tt_register", ctypes.PyDLL(None, handle=build.library._handle))
        )
        lines = "\n".join(f"{name} {kind}" for name, kind in KERNELS.items())
        register(session, Buffer, UntypedStorage, lines.encode(), MAX_INTEGERS, MAX_PAIRS)
        self._switch = ctypes.c_bool.in_dll(build.library, "tt_computes")
        self.waits = False

    @contextlib.contextmanager
    def used(self, *, computes: bool = True) -> Iterator[None]:
        """Context manager in which the kernels in C++, which are compiled first, compute, or those in Python do.

        Raises:
            OSError: there is no compiler, or the library cannot be loaded.
            subprocess.SubprocessError: the compiler refused the source.
        """
        with self._lock:
            if computes and self._switch is None:
                self._build = Build.of(source(), needs=_needs())
                self._register(self._build)
        switch = self._switch or ctypes.c_bool()
        before, switch.value = switch.value, computes
        try:
            yield
        finally:
            switch.value = before


def source() -> str:
    """Returns the source of the kernels."""
    return Path(__file__).with_suffix(".cpp").read_text()


def _needs() -> Needs:
    folder = Path(torch.__file__).parent
    include = folder / "include"
    headers = (sysconfig.get_paths()["include"], include, include / "torch" / "csrc" / "api" / "include")
    libraries = (str(folder / "lib" / f"lib{name}.so") for name in ("torch_python", "torch_cpu", "c10"))
    return Needs(("-std=c++20", *(f"-I{path}" for path in headers)), tuple(libraries), torch.__version__)


NATIVE = Native()
"""The kernels of the process, because PyTorch's table of kernels is one."""

__all__ = ["KERNELS", "MAX_PAIRS", "NATIVE", "Native", "source"]
