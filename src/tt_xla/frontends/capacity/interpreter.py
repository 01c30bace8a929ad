"""Evaluates a jaxpr whose sizes are symbols on arrays of the sizes' capacities."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from jax.export import is_symbolic_dim
from jax.extend.core import ClosedJaxpr, Jaxpr, Literal

from tt_xla.frontends.capacity.rules import RULES
from tt_xla.frontends.capacity.values import NoRuleError, Padded, Padding, capacity_of, exact_value

CALLS = {
    "jit": "jaxpr",
    "pjit": "jaxpr",
    "closed_call": "call_jaxpr",
    "core_call": "call_jaxpr",
    "remat": "jaxpr",
    "remat2": "jaxpr",
    "checkpoint": "jaxpr",
    "custom_jvp_call": "call_jaxpr",
    "custom_vjp_call": "call_jaxpr",
    "custom_vjp_call_jaxpr": "fun_jaxpr",
}
"""Primitives that call a program, and the parameter that holds it."""


def evaluate(ctx: Padding, program: Jaxpr | ClosedJaxpr, operands: Sequence[Padded]) -> list[Padded]:
    """Evaluates a program.

    Args:
        ctx: capacities and lengths.
        program: the program; its sizes may be symbols.
        operands: its arguments.

    Raises:
        NoRuleError: a primitive has no rule for the padding of its operands.
    """
    jaxpr, constants = (program.jaxpr, program.consts) if isinstance(program, ClosedJaxpr) else (program, ())
    values: dict[Any, Padded] = dict(zip(jaxpr.constvars, map(exact_value, constants), strict=True))
    values.update(zip(jaxpr.invars, operands, strict=True))

    def read(atom: Any) -> Padded:
        return exact_value(np.asarray(atom.val, atom.aval.dtype)) if isinstance(atom, Literal) else values[atom]

    for equation in jaxpr.eqns:
        scope = str(equation.source_info.name_stack)
        with jax.named_scope(scope) if scope else contextlib.nullcontext():
            results = _applied(ctx, equation, [read(atom) for atom in equation.invars])
        values.update(zip(equation.outvars, results, strict=True))
    return [read(atom) for atom in jaxpr.outvars]


def _applied(ctx: Padding, equation: Any, operands: Sequence[Padded]) -> Sequence[Padded]:
    """Returns the results of one equation."""
    primitive, params = equation.primitive, equation.params
    name = primitive.name
    if name in CALLS:
        return evaluate(ctx, params[CALLS[name]], operands)
    outs = [variable.aval for variable in equation.outvars]
    if all(operand.is_exact for operand in operands) and not mentions_symbols((params, [out.shape for out in outs])):
        results = primitive.bind(*(operand.array for operand in operands), **params)
        return [exact_value(array) for array in (results if primitive.multiple_results else [results])]
    rule = RULES.get(name)
    if rule is None:
        shapes = ", ".join(f"{variable.aval}" for variable in equation.invars)
        raise NoRuleError(f"The primitive {name} of {shapes} has no rule for the padding of sizes that change.")
    results = rule(ctx, primitive, outs, *operands, **params)
    results = [results] if isinstance(results, Padded) else list(results)
    for result in results:
        assert tuple(np.shape(result.array)) == tuple(map(capacity_of, result.dims)), (name, result)
    return results if ctx.replaced is None else [ctx.replaced(ctx, result) for result in results]


def mentions_symbols(value: Any) -> bool:
    """Returns whether sizes in parameters, or in programs among them, are symbols."""
    if is_symbolic_dim(value):
        return True
    if isinstance(value, dict):
        return any(map(mentions_symbols, value.values()))
    if isinstance(value, tuple | list):
        return any(map(mentions_symbols, value))
    if isinstance(value, Jaxpr | ClosedJaxpr):
        return any(map(mentions_symbols, sizes_of(value)))
    return False


def sizes_of(program: Jaxpr | ClosedJaxpr) -> list[Any]:
    """Returns the sizes and parameters of a program and of those within it."""
    jaxpr = program.jaxpr if isinstance(program, ClosedJaxpr) else program
    found = [size for variable in jaxpr.invars for size in getattr(variable.aval, "shape", ())]
    for equation in jaxpr.eqns:
        found += [size for variable in equation.outvars for size in getattr(variable.aval, "shape", ())]
        found += _sizes_among(tuple(equation.params.values()))
    return found


def _sizes_among(value: Any) -> list[Any]:
    if isinstance(value, Jaxpr | ClosedJaxpr):
        return sizes_of(value)
    if isinstance(value, tuple | list):
        return [size for item in value for size in _sizes_among(item)]
    return [value] if is_symbolic_dim(value) else []


__all__ = ["CALLS", "evaluate", "mentions_symbols", "sizes_of"]
