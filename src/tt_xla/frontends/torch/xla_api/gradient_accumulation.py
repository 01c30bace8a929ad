"""``torch_xla.experimental.gradient_accumulation``: the gradients of several small batches in place of a large one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from tt_xla.frontends.torch import session as _session
from tt_xla.frontends.torch.device import synchronize as _synchronize
from tt_xla.frontends.torch.private.tracing import count_of_writes as _count_of_writes


def gradient_accumulation(
    train_step: Callable[..., Any],
    iterable_tensors: Sequence[torch.Tensor],
    model: torch.nn.Module,
    *carried_tensors: torch.Tensor,
) -> Any:
    """Adds up the gradients of a model over the rows of tensors.

    Each row is a program of its own, which is compiled for the first one, so memory holds the activations of one row.

    Args:
        train_step: takes a row of each tensor and the carried tensors, and returns the loss, followed by new carried
            tensors if there are any. It does not write to its arguments.
        iterable_tensors: tensors of one length.
        model: the model, whose parameters get the gradients of the mean loss, added to those that they have.
        carried_tensors: tensors that each call hands to the next one.

    Returns:
        The mean loss, followed by the carried tensors if there are any.

    Raises:
        ValueError: there are no tensors, or they differ in length.
        AssertionError: ``train_step`` writes to its arguments.
    """
    lengths = {len(tensor) for tensor in iterable_tensors}
    if len(lengths) != 1 or 0 in lengths:
        raise ValueError(
            f"gradient_accumulation takes iterable_tensors of one length, got tensors of the lengths {sorted(lengths)}."
        )
    (steps,) = lengths
    total: torch.Tensor | None = None
    carried = list(carried_tensors)
    # Each row has memory of its own: where a slice begins would be part of its program.
    batches = [[row.clone() for row in tensor] for tensor in iterable_tensors]
    _run_recorded_ops()
    for rows in zip(*batches, strict=True):
        loss, *carried = _pure_call(train_step, [*rows, *carried], len(carried))
        loss = loss / steps
        loss.backward()
        total = loss.detach() if total is None else total + loss.detach()
        _run_recorded_ops()
    return (total, *carried) if carried else total


def _run_recorded_ops() -> None:
    """Ends a program, except within a function that is to be one program."""
    if _session.current.mode.may_run:
        _synchronize()


def _pure_call(train_step: Callable[..., Any], arguments: list[torch.Tensor], carried: int) -> Sequence[torch.Tensor]:
    """Calls a function, and raises an error if it writes to its arguments or returns another number of tensors."""
    before = list(map(_count_of_writes, arguments))
    results = train_step(*arguments)
    if list(map(_count_of_writes, arguments)) != before:
        raise AssertionError(
            "train_step wrote to one of its arguments in place. Let it return a new tensor instead, such as "
            "counter + 1 for counter += 1."
        )
    results = [results] if isinstance(results, torch.Tensor) else list(results)
    if len(results) != 1 + carried:
        raise ValueError(
            f"train_step returned {len(results)} tensors, expected the loss and {carried} carried tensors."
        )
    return results
