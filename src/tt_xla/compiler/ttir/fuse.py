"""Groups of ops that the chip has one op for."""

from __future__ import annotations

import math

import numpy as np
from xdsl.dialects.builtin import ModuleOp, bf16, f32
from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from tt_xla.compiler.rewriting import (
    both_ways,
    insert_before,
    is_splat,
    look_through,
    producer,
    replace_with,
    run_patterns,
)
from tt_xla.compiler.stablehlo.types import numpy_dtype
from tt_xla.ir import abstract as shared
from tt_xla.ir import ttir
from tt_xla.ir.base import only_user, shape, tensor, tensor_type
from tt_xla.ir.ttir.contraction import LinearOp, MatmulOp
from tt_xla.ir.ttir.creation import splat
from tt_xla.ir.ttir.reduction import MaxOp, MeanOp, SoftmaxOp, SumOp
from tt_xla.ir.ttir.structure import BroadcastOp, PermuteOp, ReshapeOp, TypecastOp
from tt_xla.ir.ttir.window import Conv2dOp

_UNARY, _BINARY = ttir.UNARY_OPS, ttir.BINARY_OPS
_Add, _Multiply, _Div, _Subtract = (_BINARY[name] for name in ("add", "multiply", "div", "subtract"))


class Relu(RewritePattern):
    """max(x, 0)."""

    def match_and_rewrite(self, op: object, rewriter: PatternRewriter) -> None:
        if not isinstance(op, _BINARY["maximum"]):
            return
        for value, other in both_ways(op):
            if is_splat(other, 0) and value.type == op.results[0].type:
                replace_with(rewriter, op, _UNARY["relu"], [value])
                return


class Silu(RewritePattern):
    """x * sigmoid(x)."""

    def match_and_rewrite(self, op: object, rewriter: PatternRewriter) -> None:
        if not isinstance(op, _Multiply):
            return
        for value, other in both_ways(op):
            sigmoid = producer(other, _UNARY["sigmoid"])
            if sigmoid is not None and sigmoid.operands[0] is value:
                replace_with(rewriter, op, _UNARY["silu"], [value])
                return


class Gelu(RewritePattern):
    """x / 2 * (1 + erf(x / sqrt(2))), whichever way it is bracketed, and x / 2 * erfc(-x / sqrt(2))."""

    def match_and_rewrite(self, op: object, rewriter: PatternRewriter) -> None:
        if not isinstance(op, _Multiply):
            return
        factors, scale = _factors(op.results[0])
        for index, factor in enumerate(factors):
            value = _normal_cdf_argument(factor)
            rest = [other for position, other in enumerate(factors) if position != index]
            if value is not None and rest == [value] and _close(scale, 0.5, value):
                replace_with(rewriter, op, _UNARY["gelu"], [value])
                return


def _close(found: float, expected: float, like: SSAValue) -> bool:
    """Whether a constant is ``expected`` as far as the element type of ``like`` tells numbers apart."""
    is_bf16 = tensor_type(like).element_type == bf16
    return math.isclose(found, expected, rel_tol=2**-7 if is_bf16 else 2**-20)


def _factors(value: SSAValue) -> tuple[list[SSAValue], float]:
    """A product as its non-constant factors and the product of its constant ones."""
    constant = splat(value)
    if constant is not None:
        return [], float(constant)
    multiply = producer(value, _Multiply)
    if multiply is None:
        return [value], 1.0
    left, right = (_factors(operand) for operand in multiply.operands)
    return left[0] + right[0], left[1] * right[1]


def _normal_cdf_argument(value: SSAValue) -> SSAValue | None:
    """x of 1 + erf(x / sqrt(2)) or erfc(-x / sqrt(2))."""
    add = producer(value, _Add)
    if add is not None:
        for one, other in both_ways(add):
            erf = producer(other, _UNARY["erf"])
            if is_splat(one, 1) and erf is not None:
                return _scaled_by(erf.operands[0], math.sqrt(0.5))
    erfc = producer(value, _UNARY["erfc"])
    return None if erfc is None else _scaled_by(erfc.operands[0], -math.sqrt(0.5))


