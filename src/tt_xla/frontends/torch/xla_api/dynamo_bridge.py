"""``torch_xla._dynamo.dynamo_bridge`` and ``torch_xla.core.dynamo_bridge``: compiles a graph module."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from tt_xla.frontends.torch.xla_api import finder as _finder


class GraphInputMatcher:
    """Placeholder for the real class, which holds tensors of a compiled graph.

    Scripts look for its instances to free these tensors. There are no instances here: compiled graphs hold no tensors.
    """


def extract_compiled_graph(xla_model: torch.fx.GraphModule, xla_args: Sequence[Any]) -> Callable[..., Any]:
    """Returns a graph module compiled for the device by the dynamo backend ``tt``.

    Raises:
        CompileError: the graph cannot be compiled.
    """
    from tt_xla.frontends.torch.backend import tt

    return tt(xla_model, xla_args)


def __getattr__(name: str) -> Any:
    raise _finder.missing(__name__, name)
