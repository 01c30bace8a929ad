"""``ttnn.tracer``: the calls of a model as a graph, a picture and Python.

::

    with ttnn.tracer.trace():
        output = model(torch.rand(1, 64))
    ttnn.tracer.visualize(output, file_name="model.svg")
    print(ttnn.tracer.codegen(output))
"""

from tt_xla.ttnn_api.tracing.graphs import flatten_graph, get_graph
from tt_xla.ttnn_api.tracing.nodes import (
    InputTensorIndex,
    Node,
    PositionalArgumentName,
    TorchFunction,
    TorchModule,
    TorchModuleInput,
    TorchParameter,
    TorchTensor,
    TTNNOperation,
    TTNNTensor,
)
from tt_xla.ttnn_api.tracing.pictures import (
    LEVEL_COLORS,
    duration_to_string,
    visualize,
    visualize_edge,
    visualize_node,
)
from tt_xla.ttnn_api.tracing.recording import (
    disable_tracing,
    enable_tracing,
    is_tracing_enabled,
    set_item,
    trace,
)
from tt_xla.ttnn_api.tracing.source import codegen

__all__ = [
    "LEVEL_COLORS",
    "InputTensorIndex",
    "Node",
    "PositionalArgumentName",
    "TTNNOperation",
    "TTNNTensor",
    "TorchFunction",
    "TorchModule",
    "TorchModuleInput",
    "TorchParameter",
    "TorchTensor",
    "codegen",
    "disable_tracing",
    "duration_to_string",
    "enable_tracing",
    "flatten_graph",
    "get_graph",
    "is_tracing_enabled",
    "set_item",
    "trace",
    "visualize",
    "visualize_edge",
    "visualize_node",
]
