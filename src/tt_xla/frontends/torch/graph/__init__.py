"""Passes over the graph that dynamo captured, before autograd sees it.

Fusion replaces groups of ops that users wrote out by the PyTorch function that they compute. Composites keep such
functions whole through autograd and decomposition, down to StableHLO.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from tt_xla.frontends.torch.graph.composites import handle_composite_ops
from tt_xla.frontends.torch.graph.fusion import run_fusion_passes
from tt_xla.frontends.torch.graph.rewrites import rewrite, rewrite_adaptive_avgpool_to_mean


def run_passes(graph_module: torch.fx.GraphModule, options: Mapping[str, Any]) -> None:
    """Runs the passes in order.

    Args:
        graph_module: the graph; changed in place.
        options: values of :data:`~tt_xla.frontends.torch.torch_options.TORCH_OPTIONS`, which switch passes off.
    """
    rewrite_adaptive_avgpool_to_mean(graph_module)
    if options["tt_enable_torch_fx_fusion_pass"]:
        run_fusion_passes(graph_module)
    if options["tt_enable_composite_ops"]:
        handle_composite_ops(graph_module)
    rewrite(graph_module)


__all__ = ["handle_composite_ops", "rewrite", "rewrite_adaptive_avgpool_to_mean", "run_fusion_passes", "run_passes"]
