"""The ``PJRT_Api`` that jaxlib gets. Each slot is a C trampoline to a registered function or to prepared answers.

A slot that has neither returns UNIMPLEMENTED with its name.
"""

from __future__ import annotations

import atexit
import ctypes
import functools
import threading
import time
from collections.abc import Mapping
from typing import Any

from tt_xla.frontends.jax.pjrt import buffer, client, errors, executable, profiler
from tt_xla.frontends.jax.pjrt.answers import Answers, answered_by
from tt_xla.frontends.jax.pjrt.layouts_abi import EXTENSION_TYPE as LAYOUTS
from tt_xla.frontends.jax.pjrt.layouts_abi import LAYOUT_SLOTS
from tt_xla.frontends.jax.pjrt.profiler_abi import ERROR_SLOTS, PROFILER_SLOTS
from tt_xla.frontends.jax.pjrt.profiler_abi import EXTENSION_TYPE as PROFILER
from tt_xla.frontends.jax.pjrt.structs import ALL_SLOTS, SLOTS, VERSION, struct
from tt_xla.frontends.jax.pjrt.table import HANDLERS, trampoline

SLOT_MODULES = (buffer, client, executable, profiler)
"""Modules that register the functions of slots when they are imported."""

EXIT_GRACE_S = 0.25
"""Seconds that daemon threads get at exit to leave the plugin."""


@functools.cache
def api_capsule() -> Any:
    """Returns the capsule in which jaxlib takes the ``PJRT_Api``; there is one per process.

    Raises:
        MissingExtensionError: the C part of the plugin is not installed.
    """
    library = trampoline()
    plugin = Answers().set("PJRT_Plugin_Attributes", num_attributes=0)
    addresses = library.setup(
        ALL_SLOTS,
        tuple(HANDLERS.get(name) for name in ALL_SLOTS),
        bytes(answered_by(name) for name in ALL_SLOTS),
        plugin.pack(),
        errors.describe,
        errors.find_interrupt,
        errors.hold,
        errors.let_go,
    )
    api = struct("PJRT_Api")(struct_size=ctypes.sizeof(struct("PJRT_Api")))
    api.version.struct_size = ctypes.sizeof(api.version)
    api.version.major_version, api.version.minor_version = VERSION
    slots = dict(zip(ALL_SLOTS, addresses, strict=True))
    for name in SLOTS:
        setattr(api, name, slots[name])
    layouts = _table("PJRT_Layouts_Extension", {name: slots[name] for name in LAYOUT_SLOTS}, type=LAYOUTS)
    # Layouts live as long as the process.
    layouts.PJRT_Layouts_MemoryLayout_Destroy = slots["PJRT_Plugin_Initialize"]  # does nothing
    functions = _table("PLUGIN_Profiler_Api", {name: slots[name] for name in ERROR_SLOTS + PROFILER_SLOTS})
    profilers = _table(
        "PJRT_Profiler_Extension",
        {"profiler_api": ctypes.addressof(functions), "next": ctypes.addressof(layouts)},
        type=PROFILER,
        traceme_context_id=0,
    )
    api.extension_start = ctypes.addressof(profilers)
    for table in (api, layouts, functions, profilers):  # never freed: jaxlib reads them after Python's modules are gone
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(table))
    atexit.register(_close, library)
    return library.capsule(ctypes.addressof(api))


def _table(name: str, pointers: Mapping[str, int], **values: int) -> Any:
    """Returns a struct of pointers and numbers."""
    return struct(name)(struct_size=ctypes.sizeof(struct(name)), **pointers, **values)


def _close(library: Any) -> None:
    """Keeps slots from calling Python after exit has begun, and gives daemon threads time to leave the plugin."""
    library.close()
    daemons = [thread for thread in threading.enumerate() if thread.daemon and thread is not threading.current_thread()]
    deadline = time.monotonic() + EXIT_GRACE_S
    while sum(thread.is_alive() for thread in daemons) > library.parked_threads() and time.monotonic() < deadline:
        time.sleep(0.005)
