"""Classes of a floating type, which XLA's losses take after ``import torch_xla``. PyTorch's own devices refuse them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

from tt_xla.frontends.torch.device import dispatch
from tt_xla.frontends.torch.device.signatures import overload_named, signature_of

_LIBRARY = torch.library.Library("aten", "IMPL")
_POSITIONS = {"nll_loss_forward": 1, "nll_loss2d_forward": 1, "nll_loss_backward": 2, "nll_loss2d_backward": 2}
"""Position of the classes among the arguments of each op."""


@functools.cache
def register() -> None:
    """Lets losses of the device take classes of a floating type, as the integers that they are or are cut to."""
    for name, position in _POSITIONS.items():
        _LIBRARY.impl(name, _with_integers(name, position), "PrivateUse1")


def _with_integers(name: str, position: int) -> Callable[..., Any]:
    signature = signature_of(overload_named(name))

    def run(*args: Any) -> Any:
        target = args[position]
        if target.is_floating_point():
            args = (*args[:position], target.long(), *args[position + 1 :])
        return dispatch.run(signature, args, {})

    return run
