"""Runs every model below --models-root: ``pytest tests/runner/test_models.py``; see docs/testing.md."""

from tt_xla.testing.models.test_models import test_all_models, test_placeholder_models

__all__ = ["test_all_models", "test_placeholder_models"]
