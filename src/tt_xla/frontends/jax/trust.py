"""Whether the plugin trusts the bytecode of the program that it is asked to compile.

JAX compiles modules of this process, which jaxlib has just serialised. The plugin parses those directly. Bytecode from
elsewhere, such as a file handed to the client, is parsed in a separate process first, because jaxlib's reader can end
the process on damaged input.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator

from tt_xla.frontends.jax import session


@contextlib.contextmanager
def own_compilation() -> Generator[None]:
    """Trusts every program that reaches the plugin inside the ``with`` block, on whichever thread it does."""
    trusted = session.current.trusted
    trusted.append(None)
    try:
        yield
    finally:
        trusted.pop()


def is_own() -> bool:
    """Returns whether a ``with own_compilation()`` block is active."""
    return bool(session.current.trusted)
