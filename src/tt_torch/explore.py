"""Shows a model in the explorer, from a notebook or a Python session."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

    from tt_xla.tools.explorer.notebook import Exploration


def explore(
    model: torch.nn.Module, inputs: Any, options: Mapping[str, Any] | None = None, *, port: int = 0
) -> Exploration:
    """Compiles a model, runs it once, and shows its graphs in the browser; a notebook shows them itself.

    Args:
        model: the model.
        inputs: its arguments: a tensor, a tuple or list of positional ones, or a mapping of keyword ones.
        options: compile options.
        port: port of the explorer's server; 0 for any free one.

    Raises:
        TTXLAError: the model cannot be compiled, or Model Explorer is not installed.
    """
    import torch

    from tt_xla.tools.explorer.notebook import explored

    compiled = torch.compile(model, backend="tt", options=dict(options or {}))

    def run() -> None:
        torch.compiler.reset()
        with torch.no_grad():
            if isinstance(inputs, Mapping):
                compiled(**inputs)
            else:
                compiled(*(inputs if isinstance(inputs, tuple | list) else (inputs,)))

    return explored(run, port=port)
