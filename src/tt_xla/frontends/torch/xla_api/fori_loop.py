"""``torch_xla.experimental.fori_loop``: loops that run on the device as one program, without gradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from tt_xla.frontends.torch.loops import while_loop as _while_loop


def while_loop(
    cond_fn: Callable[..., torch.Tensor],
    body_fn: Callable[..., Any],
    carried_inputs: Sequence[torch.Tensor],
    additional_inputs: Sequence[torch.Tensor] = (),
) -> tuple[torch.Tensor, ...]:
    """Repeats a function while a condition holds.

    Args:
        cond_fn: takes all tensors and returns a tensor with one truth value.
        body_fn: takes all tensors and returns new values for the carried ones, of their sizes and dtypes.
        carried_inputs: tensors that the loop changes.
        additional_inputs: tensors that it does not change.

    Returns:
        The carried tensors after the last iteration.
    """
    return _while_loop(cond_fn, body_fn, carried_inputs, additional_inputs or ())


def fori_loop(
    lower: torch.Tensor, upper: torch.Tensor, body_fun: Callable[..., Any], *input_value: torch.Tensor
) -> tuple[torch.Tensor, ...]:
    """Calls a function ``upper - lower`` times.

    Args:
        lower: number of the first iteration, a tensor with one integer.
        upper: number after that of the last one.
        body_fun: takes the tensors and returns new values for them, of their sizes and dtypes.
        input_value: the tensors at the start.

    Returns:
        The number of iterations that are left, 0, and the tensors after the last one.
    """

    def step(left: torch.Tensor, *values: torch.Tensor) -> tuple[torch.Tensor, ...]:
        results = body_fun(*values)
        return left - 1, *((results,) if isinstance(results, torch.Tensor) else results)

    def goes_on(left: torch.Tensor, *values: torch.Tensor) -> torch.Tensor:
        return left > 0

    return _while_loop(goes_on, step, (upper - lower, *input_value))
