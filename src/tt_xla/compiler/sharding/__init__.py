"""Programs for several chips: StableHLO with shardings becomes the StableHLO of one chip, with collectives."""

from tt_xla.compiler.sharding.localize import Localized, localize

__all__ = ["Localized", "localize"]
