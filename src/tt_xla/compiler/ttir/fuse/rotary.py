"""Rotary embedding of neighbouring elements, as GPT-J and complex numbers have it: a matrix exchanges those of a pair.

Every second element is as far from its neighbour on the chip as an element of another tensor: to take these out and to
put them back turns each tile into rows and back, twice. A product with a matrix of zeros, ones and minus ones, one of
these a column, gives the same numbers in the same places, exactly in bfloat16. Infinities and NaN spread in their row.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from tt_xla.compiler.analysis.constants import elements
from tt_xla.compiler.rewriting import both_ways, insert_before, pattern, producer
from tt_xla.compiler.ttir.match import Add, Multiply, Subtract, is_float, reshaped, unary
from tt_xla.ir.base import TTOp, only_user, shape, tensor, tensor_type
from tt_xla.ir.ttir.contraction import MatmulOp
from tt_xla.ir.ttir.creation import ConstantOp
from tt_xla.ir.ttir.structure import ConcatOp, ReshapeOp, SliceStaticOp

_WIDEST = 512
"""Of the last dimension, whose square the matrix is: heads are narrower."""


class _Half(NamedTuple):
    """The elements of ``source`` at even places of its last dimension, or at odd ones."""

    source: SSAValue
    odd: bool


@pattern(ConcatOp, approximate=True)
def turned_pairs(op: ConcatOp, rewriter: PatternRewriter) -> None:
    """Pairs (-b, a) of the pairs (a, b) of x [..., D]: x times a matrix."""
    parts = _interleaved(op)
    negation = unary(parts[0], "neg") if parts is not None else None
    if parts is None or negation is None:
        return
    found = _pairs(parts[1], negation.operands[0])
    if found is not None:
        x = reshaped(rewriter, op, found, _joined_shape(op))
        rewriter.replace(op, [], [reshaped(rewriter, op, _exchanged(rewriter, op, x), shape(op.result))])


@pattern(ConcatOp, approximate=True)
def rotary_by_pairs(op: ConcatOp, rewriter: PatternRewriter) -> None:
    """Pairs (a * cos - b * sin, b * cos + a * sin) of the pairs (a, b) of x [..., D]: x * cos + turned x * sin, each
    element of the tables twice."""
    parts = _interleaved(op)
    if parts is None:
        return
    difference, total = producer(parts[0], Subtract), producer(parts[1], Add)
    if difference is None or total is None:
        return
    products = [producer(value, Multiply) for made in (difference, total) for value in made.operands]
    straight, turned, *others = products
    if (
        straight is None
        or turned is None
        or any(made is None or only_user(made.results[0]) is None for made in products)
    ):
        return
    added = [set(made.operands) for made in others if made is not None]
    for a, cosine in both_ways(straight):
        for b, sine in both_ways(turned):
            wanted = [{b, cosine}, {a, sine}]
            found = _pairs(a, b) if added in (wanted, wanted[::-1]) else None
            if found is not None:
                _rotate(rewriter, op, found, cosine, sine)
                return


def _rotate(rewriter: PatternRewriter, op: ConcatOp, found: SSAValue, cosine: SSAValue, sine: SSAValue) -> None:
    sizes, element = _joined_shape(op), tensor_type(op.result).element_type
    x = reshaped(rewriter, op, found, sizes)
    factors = [(x, cosine), (_exchanged(rewriter, op, x), sine)]
    terms = [
        insert_before(rewriter, op, Multiply, [value, _doubled(rewriter, op, table)], tensor(sizes, element))
        for value, table in factors
    ]
    total = insert_before(rewriter, op, Add, terms, tensor(sizes, element))
    rewriter.replace(op, [], [reshaped(rewriter, op, total, shape(op.result))])


def _interleaved(op: ConcatOp) -> list[SSAValue] | None:
    """The two tensors [..., D / 2] whose elements alternate in a concatenation [..., D / 2, 2]."""
    sizes = shape(op.result)
    if len(sizes) < 3 or sizes[-1] != 2 or 2 * sizes[-2] > _WIDEST or not is_float(op.result):
        return None
    if op.dim % len(sizes) != len(sizes) - 1:
        return None
    parts = [producer(value, ReshapeOp) for value in op.operands]
    if any(made is None or shape(made.input) != sizes[:-1] for made in parts):
        return None
    return [made.input for made in parts if made is not None]


def _joined_shape(op: ConcatOp) -> tuple[int, ...]:
    *leading, pairs, _ = shape(op.result)
    return (*leading, 2 * pairs)


def _pairs(even: SSAValue, odd: SSAValue) -> SSAValue | None:
    """What two halves were taken from."""
    first, second = _half(even), _half(odd)
    if first is None or second is None or first.odd or not second.odd or first.source is not second.source:
        return None
    return first.source


def _half(value: SSAValue) -> _Half | None:
    """x[..., odd::2], or x[..., odd] of pairs x [..., D / 2, 2]."""
    reshape = producer(value, ReshapeOp)
    part = producer(value if reshape is None else reshape.input, SliceStaticOp)
    if part is None:
        return None
    whole, values = shape(part.input), part.values()
    *before, first = values["begins"]
    if any(before) or [*values["ends"][:-1]] != [*whole[:-1]] or any(step != 1 for step in values["step"][:-1]):
        return None
    if reshape is None:
        found = first in (0, 1) and values["step"][-1] == 2 and values["ends"][-1] > whole[-1] - 2 + first
        return _Half(part.input, bool(first)) if found and whole[-1] % 2 == 0 else None
    if whole[-1] != 2 or shape(part.result)[-1] != 1 or shape(value) != whole[:-1]:
        return None
    return _Half(part.input, bool(first))


def _exchanged(rewriter: PatternRewriter, op: TTOp, x: SSAValue) -> SSAValue:
    """Pairs (-b, a) of the pairs (a, b) of x [..., D]."""
    width, element = shape(x)[-1], tensor_type(x).element_type
    matrix = np.zeros((width, width), np.float32)
    places = np.arange(0, width, 2)
    matrix[places + 1, places], matrix[places, places + 1] = -1, 1
    type_ = tensor((width, width), element)
    constant = insert_before(rewriter, op, ConstantOp, [], type_, value=elements(matrix, type_))
    flags = {"transpose_a": False, "transpose_b": False}
    return insert_before(rewriter, op, MatmulOp, [x, constant], tensor_type(x), **flags)


def _doubled(rewriter: PatternRewriter, op: TTOp, table: SSAValue) -> SSAValue:
    """A table [..., D / 2] with each element twice, or as it is where it has one for all."""
    *leading, width = shape(table)
    if width == 1:
        return table
    element = tensor_type(table).element_type
    part = reshaped(rewriter, op, table, (*leading, width, 1))
    type_ = tensor((*leading, width, 2), element)
    pairs = insert_before(rewriter, op, ConcatOp, [[part, part]], type_, dim=len(leading) + 1)
    return reshaped(rewriter, op, pairs, (*leading, 2 * width))


PATTERNS = (turned_pairs, rotary_by_pairs)
