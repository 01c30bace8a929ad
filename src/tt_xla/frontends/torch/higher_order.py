"""Lowering of torch's control flow (``torch.cond``, ``while_loop``, ``scan``) to ``jax.lax``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import torch

from tt_xla.registry import Registry

Branch = Callable[[Sequence[Any]], list[Any]]
"""A graph that an operator calls, as a function from arrays to arrays."""

HIGHER_ORDER: Registry[Any, Callable[..., list[Any]]] = Registry("lowering")
"""Lowerings by operator: functions of its arguments, with each graph as a :data:`Branch`."""


def graphs_of(node: torch.fx.Node) -> Iterator[torch.fx.GraphModule]:
    """Yields the graphs among the arguments of a call of a higher order op."""
    for argument in node.all_input_nodes:
        if argument.op == "get_attr" and isinstance(graph := attribute_of(argument), torch.fx.GraphModule):
            yield graph


def attribute_of(node: torch.fx.Node) -> Any:
    """Returns the attribute that a ``get_attr`` node refers to."""
    value: Any = node.graph.owning_module
    for name in str(node.target).split("."):
        value = getattr(value, name)
    return value


@HIGHER_ORDER.register(torch.ops.higher_order.cond)
def _cond(predicate: Any, true: Branch, false: Branch, operands: Sequence[Any] = ()) -> list[Any]:
    predicate = jnp.asarray(predicate).reshape(()).astype(bool)
    return jax.lax.cond(predicate, lambda *arrays: true(arrays), lambda *arrays: false(arrays), *operands)


@HIGHER_ORDER.register(torch.ops.higher_order.while_loop)
def _while_loop(condition: Branch, body: Branch, carried: Sequence[Any], more: Sequence[Any] = ()) -> list[Any]:
    start = [jnp.asarray(value) for value in carried]

    def continues(state: list[Any]) -> Any:
        return jnp.asarray(condition([*state, *more])[0]).reshape(()).astype(bool)

    def step(state: list[Any]) -> list[Any]:
        after = body([*state, *more])
        return [jnp.asarray(new, old.dtype) for new, old in zip(after, start, strict=True)]

    return jax.lax.while_loop(continues, step, start)


@HIGHER_ORDER.register(torch.ops.higher_order.scan)
def _scan(combine: Branch, initial: Sequence[Any], rows: Sequence[Any], more: Sequence[Any] = ()) -> list[Any]:
    start = [jnp.asarray(value) for value in initial]

    def step(state: list[Any], row: list[Any]) -> tuple[list[Any], list[Any]]:
        results = combine([*state, *row, *more])
        carried = [jnp.asarray(new, old.dtype) for new, old in zip(results, start, strict=False)]
        return carried, results[len(start) :]

    last, stacked = jax.lax.scan(step, start, list(rows))
    return [*last, *stacked]


__all__ = ["HIGHER_ORDER", "Branch", "attribute_of", "graphs_of"]
