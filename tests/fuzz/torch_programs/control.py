"""Control flow of drawn functions: PyTorch's operators for compiled graphs, and what they mean in Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from tests.fuzz.torch_programs.functions import Writer, chosen

CONTROL = """
    cond({x}.sum() > {c}, lambda a: a.sin() * 2, lambda a: a.cos() - 1, ({x},))
    cond({x}.mean() <= {c}, lambda a, b: a + b, lambda a, b: a * b, ({x}, {y}))
    while_loop(lambda i, a: i < {n}, lambda i, a: (i + 1, a * 0.5 + {c}), ({zero}, {x}.detach().clone()))[1]
    while_loop(lambda a: a.abs().sum() > {b}, lambda a: (a * 0.5,), ({x}.detach().clone(),))[0]
    scan(lambda a, b: (a + b, a * b), {x}.detach()[0].clone(), {x}.detach())[1]
    scan(lambda a, b: (a * 0.5 + b, b.sin()), {x}.detach()[0].clone(), {x}.detach())[0]
"""
"""What a loop carries is cloned, because PyTorch refuses a view whose strides change with the first step."""


def control(w: Writer) -> str:
    x = w.float(1, 2)
    zero = f"torch.zeros((), dtype=torch.int64, device={x}.device)"
    return chosen(w, CONTROL, x=x, y=lambda: w.like(x), n=lambda: w.int(0, 4), zero=zero)


def _cond(predicate: Any, true: Callable[..., Any], false: Callable[..., Any], operands: Any) -> Any:
    return true(*operands) if predicate else false(*operands)


def _while_loop(condition: Callable[..., Any], body: Callable[..., Any], carried: Any) -> Any:
    while condition(*carried):
        carried = body(*carried)
    return carried


def _scan(combine: Callable[..., Any], carried: Any, rows: torch.Tensor) -> Any:
    stacked: list[torch.Tensor] = []
    for row in rows:
        carried, result = combine(carried, row)
        stacked.append(result)
    return carried, torch.stack(stacked)


IN_PYTHON: Mapping[str, Callable[..., Any]] = {"cond": _cond, "while_loop": _while_loop, "scan": _scan}
"""What the operators compute, by name."""


def operators() -> Mapping[str, Callable[..., Any]]:
    """Returns PyTorch's operators by name."""
    from torch._higher_order_ops import while_loop
    from torch._higher_order_ops.scan import scan

    return {"cond": torch.cond, "while_loop": while_loop, "scan": scan}


__all__ = ["IN_PYTHON", "control", "operators"]
