"""Callbacks of ``jax.debug.inspect_array_sharding``, which get shardings while a program is compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tt_xla.frontends.jax import session


def remember(key: bytes, callback: Callable[[Any], None]) -> None:
    """Remembers the callback that a program names with a key."""
    session.current.callbacks[key] = callback


def report(key: bytes, sharding: str) -> None:
    """Calls the callback that JAX named with a key in this process; does nothing for other keys.

    Args:
        key: the key.
        sharding: the sharding of the value that the program inspects, in the notation of XLA's HLO.
    """
    from jaxlib import xla_client

    callback = session.current.callbacks.get(key)
    if callback is not None:
        callback(xla_client.HloSharding.from_string(sharding))
