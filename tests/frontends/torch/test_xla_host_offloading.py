"""Marks of tensors that the host's memory may hold."""

from __future__ import annotations

import pytest
import torch
from functorch.compile import aot_function, make_boxed_func
from torch_xla.experimental.stablehlo_custom_call import (
    extract_custom_call_outputs_shape_dtype,
    place_to_device,
    place_to_host,
    stablehlo_custom_call,
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


def test_custom_calls_are_refused():
    with pytest.raises(NotImplementedError, match=r"stablehlo_custom_call\('f'\) is not supported"):
        stablehlo_custom_call((torch.ones(2),), "f", [(2,)], [torch.float32])
