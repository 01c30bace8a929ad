"""Composite ops, used as upstream's documentation shows."""

from __future__ import annotations

import pytest
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.fx.experimental.proxy_tensor import make_fx

from tests.torch.ops.conftest import composites, run
from tt_torch.backend.passes import handle_composite_ops
from tt_torch.composite_ops import StableHLOCompositeBuilder, module_parameter, replacements
from tt_xla.frontends.torch.graph import regions
from tt_xla.testing import ComparisonConfig, Framework, run_graph_test


class TestComposites:
    @pytest.mark.parametrize(
        ("function", "name"),
        [
            (lambda x: F.gelu(x), "tenstorrent.gelu"),
            (lambda x: F.gelu(x, approximate="tanh"), "tenstorrent.gelu_tanh"),
            (lambda x: F.rms_norm(x, (32,)), "tenstorrent.rms_norm"),
            (lambda x: F.layer_norm(x, (32,), x[0]), "tenstorrent.layer_norm"),
            (lambda x: F.group_norm(x, 4), "tenstorrent.group_norm"),
            (lambda x: x.argmax(-1), "tenstorrent.argmax"),
        ],
    )
    def test_functions(self, modules, function, name):
        x = torch.randn(4, 32)
        torch.testing.assert_close(run(function, x), function(x), rtol=2e-2, atol=2e-2)
        assert composites(modules[-1]) == [name]
        run(function, x, tt_enable_composite_ops=False)
        assert composites(modules[-1]) == []

    def test_exact_numerics_keep_the_tanh_form_of_gelu(self):
        x = torch.linspace(-6, 6, 401)
        compiled = torch.compile(lambda x: F.gelu(x, approximate="tanh"), backend="tt", options={"numerics": "exact"})
        torch.testing.assert_close(compiled(x), F.gelu(x, approximate="tanh"), rtol=1e-6, atol=1e-6)

    @pytest.mark.parametrize(
        ("module", "name"),
        [
            (nn.LayerNorm(32), "tenstorrent.layer_norm"),
            (nn.LayerNorm(32, elementwise_affine=False), "tenstorrent.layer_norm"),
            (nn.RMSNorm(32), "tenstorrent.rms_norm"),
            (nn.GroupNorm(4, 32), "tenstorrent.group_norm"),
            (nn.GELU(), "tenstorrent.gelu"),
        ],
    )
    def test_modules_of_a_traced_graph(self, module, name):
        """Dynamo inlines modules. torch.fx keeps those of torch.nn whole."""
        x = torch.randn(4, 32)
        graph_module = torch.fx.symbolic_trace(nn.Sequential(module))
        handle_composite_ops(graph_module)
        assert not [node for node in graph_module.graph.nodes if node.op == "call_module"]
        torch.testing.assert_close(graph_module(x), module(x))
        marks = make_fx(graph_module)(x).graph.find_nodes(op="call_function", target=regions.MARK)
        assert {mark.args[1] for mark in marks} == {name}

    def test_attention_in_bfloat16(self, modules):
        parts = [torch.randn(1, 2, 8, 16, dtype=torch.bfloat16) for _ in range(3)]
        expected = F.scaled_dot_product_attention(*parts, is_causal=True)
        result = run(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True), *parts)
        torch.testing.assert_close(result, expected, rtol=5e-2, atol=5e-2)
        assert composites(modules[-1]) == ["tenstorrent.scaled_dot_product_attention"]

    def test_an_unknown_name_is_computed_by_its_ops(self, modules):
        def my_op(x):
            builder = StableHLOCompositeBuilder("tenstorrent.my_op", {"param": 0.5, "dims": [0, 1]})
            x, y = builder.mark_inputs(x, x + 1)
            return builder.mark_outputs(x * 0.5, y.exp())

        def pieces(x):
            one, two = my_op(x)
            return one + two

        x = torch.randn(4, 4)
        torch.testing.assert_close(run(_swapped(pieces, my_op), x), x * 0.5 + (x + 1).exp(), rtol=2e-2, atol=2e-2)
        assert composites(modules[-1]) == ["tenstorrent.my_op"]
        assert "param = 5.000000e-01 : f32" in modules[-1]

    def test_a_builder_in_a_models_own_code_breaks_no_graph(self, modules):
        def my_op(x):
            builder = StableHLOCompositeBuilder("tenstorrent.mine", {"approximate": "none"})
            assert builder.attr["approximate"] == "none"
            return builder.mark_outputs(builder.mark_inputs(x).exp() + 1) * 2

        x = torch.randn(4, 4)
        result = torch.compile(my_op, backend="tt", fullgraph=True)(x)
        torch.testing.assert_close(result, (x.exp() + 1) * 2, rtol=2e-2, atol=2e-2)
        assert composites(modules[-1]) == ["tenstorrent.mine"]

    def test_attributes_of_every_kind_arrive(self, modules):
        attributes = {
            "a": 'x "y" \\ z',
            "b": True,
            "c": -3,
            "d": 0.5,
            "e": [1, 2],
            "f": float("inf"),
            "g": "\r\x01\u00e9",
        }

        def my_op(x):
            builder = StableHLOCompositeBuilder("mine.op", attributes)
            return builder.mark_outputs(builder.mark_inputs(x).exp())

        torch.compile(my_op, backend="tt", fullgraph=True)(torch.randn(4))
        for text in (
            'a = "x \\22y\\22 \\\\ z"',
            "b = true",
            "c = -3",
            "d = 5.000000e-01",
            "dense<[1, 2]>",
            "0x7F800000",
            'g = "\\0D\\01\\C3\\A9"',
        ):
            assert text in modules[-1]

    def test_an_attribute_that_changes_between_calls(self, modules):
        """Dynamo makes a number symbolic once it has changed. A composite takes its value."""

        class Scaled(nn.Module):
            def __init__(self):
                super().__init__()
                self.eps = 0.5

            def forward(self, x):
                builder = StableHLOCompositeBuilder("mine.op", {"eps": self.eps})
                return builder.mark_outputs(builder.mark_inputs(x).exp())

        module = Scaled()
        compiled = torch.compile(module, backend="tt", fullgraph=True)
        for eps, text in ((0.5, "5.000000e-01"), (0.25, "2.500000e-01"), (3.0, "3.000000e+00")):
            module.eps = eps
            compiled(torch.randn(4))
            assert f"eps = {text}" in modules[-1]

    def test_an_attribute_made_of_sizes(self, modules):
        """Dynamo makes sizes symbolic from the second size on. Without capacities, each size is compiled."""
        options = {"capacity_steps": "off"}
        compiled = torch.compile(lambda x: x.topk(min(4, x.shape[-1] - 1)).indices, backend="tt", options=options)
        for size in (3, 4, 9):
            x = torch.randn(2, size)
            assert torch.equal(compiled(x), x.topk(min(4, size - 1)).indices)
            assert f"k = {min(4, size - 1)} :" in modules[-1]

    def test_composites_within_composites(self, modules):
        def outer(x):
            builder = StableHLOCompositeBuilder("tenstorrent.outer")
            x = builder.mark_inputs(x)
            inner = StableHLOCompositeBuilder("tenstorrent.inner")
            return builder.mark_outputs(inner.mark_outputs(inner.mark_inputs(x).exp()) + x)

        x = torch.randn(4, 4)
        torch.testing.assert_close(run(_swapped(outer, outer), x), x.exp() + x, rtol=2e-2, atol=2e-2)
        assert sorted(composites(modules[-1])) == ["tenstorrent.inner", "tenstorrent.outer"]

    def test_a_value_that_leaves_between_the_marks_undoes_it(self, modules):
        def leaky(x):
            builder = StableHLOCompositeBuilder("tenstorrent.leaky")
            inner = builder.mark_inputs(x).exp()
            return builder.mark_outputs(inner + 1) * inner

        x = torch.randn(4, 4)
        torch.testing.assert_close(run(_swapped(leaky, leaky), x), (x.exp() + 1) * x.exp(), rtol=2e-2, atol=2e-2)
        assert composites(modules[-1]) == []

    def test_an_attribute_that_cannot_be_written(self):
        with pytest.raises(TypeError, match="attribute 'x' of composite 'a'"):
            StableHLOCompositeBuilder("a", {"x": object()})

    def test_gradients_pass_through(self, modules):
        model, other = nn.Sequential(nn.Linear(32, 32), nn.GELU()), nn.Sequential(nn.Linear(32, 32), nn.GELU())
        other.load_state_dict(model.state_dict())
        x = torch.randn(4, 32)
        torch.compile(model, backend="tt")(x).sum().backward()
        other(x).sum().backward()
        assert composites(modules[0]) == ["tenstorrent.gelu"]
        for parameter, expected in zip(model.parameters(), other.parameters(), strict=True):
            torch.testing.assert_close(parameter.grad, expected.grad, rtol=2e-2, atol=2e-2)


