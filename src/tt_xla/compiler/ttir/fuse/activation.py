"""Fusion of activation functions that are written as arithmetic."""

from __future__ import annotations

import math
from collections.abc import Callable

from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from tt_xla.compiler.rewriting import both_ways, is_splat, pattern, producer, replace_with
from tt_xla.compiler.ttir.match import (
    BINARY,
    UNARY,
    Add,
    Div,
    Multiply,
    cast,
    equal_up_to_casts,
    factors,
    is_close,
    is_float,
    is_number,
    plus_constant,
    scaled,
    skip_casts,
    skip_casts_and_broadcasts,
    unary,
)
from tt_xla.ir.base import shape, tensor_type
from tt_xla.ir.ttir.creation import splat
from tt_xla.ir.ttir.structure import ClampScalarOp, WhereOp


def _replace(rewriter: PatternRewriter, op: Operation, name: str, value: SSAValue) -> bool:
    """Replaces ``op`` by the unary op called ``name`` on ``value``; returns whether the shapes allow it."""
    if shape(value) != shape(op.results[0]):
        return False
    replace_with(rewriter, op, UNARY[name], [cast(rewriter, op, value, op.results[0])])
    return True


@pattern(BINARY["maximum"], approximate=True)
def relu(op: Operation, rewriter: PatternRewriter) -> None:
    """Fuses max(x, 0)."""
    for value, other in both_ways(op):
        if is_splat(other, 0) and value.type == op.results[0].type:
            replace_with(rewriter, op, UNARY["relu"], [value])
            return


@pattern(BINARY["minimum"], approximate=True)
def relu6(op: Operation, rewriter: PatternRewriter) -> None:
    """Fuses min(relu(x), 6)."""
    for value, other in both_ways(op):
        inner = unary(value, "relu")
        if inner is not None and is_splat(other, 6) and value.type == op.results[0].type:
            replace_with(rewriter, op, UNARY["relu6"], [inner.operands[0]])
            return


@pattern(ClampScalarOp, approximate=True)
def relu6_as_clamp(op: ClampScalarOp, rewriter: PatternRewriter) -> None:
    """Fuses clamp(x, 0, 6)."""
    if (op.min, op.max) == (0, 6) and is_float(op.result):
        replace_with(rewriter, op, UNARY["relu6"], [op.input])


@pattern(Multiply, Div, approximate=True)
def scaled_function(op: Operation, rewriter: PatternRewriter) -> None:
    """Fuses relu6(x + 3) / 6 to hardsigmoid, and x / 2 * f(x) to gelu, in any bracketing.

    The function f is 1 + erf(x / sqrt(2)), erfc(-x / sqrt(2)) or 1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x ** 3)). The
    tanh form differs from gelu by at most 5e-4.
    """
    if not is_float(op.results[0]):
        return
    variables, scale = factors(op.results[0])
    if len(variables) == 1 and is_close(scale, 1 / 6, op.results[0]):
        relu6_ = unary(variables[0], "relu6")
        shifted = plus_constant(skip_casts(relu6_.operands[0])) if relu6_ is not None else None
        if shifted is not None and shifted[1] == 3:
            _replace(rewriter, op, "hardsigmoid", shifted[0])
    elif len(variables) == 2 and is_close(scale, 0.5, op.results[0]):
        for value, factor in (variables, reversed(variables)):
            inner = _normal_cdf_argument(factor) or _tanh_argument(factor)
            if inner is not None and equal_up_to_casts(inner, value) and _replace(rewriter, op, "gelu", inner):
                return


@pattern(Div, approximate=True)
def sigmoid(op: Operation, rewriter: PatternRewriter) -> None:
    """Fuses 1 / (1 + exp(-x))."""
    if is_float(op.results[0]) and is_splat(op.operands[0], 1):
        value = _logistic_argument(op.operands[1])
        if value is not None:
            _replace(rewriter, op, "sigmoid", value)


@pattern(UNARY["reciprocal"], approximate=True)
def sigmoid_as_reciprocal(op: Operation, rewriter: PatternRewriter) -> None:
    """Fuses reciprocal(1 + exp(-x))."""
    value = _logistic_argument(op.operands[0])
    if value is not None:
        _replace(rewriter, op, "sigmoid", value)


def _logistic_argument(value: SSAValue) -> SSAValue | None:
    """Returns x when a value is 1 + exp(-x), else None."""
    shifted = plus_constant(skip_casts(value))
    exp = unary(skip_casts(shifted[0]), "exp") if shifted and shifted[1] == 1 else None
    negation = unary(skip_casts(exp.operands[0]), "neg") if exp else None
    return None if negation is None else negation.operands[0]


