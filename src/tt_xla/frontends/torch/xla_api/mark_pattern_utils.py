"""``torch_xla.experimental.mark_pattern_utils``: groups of ops as composites."""

from tt_xla.frontends.torch.graph.marks import StableHLOCompositeBuilder

__all__ = ["StableHLOCompositeBuilder"]
