"""Small programs for comparisons with XLA's CPU client, one module per theme."""

from small_programs import control, elementwise, limits, moves, products, windows
from small_programs.common import BF16, CASES, Array, Case

THEMES = (control, elementwise, limits, moves, products, windows)
"""Modules whose import fills the table."""

__all__ = ["BF16", "CASES", "THEMES", "Array", "Case"]
