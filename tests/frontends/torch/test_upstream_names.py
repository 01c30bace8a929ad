"""Names of upstream's ``tt_torch`` and ``torch_xla`` that its tests and users' scripts import."""

from __future__ import annotations

import operator

import pytest
import torch
import torch_xla.distributed.spmd as xs
from torch import nn

import tt_torch
from tt_torch.backend.backend import tt_backend
from tt_torch.backend.passes import handle_composite_ops
from tt_torch.composite_ops import (
    composite_gather,
    composite_layer_norm,
    composite_topk,
    composite_topk_indices,
    composite_topk_values,
)
from tt_torch.slice_bounds import clamp_neg_slice_key
from tt_torch.tools import mark_module_user_inputs


def _targets(function, *examples):
    graphs = []

    def keep(graph_module, inputs):
        graphs.append(graph_module)
        return graph_module.forward

    torch.compiler.reset()
    torch.compile(function, backend=keep)(*examples)
    handle_composite_ops(graphs[0])
    return {node.target for node in graphs[0].graph.nodes if node.op == "call_function"}


@pytest.mark.parametrize(
    ("function", "chosen", "taken_apart"),
    [
        (lambda x: torch.topk(x, 3)[0], composite_topk_values, False),
        (lambda x: x.topk(3)[1], composite_topk_indices, False),
        (lambda x: tuple(x.topk(3)), composite_topk, True),
        (lambda x: x.gather(0, torch.zeros(2, 2, dtype=torch.int64)), composite_gather, False),
    ],
)
def test_the_composite_for_the_results_that_are_used(function, chosen, taken_apart):
    targets = _targets(function, torch.randn(4, 8))
    composites = {composite_topk, composite_topk_values, composite_topk_indices, composite_gather}
    assert targets & composites == {chosen}
    assert (operator.getitem in targets) == taken_apart


@pytest.mark.parametrize("dim", [0, -1])
def test_composites_compute_what_torch_does(dim):
    x, index = torch.randn(6, 8), torch.randint(0, 6, (2, 2))

    def f(x, index):
        return composite_topk_values(x, 2, dim), composite_topk_indices(x, 2, dim), composite_gather(x, dim, index)

    torch.compiler.reset()
    result = torch.compile(f, backend="tt", options={"optimization_level": 0})(x, index)
    values, indices = torch.topk(x, 2, dim)
    for one, other in zip(result, (values, indices, torch.gather(x, dim, index)), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-2, atol=1e-2)


def test_a_backend_that_wraps_ours():
    calls = []

    def wrapping(graph_module, inputs, options=None):
        calls.append(options)
        return tt_backend(graph_module, inputs, options)

    torch.compiler.reset()
    compiled = torch.compile(lambda x: x + 1, backend=wrapping, options={"optimization_level": 2})
    assert compiled(torch.ones(2)).tolist() == [2.0, 2.0]
    assert calls == [{"optimization_level": 2}]


def test_the_bridge_compiles_a_graph():
    from torch_xla._dynamo import dynamo_bridge as own
    from torch_xla.core import dynamo_bridge

    assert isinstance(own.GraphInputMatcher, type)
    graph = torch.fx.symbolic_trace(lambda x: (x * 2,))
    with pytest.warns(UserWarning, match=r"torch\.Size\(\[3\]\) on cpu"):
        compiled = dynamo_bridge.extract_compiled_graph(graph, [torch.ones(3)])
    result = compiled(torch.ones(3))
    assert torch.utils._pytree.tree_leaves(result)[0].tolist() == [2.0, 2.0, 2.0]


@pytest.mark.parametrize(
    ("key", "clamped", "changed"),
    [
        (slice(-9, None), slice(-4, None), True),
        (slice(-2, None), slice(-2, None), False),
        ((None, 0, slice(None, -9)), (None, 0, slice(None, -5)), True),
        ((Ellipsis, slice(-9, None)), (Ellipsis, slice(-9, None)), False),
    ],
)
def test_bounds_of_slices(key, clamped, changed):
    assert clamp_neg_slice_key(torch.Size((4, 5)), key) == (clamped, changed)


def test_sharding_constraints_on_one_device():
    mesh = xs.Mesh([0], (1, 1), ("batch", "model"))
    layer = nn.Linear(4, 4)
    expected = layer(torch.ones(2, 4))
    handle = layer.register_forward_hook(tt_torch.sharding_constraint_hook(layer, mesh, ("batch", None)))
    assert torch.equal(layer(torch.ones(2, 4)), expected)
    handle.remove()
    with pytest.raises(ValueError, match=r"rank \(2\) does not match tensor rank \(1\)"):
        tt_torch.sharding_constraint_tensor(torch.ones(2), mesh, ("batch", None))
    with pytest.raises(ValueError, match="mesh cannot be None"):
        tt_torch.sharding_constraint_hook(layer, None, (None,))
    with pytest.raises(TypeError, match=r"Expected nn\.Module"):
        tt_torch.sharding_constraint_hook("layer", mesh, (None,))
    with pytest.raises(TypeError, match=r"Expected nn\.Module"):
        mark_module_user_inputs("layer")


def test_one_number_is_the_shape_to_normalize():
    torch.compiler.reset()
    result = torch.compile(lambda x: composite_layer_norm(x, 8), backend="tt")(torch.arange(16.0).view(2, 8))
    torch.testing.assert_close(
        result, nn.functional.layer_norm(torch.arange(16.0).view(2, 8), [8]), rtol=1e-2, atol=1e-2
    )
