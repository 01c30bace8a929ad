"""What dynamo would do at each call of a compiled model, beside checking its guards, and need not for ``tt``.

On the host a call of a tiny model takes about as long as its kernels; these are a fifth of it.
"""

from __future__ import annotations

import torch
from torch._dynamo import callback_handler, config, graph_bytecode_inputs

_CURRENT_STREAM = 0
"""Index of the one object that dynamo tracks in every graph: the stream of a device that it knows no more of."""

_kept: list[object] = []
_left_out: list[str] = []
"""Names of dynamo's settings that are off until the graph is compiled."""


def write_less(graph_module: torch.fx.GraphModule) -> None:
    """Called while dynamo compiles a graph, before it writes the bytecode around it.

    Leaves out the record, for torch's profiler, of how long the arguments took to gather; and the look for the current
    stream, where the graph has nothing to do with streams.
    """
    if torch._guards.TracingContext.try_get() is None:
        return
    if config.record_runtime_overhead:
        config.record_runtime_overhead = False
        _left_out.append("record_runtime_overhead")
    if _record_again not in callback_handler.end_callbacks:  # torch._dynamo.reset() removes it
        callback_handler.register_end_callback(_record_again)
    tracked = graph_bytecode_inputs.index_to_bytecode_constructor
    if [*tracked] == [_CURRENT_STREAM] and not _uses_streams(graph_module):
        # By its index a user's own code may still ask for it.
        _kept[:] = [graph_bytecode_inputs.get_external_object_by_index(_CURRENT_STREAM)]
        tracked.clear()


def _record_again(_: object) -> None:
    while _left_out:
        setattr(config, _left_out.pop(), True)


def _uses_streams(graph_module: torch.fx.GraphModule) -> bool:
    graphs = [module.graph for module in graph_module.modules() if isinstance(module, torch.fx.GraphModule)]
    return any(_is_of_streams(node.target) for graph in graphs for node in graph.nodes)


def _is_of_streams(target: object) -> bool:
    if isinstance(target, torch._ops.OpOverload | torch._ops.OpOverloadPacket):
        return str(target).startswith("streams.")
    return target is graph_bytecode_inputs.get_external_object_by_index
