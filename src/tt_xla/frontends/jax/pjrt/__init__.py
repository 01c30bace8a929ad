"""The PJRT C API with its slots written in Python; :mod:`tt_xla.frontends.jax.pjrt.api` assembles the table."""
