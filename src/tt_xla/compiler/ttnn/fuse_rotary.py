"""Rotary embedding: x * cos + rotate_half(x) * sin becomes one op.

TT-NN rotates heads of 32 elements or a multiple of 64, by tables of one batch and head; the result has whole tiles of
rows, of which a slice takes those that are meant (its checks and shapes, tried in mock mode).
"""

from __future__ import annotations

from xdsl.ir import Block, SSAValue
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import InsertPoint

from tt_xla.compiler.rewriting import both_ways, pattern, producer, replace_with
from tt_xla.ir import ttnn
from tt_xla.ir.base import TTOp, only_user, shape, users
from tt_xla.ir.layout import TILE, TensorLayout
from tt_xla.ir.ttnn.attention import RotaryEmbeddingOp
from tt_xla.ir.ttnn.attributes import laid_out, layout_of
from tt_xla.ir.ttnn.structure import ConcatOp, ReshapeOp, SliceStaticOp

_Add, _Multiply, _Neg = ttnn.BINARY_OPS["add"], ttnn.BINARY_OPS["multiply"], ttnn.UNARY_OPS["neg"]


@pattern(_Add)
def rotary_embedding(op: TTOp, rewriter: PatternRewriter) -> None:
    """x * cos + concat(-second half of x, first half of x) * sin, over [B, H, S, D]."""
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
            tables = (*sizes[2:],)
            if shape(x) != sizes or _table(cosine) != tables or _table(sine) != tables:
                continue
            operands = [x, _four_dimensions(rewriter, op, cosine), _four_dimensions(rewriter, op, sine)]
            _rotate(rewriter, op, operands)
            return


def _rotate(rewriter: PatternRewriter, op: TTOp, operands: list[SSAValue]) -> None:
    """Replaces the sum; by a slice of the result where the rows do not fill tiles."""
    sizes = shape(op.results[0])
    padded = (*sizes[:2], -(-sizes[2] // TILE) * TILE, sizes[3])
    if padded == sizes:
        replace_with(rewriter, op, RotaryEmbeddingOp, operands)
        return
    type_ = laid_out(padded, TensorLayout.of(padded, layout_of(op.results[0]).dtype))
    made = RotaryEmbeddingOp.make(operands, [type_], op.location)
    rewriter.insert(made, InsertPoint.before(op))
    replace_with(rewriter, op, SliceStaticOp, [made.results[0]], begins=(0,) * 4, ends=sizes, step=(1,) * 4)


def _rotated_half(value: SSAValue) -> SSAValue | None:
    """x of concat(-x[..., d / 2 :], x[..., : d / 2]) along the last dimension."""
    joined = producer(value, ConcatOp)
    if joined is None or len(joined.operands) != 2 or joined.value("dim") % len(shape(value)) != len(shape(value)) - 1:
        return None
    negation, first = producer(joined.operands[0], _Neg), producer(joined.operands[1], SliceStaticOp)
    second = producer(negation.operands[0], SliceStaticOp) if negation is not None else None
    if first is None or second is None or first.input is not second.input:
        return None
    whole = shape(first.input)
    middle = whole[-1] // 2
    zeros, ones, leading = (0,) * (len(whole) - 1), (1,) * len(whole), whole[:-1]
    low = {"begins": (*zeros, 0), "ends": (*leading, middle), "step": ones}
    high = {"begins": (*zeros, middle), "ends": whole, "step": ones}
    return first.input if first.values() == low and second.values() == high else None


def _table(value: SSAValue) -> tuple[int, ...]:
    """Rows and columns of a table of one batch and head; nothing for another tensor."""
    sizes = shape(value)
    return sizes[-2:] if all(size == 1 for size in sizes[:-2]) else ()


def _four_dimensions(rewriter: PatternRewriter, op: TTOp, value: SSAValue) -> SSAValue:
    """A table as [1, 1, S, D], by a reshape right behind it that all its users share."""
    wanted = (1, 1, *shape(value)[-2:])
    if shape(value) == wanted:
        return value
    for user in users(value):
        if isinstance(user, ReshapeOp) and shape(user.result) == wanted:
            return user.result
    layout = layout_of(value)
    type_ = laid_out(wanted, TensorLayout.of(wanted, layout.dtype, tiled=layout.tiled))
    made = ReshapeOp.make([value], [type_], op.location, shape=wanted)
    owner = value.owner
    after = owner.first_op if isinstance(owner, Block) else owner.next_op
    assert after is not None
    rewriter.insert(made, InsertPoint.before(after))
    return made.results[0]


PATTERNS = (rotary_embedding,)
