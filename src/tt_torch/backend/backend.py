"""The dynamo backend under upstream's name, for backends that wrap it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from tt_xla.frontends.torch.backend import tt


def tt_backend(
    gm: torch.fx.GraphModule, example_inputs: Sequence[torch.Tensor], options: Mapping[str, Any] | None = None
) -> Callable[..., Any]:
    """Compiles a graph that dynamo captured, as ``torch.compile(backend="tt", options=options)`` does.

    Raises:
        OptionError: an option is unknown or has a bad value.
        CompileError: the graph cannot be compiled.
    """
    return tt(gm, example_inputs, options=options)


__all__ = ["tt_backend"]
