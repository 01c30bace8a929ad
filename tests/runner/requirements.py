"""Provides the packages that a model requires, by upstream's name; ``tt_xla.testing.models.requirements`` does it."""

from __future__ import annotations

from tt_xla.testing.models.requirements import RequirementsManager

__all__ = ["RequirementsManager"]
