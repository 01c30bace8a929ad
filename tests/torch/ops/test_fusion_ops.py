"""Fusion providers, used as upstream's documentation shows."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch
import torch.nn as nn
import torch.nn.functional as F

from tests.torch.ops.conftest import captured, composites, run
from tt_torch.backend.passes import rewrite_adaptive_avgpool_to_mean, run_fusion_passes
from tt_torch.fusion_providers import FusionProvider, RMSNormFusionProvider
from tt_xla.testing import ComparisonConfig, Framework, run_graph_test


class LlamaNorm(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(width) + 0.5)

    def forward(self, x):
        wide = x.to(torch.float32)
        wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)
        return self.weight * wide.to(x.dtype)


class OssNorm(LlamaNorm):
    def forward(self, x):
        wide = x.float()
        wide = wide * torch.rsqrt(torch.mean(torch.square(wide), -1, keepdim=True) + 1e-6)
        return (self.weight * wide).to(x.dtype)


class GemmaNorm(LlamaNorm):
    def forward(self, x):
        wide = x.float()
        wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)
        return (wide * (1.0 + self.weight.float())).type_as(x)


class PowerNorm(LlamaNorm):
    def forward(self, x):
        wide = x.float()
        return (wide * torch.pow(wide.pow(2).mean(-1, keepdim=True) + 1e-6, -0.5) * self.weight.float()).type_as(x)


class BareNorm(LlamaNorm):
    def forward(self, x):
        wide = x.float()
        return (wide * torch.pow(wide.pow(2).mean(-1, keepdim=True) + 1e-6, -0.5)).type_as(x)


class ThirdPowerNorm(LlamaNorm):
    def forward(self, x):
        wide = x.to(torch.float32)
        return self.weight * (wide * torch.rsqrt(wide.pow(3).mean(-1, keepdim=True) + 1e-6)).to(x.dtype)


class TestRMSNormFusion:
    @pytest.mark.parametrize("kind", [LlamaNorm, OssNorm, GemmaNorm, PowerNorm, BareNorm])
    @pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
    def test_every_form_becomes_one_composite(self, modules, kind, dtype):
        model, x = kind().to(dtype), torch.randn(4, 32, dtype=dtype)
        torch.testing.assert_close(run(model, x), model(x), rtol=2e-2, atol=2e-2)
        assert composites(modules[-1]) == ["tenstorrent.rms_norm"]

    def test_fusion_off_leaves_the_ops(self, modules):
        model, x = LlamaNorm(), torch.randn(4, 32)
        torch.testing.assert_close(run(model, x, tt_enable_torch_fx_fusion_pass=False), model(x), rtol=2e-2, atol=2e-2)
        assert composites(modules[-1]) == []

    def test_another_power_is_no_norm(self, modules):
        run(ThirdPowerNorm(), torch.rand(4, 32))
        assert composites(modules[-1]) == []

    def test_a_wide_weight_is_left_alone(self, modules):
        run(LlamaNorm(4000), torch.randn(2, 4000))
        assert composites(modules[-1]) == []

    def test_without_a_bound_it_is_fused(self, modules, monkeypatch):
        monkeypatch.setattr(RMSNormFusionProvider, "UPPER_BOUND", None)
        run(LlamaNorm(4000), torch.randn(2, 4000))
        assert composites(modules[-1]) == ["tenstorrent.rms_norm"]

    def test_a_weight_of_unknown_width_is_not_fused(self):
        graph_module = captured(LlamaNorm(), torch.randn(4, 32))
        for node in graph_module.graph.nodes:
            node.meta.pop("example_value", None)
        run_fusion_passes(graph_module)
        assert F.rms_norm not in [node.target for node in graph_module.graph.nodes]
        weight = torch.fx.Graph().placeholder("weight")
        with pytest.raises(ValueError, match="missing required metadata 'example_value'"):
            RMSNormFusionProvider.match_filter(SimpleNamespace(nodes_map={weight: weight}), None, None)

    def test_new_nodes_keep_the_users_line(self):
        graph_module = captured(LlamaNorm(), torch.randn(4, 32))
        run_fusion_passes(graph_module)
        (norm,) = [node for node in graph_module.graph.nodes if node.target is F.rms_norm]
        assert "test_fusion_ops.py" in norm.meta["stack_trace"]


class TestOwnFusion:
    """Follows upstream's page 'How to Add a New Fusion Pattern'."""

    def test_a_subclass_takes_part(self, modules):
        class SquareOfSumFusionProvider(FusionProvider):
            @property
            def name(self):
                return "square_of_sum"

            @staticmethod
            def pattern(x, y):
                return x.mul(x).add(x.mul(y).mul(2)).add(y.mul(y))

            @staticmethod
            def replacement(x, y):
                return torch.square(x.add(y))

        class Model(nn.Module):
            def forward(self, x, y):
                return x * x + x * y * 2 + y * y

        try:
            assert SquareOfSumFusionProvider in FusionProvider.get_registered_providers()
            x, y = torch.randn(3, 4), torch.randn(3, 4)
            torch.testing.assert_close(run(Model(), x, y), (x + y) ** 2, rtol=1e-2, atol=1e-2)
            assert modules[-1].count("stablehlo.add") == 1
        finally:
            SquareOfSumFusionProvider.unregister()

    def test_what_is_abstract_must_be_there(self):
        class Nameless(FusionProvider):
            @staticmethod
            def pattern(x):
                return x

        try:
            with pytest.raises(TypeError, match="abstract"):
                Nameless()
        finally:
            Nameless.unregister()


def test_adaptive_pooling_to_one_element_is_a_mean():
    x = torch.randn(2, 3, 4, 4)
    graph_module = captured(nn.AdaptiveAvgPool2d((1, 1)), x)
    expected = graph_module(x)
    rewrite_adaptive_avgpool_to_mean(graph_module)
    assert [node.target for node in graph_module.graph.nodes if node.op == "call_function"] == [torch.mean]
    torch.testing.assert_close(graph_module(x), expected)
    other = captured(nn.AdaptiveAvgPool2d(2), x)
    rewrite_adaptive_avgpool_to_mean(other)
    assert torch.mean not in [node.target for node in other.graph.nodes]


@pytest.mark.single_device
@pytest.mark.push
@pytest.mark.parametrize("fused", [True, False])
def test_the_documented_form(request, fused):
    """The test of upstream's page, with and without the fusion."""
    options = {"tt_enable_torch_fx_fusion_pass": fused, "tt_enable_composite_ops": True}
    run_graph_test(
        LlamaNorm(),
        [torch.randn(1, 32, 32)],
        comparison_config=ComparisonConfig(),
        framework=Framework.TORCH,
        torch_options=options,
        request=request,
    )
