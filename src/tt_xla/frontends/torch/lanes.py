"""Lanes of the chips in PyTorch's profiler, by the plug-ins of kineto, the library inside it.

``lanes.cpp`` is such a plug-in. The machine's C++ compiler builds it against the headers of the PyTorch that is
installed, because kineto has no stable interface of C; the library is kept in the cache on disk.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import subprocess
from pathlib import Path

import torch

from tt_xla.errors import RuntimeUnavailableError
from tt_xla.log import logger
from tt_xla.runtime.emulator.fused.build import Build, Needs
from tt_xla.runtime.executable import Executable
from tt_xla.runtime.observation import ENDED


def show_chips_in_profiler() -> None:
    """Makes ``torch.profiler`` show a lane for each chip: the kernels of programs, with predicted durations.

    Call it before the profile begins. The first call on a machine compiles for some seconds. Later processes have the
    lanes without a call, because they find the plug-in in the cache on disk.

    Raises:
        RuntimeUnavailableError: there is no C++ compiler, or it cannot build the plug-in for this version of PyTorch.
    """
    try:
        _show(Build.of(_source(), optimize=False, needs=_needs()))
    except (OSError, subprocess.SubprocessError) as error:
        reason = error.stderr.decode(errors="replace") if isinstance(error, subprocess.CalledProcessError) else error
        raise RuntimeUnavailableError(
            f"The plug-in of PyTorch's profiler cannot be built for PyTorch {torch.__version__}: {reason}.",
            hint="Install a C++ compiler (on Debian and Ubuntu: apt install g++), or use 'tt-xla profile SCRIPT'.",
        ) from error


@functools.cache
def show_chips_if_built() -> None:
    """Makes the profiler show lanes if an earlier process has built the plug-in. Calls after the first do nothing."""
    try:
        build = Build.found(_source(), optimize=False, needs=_needs())
    except OSError as error:
        logger().debug("the plug-in of PyTorch's profiler is not looked for: %s", error)
        return
    if build is not None:
        _show(build)


def _source() -> str:
    return Path(__file__).with_suffix(".cpp").read_text()


def _needs() -> Needs:
    folder = Path(torch.__file__).parent
    flags = ("-std=c++20", f"-I{folder / 'include'}", f"-I{folder / 'include' / 'kineto'}")
    return Needs(flags, (str(folder / "lib" / "libtorch_cpu.so"),), torch.__version__)


class _Lanes:
    """The loaded plug-in, which receives the kernels of each run while a profile goes on."""

    def __init__(self, build: Build) -> None:
        self._library = build.library
        self._library.add_kernel.argtypes = [ctypes.c_int, *[ctypes.c_char_p] * 3, *[ctypes.c_int64] * 2]
        self._chips = 0
        self._observing = contextlib.ExitStack()
        self._observing.enter_context(ENDED.added(self._ended))

    def _ended(self, executable: Executable, began: int) -> None:
        """Hands the kernels of a run to the profiler."""
        if not self._library.is_recording():
            return
        for chip in executable.devices:
            for each in executable.timeline:
                start = began + each.start_ns
                self._library.add_kernel(
                    chip.index,
                    each.name.encode(),
                    each.op.encode(),
                    _quotable(each.location),
                    start,
                    start + each.duration_ns,
                )

    def add_chips(self, count: int) -> None:
        """Adds a lane for each chip that has none."""
        for chip in range(self._chips, count):
            self._library.add_chip(f"tt:{chip} (predicted)".encode())
        self._chips = max(self._chips, count)


def _quotable(text: str) -> bytes:
    """Returns a text as it stands within quotes of JSON, as kineto writes it."""
    import json

    return json.dumps(text)[1:-1].encode()


_LOADED: dict[str, _Lanes] = {}
"""The plug-in by its key in the cache on disk. The profiler keeps a plug-in for the life of the process."""


def _show(build: Build) -> None:
    from tt_xla.frontends.torch.device.chips import chip_count

    if build.key not in _LOADED:
        _LOADED[build.key] = _Lanes(build)
    _LOADED[build.key].add_chips(chip_count())


__all__ = ["show_chips_if_built", "show_chips_in_profiler"]
