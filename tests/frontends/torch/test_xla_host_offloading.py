"""Marks of tensors that the host's memory may hold."""

from __future__ import annotations

import pytest
import torch
import torch_xla.core.xla_model as xm
from functorch.compile import aot_function, make_boxed_func
from torch_xla.experimental.stablehlo_custom_call import (
    extract_custom_call_outputs_shape_dtype,
    place_to_device,
    place_to_host,
)


def offloaded(x: torch.Tensor) -> torch.Tensor:
    return (place_to_device(place_to_host(x * 2)) * x).sum()


@pytest.mark.parametrize("compiled", [False, True])
def test_gradients_flow_through_marked_tensors(compiled):
    x = torch.arange(3.0, device="xla", requires_grad=True)
    call = torch.compile(offloaded, backend="openxla", fullgraph=True) if compiled else offloaded
    result = call(x)
    result.backward()
    assert result.item() == 10
    assert x.grad.tolist() == [0, 4, 8]


def test_a_graph_keeps_the_marks():
    graphs: list[torch.fx.GraphModule] = []

    def compiler(graph: torch.fx.GraphModule, _inputs):
        graphs.append(graph)
        return make_boxed_func(graph)

    x = torch.ones(3, device="xla", requires_grad=True)
    aot_function(offloaded, compiler)(x).backward()
    forward, backward = (graph.code for graph in graphs)
    assert ("place_to_host" in forward, "place_to_device" in forward) == (True, True)
    assert "xla.place_to" not in backward
    (marked,) = (node for node in graphs[0].graph.nodes if "place_to_host" in str(node.target))
    assert extract_custom_call_outputs_shape_dtype(marked) == ([torch.Size([3])], [torch.float32])


def test_recorded_marks_are_in_the_text_of_the_program():
    x = torch.ones(3, device="xla")
    for place, memory in ((place_to_host, "pinned_host"), (place_to_device, "device")):
        placed = place(x)
        text = xm.get_stablehlo([placed])
        assert f'mhlo.frontend_attributes = {{_xla_buffer_placement = "{memory}"}}' in text
        assert placed.tolist() == [1, 1, 1]
