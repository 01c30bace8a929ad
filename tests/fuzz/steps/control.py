"""Draws loops, cases and composites around other steps."""

from __future__ import annotations

import functools
from typing import Any

import jax.numpy as jnp
from jax import lax

from tests.fuzz.draft import Draft, as_text
from tests.fuzz.steps.registry import draws


def _bodies(draft: Draft, operand: int) -> list[Any]:
    """Returns functions of a value and another one of its type, with results of its type."""
    aval = draft.avals[operand]
    rank = len(aval.shape)
    dim = draft.random.randrange(rank)
    bodies = [
        lambda x, y: jnp.tanh(x) + y,
        lambda x, y: x * 0.5 - y,
        lambda x, y: jnp.maximum(x, y) - x.mean(axis=dim, keepdims=True),
        lambda x, y: jnp.roll(x, 1, axis=dim) * 0.5 + y,
        lambda x, y: lax.rev(x, (dim,)),
        lambda x, y: lax.dynamic_update_slice_in_dim(x, lax.slice_in_dim(y, 0, 1, axis=dim), aval.shape[dim] - 1, dim),
    ]
    if rank == 2 and aval.shape[0] == aval.shape[1]:
        bodies.append(lambda x, y: jnp.tanh(x @ y))
        bodies.append(lambda x, y: x.T)
    return bodies


@draws("stablehlo.while")
def loop(draft: Draft, name: str) -> list[int]:
    """Draws a loop that carries a value, its number of rounds known or an argument."""
    operand = draft.value("f", (1, 2, 3))
    other = draft.like(operand)
    body = draft.random.choice(_bodies(draft, operand))
    dtype = draft.avals[operand].dtype
    if draft.random.random() < 0.5:
        rounds = draft.random.randint(1, 4)
        return draft.add(
            lambda x, y: lax.fori_loop(0, rounds, lambda i, c: body(c, y).astype(dtype), x), operand, other
        )
    count = draft.integers((), 0, 5)

    def function(x: Any, y: Any, n: Any) -> Any:
        return lax.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, body(c[1], y).astype(dtype), c[1]), (0, x, y))[
            1:
        ]

    draft.differentiable = False
    return draft.add(function, operand, other, count)


@draws("stablehlo.while")
def scan(draft: Draft, name: str) -> list[int]:
    """Draws a scan over the first dimension of a value."""
    operand = draft.value("f", (2, 3), lambda aval: aval.shape[0] <= 8)
    aval = draft.avals[operand]
    start = draft.drawn(aval.shape[1:], aval.dtype.name)
    backwards = draft.random.random() < 0.3

    def function(c: Any, x: Any) -> Any:
        return lax.scan(lambda c, row: ((jnp.tanh(c) + row).astype(c.dtype), c * 2), c, x, reverse=backwards)

    return draft.add(function, start, operand)


@draws("stablehlo.case")
def branches(draft: Draft, name: str) -> list[int]:
    """Draws a choice between two or three functions by an argument."""
    operand = draft.value("f", (1, 2, 3))
    other = draft.like(operand)
    dtype = draft.avals[operand].dtype
    chosen = [
        lambda x, y, body=body: body(x, y).astype(dtype)
        for body in (draft.random.choice(_bodies(draft, operand)) for _ in range(draft.random.choice((2, 3))))
    ]
    draft.differentiable = False
    index = draft.integers((), -1, 4)
    return draft.add(lambda i, x, y: lax.switch(i, chosen, x, y), index, operand, other)


@draws("stablehlo.if")
def if_(draft: Draft, name: str) -> list[int]:
    """Draws a choice between two functions, which JAX would make a case."""
    operand = draft.value("f", (1, 2, 3))
    other = draft.like(operand)
    ops = draft.random.sample(
        (
            '"stablehlo.negate"(%a1) : ({a1}) -> {a1}',
            '"stablehlo.add"(%a1, %a2) : ({a1}, {a1}) -> {a1}',
            '"stablehlo.tanh"(%a2) : ({a1}) -> {a1}',
            '"stablehlo.multiply"(%a1, %a2) : ({a1}, {a1}) -> {a1}',
            '"stablehlo.reverse"(%a1) <{{dimensions = array<i64: 0>}}> : ({a1}) -> {a1}',
        ),
        2,
    )
    regions = ", ".join(f'{{{{\n%x = {op}\n"stablehlo.return"(%x) : ({{a1}}) -> ()\n}}}}' for op in ops)
    text = f'%r0 = "stablehlo.if"(%a0) ({regions}) : ({{a0}}) -> {{r0}}'
    aval = draft.avals[operand]
    draft.differentiable = False
    return draft.add(lambda p, x, y: as_text(text, [p, x, y], [aval])[0], draft.drawn((), "bool"), operand, other)


@draws("sdy.named_computation")
def composite(draft: Draft, name: str) -> list[int]:
    """Draws a composite, of which chips may need parts from each other."""
    operand = draft.value("f", (1, 2, 3))
    other = draft.like(operand)
    body = draft.random.choice(_bodies(draft, operand))
    draft.differentiable = False

    @functools.partial(lax.composite, name="tests.step")
    def step(x: Any, y: Any) -> Any:
        return body(x, y)

    return draft.add(step, operand, other)
