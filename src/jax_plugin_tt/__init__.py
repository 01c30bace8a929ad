"""Upstream's package name for the JAX plugin."""

from tt_xla.frontends.jax.plugin import initialize

__all__ = ["initialize"]
