"""Rules of primitives that contain programs: composites, loops and branches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
from jax import lax
from jax.export import is_symbolic_dim

from tt_xla.frontends.capacity.interpreter import evaluate
from tt_xla.frontends.capacity.rules import rule
from tt_xla.frontends.capacity.values import NoRuleError, Padded, Padding


def _evaluated(ctx: Padding, program: Any, like: Sequence[Padded], arrays: Sequence[Any]) -> list[Padded]:
    """Evaluates a program within a traced function, on arrays that are laid out as others."""
    values = [Padded(array, value.dims, value.fill, value.uniform) for array, value in zip(arrays, like, strict=True)]
    with ctx.inner():
        return evaluate(ctx, program, values)


@rule("composite")
def composite(ctx: Padding, primitive: Any, outs: Any, *operands: Padded, jaxpr: Any, **params: Any) -> list[Padded]:
    """A composite stays one if its decomposition needs no mask; otherwise the decomposition takes its place."""
    laid_out: list[Padded] = []

    def decomposition(*arrays: Any) -> list[Any]:
        laid_out[:] = _evaluated(ctx, jaxpr, operands, arrays)
        return [value.array for value in laid_out]

    before = ctx.masks
    arrays = [operand.array for operand in operands]
    padded = jax.make_jaxpr(decomposition)(*arrays)
    if ctx.masks > before:
        return evaluate(ctx, jaxpr, operands)
    results = primitive.bind(*arrays, jaxpr=padded, **params)
    return [Padded(array, value.dims, value.fill) for array, value in zip(results, laid_out, strict=True)]


def _canonical(ctx: Padding, values: Sequence[Padded], shapes: Sequence[Any]) -> list[Padded]:
    """Returns values in the layout that all rounds or branches share; their padding may hold anything."""
    values = [ctx.canonical(value, shape.shape) for value, shape in zip(values, shapes, strict=True)]
    return [Padded(value.array, value.dims) for value in values]


@rule("while")
def while_(
    ctx: Padding,
    primitive: Any,
    outs: Any,
    *operands: Padded,
    cond_jaxpr: Any,
    cond_nconsts: int,
    body_jaxpr: Any,
    body_nconsts: int,
) -> list[Padded]:
    of_condition, rest = operands[:cond_nconsts], operands[cond_nconsts:]
    of_body, first = rest[:body_nconsts], _canonical(ctx, rest[body_nconsts:], outs)

    def condition(carry: Any) -> Any:
        arrays = [*(value.array for value in of_condition), *carry]
        return _evaluated(ctx, cond_jaxpr, [*of_condition, *first], arrays)[0].array

    def body(carry: Any) -> Any:
        arrays = [*(value.array for value in of_body), *carry]
        results = _evaluated(ctx, body_jaxpr, [*of_body, *first], arrays)
        with ctx.inner():
            return [value.array for value in _canonical(ctx, results, outs)]

    results = lax.while_loop(condition, body, [value.array for value in first])
    return [Padded(array, value.dims) for array, value in zip(results, first, strict=True)]


@rule("scan")
def scan(
    ctx: Padding,
    primitive: Any,
    outs: Any,
    *operands: Padded,
    jaxpr: Any,
    length: Any,
    num_consts: int,
    num_carry: int,
    reverse: bool,
    **_: Any,
) -> list[Padded]:
    if is_symbolic_dim(length):
        raise NoRuleError("The number of rounds of a loop changes from call to call.")
    constants, rest = operands[:num_consts], operands[num_consts:]
    first = _canonical(ctx, rest[:num_carry], outs[:num_carry])
    slices = rest[num_carry:]
    rows = [Padded(value.array, value.dims[1:]) for value in slices]
    of_rows: list[Padded] = []

    def body(carry: Any, arrays: Any) -> Any:
        like = [*constants, *first, *rows]
        results = _evaluated(ctx, jaxpr, like, [*(value.array for value in constants), *carry, *arrays])
        with ctx.inner():
            kept = _canonical(ctx, results[:num_carry], outs[:num_carry])
        of_rows[:] = results[num_carry:]
        return [value.array for value in kept], [value.array for value in of_rows]

    carry, stacked = lax.scan(
        body, [value.array for value in first], [value.array for value in slices], length=int(length), reverse=reverse
    )
    results = [Padded(array, value.dims) for array, value in zip(carry, first, strict=True)]
    (leading,) = ctx.dims([length])
    return results + [Padded(array, (leading, *row.dims)) for array, row in zip(stacked, of_rows, strict=True)]


@rule("cond")
def cond(
    ctx: Padding, primitive: Any, outs: Any, index: Padded, *operands: Padded, branches: Any, **_: Any
) -> list[Padded]:
    def branch(program: Any) -> Any:
        def run(*arrays: Any) -> Any:
            results = _evaluated(ctx, program, operands, arrays)
            with ctx.inner():
                return [value.array for value in _canonical(ctx, results, outs)]

        return run

    results = lax.switch(index.array, [branch(program) for program in branches], *(value.array for value in operands))
    return [Padded(array, ctx.dims(out.shape)) for array, out in zip(results, outs, strict=True)]
