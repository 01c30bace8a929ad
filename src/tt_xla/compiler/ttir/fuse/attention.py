"""Scaled dot product attention: scores, scale, mask, softmax and the weighted sum of values become one op.

TT-NN's op takes bfloat16 (not float32) with heads of a multiple of 32 elements, and a mask with a row for each query
(its checks, tried in mock mode), so that nothing else is fused.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from xdsl.dialects.builtin import bf16
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import InsertPoint

from tt_xla.compiler.rewriting import both_ways, insert_before, pattern, producer
from tt_xla.compiler.ttir.fuse.linear import swaps_last_two
from tt_xla.compiler.ttir.match import (
    BINARY,
    Add,
    Div,
    Multiply,
    behind,
    cast,
    is_float,
    reshaped,
    splat_of,
    uncast,
    unshaped,
)
from tt_xla.ir import shapes
from tt_xla.ir.base import only_user, shape, tensor, tensor_type
from tt_xla.ir.layout import TILE
from tt_xla.ir.ttir.attention import ScaledDotProductAttentionOp
from tt_xla.ir.ttir.contraction import MatmulOp
from tt_xla.ir.ttir.creation import ArangeOp, splat
from tt_xla.ir.ttir.reduction import SoftmaxOp
from tt_xla.ir.ttir.structure import BroadcastOp, PermuteOp, ReshapeOp, TypecastOp, WhereOp

_HIDDEN = -1e4
"""What a mask puts in the place of a score is at most this; a real score never is."""


class _Mask(NamedTuple):
    """A tensor that is added to scores, or a predicate of those that stay."""

    value: SSAValue
    is_predicate: bool
    hidden: float


class _Scores(NamedTuple):
    product: MatmulOp
    scale: float
    mask: _Mask | None


@pattern(MatmulOp)
def attention(op: MatmulOp, rewriter: PatternRewriter) -> None:
    """softmax(query @ key.T * scale + mask) @ value, also as its transpose, with heads in one dimension or two."""
    if tensor_type(op.result).element_type != bf16:
        return
    found = _weights(op)
    if found is None:
        return
    softmax, is_transposed = found
    sizes = shape(softmax.result)
    scores = _scores(softmax.input)
    if scores is None or softmax.value("dimension") != len(sizes) - 1 or not 3 <= len(sizes) <= 4:
        return
    whole = sizes if len(sizes) == 4 else (1, *sizes)  # batch, heads, queries, keys
    product = scores.product
    width = shape(product.a)[-2 if product.value("transpose_a") else -1]
    if width % TILE or math.prod(shape(op.result)) != math.prod(whole[:3]) * width:
        return
    if any(tensor_type(uncast(value)).element_type != bf16 for value in (product.a, product.b, *op.operands)):
        return
    if scores.mask is not None and not _mask_fits(scores.mask, whole):
        return
    queries, keys = (*whole[:3], width), (*whole[:2], whole[3], width)
    query = _oriented(rewriter, op, uncast(product.a), product.value("transpose_a"), queries)
    key = _oriented(rewriter, op, uncast(product.b), not product.value("transpose_b"), keys)
    turned = op.value("transpose_a") if is_transposed else op.value("transpose_b")
    value = _oriented(rewriter, op, uncast(op.a if is_transposed else op.b), turned != is_transposed, keys)
    scale, scaled = scores.scale, _by_constant(query)
    if scaled is not None and scaled[0].type == query.type:
        query, scale = scaled[0], scale * scaled[1]
    key, value = _shared_heads(rewriter, op, key), _shared_heads(rewriter, op, value)
    causal = scores.mask is not None and _is_causal(scores.mask, whole)
    mask = None if causal or scores.mask is None else _additive(rewriter, op, scores.mask, whole)
    made = insert_before(
        rewriter,
        op,
        ScaledDotProductAttentionOp,
        [query, key, value, mask, None],
        tensor(queries, bf16),
        is_causal=causal,
        scale=scale,
    )
    if is_transposed:
        made = _oriented(rewriter, op, made, True, (*queries[:2], width, queries[2]))
    rewriter.replace(op, [], [reshaped(rewriter, op, made, shape(op.result))])


def _weights(op: MatmulOp) -> tuple[SoftmaxOp, bool] | None:
    """The softmax that weighs values, and whether the product is value.T @ weights.T."""
    for operand, is_transposed in ((op.a, False), (op.b, True)):
        flag = op.value("transpose_b") if is_transposed else op.value("transpose_a")
        source = behind(operand, TypecastOp, ReshapeOp)
        permute = producer(source, PermuteOp)
        if permute is not None and swaps_last_two(permute.value("permutation")):
            source, flag = behind(permute.input, TypecastOp, ReshapeOp), not flag
        softmax = producer(source, SoftmaxOp)
        if softmax is None or flag != is_transposed or only_user(softmax.result) is None:
            continue
        ends = shape(operand)[-2:] if permute is None else shape(operand)[:-3:-1]
        if ends == shape(softmax.result)[-2:]:
            return softmax, is_transposed
    return None


def _scores(value: SSAValue) -> _Scores | None:
    scale, mask = 1.0, None
    while True:
        value = behind(value, TypecastOp, ReshapeOp)
        product = producer(value, MatmulOp)
        if product is not None:
            return _Scores(product, scale, mask)
        scaled = _by_constant(value)
        if scaled is not None:
            value, scale = scaled[0], scale * scaled[1]
            continue
        masked = _masked(value) if mask is None and scale == 1 else None
        if masked is None:
            return None
        value, mask = masked


def _by_constant(value: SSAValue) -> tuple[SSAValue, float] | None:
    multiply, division = producer(value, Multiply), producer(value, Div)
    for one, other in both_ways(multiply) if multiply is not None else ():
        number = splat(other)
        if number is not None:
            return one, float(number)
    number = splat(division.operands[1]) if division is not None else None
    return (division.operands[0], 1 / float(number)) if division is not None and number else None


def _masked(value: SSAValue) -> tuple[SSAValue, _Mask] | None:
    add, where = producer(value, Add), producer(value, WhereOp)
    for one, other in both_ways(add) if add is not None else ():
        if shape(one) == shape(value) and _leads_to_product(one):
            return one, _Mask(uncast(other), False, 0.0)
    hidden = splat(where.third) if where is not None else None
    if where is not None and hidden is not None and hidden <= _HIDDEN and shape(where.second) == shape(value):
        return where.second, _Mask(where.first, True, float(hidden))
    return None


def _leads_to_product(value: SSAValue) -> bool:
    value = unshaped(value)
    scaled = _by_constant(value)
    return producer(unshaped(scaled[0]) if scaled is not None else value, MatmulOp) is not None


def _mask_fits(mask: _Mask, whole: shapes.Shape) -> bool:
    sizes = (1,) * (4 - len(shape(mask.value))) + shape(mask.value)
    if not mask.is_predicate and not is_float(mask.value):
        return False
    return len(sizes) == 4 and all(size in (1, limit) for size, limit in zip(sizes, whole, strict=True))


def _is_causal(mask: _Mask, whole: shapes.Shape) -> bool:
    """Whether a predicate lets each position see itself and those before, by comparing two ranges."""
    if not mask.is_predicate or whole[2] != whole[3]:
        return False
    value = behind(mask.value, TypecastOp, ReshapeOp, BroadcastOp)
    later, earlier = producer(value, BINARY["ge"]), producer(value, BINARY["le"])
    test = later or earlier
    if test is None or shape(value)[-2:] != whole[2:] or math.prod(shape(value)) != whole[2] * whole[3]:
        return False
    rows, columns = test.operands if later is not None else (test.operands[1], test.operands[0])
    return _is_range(rows, -2) and _is_range(columns, -1)


def _is_range(value: SSAValue, dim: int) -> bool:
    """Whether a value counts 0, 1, ... along one of the last two dimensions and is the same along the others."""
    value = behind(value, BroadcastOp)
    sizes = (1, 1, *shape(value))
    made = producer(value if len(shape(value)) == 1 else unshaped(value), ArangeOp)
    if made is None or (made.value("start"), made.value("step")) != (0, 1):
        return False
    return sizes[dim] == math.prod(shape(value)) == shape(made.result)[-1] and len(shape(made.result)) == 1


def _additive(rewriter: PatternRewriter, op: Operation, mask: _Mask, whole: shapes.Shape) -> SSAValue:
    """The mask in bfloat16 as something to add, with four dimensions and a row for each query."""
    value = mask.value
    if mask.is_predicate:
        zero, hidden = (splat_of(number, tensor((1,), bf16), op.location) for number in (0.0, mask.hidden))
        insert = [rewriter.insert(made, InsertPoint.before(op)).results[0] for made in (zero, hidden)]
        value = insert_before(rewriter, op, WhereOp, [value, *insert], tensor(shape(value), bf16))
    value = cast(rewriter, op, value, op.results[0])
    value = reshaped(rewriter, op, value, (1,) * (4 - len(shape(value))) + shape(value))
    rows = whole[2] // shape(value)[2]
    columns = whole[3] // shape(value)[3]
    if rows == columns == 1:
        return value
    sizes = (*shape(value)[:2], *whole[2:])
    return insert_before(
        rewriter, op, BroadcastOp, [value], tensor(sizes, bf16), broadcast_dimensions=(1, 1, rows, columns)
    )


def _oriented(rewriter: PatternRewriter, op: Operation, value: SSAValue, swap: bool, sizes: shapes.Shape) -> SSAValue:
    """``value`` with the last two dimensions swapped if need be, in the shape ``sizes``."""
    if swap:
        value = _swapped(rewriter, op, value)
    return reshaped(rewriter, op, value, sizes)


def _swapped(rewriter: PatternRewriter, op: Operation, value: SSAValue) -> SSAValue:
    """The last two dimensions swapped; before the reshapes that leave them as they are, where a permute may wait."""
    reshape, sizes = producer(value, ReshapeOp), shape(value)
    turned = (*sizes[:-2], sizes[-1], sizes[-2])
    if reshape is not None and shape(reshape.input)[-2:] == sizes[-2:]:
        return reshaped(rewriter, op, _swapped(rewriter, op, reshape.input), turned)
    rank = len(sizes)
    order: tuple[int, ...] = (*range(rank - 2), rank - 1, rank - 2)
    permute = producer(value, PermuteOp)
    if permute is not None:
        inner = permute.value("permutation")
        value, order = permute.input, tuple(inner[dim] for dim in order)
    if order == tuple(range(rank)):
        return value
    return insert_before(
        rewriter, op, PermuteOp, [value], tensor(turned, tensor_type(value).element_type), permutation=order
    )


def _shared_heads(rewriter: PatternRewriter, op: Operation, value: SSAValue) -> SSAValue:
    """Keys or values before each head is repeated for a group of query heads."""
    batch, heads, rows, width = shape(value)
    permute = producer(value, PermuteOp)
    dim = 1 if permute is None else 2
    if permute is not None and permute.value("permutation") != (0, 2, 1, 3):
        return value
    spread = producer(behind(value if permute is None else permute.input, ReshapeOp), BroadcastOp)
    if spread is None or len(shape(spread.result)) != 5:
        return value
    factors, narrow = spread.value("broadcast_dimensions"), shape(spread.input)
    expected = tuple(heads // max(narrow[dim], 1) if position == dim + 1 else 1 for position in range(5))
    sizes = (*narrow[: dim + 1], *narrow[dim + 2 :])
    wanted = (batch, narrow[dim], rows, width)
    if (
        factors != expected
        or narrow[dim + 1] != 1
        or sizes != (wanted if dim == 1 else (batch, rows, narrow[2], width))
    ):
        return value
    source = reshaped(rewriter, op, spread.input, sizes)
    if permute is None:
        return source
    return insert_before(rewriter, op, PermuteOp, [source], tensor(wanted, bf16), permutation=(0, 2, 1, 3))


PATTERNS = (attention,)
