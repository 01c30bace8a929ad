"""What a JAX function becomes on its way to the card: its TTIR, its TTNN, and its Program."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tt_xla.options import CompileOptions, selected_system


def serialize_compiled_artifacts(
    func: Callable[..., Any], *args: Any, compiler_options: Mapping[str, Any] | None = None, **kwargs: Any
) -> tuple[str, str, bytes]:
    """Compiles ``func`` for these arguments, of which those that are not arrays are static, and runs nothing.

    Returns:
        The text of the TTIR and of the TTNN module, and the ``.ttnn`` program.

    Raises:
        CompileError: the function cannot become a Program.
    """
    import jax

    from tt_xla.compiler import compile_module
    from tt_xla.target import load_target

    static = tuple(i for i, arg in enumerate(args) if not is_of_arrays(arg))
    static_names = tuple(name for name, arg in kwargs.items() if not is_of_arrays(arg))
    jitted = jax.jit(func, static_argnums=static, static_argnames=static_names)
    module = jitted.lower(*args, **kwargs).compiler_ir("stablehlo")
    dumps: dict[str, str] = {}
    program = compile_module(
        module,
        CompileOptions.parse(compiler_options or {}),
        load_target(selected_system()),
        name=getattr(func, "__name__", "main"),
        dumps=dumps,
    )
    return dumps["ttir"], dumps["ttnn"], program.to_bytes()


def serialize_compiled_artifacts_to_disk(
    func: Callable[..., Any],
    *args: Any,
    output_prefix: str,
    compiler_options: Mapping[str, Any] | None = None,
    **kwargs: Any,
) -> None:
    """Writes ``<output_prefix>_ttir.mlir``, ``<output_prefix>_ttnn.mlir`` and ``<output_prefix>.ttnn``."""
    ttir, ttnn, program = serialize_compiled_artifacts(func, *args, compiler_options=compiler_options, **kwargs)
    Path(f"{output_prefix}_ttir.mlir").write_text(ttir)
    Path(f"{output_prefix}_ttnn.mlir").write_text(ttnn)
    Path(f"{output_prefix}.ttnn").write_bytes(program)


def is_of_arrays(value: Any) -> bool:
    import jax

    leaves = jax.tree.leaves(value)
    return all(hasattr(leaf, "shape") or isinstance(leaf, int | float | complex) for leaf in leaves)
