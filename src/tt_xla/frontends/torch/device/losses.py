"""Kernels of losses over classes. PyTorch's own devices refuse classes of a floating type, and XLA takes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tt_xla.frontends.torch import session
from tt_xla.frontends.torch.device.dispatch import run
from tt_xla.frontends.torch.device.signatures import Signature, overload_named, signature_of

_POSITIONS = {"nll_loss_forward": 1, "nll_loss2d_forward": 1, "nll_loss_backward": 2, "nll_loss2d_backward": 2}
"""Position of the classes among the arguments of each op."""


def _kernel(name: str, position: int) -> Callable[..., Any]:
    """Returns a kernel that records a loss, of which classes of a floating type are cut to integers in XLA's mode."""
    signature: Signature | None = None

    def recorded(*args: Any, **kwargs: Any) -> Any:
        nonlocal signature
        signature = signature or signature_of(overload_named(name))
        if session.current.mode.takes_floating_classes and args[position].is_floating_point():
            args = (*args[:position], args[position].long(), *args[position + 1 :])
        return run(signature, args, kwargs)

    return recorded


LOSS_KERNELS = {name: _kernel(name, position) for name, position in _POSITIONS.items()}
"""Kernels by the names of their ops."""
