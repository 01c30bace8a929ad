"""What fusions match with: values as they are behind casts, reshapes and broadcasts; products; reductions.

A float behind a cast between float types is the same number as far as the narrower type tells; TT-NN's fused ops
compute in float32 inside, so a fused op that reads what lies before the cast is at least as accurate.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from xdsl.dialects.builtin import BFloat16Type, Float32Type, bf16
from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from tt_xla.compiler.analysis.constants import numpy_dtype
from tt_xla.compiler.analysis.ranges import BINARY, UNARY
from tt_xla.compiler.rewriting import both_ways, insert_before, producer
from tt_xla.ir import ttir
from tt_xla.ir.base import only_user, shape, tensor, tensor_type
from tt_xla.ir.ttir.creation import splat
from tt_xla.ir.ttir.reduction import MeanOp
from tt_xla.ir.ttir.structure import BroadcastOp, ReshapeOp, TypecastOp

Add, Subtract, Multiply, Div = (BINARY[name] for name in ("add", "subtract", "multiply", "div"))

_FLOATS = (BFloat16Type, Float32Type)


def is_float(value: SSAValue) -> bool:
    return type(tensor_type(value).element_type) in _FLOATS


def behind(value: SSAValue, *kinds: type[Operation]) -> SSAValue:
    """The value behind ops of the given kinds; casts only between floats: those of integers drop digits."""
    while isinstance(value, OpResult) and isinstance(value.op, kinds):
        operand = value.op.operands[0]
        if isinstance(value.op, TypecastOp) and not (is_float(value) and is_float(operand)):
            return value
        value = operand
    return value


def uncast(value: SSAValue) -> SSAValue:
    return behind(value, TypecastOp)


def unshaped(value: SSAValue) -> SSAValue:
    """The value behind casts and reshapes: the same numbers in the same order."""
    return behind(value, TypecastOp, ReshapeOp)


def unspread(value: SSAValue) -> SSAValue:
    """The value behind casts, reshapes and broadcasts."""
    return behind(value, TypecastOp, ReshapeOp, BroadcastOp)


def unary(value: SSAValue, name: str) -> Operation | None:
    """The elementwise op of a name that made a value."""
    return producer(value, UNARY[name])


def same(one: SSAValue, other: SSAValue) -> bool:
    """Whether two values hold the same numbers, as far as casts between floats keep them."""
    return one is other or uncast(one) is uncast(other)


def rounded(number: float, like: SSAValue) -> float:
    """A number as a tensor of the type of ``like`` holds it."""
    return float(np.asarray(number).astype(numpy_dtype(tensor_type(like).element_type)))


def is_number(value: SSAValue, expected: float) -> bool:
    """Whether a value is a constant that is ``expected`` as far as its element type tells numbers apart."""
    found = splat(unspread(value))
    return found is not None and is_close(float(found), expected, value)


def is_close(found: float, expected: float, like: SSAValue) -> bool:
    is_bf16 = tensor_type(like).element_type == bf16
    return math.isclose(found, expected, rel_tol=2**-7 if is_bf16 else 2**-20)


def factors(value: SSAValue, depth: int = 5) -> tuple[list[SSAValue], float]:
    """A product, or quotient by constants, as its non-constant factors and the product of its constant ones.

    No deeper than ``depth`` ops, for products of products double with each one.
    """
    value = uncast(value)
    constant = splat(unspread(value))
    if constant is not None:
        return [], float(constant)
    op = value.op if isinstance(value, OpResult) and depth else None
    if isinstance(op, Multiply):
        left, right = (factors(operand, depth - 1) for operand in op.operands)
        return left[0] + right[0], left[1] * right[1]
    if isinstance(op, Div):
        divisor = splat(unspread(op.operands[1]))
        if divisor:
            found, scale = factors(op.operands[0], depth - 1)
            return found, scale / float(divisor)
    if isinstance(op, UNARY["neg"]):
        found, scale = factors(op.operands[0], depth - 1)
        return found, -scale
    return [value], 1.0


def scaled(value: SSAValue) -> tuple[SSAValue, float] | None:
    """x and c of c * x with a constant c; None for a product of several values."""
    found, scale = factors(value)
    return (found[0], scale) if len(found) == 1 else None


def plus_constant(value: SSAValue) -> tuple[SSAValue, float] | None:
    """x and c of x + c or x - c, with a constant c."""
    add = producer(value, Add)
    if add is not None:
        for one, other in both_ways(add):
            constant = splat(unspread(other))
            if constant is not None:
                return one, float(constant)
    subtract = producer(value, Subtract)
    if subtract is not None:
        constant = splat(unspread(subtract.operands[1]))
        if constant is not None:
            return subtract.operands[0], -float(constant)
    return None


def is_square_of(value: SSAValue, base: SSAValue) -> bool:
    """Whether ``value`` is base * base, casts aside."""
    multiply = producer(uncast(value), Multiply)
    return multiply is not None and all(same(operand, base) for operand in multiply.operands)


def mean_over(value: SSAValue, whole: SSAValue) -> tuple[SSAValue, tuple[int, ...]] | None:
    """The operand and dimensions of a mean over the last dimensions that ``value`` spreads over ``whole`` again.

    Reshapes in between only put back the dimensions of size 1, since the shape is compared in the end.
    """
    mean = producer(unshaped(behind(value, BroadcastOp)), MeanOp)
    if mean is None:
        return None
    dims = last_dims(mean)
    if dims is None or shape(mean.input) != shape(whole):
        return None
    kept = ttir.shared.shapes.reduce(shape(mean.input), dims, True)
    return (mean.input, dims) if shape(behind(value, BroadcastOp, TypecastOp)) == kept else None


def last_dims(mean: MeanOp) -> tuple[int, ...] | None:
    """The dimensions that a mean is taken over, when they are the last ones; not all of a scalar's none."""
    rank = len(shape(mean.input))
    dims = ttir.shared.shapes.normalise_dims(mean.dim_arg, rank)
    return tuple(sorted(dims)) if dims and sorted(dims) == list(range(rank - len(dims), rank)) else None


def orders(op: Operation) -> Iterator[tuple[SSAValue, SSAValue]]:
    """The operands of a commutative op in both orders, each behind casts."""
    for one, other in both_ways(op):
        yield uncast(one), uncast(other)


def cast(rewriter: PatternRewriter, op: Operation, value: SSAValue, like: SSAValue) -> SSAValue:
    """``value`` in the element type of ``like``."""
    element = tensor_type(like).element_type
    if tensor_type(value).element_type == element:
        return value
    return insert_before(rewriter, op, TypecastOp, [value], tensor(shape(value), element))


def reshaped(rewriter: PatternRewriter, op: Operation, value: SSAValue, sizes: tuple[int, ...]) -> SSAValue:
    if shape(value) == sizes:
        return value
    return insert_before(rewriter, op, ReshapeOp, [value], tensor(sizes, tensor_type(value).element_type), shape=sizes)


def used_once(value: SSAValue) -> bool:
    return only_user(value) is not None
