"""StableHLO in, Program out. Compiling never touches a device."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tt_xla.compiler.pipeline import compile_module
    from tt_xla.compiler.stablehlo import parse_module

# As JAX does for XLA's log; it is read when jaxlib loads, which may be before JAX.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")

__all__ = ["compile_module", "parse_module"]


def __getattr__(name: str) -> Any:
    """The two functions on first use, since they bring xDSL and jaxlib along."""
    if name == "compile_module":
        from tt_xla.compiler.pipeline import compile_module

        return compile_module
    if name == "parse_module":
        from tt_xla.compiler.stablehlo import parse_module

        return parse_module
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
