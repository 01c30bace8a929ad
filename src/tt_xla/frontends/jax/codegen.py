"""A JAX function as source that calls TT-NN.

codegen_py(forward, graphdef, state, x, export_path="model")
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tt_xla.options import CompileOptions, selected_system


def codegen_py(
    func: Callable[..., Any],
    *args: Any,
    compiler_options: Mapping[str, Any] | None = None,
    export_path: str | Path = "codegen_result",
    export_tensors: bool = True,
    **kwargs: Any,
) -> None:
    """Writes ``main.py`` and what belongs to it to ``export_path``, and runs the function once for these arguments.

    Args:
        args: those that are not arrays, such as a ``graphdef`` of Flax, are static.
        compiler_options: options as for ``jax.jit``.
        export_tensors: the arguments, and the results to compare with, go to ``tensors/``; else ``main.py`` makes its
            arguments of ones.

    Raises:
        OptionError: an option is unknown or has a bad value.
        CompileError: the function cannot be compiled, or has no source.
        OutputError: the folder cannot be written.
    """
    _codegen("codegen_py", func, args, kwargs, compiler_options, export_path, export_tensors)


def codegen_cpp(
    func: Callable[..., Any],
    *args: Any,
    compiler_options: Mapping[str, Any] | None = None,
    export_path: str | Path = "codegen_result",
    export_tensors: bool = True,
    **kwargs: Any,
) -> None:
    """As :func:`codegen_py`, with ``main.cpp``; refused are host ops and traces, which C++ source cannot hold."""
    _codegen("codegen_cpp", func, args, kwargs, compiler_options, export_path, export_tensors)


def _codegen(
    backend: str,
    func: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    compiler_options: Mapping[str, Any] | None,
    export_path: str | Path,
    export_tensors: bool,
) -> None:
    """Compiles and runs below JAX's own backends, so it does not matter which one is chosen."""
    import jax

    from tt_xla.codegen.export import begin, exporting
    from tt_xla.compiler import compile_module
    from tt_xla.frontends.jax.tools import is_of_arrays
    from tt_xla.runtime import get_device
    from tt_xla.target import load_target

    own = {"backend": backend, "export_path": str(export_path or ""), "export_tensors": export_tensors}
    CompileOptions.parse(own)
    CompileOptions.parse(own | {"backend": dict(compiler_options or {}).get("backend", backend)})  # a wrong one, too
    options = CompileOptions.parse(dict(compiler_options or {}) | own)
    static = tuple(i for i, arg in enumerate(args) if not is_of_arrays(arg))
    static_names = tuple(name for name, arg in kwargs.items() if not is_of_arrays(arg))
    jitted = jax.jit(func, static_argnums=static, static_argnames=static_names, keep_unused=True)
    module = jitted.lower(*args, **kwargs).compiler_ir("stablehlo")
    leaves = _leaves(args, kwargs, static, static_names)
    _name_arguments(module, [name for name, _ in leaves])
    begin(Path(options.export_path))
    target = load_target(selected_system())
    modules: dict[str, str] = {}
    program = compile_module(module, options, target, name=getattr(func, "__name__", "main"), dumps=modules)
    run = exporting(program, modules, get_device(target.name).load(program).run)
    run([_tensor(leaf) for _, leaf in leaves], [None] * len(leaves))


def _leaves(
    args: tuple[Any, ...], kwargs: dict[str, Any], static: tuple[int, ...], static_names: tuple[str, ...]
) -> list[tuple[str, Any]]:
    """The arrays that the function takes, in its order, named by their place: ``layers.0.fc.kernel``."""
    import jax

    given = [(f"args_{i}", arg) for i, arg in enumerate(args) if i not in static]
    given += [(name, kwargs[name]) for name in sorted(kwargs) if name not in static_names]
    found: list[tuple[str, Any]] = []
    for name, tree in given:
        for path, leaf in jax.tree_util.tree_flatten_with_path(tree)[0]:
            parts = [_part(key) for key in path]
            inner = [part for part in parts if part != "value"]
            found.append((".".join(inner) or name, leaf))
    return found


def _part(key: Any) -> str:
    for attribute in ("key", "name", "idx"):
        if hasattr(key, attribute):
            return str(getattr(key, attribute))
    return str(key).strip(".[]'\"")


def _name_arguments(module: Any, names: list[str]) -> None:
    """Gives the arguments of ``main`` these names."""
    from jaxlib.mlir import ir

    main = next(op for op in module.body.operations if op.attributes["sym_name"].value == "main")
    with module.context:
        given = list(main.attributes["arg_attrs"]) if "arg_attrs" in main.attributes else [{} for _ in names]
        named: list[ir.Attribute] = []
        for attributes, name in zip(given, names, strict=True):
            fields = {item.name: item.attr for item in attributes} if attributes else {}
            fields["ttir.name"] = ir.StringAttr.get(name)
            named.append(ir.DictAttr.get(fields))
        main.attributes["arg_attrs"] = ir.ArrayAttr.get(named)


def _tensor(leaf: Any) -> Any:
    """A JAX or NumPy array, or a number, as a torch tensor of the same elements."""
    import jax.numpy as jnp
    import numpy as np
    import torch

    array = np.array(jnp.asarray(leaf))
    if array.dtype.name == "bfloat16":
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)
