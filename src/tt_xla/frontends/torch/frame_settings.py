"""Settings of dynamo for the frames that ``tt`` compiles. Frames of other backends keep PyTorch's.

- ``recompile_limit`` is :data:`RECOMPILE_LIMIT`, because each set of sizes is a program of its own.
- Dynamo's bytecode leaves out the record, for PyTorch's profiler, of how long the arguments took to gather.
- Sizes of tensors stay numbers when they change (``private/dynamo_patches.py``).

A setting that a script has changed from its default stays, and ``TTXLA_DYNAMO_DEFAULTS=1`` leaves PyTorch's everywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tt_xla.environment import keeps_dynamo_defaults
from tt_xla.frontends.torch.private.dynamo_patches import Frames, current_compilation
from tt_xla.frontends.torch.private.dynamo_patches import install as install_frame_settings
from tt_xla.frontends.torch.private.names import optional

RECOMPILE_LIMIT = 64
"""How often PyTorch may compile one function for ``tt``."""


def install(backend: Callable[..., Any]) -> None:
    """Makes dynamo use these settings, and the cache of frames, for frames that it compiles with ``backend``."""
    install_frame_settings(backend, _settings, _frames())


def _frames() -> Frames | None:
    """Returns the cache of frames; None if PyTorch lacks a name that it needs."""
    if optional("frames") is None:
        return None
    from tt_xla.frontends.torch.frame_cache import FRAMES

    return FRAMES


def _settings() -> dict[str, object]:
    if keeps_dynamo_defaults():
        return {}
    return {"recompile_limit": RECOMPILE_LIMIT, "record_runtime_overhead": False}


def apply() -> None:
    """Applies the settings to the frame in which dynamo found a graph. Call it while dynamo compiles the graph."""
    compilation = current_compilation()
    if compilation is not None:
        compilation.apply()


__all__ = ["apply", "install"]
