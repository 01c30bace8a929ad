"""Upstream's helpers that return the TTIR module, the TTNN module and the program of a JAX function."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tt_xla.environment import selected_system
from tt_xla.options import CompileOptions


def serialize_compiled_artifacts(
    func: Callable[..., Any], *args: Any, compiler_options: Mapping[str, Any] | None = None, **kwargs: Any
) -> tuple[str, str, bytes]:
    """Compiles a function for the shapes and types of its arguments, without running it.

    Args:
        func: the function; it need not be jitted.
        args: positional arguments. An argument that is not an array is static.
        compiler_options: options as for ``jax.jit``.
        kwargs: keyword arguments, treated as ``args``.

    Returns:
        The text of the TTIR module, the text of the TTNN module, and the bytes of the ``.ttnn`` program.

    Raises:
        CompileError: the function cannot be compiled.
        OptionError: an option is unknown or has a bad value.
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
    """Compiles a function and writes ``PREFIX_ttir.mlir``, ``PREFIX_ttnn.mlir`` and ``PREFIX.ttnn``.

    Args:
        output_prefix: path that the names of the files start with.

    For the other arguments and the exceptions see :func:`serialize_compiled_artifacts`.
    """
    ttir, ttnn, program = serialize_compiled_artifacts(func, *args, compiler_options=compiler_options, **kwargs)
    Path(f"{output_prefix}_ttir.mlir").write_text(ttir)
    Path(f"{output_prefix}_ttnn.mlir").write_text(ttnn)
    Path(f"{output_prefix}.ttnn").write_bytes(program)


def is_of_arrays(value: Any) -> bool:
    """Returns whether every leaf of a tree is an array or a number."""
    import jax

    leaves = jax.tree.leaves(value)
    return all(hasattr(leaf, "shape") or isinstance(leaf, int | float | complex) for leaf in leaves)
