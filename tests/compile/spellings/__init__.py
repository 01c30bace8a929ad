"""Fusions in the spellings that frameworks have for them, a module a theme."""

from spellings import attention, layers
from spellings.common import BF16, FUSED, NOT_FUSED, UNCOUNTED

THEMES = (attention, layers)
"""Importing them fills the tables."""

__all__ = ["BF16", "FUSED", "NOT_FUSED", "THEMES", "UNCOUNTED"]
