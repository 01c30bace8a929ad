"""``torch_xla.experimental.mark_pattern_utils``: makes groups of ops composites."""

from tt_xla.frontends.torch.graph.marks import StableHLOCompositeBuilder

__all__ = ["StableHLOCompositeBuilder"]
