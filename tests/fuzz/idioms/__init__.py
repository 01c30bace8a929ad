"""Idioms that the compiler's patterns match, in JAX, with parameters that a guard must notice."""

from tests.fuzz.idioms import activations, arithmetic, attention, integers, moves, norms, products
from tests.fuzz.idioms.drawing import IDIOMS, Idiom, built

__all__ = [
    *("IDIOMS", "Idiom", "activations", "arithmetic", "attention", "built", "integers", "moves", "norms", "products"),
]
