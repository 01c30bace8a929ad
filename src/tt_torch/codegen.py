"""Upstream's module of functions that write a model as source, and run the source."""

from tt_xla.frontends.torch.codegen import codegen_cpp, codegen_py, load_codegen_py

__all__ = ["codegen_cpp", "codegen_py", "load_codegen_py"]
