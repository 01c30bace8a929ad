"""Analyses and helpers that several compiler stages share: constants, const-eval dependence, integer ranges."""
