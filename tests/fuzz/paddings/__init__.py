"""Fills the padding of programs with symbolic sizes with noise, and judges them by programs of fixed sizes."""
