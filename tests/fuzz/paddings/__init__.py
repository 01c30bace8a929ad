"""Draws programs with symbolic sizes, fills their padding with noise, and judges them by the same program of fixed sizes."""
