"""Draws factorisations, Fourier transforms and batch norms."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from tests.fuzz.draft import Aval, Draft, as_text, one_op
from tests.fuzz.steps.registry import draws


def _matrices(draft: Draft) -> tuple[int, int]:
    """Draws one to three dimensions of square matrices; returns the value and their size."""
    size = draft.random.choice((1, 2, 3, 4, 4, 8))
    shape = (*draft.shape((0, 1, 1, 2), 32), size, size)
    return draft.drawn(shape, "float32"), size


@draws("stablehlo.cholesky")
def cholesky(draft: Draft, name: str) -> list[int]:
    operand, size = _matrices(draft)
    aval = draft.avals[operand]
    lower = draft.random.choice(("true", "false"))
    draft.differentiable = False

    def function(x: Any) -> Any:
        positive = x @ x.mT * 0.1 + size * jnp.eye(size)
        factor = one_op("stablehlo.cholesky", [positive], aval, f"lower = {lower}")
        return jnp.tril(factor) if lower == "true" else jnp.triu(factor)

    return draft.add(function, operand)


@draws("stablehlo.triangular_solve")
def triangular_solve(draft: Draft, name: str) -> list[int]:
    operand, size = _matrices(draft)
    shape = draft.avals[operand].shape
    left, lower, unit = (draft.random.choice(("true", "false")) for _ in range(3))
    transposed = draft.random.choice(("NO_TRANSPOSE", "TRANSPOSE"))
    width = draft.random.choice((1, 3, 4, 8))
    sides = (size, width) if left == "true" else (width, size)
    other = draft.drawn((*shape[:-2], *sides), "float32")
    result = draft.avals[other]
    attributes = (
        f"left_side = {left}, lower = {lower}, unit_diagonal = {unit}, transpose_a = #stablehlo<transpose {transposed}>"
    )
    draft.differentiable = False

    def function(a: Any, b: Any) -> Any:
        return one_op("stablehlo.triangular_solve", [a * 0.2 + 2 * jnp.eye(size), b], result, attributes)

    return draft.add(function, operand, other)


@draws("stablehlo.fft")
def fft(draft: Draft, name: str) -> list[int]:
    operand = draft.value("f", (1, 2, 3), lambda aval: aval.dtype == np.float32 and aval.shape[-1] > 1)
    shape = draft.avals[operand].shape
    count = draft.random.randint(1, min(2, len(shape)))
    way = draft.random.choice(("fft", "ifft", "rfft", "irfft"))
    lengths = shape[-count:]
    draft.differentiable = False

    def function(x: Any) -> Any:
        if way == "rfft":
            return lax.fft(x, "RFFT", lengths)
        if way == "irfft":
            return lax.fft(lax.fft(x, "RFFT", lengths) * 2, "IRFFT", lengths)
        return lax.fft(lax.complex(x, x * 2), way.upper(), lengths).real

    return draft.add(function, operand)


@draws("stablehlo.batch_norm_inference", "stablehlo.batch_norm_training", "stablehlo.batch_norm_grad")
def batch_norm(draft: Draft, name: str) -> list[int]:
    """Draws a norm over all dimensions but one."""
    operand = draft.value("f", (2, 3, 4), lambda aval: aval.dtype == np.float32)
    aval = draft.avals[operand]
    feature = draft.random.randrange(len(aval.shape))
    row = Aval((aval.shape[feature],), aval.dtype)
    scale, offset, mean, variance = (draft.drawn(row.shape, "float32") for _ in range(4))
    attributes = f"epsilon = 0.01 : f32, feature_index = {feature} : i64"
    draft.differentiable = False
    if name.endswith("inference"):

        def inferred(x: Any, s: Any, o: Any, m: Any, v: Any) -> Any:
            return one_op(name, [x, s, o, m, jnp.abs(v) + 0.5], aval, attributes)

        return draft.add(inferred, operand, scale, offset, mean, variance)
    operands = [operand, scale, offset]
    if name.endswith("grad"):
        operands = [operand, scale, mean, variance, draft.like(operand)]
    names = ", ".join(f"%a{i}" for i in range(len(operands)))
    types = ", ".join(f"{{a{i}}}" for i in range(len(operands)))
    text = f'%r:3 = "{name}"({names}) <{{{{{attributes}}}}}> : ({types}) -> ({{r0}}, {{r1}}, {{r2}})\n' + "\n".join(
        f"%r{i} = stablehlo.optimization_barrier %r#{i} : {{r{i}}}" for i in range(3)
    )

    def function(*values: Any) -> Any:
        values = list(values)
        if name.endswith("grad"):
            values[3] = jnp.abs(values[3]) + 0.5
        return as_text(text, values, [aval, row, row])

    return draft.add(function, *operands)
