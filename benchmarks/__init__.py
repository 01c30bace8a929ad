"""Benchmarks: how long something takes. Each module is a program: ``python -m benchmarks.NAME`` at the root."""