@pattern(Multiply, Div, approximate=True)
def times_itself(op: Operation, rewriter: PatternRewriter) -> None:
    """Fuses x * sigmoid(x) and x / (1 + exp(-x)) to silu, and x * tanh(softplus(x)) to mish."""
    result = op.results[0]
    if not is_float(result):
        return
    if isinstance(op, Div):
        value = _logistic_argument(op.operands[1])
        if value is not None and equal_up_to_casts(value, op.operands[0]):
            _replace(rewriter, op, "silu", value)
        return
    for value, other in both_ways(op):
        function = skip_casts(other)
        for name, argument in _GATES:
            function_op = unary(function, name)
            inner = argument(function_op.operands[0]) if function_op is not None else None
            if inner is not None and equal_up_to_casts(inner, value) and _replace(rewriter, op, _GATED[name], inner):
                return


def _softplus_argument(value: SSAValue) -> SSAValue | None:
    """Returns x when a value is softplus(x), else None.

    Softplus is written as log(1 + exp(x)), log1p(exp(x)), or logaddexp(x, 0) = max(x, 0) + log1p(exp(-|x|)).
    """
    value = skip_casts(value)
    select = producer(value, WhereOp)
    if select is not None:
        for branch, other, holds in ((select.third, select.second, True), (select.second, select.third, False)):
            inner = _softplus_argument(branch)
            if inner is None or not (equal_up_to_casts(other, inner) or _is_sum_with_zero(other, inner)):
                continue
            return inner if _is_where_softplus_is_x(select.first, inner, holds=holds) else None
        return None
    log = unary(value, "log")
    grown = plus_constant(skip_casts(log.operands[0])) if log is not None else None
    if grown is not None and grown[1] == 1:
        exp = unary(skip_casts(grown[0]), "exp")
        return None if exp is None else exp.operands[0]
    log1p = unary(value, "log1p")
    if log1p is not None:
        exp = unary(skip_casts(log1p.operands[0]), "exp")
        return None if exp is None else exp.operands[0]
    return _logaddexp_argument(value)


_LINEAR = 14.0
"""Number beyond which softplus(x) - x, which is log1p(exp(-x)), is less than the last digit of float32."""


def _is_where_softplus_is_x(predicate: SSAValue, x: SSAValue, *, holds: bool) -> bool:
    """Returns whether a predicate has the truth value ``holds`` only where softplus(x) is x: NaN and large numbers."""
    test = skip_casts(predicate).owner
    if isinstance(test, BINARY["ne"] if holds else BINARY["eq"]):
        return all(equal_up_to_casts(operand, x) for operand in test.operands)
    below = isinstance(test, (BINARY["lt"], BINARY["le"]))
    if not below and not isinstance(test, (BINARY["gt"], BINARY["ge"])):
        return False
    one, other = test.operands if below != holds else reversed(test.operands)
    limit = splat(skip_casts_and_broadcasts(other))  # the predicate says x > limit, or that this does not hold
    return equal_up_to_casts(one, x) and limit is not None and limit >= _LINEAR


def _is_sum_with_zero(value: SSAValue, x: SSAValue) -> bool:
    """Returns whether a value is x + 0."""
    shifted = plus_constant(skip_casts(value))
    return shifted is not None and shifted[1] == 0 and equal_up_to_casts(shifted[0], x)


def _logaddexp_argument(value: SSAValue) -> SSAValue | None:
    """Returns x when a value is max(x, 0) + log1p(exp(-|x|)), else None."""
    add = producer(value, Add)
    if add is None:
        return None
    for greater, rest in both_ways(add):
        relu_, log1p = unary(skip_casts(greater), "relu"), unary(skip_casts(rest), "log1p")
        exp = unary(skip_casts(log1p.operands[0]), "exp") if relu_ and log1p else None
        negation = unary(skip_casts(exp.operands[0]), "neg") if exp else None
        magnitude = unary(skip_casts(negation.operands[0]), "abs") if negation else None
        if relu_ is not None and magnitude is not None:
            inner = skip_casts(magnitude.operands[0])
            difference = producer(inner, BINARY["subtract"])
            if difference is not None and is_number(difference.operands[1], 0):
                inner = difference.operands[0]
            if equal_up_to_casts(inner, relu_.operands[0]):
                return inner
    return None


