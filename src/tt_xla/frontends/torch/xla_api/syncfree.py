"""``torch_xla.amp.syncfree``: optimizers that skip a step whose gradients overflowed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch


class _SkipsOverflow(torch.optim.Optimizer):
    """Skips a step if a tensor says so."""

    def step(self, closure: Callable[[], Any] | None = None, found_inf: torch.Tensor | None = None) -> Any:  # type: ignore[override]
        """Makes a step.

        Args:
            closure: computes the loss again.
            found_inf: tensor [] that is not 0 if gradients overflowed, which leaves parameters as they are.

        Returns:
            The loss of the closure, or None.

        Raises:
            ValueError: ``found_inf`` has dimensions.
        """
        if found_inf is None:
            return super().step(closure)
        if found_inf.shape:
            raise ValueError(f"found_inf is a tensor without dimensions; the given one has shape {[*found_inf.shape]}.")
        if not found_inf.item():
            return super().step(closure)
        return None if closure is None else torch.enable_grad()(closure)()


class SGD(_SkipsOverflow, torch.optim.SGD):
    """``torch.optim.SGD`` that skips steps."""


class Adam(_SkipsOverflow, torch.optim.Adam):
    """``torch.optim.Adam`` that skips steps."""


class AdamW(_SkipsOverflow, torch.optim.AdamW):
    """``torch.optim.AdamW`` that skips steps."""
