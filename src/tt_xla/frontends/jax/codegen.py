"""Exports a JAX function as source code that calls TT-NN.

codegen_py(forward, graphdef, state, x, export_path="model")
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tt_xla.environment import selected_system
from tt_xla.ir.mesh import replicated
from tt_xla.options import LOAD_BACKEND, CompileOptions

if TYPE_CHECKING:
    import torch

    from tt_xla.ir.program import Program


def codegen_py(
    func: Callable[..., Any],
    *args: Any,
    compiler_options: Mapping[str, Any] | None = None,
    export_path: str | Path = "codegen_result",
    export_tensors: bool = True,
    **kwargs: Any,
) -> None:
    """Writes a Python program for a function to a folder, and runs the function once with the arguments.

    Args:
        func: the function; it need not be jitted.
        args: positional arguments. An argument that is not an array, such as a ``graphdef`` of Flax, is static.
        compiler_options: options as for ``jax.jit``.
        export_path: folder for ``main.py`` and its helper files.
        export_tensors: whether to write the arguments and the expected results to ``tensors/``. Without them,
            ``main.py`` uses arguments of ones.
        kwargs: keyword arguments, treated as ``args``.

    Raises:
        OptionError: an option is unknown or has a bad value.
        CompileError: the function cannot be compiled, or cannot be written as source code.
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
    """Same as :func:`codegen_py`, but writes a C++ program, ``main.cpp``.

    Raises:
        CompileError: also where the program has host ops or traces, which C++ source cannot hold.
    """
    _codegen("codegen_cpp", func, args, kwargs, compiler_options, export_path, export_tensors)


def load_codegen_py(
    func: Callable[..., Any],
    *args: Any,
    load_path: str | Path,
    compiler_options: Mapping[str, Any] | None = None,
    **kwargs: Any,
) -> Any:
    """Runs the source that :func:`codegen_py` wrote of a function, which may have been edited; returns its output.

    It is the same as ``jax.jit(func, compiler_options={"backend": "codegen_load_py", "export_path": load_path})``
    on platform ``tt``, with arguments that are not arrays as static ones.

    Args:
        func: the function; it need not be jitted.
        args: positional arguments. An argument that is not an array is static.
        load_path: the ``export_path`` of the source.
        compiler_options: options as for ``jax.jit``.
        kwargs: keyword arguments, treated as ``args``.

    Raises:
        CompileError: the folder has no source of the function's graph.
        ExecutionError: the source fails, or returns arrays of other shapes or types than the function.
    """
    import jax

    static, static_names = _static(args, kwargs)
    options = dict(compiler_options or {}) | {"backend": LOAD_BACKEND, "export_path": str(load_path)}
    jitted = jax.jit(func, static_argnums=static, static_argnames=static_names, compiler_options=options)
    with jax.default_device(jax.devices("tt")[0]):
        return jitted(*args, **kwargs)


def _static(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Returns the positions and names of the arguments that are not arrays."""
    from tt_xla.frontends.jax.tools import is_of_arrays

    positions = tuple(i for i, arg in enumerate(args) if not is_of_arrays(arg))
    return positions, tuple(name for name, arg in kwargs.items() if not is_of_arrays(arg))


def _codegen(
    backend: str,
    func: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    compiler_options: Mapping[str, Any] | None,
    export_path: str | Path,
    export_tensors: bool,
) -> None:
    """Lowers the function with JAX, then compiles and runs it without a JAX backend; any platform may be selected."""
    import jax

    from tt_xla.codegen.export import begin, exporting
    from tt_xla.compiler import compile_module
    from tt_xla.runtime import get_device
    from tt_xla.runtime.mesh.shards import join
    from tt_xla.target import load_target

    export_options = {"backend": backend, "export_path": str(export_path or ""), "export_tensors": export_tensors}
    CompileOptions.parse(export_options)
    # The user's value of option `backend` is replaced below; a bad one is refused first.
    CompileOptions.parse(export_options | {"backend": dict(compiler_options or {}).get("backend", backend)})
    options = CompileOptions.parse(dict(compiler_options or {}) | export_options)
    static, static_names = _static(args, kwargs)
    jitted = jax.jit(func, static_argnums=static, static_argnames=static_names, keep_unused=True)
    module: Any = jitted.lower(*args, **kwargs).compiler_ir("stablehlo")
    leaves = _leaves(args, kwargs, static, static_names)
    _name_arguments(module, [name for name, _ in leaves])
    begin(Path(options.export_path))
    target = load_target(selected_system())
    modules: dict[str, str] = {}
    program = compile_module(module, options, target, name=getattr(func, "__name__", "main"), dumps=modules)
    run = exporting(program, modules, get_device(target.name).load(program).run, join=join)
    tensors = [_tensor(leaf) for _, leaf in leaves]
    run(tensors if program.mesh is None else _split(tensors, program), [None] * len(leaves))


def _split(tensors: Sequence[torch.Tensor], program: Program) -> list[list[torch.Tensor]]:
    """Returns the shards of each argument of a program for several chips."""
    from tt_xla.runtime.mesh.shards import split

    assert program.mesh is not None
    return [
        split(tensor, argument.sharding or replicated(tensor.ndim), program.mesh)
        for tensor, argument in zip(tensors, program.arguments, strict=True)
    ]


def _leaves(
    args: tuple[Any, ...], kwargs: dict[str, Any], static: tuple[int, ...], static_names: tuple[str, ...]
) -> list[tuple[str, Any]]:
    """Returns the arrays that the lowered function takes, in order.

    Returns:
        Pairs of a name and an array. Names are the keys in the argument's tree, such as ``layers.0.fc.kernel``.
    """
    import jax

    trees = [(f"args_{i}", arg) for i, arg in enumerate(args) if i not in static]
    trees += [(name, kwargs[name]) for name in sorted(kwargs) if name not in static_names]
    leaves: list[tuple[str, Any]] = []
    for tree_name, tree in trees:
        for path, leaf in jax.tree_util.tree_flatten_with_path(tree)[0]:
            keys = [_key_text(key) for key in path]
            leaves.append((".".join(key for key in keys if key != "value") or tree_name, leaf))
    return leaves


def _key_text(key: Any) -> str:
    """Returns the text of one key of a path in a tree."""
    for attribute in ("key", "name", "idx"):
        if hasattr(key, attribute):
            return str(getattr(key, attribute))
    return str(key).strip(".[]'\"")


def _name_arguments(module: Any, names: list[str]) -> None:
    """Sets the names of the arguments of ``main`` in a module."""
    from jaxlib.mlir import ir

    main = next(op for op in module.body.operations if op.attributes["sym_name"].value == "main")
    with module.context:
        old_attributes = list(main.attributes["arg_attrs"]) if "arg_attrs" in main.attributes else [{} for _ in names]
        new_attributes: list[ir.Attribute] = []
        for attributes, name in zip(old_attributes, names, strict=True):
            fields = {item.name: item.attr for item in attributes} if attributes else {}
            fields["ttir.name"] = ir.StringAttr.get(name)
            new_attributes.append(ir.DictAttr.get(fields))
        main.attributes["arg_attrs"] = ir.ArrayAttr.get(new_attributes)


def _tensor(leaf: Any) -> Any:
    """Returns a torch tensor with the elements of a JAX array, a NumPy array or a number."""
    import jax.numpy as jnp
    import numpy as np
    import torch

    array = np.array(jnp.asarray(leaf))
    if array.dtype.name == "bfloat16":
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)
