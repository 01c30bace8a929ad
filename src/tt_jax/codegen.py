"""Upstream's module of functions that write a JAX function as source, and run the source."""

from tt_xla.frontends.jax.codegen import codegen_cpp, codegen_py, load_codegen_py

__all__ = ["codegen_cpp", "codegen_py", "load_codegen_py"]
