"""Loaders of models with random weights, built from configurations, and of two trained models.

They need no network, and a model has the same weights and inputs in every run. The loaders have the form of
tt-forge-models'; ``tt-xla models models`` and ``tests/runner/test_models.py`` run them.
"""
