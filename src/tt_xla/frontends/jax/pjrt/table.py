"""The functions of PJRT slots, by name, and the C part of the plugin that calls them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tt_xla.errors import TTXLAError
from tt_xla.frontends.jax.pjrt.answers import CAPACITY
from tt_xla.frontends.jax.pjrt.structs import arguments
from tt_xla.registry import Registry

Handler = Callable[..., Any]
HANDLERS: Registry[str, Handler] = Registry("PJRT function")


class MissingExtensionError(TTXLAError, ImportError):
    """The C part of the plugin is not installed."""


def slot(name: str) -> Callable[[Callable[[Any], None]], Callable[[Any], None]]:
    """Registers the decorated function for a slot of ``PJRT_Api``.

    The function gets the struct of the slot's arguments, and writes its outputs there. A signal may interrupt the
    function, which is then called again. Therefore it has no other effect before it sets its outputs at the end.
    """

    def register(function: Callable[[Any], None]) -> Callable[[Any], None]:
        from_address = arguments(name).from_address
        HANDLERS[name] = lambda address: function(from_address(address))
        return function

    return register


def trampoline() -> Any:
    """Returns the extension module.

    Raises:
        MissingExtensionError: the extension module was not built when tt-xla was installed.
    """
    try:
        from tt_xla.frontends.jax.pjrt.trampoline import MODULE
    except ImportError as error:
        raise MissingExtensionError(
            f"JAX has no device 'tt': the C part of the plugin is not installed ({error}).",
            hint="Install a C compiler (on Debian and Ubuntu: apt install gcc) and then tt-xla again, with "
            "--no-cache-dir; or set JAX_PLATFORMS=cpu. Everything but JAX on 'tt' works without it.",
        ) from None
    assert MODULE.CAPACITY == CAPACITY
    return MODULE
