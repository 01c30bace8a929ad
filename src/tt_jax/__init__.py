"""Upstream's helpers for JAX programs.

ttir, ttnn, program = serialize_compiled_artifacts(f, x)
"""

from tt_jax.codegen import codegen_cpp, codegen_py, load_codegen_py
from tt_jax.explore import explore
from tt_xla.frontends.jax.all_sizes import for_all_sizes
from tt_xla.frontends.jax.parameters import mark as mark_parameters
from tt_xla.frontends.jax.shardings import input_shardings
from tt_xla.frontends.jax.tools import (
    serialize_compiled_artifacts,
    serialize_compiled_artifacts_to_disk,
)

__all__ = [
    "codegen_cpp",
    "codegen_py",
    "explore",
    "for_all_sizes",
    "input_shardings",
    "load_codegen_py",
    "mark_parameters",
    "serialize_compiled_artifacts",
    "serialize_compiled_artifacts_to_disk",
]
