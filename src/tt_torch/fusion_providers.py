"""Fusions over the graph that dynamo captured: a subclass of :class:`FusionProvider` is one."""

from tt_xla.frontends.torch.graph.fusion import FusionProvider, RMSNormFusionProvider

__all__ = ["FusionProvider", "RMSNormFusionProvider"]
