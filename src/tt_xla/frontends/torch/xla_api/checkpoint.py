"""``torch_xla.utils.checkpoint``: activations that the backward pass computes again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch.utils.checkpoint


def checkpoint(function: Callable[..., Any], *args: Any, use_reentrant: bool = True, **kwargs: Any) -> Any:
    """Same as ``torch.utils.checkpoint.checkpoint``, which also restores the device's random numbers.

    Args:
        function: the part of a model.
        args: its arguments.
        use_reentrant: whether the backward pass runs within another one.
        kwargs: further arguments of PyTorch's function.
    """
    return torch.utils.checkpoint.checkpoint(function, *args, use_reentrant=use_reentrant, **kwargs)
