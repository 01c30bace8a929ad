"""Fusion of transposed operands, biases and permuted rows into matrix products."""

from __future__ import annotations

import math

from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter

from tt_xla.compiler.analysis.constness import is_constant
from tt_xla.compiler.rewriting import both_ways, insert_before, look_through, pattern, producer, replace_with
from tt_xla.compiler.ttir.match import UNARY, Add, Subtract, reshaped
from tt_xla.ir.base import only_user, shape, tensor, tensor_type
from tt_xla.ir.ttir.contraction import LinearOp, MatmulOp
from tt_xla.ir.ttir.structure import BroadcastOp, PermuteOp, ReshapeOp


@pattern(MatmulOp, LinearOp)
def transposed_matmul(op: MatmulOp | LinearOp, rewriter: PatternRewriter) -> None:
    """Rewrites a swap of an operand's last two dimensions to the product's transpose flag."""
    flags = [op.transpose_a, op.transpose_b]
    operands = list(op.operands)
    for index in range(2):
        permute = producer(operands[index], PermuteOp)
        if permute is not None and swaps_last_two(permute.permutation):
            operands[index] = permute.input
            flags[index] = not flags[index]
    if operands != list(op.operands):
        replace_with(rewriter, op, type(op), operands, transpose_a=flags[0], transpose_b=flags[1])


def swaps_last_two(permutation: tuple[int, ...]) -> bool:
    """Returns whether a permutation only swaps the last two dimensions."""
    rank = len(permutation)
    return rank >= 2 and permutation == (*range(rank - 2), rank - 1, rank - 2)


@pattern(Add, Subtract, approximate=True)
def matmul_with_bias(op: Operation, rewriter: PatternRewriter) -> None:
    """Fuses matmul(a, b) + bias and - bias to linear, where the bias is one row.

    The product may be reshaped, as long as it keeps its columns.
    """
    for product, other in both_ways(op) if isinstance(op, Add) else [(op.operands[0], op.operands[1])]:
        source = look_through(product, ReshapeOp)
        matmul = producer(source, MatmulOp)
        if matmul is None or only_user(product) is not op or product.type != op.results[0].type:
            continue
        if not shape(product):
            continue
        if source is not product and (only_user(source) is None or shape(source)[-1] != shape(product)[-1]):
            continue
        bias, columns = look_through(other, BroadcastOp), shape(product)[-1]
        if len(shape(source)) < 2 or shape(bias)[-1:] != (columns,) or math.prod(shape(bias)) != columns:
            continue
        if tensor_type(bias).element_type != tensor_type(product).element_type:
            continue
        if isinstance(op, Subtract):
            bias = insert_before(rewriter, op, UNARY["neg"], [bias], tensor_type(bias))
        row = bias if len(shape(bias)) <= len(shape(source)) else reshaped(rewriter, op, bias, (columns,))
        flags = {name: matmul.value(name) for name in ("transpose_a", "transpose_b")}
        linear = insert_before(rewriter, op, LinearOp, [matmul.a, matmul.b, row], tensor_type(source), **flags)
        rewriter.replace(op, [], [reshaped(rewriter, op, linear, shape(product))])
        return


@pattern(MatmulOp, LinearOp, approximate=True)
def flattened_permute(op: MatmulOp | LinearOp, rewriter: PatternRewriter) -> None:
    """Removes a permute of rows that are flattened before a product with parameters.

    Images whose channels come first again are an example. The rows of the parameters are permuted instead, once.
    """
    reshape = producer(op.a, ReshapeOp)
    permute = producer(reshape.input, PermuteOp) if reshape is not None else None
    if reshape is None or permute is None or op.transpose_a:
        return
    if only_user(op.a) is not op or only_user(permute.result) is not reshape or not is_constant(op.b):
        return
    (rows, *sizes), permutation, weights = shape(permute.result), permute.permutation, shape(op.b)
    width = math.prod(sizes)
    if permutation[0] != 0 or shape(op.a) != (rows, width) or len(weights) != 2:
        return
    back = [permutation.index(dim) for dim in range(1, len(permutation))]
    if op.transpose_b:
        apart, order = (weights[0], *sizes), (0, *back)
    else:
        apart, order = (*sizes, weights[1]), (*(dim - 1 for dim in back), len(sizes))
    weight = reshaped(rewriter, op, op.b, apart)
    type_ = tensor(tuple(apart[dim] for dim in order), tensor_type(op.b).element_type)
    weight = insert_before(rewriter, op, PermuteOp, [weight], type_, permutation=order)
    operands = [reshaped(rewriter, op, permute.input, (rows, width)), reshaped(rewriter, op, weight, weights)]
    flags = {name: op.value(name) for name in ("transpose_a", "transpose_b")}
    replace_with(rewriter, op, type(op), [*operands, *op.operands[2:]], **flags)


PATTERNS = (matmul_with_bias, flattened_permute)
TRANSPOSES = (transposed_matmul,)
"""Patterns that an option enables."""
