"""Matchers for fusions: values behind casts, reshapes and broadcasts, products with constants, and reductions.

A float behind a cast between float types is the same number within the narrower type's precision. TT-NN's fused ops
compute in float32, so a fused op that reads the value before the cast is at least as accurate.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from xdsl.dialects.builtin import BFloat16Type, Float32Type, bf16
from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import InsertPoint

from tt_xla.compiler.analysis.constants import numpy_dtype, splat_of
from tt_xla.compiler.analysis.ranges import BINARY, UNARY
from tt_xla.compiler.rewriting import both_ways, insert_before, producer
from tt_xla.ir import shapes
from tt_xla.ir.base import Tensor, only_user, shape, tensor, tensor_type
from tt_xla.ir.ttir.contraction import LinearOp, MatmulOp
from tt_xla.ir.ttir.creation import ConstantOp, splat
from tt_xla.ir.ttir.reduction import MeanOp
from tt_xla.ir.ttir.structure import BroadcastOp, PermuteOp, ReshapeOp, TypecastOp

Add, Subtract, Multiply, Div = (BINARY[name] for name in ("add", "subtract", "multiply", "div"))

_FLOATS = (BFloat16Type, Float32Type)


def is_float(value: SSAValue) -> bool:
    """Returns whether a value's element type is bf16 or f32."""
    return type(tensor_type(value).element_type) in _FLOATS


def skip_ops(value: SSAValue, *kinds: type[Operation]) -> SSAValue:
    """Skips ops of the given kinds. Casts are skipped between floats only: integers lose digits."""
    while type(value) is OpResult and isinstance(op := value.op, kinds):
        operand = op.operands[0]
        if isinstance(op, TypecastOp) and not (is_float(value) and is_float(operand)):
            return value
        value = operand
    return value


def skip_casts(value: SSAValue) -> SSAValue:
    """Skips casts between floats."""
    return skip_ops(value, TypecastOp)


def skip_casts_and_reshapes(value: SSAValue) -> SSAValue:
    """Skips casts and reshapes; the value has the same numbers in the same order."""
    return skip_ops(value, TypecastOp, ReshapeOp)


def skip_casts_and_broadcasts(value: SSAValue) -> SSAValue:
    """Skips casts, reshapes and broadcasts."""
    return skip_ops(value, TypecastOp, ReshapeOp, BroadcastOp)


def unary(value: SSAValue, name: str) -> Operation | None:
    """Returns the elementwise op called ``name`` that produced a value, or None."""
    return producer(value, UNARY[name])


def equal_up_to_casts(one: SSAValue, other: SSAValue) -> bool:
    """Returns whether two values are equal up to casts between floats."""
    return one is other or skip_casts(one) is skip_casts(other)


def rounded(number: float, like: SSAValue) -> float:
    """Returns a number as a tensor of the type of ``like`` holds it."""
    return float(np.asarray(number).astype(numpy_dtype(tensor_type(like).element_type)))


def is_number(value: SSAValue, expected: float) -> bool:
    """Returns whether a value is a constant equal to ``expected`` within its element type's precision."""
    number = splat(skip_casts_and_broadcasts(value))
    return number is not None and is_close(float(number), expected, value)


def is_close(number: float, expected: float, like: SSAValue) -> bool:
    """Returns whether two numbers agree within the precision of the element type of ``like``."""
    is_bf16 = tensor_type(like).element_type == bf16
    return math.isclose(number, expected, rel_tol=2**-7 if is_bf16 else 2**-20)


_ARITHMETIC = frozenset((Multiply, Div, UNARY["neg"]))
_AROUND_CONSTANTS = frozenset((TypecastOp, ConstantOp, ReshapeOp, BroadcastOp))
"""Ops that a constant, or a cast of a product, comes from."""


def factors(value: SSAValue, depth: int = 5) -> tuple[list[SSAValue], float]:
    """Returns a product's factors that are not constant, and the product of its constant factors.

    Quotients by constants and negations count as products. The search is limited to ``depth`` ops, because nested
    products double the work with each level.
    """
    if type(value.owner) in _AROUND_CONSTANTS:
        value = skip_casts(value)
        constant = splat(skip_casts_and_broadcasts(value))
        if constant is not None:
            return [], float(constant)
    op = value.op if type(value) is OpResult and depth else None
    if op is None or type(op) not in _ARITHMETIC:
        return [value], 1.0
    operands, kind = op.operands, type(op)
    if kind is Multiply:
        left, right = factors(operands[0], depth - 1), factors(operands[1], depth - 1)
        return left[0] + right[0], left[1] * right[1]
    sign, divisor = (1.0, splat(skip_casts_and_broadcasts(operands[1]))) if kind is Div else (-1.0, 1.0)
    if not divisor:
        return [value], 1.0
    variables, scale = factors(operands[0], depth - 1)
    return variables, sign * scale / float(divisor)


def scaled(value: SSAValue) -> tuple[SSAValue, float] | None:
    """Returns x and c when a value is c * x with a constant c; None for a product of several values."""
    variables, scale = factors(value)
    return (variables[0], scale) if len(variables) == 1 else None


