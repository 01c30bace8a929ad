"""Which programs the plugin reads in this process.

What JAX compiles comes from a module in this process, which jaxlib has just written: :func:`trust_jax` makes such
programs known, and they are read here at no cost. What comes another way, as a file that someone handed to the client,
another process reads first.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Generator
from typing import Any

_own_compilations: list[None] = []


def trust_jax() -> None:
    """Makes the programs known that JAX compiles from modules of this process."""
    from jax._src import compiler

    for name in ("backend_compile_and_load", "backend_compile"):
        compile_module = getattr(compiler, name, None)
        if compile_module is not None and not hasattr(compile_module, "trusted_by_tt"):
            setattr(compiler, name, _trusting(compile_module))


def _trusting(compile_module: Any) -> Any:
    @functools.wraps(compile_module)
    def trusted(*args: Any, **kwargs: Any) -> Any:
        with own_compilation():
            return compile_module(*args, **kwargs)

    trusted.trusted_by_tt = True  # type: ignore[attr-defined]
    return trusted


@contextlib.contextmanager
def own_compilation() -> Generator[None]:
    """While it lasts, programs that reach the plugin are taken for jaxlib's own, on whichever thread they do."""
    _own_compilations.append(None)
    try:
        yield
    finally:
        _own_compilations.pop()


def is_own() -> bool:
    """Whether the program that reaches the plugin now is one of those."""
    return bool(_own_compilations)
