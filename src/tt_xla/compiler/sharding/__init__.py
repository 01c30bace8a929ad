"""Programs for several chips: StableHLO with shardings becomes the StableHLO of one chip, with collectives."""

from tt_xla.compiler.sharding.localise import Localised, localise

__all__ = ["Localised", "localise"]
