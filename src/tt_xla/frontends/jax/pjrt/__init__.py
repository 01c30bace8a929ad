"""The PJRT C API, its slots written in Python; see :mod:`tt_xla.frontends.jax.pjrt.table`."""
