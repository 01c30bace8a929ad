"""The passes that the backend runs before autograd sees the graph, in this order."""

from tt_xla.frontends.torch.graph import handle_composite_ops, rewrite_adaptive_avgpool_to_mean, run_fusion_passes

__all__ = ["handle_composite_ops", "rewrite_adaptive_avgpool_to_mean", "run_fusion_passes"]