_GATES: tuple[tuple[str, Callable[[SSAValue], SSAValue | None]], ...] = (
    ("sigmoid", lambda value: value),
    ("tanh", _softplus_argument),
)
"""Functions f that x is multiplied by, with matchers that return x from the operand of f."""
_GATED = {"sigmoid": "silu", "tanh": "mish"}
"""The fused op by the name of f."""


def _normal_cdf_argument(value: SSAValue) -> SSAValue | None:
    """Returns x when a value is 1 + erf(x / sqrt(2)) or erfc(-x / sqrt(2)), else None."""
    grown = plus_constant(value)
    if grown is not None and grown[1] == 1:
        erf = unary(skip_casts(grown[0]), "erf")
        return _scaled_by(erf.operands[0], math.sqrt(0.5)) if erf is not None else None
    erfc = unary(value, "erfc")
    return None if erfc is None else _scaled_by(erfc.operands[0], -math.sqrt(0.5))


def _scaled_by(value: SSAValue, scale: float) -> SSAValue | None:
    """Returns x when a value is x * scale, else None."""
    product = scaled(value)
    return product[0] if product is not None and is_close(product[1], scale, value) else None


def _tanh_argument(value: SSAValue) -> SSAValue | None:
    """Returns x when a value is 1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x ** 3)), else None.

    The polynomial may be written as x * (1 + 0.044715 * x ** 2).
    """
    grown = plus_constant(value)
    tanh = unary(skip_casts(grown[0]), "tanh") if grown is not None and grown[1] == 1 else None
    if tanh is None:
        return None
    variables, scale = factors(tanh.operands[0])
    if not is_close(scale, math.sqrt(2 / math.pi), tanh.operands[0]):
        return None
    if len(variables) == 1:
        return _cubic_argument(variables[0])
    if len(variables) == 2:
        for x, polynomial in (variables, reversed(variables)):
            inner = plus_constant(polynomial)
            if inner is not None and inner[1] == 1 and _is_power(inner[0], x, 2):
                return x
    return None


def _cubic_argument(value: SSAValue) -> SSAValue | None:
    """Returns x when a value is x + 0.044715 * x ** 3, else None."""
    add = producer(value, Add)
    if add is None:
        return None
    for x, cube in both_ways(add):
        if _is_power(cube, x, 3):
            return x
    return None


def _is_power(value: SSAValue, x: SSAValue, exponent: int) -> bool:
    """Returns whether ``value`` is 0.044715 * x ** exponent."""
    variables, scale = factors(value)
    if not is_close(scale, 0.044715, value):
        return False
    if len(variables) == 1:
        power = producer(variables[0], BINARY["pow"])
        return power is not None and equal_up_to_casts(power.operands[0], x) and is_number(power.operands[1], exponent)
    return len(variables) == exponent and all(equal_up_to_casts(factor, x) for factor in variables)


@pattern(Div)
def reciprocal(op: Operation, rewriter: PatternRewriter) -> None:
    """Fuses 1 / x of floats. Integer division truncates."""
    result = op.results[0]
    if is_float(result) and is_splat(op.operands[0], 1) and op.operands[1].type == result.type:
        replace_with(rewriter, op, UNARY["reciprocal"], [op.operands[1]])


@pattern(UNARY["reciprocal"], approximate=True)
def rsqrt(op: Operation, rewriter: PatternRewriter) -> None:
    """Fuses 1 / sqrt(x)."""
    sqrt = unary(op.operands[0], "sqrt")
    if sqrt is not None:
        replace_with(rewriter, op, UNARY["rsqrt"], [sqrt.operands[0]])


@pattern(Div, approximate=True)
def divided_by_root(op: Operation, rewriter: PatternRewriter) -> None:
    """Rewrites x / sqrt(y) to x * rsqrt(y), the form of normalisations, where the root has no other user."""
    sqrt = unary(op.operands[1], "sqrt")
    if sqrt is None or splat(op.operands[0]) is not None or not op.operands[1].has_one_use():
        return
    root = UNARY["rsqrt"].make([sqrt.operands[0]], [tensor_type(op.operands[1])], op.location)
    product = Multiply.make([op.operands[0], root.results[0]], [tensor_type(op.results[0])], op.location)
    rewriter.replace(op, [root, product])


PATTERNS = (
    relu,
    relu6,
    relu6_as_clamp,
    scaled_function,
    sigmoid,
    sigmoid_as_reciprocal,
    times_itself,
    reciprocal,
    rsqrt,
    divided_by_root,
)
