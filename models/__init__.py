"""Models with random weights, built from configurations, and two trained ones: no network, equal numbers each time.

Loaders in the form of tt-forge-models, which ``tt-xla models models`` and ``tests/runner/test_models.py`` run.
"""
