"""``torch_xla._internal.jax_workarounds``: JAX beside PyTorch, which share the chips of one process without a guard."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any


def jax_import_guard() -> None:
    """Does nothing: JAX does not take chips away."""


def requires_jax(func: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function as it is: JAX is a dependency of this package."""
    return func


def maybe_get_jax() -> ModuleType:
    """Returns the module ``jax``."""
    import jax

    return jax