def _swapped(function, composite):
    """Returns a model that calls ``function`` where the backend's passes insert it: after dynamo, before autograd."""
    replacements[_marker] = function
    assert composite is not None
    return lambda x: _marker(x)


@torch.compiler.allow_in_graph
def _marker(x):
    return x


class TestOwnComposite:
    """Follows upstream's page 'How to Add a New Composite Op'."""

    def test_a_function_and_a_module(self, modules):
        def composite_softplus(input, beta=1.0, threshold=20.0):
            builder = StableHLOCompositeBuilder(name="tenstorrent.softplus", attr={"beta": float(beta)})
            return builder.mark_outputs(F.softplus(builder.mark_inputs(input), beta, threshold))

        def composite_prelu(input, weight):
            builder = StableHLOCompositeBuilder(name="tenstorrent.prelu")
            input, weight = builder.mark_inputs(input, weight)
            return builder.mark_outputs(torch.where(input > 0, input, input * weight))

        def replace_prelu_module(gm, node, module):
            weight = module_parameter(gm, node, "weight")
            with gm.graph.inserting_after(node):
                replacement = gm.graph.call_function(composite_prelu, (node.args[0], weight))
            node.replace_all_uses_with(replacement)
            gm.graph.erase_node(node)

        replacements[F.softplus] = composite_softplus
        replacements[nn.PReLU] = replace_prelu_module
        x = torch.randn(4, 8)
        torch.testing.assert_close(run(F.softplus, x), F.softplus(x), rtol=2e-2, atol=2e-2)
        assert composites(modules[-1]) == ["tenstorrent.softplus"]
        model = nn.Sequential(nn.PReLU())
        graph_module = handle_composite_ops(torch.fx.symbolic_trace(model))
        torch.testing.assert_close(graph_module(x), model(x))
        assert composite_prelu in [node.target for node in graph_module.graph.nodes]


def test_a_mark_is_the_tensor_itself():
    x = torch.randn(3, requires_grad=True)
    builder = StableHLOCompositeBuilder("a")
    builder.mark_outputs(builder.mark_inputs(x) * 2).sum().backward()
    assert torch.equal(x.grad, torch.full((3,), 2.0))
    assert regions.find_regions([], [], []) == []


@pytest.mark.single_device
@pytest.mark.filecheck(["gelu.ttir.mlir"])
def test_the_documented_form(request):
    """The test of upstream's page, with a pattern file that checks the lowered op."""
    run_graph_test(
        nn.GELU(),
        [torch.randn(32, 32)],
        comparison_config=ComparisonConfig(),
        framework=Framework.TORCH,
        torch_options={"tt_enable_composite_ops": True},
        request=request,
    )
