"""Fusions over the graph that dynamo captured; each one is a subclass of :class:`FusionProvider`."""

from tt_xla.frontends.torch.graph.fusion import FusionProvider, RMSNormFusionProvider

__all__ = ["FusionProvider", "RMSNormFusionProvider"]
