"""Entries of the registries that no drawn program reaches, each with the reason."""

from __future__ import annotations

UNREACHED: dict[str, dict[str, str]] = {}
"""By table of :mod:`tests.fuzz.reached` and entry."""
