"""Profiles and benchmarks of the ranks that torchrun starts: one timeline of all, in predicted device time."""
