"""Lanes of the chips in ``jax.profiler``: the functions of PJRT's extension for profilers."""

from __future__ import annotations

import contextlib
import ctypes
import itertools
from typing import Any

from tt_xla.frontends.jax.pjrt.errors import PluginError
from tt_xla.frontends.jax.pjrt.table import slot
from tt_xla.frontends.jax.pjrt.xspace import Event, Plane, write_xspace
from tt_xla.runtime.executable import Executable
from tt_xla.runtime.observation import ENDED

_HANDLES = itertools.count(1)


class Profile:
    """The runs on chips that one ``jax.profiler.trace`` records."""

    def __init__(self) -> None:
        self._observing = contextlib.ExitStack()
        self._planes: dict[int, Plane] = {}
        self._data: Any = None

    def start(self) -> None:
        """Begins to record the kernels of runs."""
        self._observing.enter_context(ENDED.added(self._ended))

    def stop(self) -> None:
        """Ends the recording. Another call does nothing."""
        self._observing.close()

    def collected(self) -> Any:
        """Returns the ``XSpace`` as an array of bytes, which lives as long as the profile."""
        if self._data is None:
            data = write_xspace([self._planes[chip] for chip in sorted(self._planes)])
            self._data = (ctypes.c_ubyte * len(data)).from_buffer_copy(data)
        return self._data

    def _ended(self, executable: Executable, began: int) -> None:
        for chip in executable.devices:
            name = f"/device:CUSTOM:tt:{chip.index} (predicted)"
            plane = self._planes.setdefault(chip.index, Plane(chip.index, name, "kernels"))
            plane.events += [
                Event(each.name, began + each.start_ns, each.duration_ns, {"op": each.op, "source": each.location})
                for each in executable.timeline
            ]


_PROFILES: dict[int, Profile] = {}
"""The profiles that jaxlib has handles of."""


@slot("PLUGIN_Profiler_Create")
def _create(args: Any) -> None:
    handle = next(_HANDLES)
    _PROFILES[handle] = Profile()
    args.profiler = handle


@slot("PLUGIN_Profiler_Destroy")
def _destroy(args: Any) -> None:
    profile = _PROFILES.pop(args.profiler, None)
    if profile is not None:
        profile.stop()


@slot("PLUGIN_Profiler_Start")
def _start(args: Any) -> None:
    _profile(args).start()


@slot("PLUGIN_Profiler_Stop")
def _stop(args: Any) -> None:
    _profile(args).stop()


@slot("PLUGIN_Profiler_CollectData")
def _collect(args: Any) -> None:
    """Returns the data, or copies it where the caller has memory for it: the second of two calls."""
    data = _profile(args).collected()
    if args.buffer:
        ctypes.memmove(args.buffer, data, len(data))
    else:
        args.buffer = ctypes.addressof(data)
    args.buffer_size_in_bytes = len(data)


def _profile(args: Any) -> Profile:
    profile = _PROFILES.get(args.profiler)
    if profile is None:
        raise PluginError("INVALID_ARGUMENT", f"There is no profiler {args.profiler}.")
    return profile


__all__ = ["Profile"]
