"""Fusion of rotary embeddings, x * cos + rotate_half(x) * sin, also written half by half, to one op.

TT-NN rotates heads of 32 elements or of a multiple of 64, by tables of one batch and head, as its checks in mock mode
show. A table of one row is repeated for all rows, once for all layers. The result has whole tiles of rows; a slice
removes the rows of padding.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import Block, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import InsertPoint

from tt_xla.compiler.rewriting import both_ways, pattern, producer, replace_with
from tt_xla.ir import ttnn
from tt_xla.ir.base import TTOp, only_user, shape, users
from tt_xla.ir.layout import TILE, TensorLayout
from tt_xla.ir.ttnn.attention import RotaryEmbeddingOp
from tt_xla.ir.ttnn.attributes import laid_out, layout_of
from tt_xla.ir.ttnn.structure import ConcatOp, RepeatOp, ReshapeOp, SliceStaticOp

_Add, _Subtract, _Multiply = (ttnn.BINARY_OPS[name] for name in ("add", "subtract", "multiply"))
_Neg = ttnn.UNARY_OPS["neg"]


@pattern(_Add, approximate=True)
def rotary_embedding(op: TTOp, rewriter: PatternRewriter) -> None:
    """Fuses x * cos + concat(-second half of x, first half of x) * sin over [B, H, S, D]."""
    sizes = shape(op.results[0])
    if len(sizes) != 4 or not (sizes[3] == TILE or sizes[3] % (2 * TILE) == 0):
        return
    if not layout_of(op.results[0]).dtype.is_float:
        return
    for plain, rotated in both_ways(op):
        straight, turned = producer(plain, _Multiply), producer(rotated, _Multiply)
        if straight is None or turned is None or only_user(plain) is not op or only_user(rotated) is not op:
            continue
        for half, sine in both_ways(turned):
            x = _rotated_half(half)
            if x is None or x not in straight.operands:
                continue
            cosine = straight.operands[1 if straight.operands[0] is x else 0]
            if shape(x) != sizes or not all(_is_table(table, sizes[2], sizes[3]) for table in (cosine, sine)):
                continue
            _rotate(rewriter, op, [x, cosine, sine])
            return


@pattern(ConcatOp, approximate=True)
def rotary_by_halves(op: ConcatOp, rewriter: PatternRewriter) -> None:
    """Fuses concat(a * cos - b * sin, b * cos + a * sin) over [B, H, S, D].

    a and b are the halves of x, and the tables have shape [S, D / 2].
    """
    sizes = shape(op.result)
    if len(op.operands) != 2 or len(sizes) != 4 or op.dim % 4 != 3:
        return
    if not (sizes[3] == TILE or sizes[3] % (2 * TILE) == 0) or not layout_of(op.result).dtype.is_float:
        return
    difference, total = producer(op.operands[0], _Subtract), producer(op.operands[1], _Add)
    if difference is None or total is None:
        return
    products = [producer(value, _Multiply) for factor in (difference, total) for value in factor.operands]
    if any(factor is None or only_user(factor.results[0]) not in (difference, total) for factor in products):
        return
    turned, others = products[:2], products[2:]
    assert turned[0] is not None
    assert turned[1] is not None
    for low, cosine in both_ways(turned[0]):
        for high, sine in both_ways(turned[1]):
            x, rotated_terms = _halved(low, high), [{high, cosine}, {low, sine}]
            other_operands = [set(factor.operands) for factor in others if factor is not None]
            if x is None or shape(x) != sizes or other_operands not in (rotated_terms, rotated_terms[::-1]):
                continue
            if not all(_is_table(table, sizes[2], sizes[3] // 2) for table in (cosine, sine)):
                continue
            tables = [_twice(rewriter, op, _four_dimensions(rewriter, op, table)) for table in (cosine, sine)]
            _rotate(rewriter, op, [x, *tables])
            return


def _twice(rewriter: PatternRewriter, op: TTOp, table: SSAValue) -> SSAValue:
    """Returns a table concatenated with itself, by an op right behind the table that all its users share."""
    for user in _earlier_users(table, op):
        if isinstance(user, ConcatOp) and [*user.operands] == [table, table] and user.dim % 4 == 3:
            return user.result
    sizes = (*shape(table)[:-1], 2 * shape(table)[-1])
    type_ = laid_out(sizes, TensorLayout.of(sizes, layout_of(table).dtype))
    doubled = ConcatOp.make([[table, table]], [type_], op.location, dim=3)
    _insert_behind(rewriter, table, doubled)
    return doubled.results[0]


def _rotate(rewriter: PatternRewriter, op: TTOp, operands: list[SSAValue]) -> None:
    """Replaces ``op`` by the rotary embedding of x by two tables, sliced where the rows do not fill whole tiles."""
    sizes = shape(op.results[0])
    x, *tables = operands
    operands = [x, *(_all_rows(rewriter, op, _four_dimensions(rewriter, op, table), sizes[2]) for table in tables)]
    padded = (*sizes[:2], -(-sizes[2] // TILE) * TILE, sizes[3])
    if padded == sizes:
        replace_with(rewriter, op, RotaryEmbeddingOp, operands)
        return
    type_ = laid_out(padded, TensorLayout.of(padded, layout_of(op.results[0]).dtype))
    rotated = RotaryEmbeddingOp.make(operands, [type_], op.location)
    rewriter.insert(rotated, InsertPoint.before(op))
    replace_with(rewriter, op, SliceStaticOp, [rotated.results[0]], begins=(0,) * 4, ends=sizes, step=(1,) * 4)


def _rotated_half(value: SSAValue) -> SSAValue | None:
    """Returns x when a value is concat(-x[..., d / 2 :], x[..., : d / 2]) along the last dimension, else None."""
    joined = producer(value, ConcatOp)
    if joined is None or len(joined.operands) != 2 or joined.dim % len(shape(value)) != len(shape(value)) - 1:
        return None
    negation, first = producer(joined.operands[0], _Neg), producer(joined.operands[1], SliceStaticOp)
    second = producer(negation.operands[0], SliceStaticOp) if negation is not None else None
    return _halved(first.result, second.result) if first is not None and second is not None else None


def _halved(low: SSAValue, high: SSAValue) -> SSAValue | None:
    """Returns x when two values are x[..., : d / 2] and x[..., d / 2 :], else None."""
    first, second = producer(low, SliceStaticOp), producer(high, SliceStaticOp)
    if first is None or second is None or first.input is not second.input:
        return None
    full = shape(first.input)
    middle = full[-1] // 2
    zeros, ones, leading = (0,) * (len(full) - 1), (1,) * len(full), full[:-1]
    lower = {"begins": (*zeros, 0), "ends": (*leading, middle), "step": ones}
    upper = {"begins": (*zeros, middle), "ends": full, "step": ones}
    return first.input if first.values() == lower and second.values() == upper else None


def _is_table(value: SSAValue, rows: int, columns: int) -> bool:
    """Returns whether a value is a table of one batch and head, with one row for all positions or one for each."""
    *leading, height, width = (1, 1, *shape(value))
    return all(size == 1 for size in leading) and height in (1, rows) and width == columns


def _all_rows(rewriter: PatternRewriter, op: TTOp, table: SSAValue, rows: int) -> SSAValue:
    """Returns a table [1, 1, S, D] with a row for each position, by an op behind the table that all its users share."""
    *_, height, width = shape(table)
    if height == rows:
        return table
    factors = (1, 1, rows, 1)
    for user in _earlier_users(table, op):
        if isinstance(user, RepeatOp) and user.repeat_dims == factors:
            return user.result
    sizes = (1, 1, rows, width)
    type_ = laid_out(sizes, TensorLayout.of(sizes, layout_of(table).dtype))
    repeated = RepeatOp.make([table], [type_], op.location, repeat_dims=factors)
    _insert_behind(rewriter, table, repeated)
    return repeated.results[0]


def _four_dimensions(rewriter: PatternRewriter, op: TTOp, value: SSAValue) -> SSAValue:
    """Returns a table as [1, 1, S, D], by a reshape right behind it that all its users share."""
    sizes = (1, 1, 1, *shape(value))[-4:]
    if shape(value) == sizes:
        return value
    for user in _earlier_users(value, op):
        if isinstance(user, ReshapeOp) and shape(user.result) == sizes:
            return user.result
    layout = layout_of(value)
    type_ = laid_out(sizes, TensorLayout.of(sizes, layout.dtype, tiled=layout.tiled))
    reshaped = ReshapeOp.make([value], [type_], op.location, shape=sizes)
    _insert_behind(rewriter, value, reshaped)
    return reshaped.results[0]


def _earlier_users(value: SSAValue, op: TTOp) -> Iterator[Operation]:
    """Yields the users of a value that stand before ``op`` in its block, so that ``op`` may use their results."""
    return (user for user in users(value) if user.parent is op.parent and user.is_before_in_block(op))


def _insert_behind(rewriter: PatternRewriter, value: SSAValue, op: TTOp) -> None:
    """Inserts an op right behind the op that produces ``value``."""
    owner = value.owner
    after = owner.first_op if isinstance(owner, Block) else owner.next_op
    assert after is not None
    rewriter.insert(op, InsertPoint.before(after))


PATTERNS = (rotary_embedding, rotary_by_halves)