def _scaled_by(value: SSAValue, scale: float) -> SSAValue | None:
    negation = producer(value, _UNARY["neg"])
    if negation is not None:
        return _scaled_by(negation.operands[0], -scale)
    division = producer(value, _Div)
    if division is not None:
        divisor = splat(division.operands[1])
        return division.operands[0] if divisor and _close(1 / divisor, scale, value) else None
    factors, found = _factors(value)
    return factors[0] if len(factors) == 1 and _close(found, scale, value) else None


class Reciprocal(RewritePattern):
    """1 / x of floats; of integers it is a division that truncates."""

    def match_and_rewrite(self, op: object, rewriter: PatternRewriter) -> None:
        if not isinstance(op, _Div) or tensor_type(op.results[0]).element_type not in (bf16, f32):
            return
        if is_splat(op.operands[0], 1) and op.operands[1].type == op.results[0].type:
            replace_with(rewriter, op, _UNARY["reciprocal"], [op.operands[1]])


class KeepDim(RewritePattern):
    """A reshape that puts back the dimensions of size 1 that a reduction took away."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ReshapeOp, rewriter: PatternRewriter) -> None:
        reduction = producer(op.input, shared.Reduction)  # pyright: ignore[reportArgumentType]
        if reduction is None or reduction.value("keep_dim") or only_user(op.input) is not op:
            return
        dims = reduction.value("dim_arg")
        if dims is None or shape(op.result) != ttir.shared.shapes.reduce(shape(reduction.input), dims, True):
            return
        replace_with(rewriter, op, type(reduction), [reduction.input], dim_arg=dims, keep_dim=True)


def _rounded(number: float, like: SSAValue) -> float:
    """A number as a tensor of the type of ``like`` holds it."""
    return float(np.asarray(number).astype(numpy_dtype(tensor_type(like).element_type)))


class Mean(RewritePattern):
    """sum(x) * (1 / n) or sum(x) / n, where n elements are summed."""

    def match_and_rewrite(self, op: object, rewriter: PatternRewriter) -> None:
        if not isinstance(op, _Multiply | _Div):
            return
        pairs = [(op.operands[0], op.operands[1])] if isinstance(op, _Div) else list(both_ways(op))
        for value, other in pairs:
            total, factor = producer(look_through(value, ReshapeOp), SumOp), splat(other)
            if total is None or not factor or value.type != op.results[0].type:
                continue
            count = math.prod(shape(total.input)) // max(1, math.prod(shape(total.result)))
            expected = _rounded(count if isinstance(op, _Div) else 1 / count, other)
            if math.isclose(factor, expected, rel_tol=2**-20):
                dims, keep = total.value("dim_arg"), total.value("keep_dim")
                mean = insert_before(
                    rewriter, op, MeanOp, [total.input], tensor_type(total.result), dim_arg=dims, keep_dim=keep
                )
                replace_with(rewriter, op, ReshapeOp, [mean], shape=shape(op.results[0]))
                return


class Softmax(RewritePattern):
    """exp(x) / sum(exp(x)); with the maximum of x subtracted first it is the numerically stable form of the same."""

    def match_and_rewrite(self, op: object, rewriter: PatternRewriter) -> None:
        if not isinstance(op, _Div):
            return
        exp = producer(op.operands[0], _UNARY["exp"])
        total = producer(_behind_floats(op.operands[1], BroadcastOp, ReshapeOp, TypecastOp), SumOp)
        if exp is None or total is None or _behind_floats(total.input, TypecastOp) is not exp.results[0]:
            return
        dims = total.value("dim_arg")
        if dims is None or len(dims) != 1 or not _kept(op.operands[1], total, dims[0]):
            return
        value, stable = exp.operands[0], False
        shifted = producer(value, _Subtract)
        if shifted is not None:
            greatest = producer(look_through(shifted.operands[1], BroadcastOp, ReshapeOp), MaxOp)
            if greatest is not None and _is_own_maximum(shifted, greatest, dims):
                value, stable = greatest.input, True
        replace_with(rewriter, op, SoftmaxOp, [value], dimension=dims[0], numericStable=stable)


def _is_own_maximum(shifted: Operation, greatest: MaxOp, dims: tuple[int, ...]) -> bool:
    """Whether a subtraction takes a tensor's maximum along ``dims`` from that tensor."""
    same = greatest.input is shifted.operands[0] and greatest.value("dim_arg") == dims
    return same and _kept(shifted.operands[1], greatest, dims[0])


