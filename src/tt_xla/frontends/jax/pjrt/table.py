"""The ``PJRT_Api`` that jaxlib gets: each slot a C trampoline to a function registered here, or to an answer.

A slot that nobody fills returns UNIMPLEMENTED with its name.
"""

from __future__ import annotations

import atexit
import ctypes
import functools
import threading
import time
from collections.abc import Callable
from typing import Any

from tt_xla.errors import TTXLAError
from tt_xla.frontends.jax.pjrt import errors
from tt_xla.frontends.jax.pjrt.answers import CAPACITY, Answers, answered_by
from tt_xla.frontends.jax.pjrt.structs import SLOTS, VERSION, arguments, struct
from tt_xla.registry import Registry

Handler = Callable[..., Any]
HANDLERS: Registry[str, Handler] = Registry("functions for PJRT slots")


class MissingExtensionError(TTXLAError, ImportError):
    """The C part of the plugin is not installed."""


def slot(name: str) -> Callable[[Callable[[Any], None]], Callable[[Any], None]]:
    """Registers the function of a slot; it gets the arguments' struct and sets its outputs last.

    A signal may interrupt a slot, which is then run again; so it changes nothing else before it ends.
    """

    def register(function: Callable[[Any], None]) -> Callable[[Any], None]:
        from_address = arguments(name).from_address
        HANDLERS[name] = lambda address: function(from_address(address))
        return function

    return register


def trampoline() -> Any:
    """The extension module.

    Raises:
        MissingExtensionError: it was not built when tt-xla was installed.
    """
    try:
        from tt_xla.frontends.jax.pjrt import _trampoline  # pyright: ignore[reportAttributeAccessIssue]
    except ImportError as error:
        raise MissingExtensionError(
            f"JAX has no device 'tt': the C part of the plugin is not installed ({error}).",
            hint="Install a C compiler (on Debian and Ubuntu: apt install gcc) and then tt-xla again, with "
            "--no-cache-dir; or set JAX_PLATFORMS=cpu. Everything but JAX on 'tt' works without it.",
        ) from None
    assert _trampoline.CAPACITY == CAPACITY
    return _trampoline


@functools.cache
def api_capsule() -> Any:
    """The table, in what jaxlib takes it in. Made once."""
    library = trampoline()
    from tt_xla.frontends.jax.pjrt import buffer, client, executable

    del buffer, client, executable  # they fill HANDLERS
    plugin = Answers().set("PJRT_Plugin_Attributes", num_attributes=0)
    addresses = library.setup(
        SLOTS,
        tuple(HANDLERS.get(name) for name in SLOTS),
        bytes(answered_by(name) for name in SLOTS),
        plugin.pack(),
        errors.describe,
        errors.find_interrupt,
        errors.hold,
        errors.let_go,
    )
    api = struct("PJRT_Api")(struct_size=ctypes.sizeof(struct("PJRT_Api")))
    api.version.struct_size = ctypes.sizeof(api.version)
    api.version.major_version, api.version.minor_version = VERSION
    for name, address in zip(SLOTS, addresses, strict=True):
        setattr(api, name, address)
    # Never freed: jaxlib asks it when Python has let go of all modules.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(api))
    atexit.register(_close, library)
    return library.capsule(ctypes.addressof(api))


def _close(library: Any) -> None:
    """At exit: no slot touches Python any more. Daemon threads that use JAX get the time to notice and stop."""
    library.close()
    others = [thread for thread in threading.enumerate() if thread.daemon and thread is not threading.current_thread()]
    deadline = time.monotonic() + 0.25
    while sum(thread.is_alive() for thread in others) > library.parked_threads() and time.monotonic() < deadline:
        time.sleep(0.005)
