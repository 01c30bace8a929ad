"""The compiler: modules of StableHLO, TTIR and TTNN become Programs. Compiling never touches a device.

program = compile_module(read_module(text), CompileOptions.parse(), load_target("n150"))
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tt_xla.environment import quieten_xla

if TYPE_CHECKING:
    from tt_xla.compiler.pipeline import compile_module
    from tt_xla.compiler.reading import read_module
    from tt_xla.compiler.stablehlo import parse_module

quieten_xla()

__all__ = ["compile_module", "parse_module", "read_module"]


def __getattr__(name: str) -> Any:
    """Imports the functions on first use, because they import xDSL and jaxlib."""
    if name == "compile_module":
        from tt_xla.compiler.pipeline import compile_module

        return compile_module
    if name == "read_module":
        from tt_xla.compiler.reading import read_module

        return read_module
    if name == "parse_module":
        from tt_xla.compiler.stablehlo import parse_module

        return parse_module
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
