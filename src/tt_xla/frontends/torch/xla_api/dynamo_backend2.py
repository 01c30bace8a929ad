"""``torch_xla._dynamo.dynamo_backend2``: a backend of dynamo, as a function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch


def dynamo_backend(fx: torch.fx.GraphModule, args: Sequence[Any]) -> Callable[..., Any]:
    """Compiles a graph of dynamo as the backend ``tt`` does.

    Raises:
        CompileError: the graph cannot be compiled.
    """
    from tt_xla.frontends.torch.backend import tt

    return tt(fx, args)
