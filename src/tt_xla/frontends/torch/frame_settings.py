"""Settings of dynamo for the frames that ``tt`` compiles. Frames of other backends keep PyTorch's.

- ``recompile_limit`` is :data:`RECOMPILE_LIMIT`, because each set of sizes is a program of its own.
- Dynamo's bytecode leaves out two things that it would do at each call: the record, for PyTorch's profiler, of how long
  the arguments took to gather, and the look for the current stream where the graph does not use streams. Together they
  are a fifth of the host time of a call of a tiny model.

- Sizes of tensors stay numbers when they change (``private/dynamo_patches.py``).

A setting that a script has changed from its default stays, and ``TTXLA_DYNAMO_DEFAULTS=1`` leaves PyTorch's everywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from tt_xla.environment import keeps_dynamo_defaults
from tt_xla.frontends.torch.frame_cache import FRAMES
from tt_xla.frontends.torch.private.dynamo import graph_bytecode_inputs
from tt_xla.frontends.torch.private.dynamo_patches import FRAME_SETTINGS
from tt_xla.frontends.torch.private.dynamo_patches import install as install_frame_settings
from tt_xla.frontends.torch.private.guards import TracingContext
from tt_xla.frontends.torch.private.ops import OpOverload, OpOverloadPacket

RECOMPILE_LIMIT = 64
"""How often PyTorch may compile one function for ``tt``."""

_CURRENT_STREAM = 0
"""Index of the one object that dynamo tracks in every graph: the current stream of the accelerator."""

_last_stream: list[object] = []
"""The stream of the last graph from which the look-up was left out. Dynamo holds it weakly, and code of the user's that
runs in the graph's frame may still ask for it."""


def install(backend: Callable[..., Any]) -> None:
    """Makes dynamo use these settings, and the cache of frames, for frames that it compiles with ``backend``."""
    install_frame_settings(backend, _settings, FRAMES)


def _settings() -> dict[str, object]:
    if keeps_dynamo_defaults():
        return {}
    return {"recompile_limit": RECOMPILE_LIMIT, "record_runtime_overhead": False}


def apply(graph_module: torch.fx.GraphModule) -> None:
    """Applies the settings to the frame in which dynamo found a graph, and leaves out the look for the current stream.

    Call it while dynamo compiles the graph. Dynamo's table of objects such as streams belongs to one frame: dynamo
    empties it before it traces the next. Objects that are no longer there are those of an earlier frame, in the table
    when a graph is compiled that dynamo has not found.
    """
    if keeps_dynamo_defaults() or TracingContext.try_get() is None:
        return
    FRAME_SETTINGS.apply()
    tracked = graph_bytecode_inputs.index_to_bytecode_constructor
    stream = graph_bytecode_inputs.index_to_external_object_weakref.get(_CURRENT_STREAM, lambda: None)()
    if stream is not None and [*tracked] == [_CURRENT_STREAM] and not _uses_streams(graph_module):
        _last_stream[:] = [stream]
        tracked.clear()


def _uses_streams(graph_module: torch.fx.GraphModule) -> bool:
    graphs = [module.graph for module in graph_module.modules() if isinstance(module, torch.fx.GraphModule)]
    return any(_is_stream_op(node.target) for graph in graphs for node in graph.nodes)


def _is_stream_op(target: object) -> bool:
    if isinstance(target, OpOverload | OpOverloadPacket):
        return str(target).startswith("streams.")
    return target is graph_bytecode_inputs.get_external_object_by_index


__all__ = ["apply", "install"]