def _behind_floats(value: SSAValue, *kinds: type[Operation]) -> SSAValue:
    """As ``look_through``, but stops at integers: a cast to them drops fractions."""
    while (
        isinstance(value, OpResult) and isinstance(value.op, kinds) and tensor_type(value).element_type in (bf16, f32)
    ):
        value = value.op.operands[0]
    return value


def _kept(value: SSAValue, total: SumOp | MaxOp, dim: int) -> bool:
    """Whether ``value`` spreads the reduction along its own dimension."""
    before = look_through(value, BroadcastOp)
    return shape(before) == ttir.shared.shapes.reduce(shape(total.input), (dim,), True)


class TransposedMatmul(RewritePattern):
    """A swap of the last two dimensions in front of a matrix product is its transpose flag."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: MatmulOp, rewriter: PatternRewriter) -> None:
        flags = [op.value("transpose_a"), op.value("transpose_b")]
        operands = [op.a, op.b]
        for index, operand in enumerate(operands):
            permute = producer(operand, PermuteOp)
            if permute is not None and _swaps_last_two(permute.value("permutation")):
                operands[index] = permute.input
                flags[index] = not flags[index]
        if operands != [op.a, op.b]:
            replace_with(rewriter, op, MatmulOp, operands, transpose_a=flags[0], transpose_b=flags[1])


def _swaps_last_two(permutation: tuple[int, ...]) -> bool:
    rank = len(permutation)
    return rank >= 2 and permutation == (*range(rank - 2), rank - 1, rank - 2)


class MatmulWithBias(RewritePattern):
    """matmul(a, b) + bias, the bias one row."""

    def match_and_rewrite(self, op: object, rewriter: PatternRewriter) -> None:
        if not isinstance(op, _Add):
            return
        for product, other in both_ways(op):
            matmul = producer(product, MatmulOp)
            if matmul is None or only_user(product) is not op or product.type != op.results[0].type:
                continue
            bias, columns = look_through(other, BroadcastOp), shape(product)[-1]
            if len(shape(product)) < 2 or shape(bias)[-1:] != (columns,) or math.prod(shape(bias)) != columns:
                continue
            if tensor_type(bias).element_type != tensor_type(product).element_type:
                continue
            row = insert_before(
                rewriter,
                op,
                ReshapeOp,
                [bias],
                tensor((columns,), tensor_type(bias).element_type),
                shape=(columns,),
            )
            flags = {name: matmul.value(name) for name in ("transpose_a", "transpose_b")}
            replace_with(rewriter, op, LinearOp, [matmul.a, matmul.b, row], **flags)
            return


class ConvWithBias(RewritePattern):
    """conv2d(x) + bias, the bias one value a channel."""

    def match_and_rewrite(self, op: object, rewriter: PatternRewriter) -> None:
        if not isinstance(op, _Add):
            return
        for product, other in both_ways(op):
            conv = producer(product, Conv2dOp)
            if conv is None or conv.bias is not None or only_user(product) is not op:
                continue
            bias, channel = look_through(other, BroadcastOp), conv.value("channel_dim")
            sizes = (1,) * (4 - len(shape(bias))) + shape(bias)
            channels = shape(product)[channel]
            if sizes != tuple(channels if dim == channel else 1 for dim in range(4)):
                continue
            row_type = tensor((1, 1, 1, channels), tensor_type(bias).element_type)
            row = insert_before(rewriter, op, ReshapeOp, [bias], row_type, shape=(1, 1, 1, channels))
            replace_with(rewriter, op, Conv2dOp, [conv.input, conv.weight, row], **conv.values())
            return


def run(module: ModuleOp, *, permute_matmul: bool = True) -> None:
    patterns = [
        Relu(),
        Silu(),
        Gelu(),
        Reciprocal(),
        KeepDim(),
        Mean(),
        Softmax(),
        MatmulWithBias(),
        ConvWithBias(),
    ]
    run_patterns(module, *([TransposedMatmul()] if permute_matmul else []), *patterns)
