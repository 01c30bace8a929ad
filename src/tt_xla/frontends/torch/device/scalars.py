"""Arguments that may be numbers which change from step to step, such as learning rates.

Once such a number was seen to change, it becomes a 0-dim input of the program instead of a part of it. The number is
the first operand of a product where an optimizer of PyTorch steps many tensors at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from tt_xla.frontends.torch.private.ops import OpOverload

aten = torch.ops.aten


@dataclass(frozen=True)
class Scalars:
    """Arguments of an op that may be numbers which vary.

    Attributes:
        positions: positions of the arguments, and names of keyword arguments.
        form: computes the op with 0-dim tensors as these arguments.
    """

    positions: frozenset[int | str]
    form: Callable[..., Any]


def _add(x: Any, y: Any, *, alpha: Any = 1) -> torch.Tensor:
    return torch.add(x, _scaled(y, alpha))


def _sub(x: Any, y: Any, *, alpha: Any = 1) -> torch.Tensor:
    return torch.sub(x, _scaled(y, alpha))


def _scaled(y: Any, factor: Any) -> Any:
    return y if type(factor) is int and factor == 1 else y * factor


def _addcmul(x: Any, a: Any, b: Any, *, value: Any = 1) -> torch.Tensor:
    return x + _scaled(a * b, value)


def _addcdiv(x: Any, a: Any, b: Any, *, value: Any = 1) -> torch.Tensor:
    return x + _scaled(a / b, value)


def _lerp(start: Any, end: Any, weight: Any) -> torch.Tensor:
    return start + weight * (end - start)


def _rsub(x: Any, y: Any, alpha: Any = 1) -> torch.Tensor:
    return y - _scaled(x, alpha)


def _full(size: Any, value: Any, **options: Any) -> torch.Tensor:
    return value.expand(size)


def _full_like(x: Any, value: Any, **options: Any) -> torch.Tensor:
    return value.expand(x.shape)


def _masked_fill(x: Any, mask: Any, value: Any) -> torch.Tensor:
    return torch.where(mask, value, x)


SCALARS: dict[OpOverload, Scalars] = {
    aten.add.Tensor: Scalars(frozenset([0, 1, "alpha"]), _add),
    aten.add.Scalar: Scalars(frozenset([1]), lambda x, y, alpha=1: _add(x, y, alpha=alpha)),
    aten.addcdiv.default: Scalars(frozenset(["value"]), _addcdiv),
    aten.addcmul.default: Scalars(frozenset(["value"]), _addcmul),
    aten.div.Tensor: Scalars(frozenset([0, 1]), torch.div),
    aten.div.Scalar: Scalars(frozenset([1]), torch.div),
    aten.eq.Scalar: Scalars(frozenset([1]), torch.eq),
    aten.full.default: Scalars(frozenset([1]), _full),
    aten.full_like.default: Scalars(frozenset([1]), _full_like),
    aten.ge.Scalar: Scalars(frozenset([1]), torch.ge),
    aten.gt.Scalar: Scalars(frozenset([1]), torch.gt),
    aten.le.Scalar: Scalars(frozenset([1]), torch.le),
    aten.lerp.Scalar: Scalars(frozenset([2]), _lerp),
    aten.lt.Scalar: Scalars(frozenset([1]), torch.lt),
    aten.masked_fill.Scalar: Scalars(frozenset([2]), _masked_fill),
    aten.mul.Tensor: Scalars(frozenset([0, 1]), torch.mul),
    aten.mul.Scalar: Scalars(frozenset([1]), torch.mul),
    aten.ne.Scalar: Scalars(frozenset([1]), torch.ne),
    aten.rsub.Scalar: Scalars(frozenset([1]), _rsub),
    aten.sub.Tensor: Scalars(frozenset([0, 1, "alpha"]), _sub),
    aten.sub.Scalar: Scalars(frozenset([1]), lambda x, y, alpha=1: _sub(x, y, alpha=alpha)),
}
