"""Decompositions of torch's fused optimizer steps and of its gradient scaler's ops.

Each rule has the arguments and results of the functional op. ``grad_scale`` and ``found_inf`` are 0-dim tensors of the
gradient scaler: gradients are divided by the first, and no tensor changes if the second is not 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from tt_xla.frontends.torch.private.ops import OpOverload

aten = torch.ops.aten
Lists = tuple[list[Tensor], ...]


def _adam(
    decoupled: bool,
    params: Sequence[Tensor],
    grads: Sequence[Tensor],
    averages: Sequence[Tensor],
    squares: Sequence[Tensor],
    maxima: Sequence[Tensor],
    steps: Sequence[Tensor],
    *,
    lr: float | Tensor,
    beta1: float,
    beta2: float,
    weight_decay: float,
    eps: float,
    amsgrad: bool,
    maximize: bool,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
) -> Lists:
    """Steps by Adam, or by AdamW if the weight decay is decoupled from the gradient."""
    results: Lists = ([], [], [], [], [])
    for index, (param, grad, average, square, step) in enumerate(
        zip(params, grads, averages, squares, steps, strict=True)
    ):
        grad = _unscaled(grad, grad_scale)
        ascent = -grad if maximize else grad
        new = param
        if weight_decay and decoupled:
            new = param * (1 - lr * weight_decay)
        elif weight_decay:
            ascent = ascent + weight_decay * param
        new_average = average + (ascent - average) * (1 - beta1)
        new_square = square * beta2 + ascent * ascent * (1 - beta2)
        largest = torch.maximum(maxima[index], new_square) if amsgrad else new_square
        root = (largest / (1 - beta2**step)).sqrt() + eps
        new = new - lr / (1 - beta1**step) * new_average / root
        _append(results, found_inf, (param, grad, average, square), (new, grad, new_average, new_square))
        if amsgrad:
            results[4].append(_chosen(found_inf, maxima[index], largest))
    return results


def _sgd(
    params: Sequence[Tensor],
    grads: Sequence[Tensor],
    momenta: Sequence[Tensor],
    *,
    weight_decay: float,
    momentum: float,
    lr: float | Tensor,
    dampening: float,
    nesterov: bool,
    maximize: bool,
    is_first_step: bool,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
) -> Lists:
    results: Lists = ([], [], [])
    for index, (param, grad) in enumerate(zip(params, grads, strict=True)):
        grad = _unscaled(grad, grad_scale)
        ascent = -grad if maximize else grad
        if weight_decay:
            ascent = ascent + weight_decay * param
        if momentum:
            old = momenta[index]
            moved = ascent.clone() if is_first_step else old * momentum + ascent * (1 - dampening)
            ascent = ascent + moved * momentum if nesterov else moved
            results[2].append(_chosen(found_inf, old, moved))
        _append(results, found_inf, (param, grad), (param - lr * ascent, grad))
    return results


def _adagrad(
    params: Sequence[Tensor],
    grads: Sequence[Tensor],
    sums: Sequence[Tensor],
    steps: Sequence[Tensor],
    *,
    lr: float | Tensor,
    lr_decay: float,
    weight_decay: float,
    eps: float,
    maximize: bool,
    grad_scale: Tensor | None = None,
    found_inf: Tensor | None = None,
) -> Lists:
    results: Lists = ([], [], [], [])
    for param, grad, total, step in zip(params, grads, sums, steps, strict=True):
        grad = _unscaled(grad, grad_scale)
        ascent = -grad if maximize else grad
        if weight_decay:
            ascent = ascent + weight_decay * param
        new_total = total + ascent * ascent
        new = param - lr / (1 + (step - 1) * lr_decay) * ascent / (new_total.sqrt() + eps)
        _append(results, found_inf, (param, grad, total, step), (new, grad, new_total, step))
    return results


def _unscaled(grad: Tensor, grad_scale: Tensor | None) -> Tensor:
    return grad if grad_scale is None else grad / grad_scale.to(grad.dtype)


def _chosen(found_inf: Tensor | None, old: Tensor, new: Tensor) -> Tensor:
    return new if found_inf is None else torch.where(found_inf.reshape(()) == 0, new, old)


def _append(results: Lists, found_inf: Tensor | None, old: Sequence[Tensor], new: Sequence[Tensor]) -> None:
    for result, before, after in zip(results, old, new, strict=False):
        result.append(_chosen(found_inf, before, after))


def _unscale_and_check(tensors: Sequence[Tensor], found_inf: Tensor, inv_scale: Tensor) -> tuple[list[Tensor], Tensor]:
    """Returns the scaled tensors, and ``found_inf``, which is 1 if an element of a tensor is not finite."""
    for tensor in tensors:
        found_inf = torch.where(tensor.isfinite().all(), found_inf, torch.ones_like(found_inf))
    return [tensor * inv_scale.to(tensor.dtype) for tensor in tensors], found_inf


def _update_scale(
    scale: Tensor, tracker: Tensor, found_inf: Tensor, growth: float, backoff: float, interval: int
) -> tuple[Tensor, Tensor]:
    """Returns the next scale and step counter.

    The scale falls after a step with infinities, and grows after ``interval`` steps without, though never to infinity.
    """
    failed = found_inf.reshape(()) != 0
    grown = tracker + 1
    full = grown == interval
    larger = scale * growth
    unfailed_scale = torch.where(full & larger.isfinite(), larger, scale)
    zero = torch.zeros_like(tracker)
    return torch.where(failed, scale * backoff, unfailed_scale), torch.where(failed | full, zero, grown)


def _adam_step(*args: Any, **kwargs: Any) -> Lists:
    return _adam(False, *args, **kwargs)


def _adamw_step(*args: Any, **kwargs: Any) -> Lists:
    return _adam(True, *args, **kwargs)


_RULES: dict[str, Callable[..., Any]] = {
    "_amp_foreach_non_finite_check_and_unscale": _unscale_and_check,
    "_amp_update_scale": _update_scale,
    "_fused_adagrad": _adagrad,
    "_fused_adam": _adam_step,
    "_fused_adamw": _adamw_step,
    "_fused_sgd": _sgd,
}

STEPS: dict[OpOverload, Callable[..., Any]] = {
    getattr(getattr(aten, name), overload): rule
    for name, rule in _RULES.items()
    for overload in getattr(aten, name).overloads()
    if not overload.endswith("out")
}
"""Decompositions by functional op."""

IN_PLACE: dict[OpOverload, Callable[..., Any]] = {
    getattr(getattr(aten, f"{name}_"), overload): rule
    for name, rule in _RULES.items()
    for overload in getattr(aten, f"{name}_").overloads()
}
"""The same decompositions by the in-place op, which writes its results to its arguments."""

__all__ = ["IN_PLACE", "STEPS"]
