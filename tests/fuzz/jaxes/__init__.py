"""Draws JAX programs: calls of JAX's public functions, and the transformations around them."""
