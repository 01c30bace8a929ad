"""Fusions in the spellings that frameworks use, one module per theme."""

from spellings import attention, layers
from spellings.common import BF16, FUSED, NOT_FUSED, UNCOUNTED

THEMES = (attention, layers)
"""Modules whose import fills the tables."""

__all__ = ["BF16", "FUSED", "NOT_FUSED", "THEMES", "UNCOUNTED"]
