"""Writes a PyTorch model as source that calls TT-NN: ``codegen_py(model, x, export_path="model")``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tt_xla.errors import UnsupportedOpError
from tt_xla.options import LOAD_BACKEND, CompileOptions

if TYPE_CHECKING:
    import torch


def codegen_py(
    model: torch.nn.Module,
    *args: Any,
    compiler_options: Mapping[str, Any] | None = None,
    export_path: str | Path = "codegen_result",
    export_tensors: bool = True,
    **kwargs: Any,
) -> None:
    """Writes ``main.py`` and the files that it needs to ``export_path``, and runs the model once.

    Args:
        model: the model.
        args: positional arguments of the model.
        compiler_options: compile options, as for running the model.
        export_path: folder for the source.
        export_tensors: whether to write the arguments, the weights and the expected results to ``tensors/``. Without
            them, ``main.py`` uses arguments of ones.
        kwargs: keyword arguments of the model.

    Raises:
        OptionError: an option is unknown or has a bad value.
        CompileError: the model cannot be compiled, or no source can express it.
        OutputError: the folder cannot be written.
    """
    _codegen("codegen_py", model, args, kwargs, compiler_options, export_path, export_tensors)


def codegen_cpp(
    model: torch.nn.Module,
    *args: Any,
    compiler_options: Mapping[str, Any] | None = None,
    export_path: str | Path = "codegen_result",
    export_tensors: bool = True,
    **kwargs: Any,
) -> None:
    """Same as :func:`codegen_py`, with ``main.cpp``. It refuses host ops and traces, which C++ source cannot hold."""
    _codegen("codegen_cpp", model, args, kwargs, compiler_options, export_path, export_tensors)


def load_codegen_py(
    model: torch.nn.Module,
    *args: Any,
    load_path: str | Path,
    compiler_options: Mapping[str, Any] | None = None,
    **kwargs: Any,
) -> Any:
    """Runs the model with the source that :func:`codegen_py` wrote, which may have been edited, and returns its output.

    Each graph of the model is looked up by its hash in ``load_path``, and in the folders of graphs below it.

    Args:
        model: the model.
        args: positional arguments of the model.
        load_path: the ``export_path`` of the source.
        compiler_options: compile options, as for running the model.
        kwargs: keyword arguments of the model.

    Raises:
        CompileError: the folder has no source of a graph.
        ExecutionError: the source fails, or returns tensors of other shapes or types than the model.
    """
    import torch

    from tt_xla.frontends.torch import register

    register()
    own = {"backend": LOAD_BACKEND, "export_path": str(load_path)}
    compiled = torch.compile(model, backend="tt", options=dict(compiler_options or {}) | own)
    with torch.no_grad():
        return compiled(*args, **kwargs)


def _codegen(
    backend: str,
    model: torch.nn.Module,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    compiler_options: Mapping[str, Any] | None,
    export_path: str | Path,
    export_tensors: bool,
) -> None:
    import torch

    from tt_xla.codegen.export import begin, written_since_begun
    from tt_xla.frontends.torch import register

    register()
    own = {"backend": backend, "export_path": str(export_path or ""), "export_tensors": export_tensors}
    root = Path(CompileOptions.parse(own).export_path)  # the environment may name another folder
    CompileOptions.parse(
        own | {"backend": dict(compiler_options or {}).get("backend", backend)}
    )  # raises for a bad backend
    begin(root)
    compiled = torch.compile(model, backend="tt", options=dict(compiler_options or {}) | own)
    with torch.no_grad():
        compiled(*args, **kwargs)
    if not written_since_begun(root):
        raise UnsupportedOpError(
            "No part of the model runs on the card, so there is no source to write.",
            hint="The warnings above name the ops that run on the host. Source can be written for a part of the model "
            "without them.",
        )
