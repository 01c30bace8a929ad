"""The passes that the backend runs before autograd sees the graph, in this order."""

from tt_xla.frontends.torch.graph import handle_composite_ops, rewrite_adaptive_avgpool_to_mean, run_fusion_passes
from tt_xla.frontends.torch.graph.composites import replace_multi_output_op as _replace_multi_output_op

__all__ = ["_replace_multi_output_op", "handle_composite_ops", "rewrite_adaptive_avgpool_to_mean", "run_fusion_passes"]
