"""Comparisons of results with other implementations. Most modules are programs: ``python -m conformance.NAME``."""
