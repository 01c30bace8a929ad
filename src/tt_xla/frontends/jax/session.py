"""The session: all that the JAX plugin remembers from one call to the next, beside what belongs to a client's handles.

:data:`current` is the one module variable that changes. Read it where it is used, as ``session.current``;
:func:`fresh` replaces it for a block.
"""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

from tt_xla.locks import Lock

if TYPE_CHECKING:
    from tt_xla.frontends.jax.pjrt.executable import Executable


class Session:
    """State of the plugin.

    Devices, memories, buffers and executables are no part of it: they are objects behind handles of a client, and JAX
    frees them. So arrays and compiled functions of an earlier session keep working.

    Attributes:
        compiling: held while a program is compiled and loaded: the compiler is for one thread at a time. No other lock
            is taken for longer than a single operation on these containers.
        reading: held while a buffer gets the elements that came from the memory of a card.
        trusted: has an element for each open block in which programs come from JAX in this process.
        reloadable: executables that can load their program again, so that observers of loading see it.
        callbacks: JAX's callbacks by the key that a program names them with. JAX keeps them alive while it compiles the
            program.
    """

    def __init__(self) -> None:
        self.compiling = Lock()
        self.reading = Lock()
        self.trusted: list[None] = []
        self.reloadable: weakref.WeakSet[Executable] = weakref.WeakSet()
        self.callbacks: weakref.WeakValueDictionary[bytes, Callable[[Any], None]] = weakref.WeakValueDictionary()


current = Session()
"""The session of the process."""


@contextlib.contextmanager
def fresh() -> Generator[Session]:
    """Runs a block in a session of its own, and then continues the one before.

    What JAX itself keeps is no part of it, such as its caches of traced and compiled functions (``jax.clear_caches``).

    Yields:
        The new session.
    """
    global current
    before, current = current, Session()
    try:
        yield current
    finally:
        current = before