def plus_constant(value: SSAValue) -> tuple[SSAValue, float] | None:
    """Returns x and c when a value is x + c or x - (-c) with a constant c, else None."""
    add = producer(value, Add)
    if add is not None:
        for variable, other in both_ways(add):
            constant = splat(skip_casts_and_broadcasts(other))
            if constant is not None:
                return variable, float(constant)
    subtract = producer(value, Subtract)
    if subtract is not None:
        constant = splat(skip_casts_and_broadcasts(subtract.operands[1]))
        if constant is not None:
            return subtract.operands[0], -float(constant)
    return None


def is_square_of(value: SSAValue, base: SSAValue) -> bool:
    """Returns whether a value is base * base, up to casts."""
    multiply = producer(skip_casts(value), Multiply)
    return multiply is not None and all(equal_up_to_casts(operand, base) for operand in multiply.operands)


def mean_over(value: SSAValue, full: SSAValue) -> tuple[SSAValue, tuple[int, ...]] | None:
    """Returns the operand and dimensions of a mean over the last dimensions that ``value`` broadcasts over ``full``.

    Reshapes in between may only restore dimensions of size 1, which the final comparison of shapes ensures.
    """
    mean = producer(skip_casts_and_reshapes(skip_ops(value, BroadcastOp)), MeanOp)
    if mean is None:
        return None
    dims = last_dims(mean)
    if dims is None or shape(mean.input) != shape(full):
        return None
    kept_sizes = shapes.reduce(shape(mean.input), dims, True)
    return (mean.input, dims) if shape(skip_ops(value, BroadcastOp, TypecastOp)) == kept_sizes else None


def last_dims(mean: MeanOp) -> tuple[int, ...] | None:
    """Returns a mean's dimensions when they are the last ones of its operand, else None."""
    rank = len(shape(mean.input))
    dims = shapes.normalise_dims(mean.dim_arg, rank)
    return tuple(sorted(dims)) if dims and sorted(dims) == list(range(rank - len(dims), rank)) else None


def operand_orders(op: Operation) -> Iterator[tuple[SSAValue, SSAValue]]:
    """Yields the operands of a commutative op in both orders, each behind casts."""
    for one, other in both_ways(op):
        yield skip_casts(one), skip_casts(other)


def cast(rewriter: PatternRewriter, op: Operation, value: SSAValue, like: SSAValue) -> SSAValue:
    """Returns ``value`` in the element type of ``like``, by a typecast before ``op`` where they differ."""
    element = tensor_type(like).element_type
    if tensor_type(value).element_type == element:
        return value
    return insert_before(rewriter, op, TypecastOp, [value], tensor(shape(value), element))


def reshaped(rewriter: PatternRewriter, op: Operation, value: SSAValue, sizes: tuple[int, ...]) -> SSAValue:
    """Returns ``value`` in another shape, by a reshape before ``op`` where they differ."""
    if shape(value) == sizes:
        return value
    return insert_before(rewriter, op, ReshapeOp, [value], tensor(sizes, tensor_type(value).element_type), shape=sizes)


def transposed(rewriter: PatternRewriter, op: Operation, value: SSAValue, permutation: tuple[int, ...]) -> SSAValue:
    """Returns ``value`` permuted, by a permute before ``op`` unless the permutation is the identity."""
    if permutation == tuple(range(len(permutation))):
        return value
    type_ = tensor(shapes.permute(shape(value), permutation), tensor_type(value).element_type)
    return insert_before(rewriter, op, PermuteOp, [value], type_, permutation=permutation)


def product_with_bias(
    rewriter: PatternRewriter, op: Operation, rows: SSAValue, columns: SSAValue, bias: SSAValue | None
) -> SSAValue:
    """Inserts the product of rows [..., K] and weights [K, O] before ``op``, plus a bias of O elements."""
    outputs = shape(columns)[1]
    type_ = tensor((*shape(rows)[:-1], outputs), tensor_type(op.results[0]).element_type)
    flags = {"transpose_a": False, "transpose_b": False}
    if bias is None:
        return insert_before(rewriter, op, MatmulOp, [rows, columns], type_, **flags)
    operands = [rows, columns, reshaped(rewriter, op, bias, (outputs,))]
    return insert_before(rewriter, op, LinearOp, operands, type_, **flags)


def splat_before(rewriter: PatternRewriter, op: Operation, number: float, type_: Tensor) -> SSAValue:
    """Inserts a constant of one value everywhere before ``op`` and returns it."""
    constant = splat_of(number, type_, op.location)
    rewriter.insert(constant, InsertPoint.before(op))
    return constant.results[0]


def times_constant(value: SSAValue) -> tuple[SSAValue, float] | None:
    """Returns x and c when a value is x * c or x / (1 / c) with a constant c, else None."""
    multiply, division = producer(value, Multiply), producer(value, Div)
    for factor, other in both_ways(multiply) if multiply is not None else ():
        number = splat(other)
        if number is not None:
            return factor, float(number)
    divisor = splat(division.operands[1]) if division is not None else None
    return (division.operands[0], 1 / float(divisor)) if division is not None and divisor else None


def used_once(value: SSAValue) -> bool:
    """Returns whether a value has one user."""
    return only_user(value) is not None
