"""Fusion of rotary embeddings of neighbouring elements, as in GPT-J and complex numbers, to a product with a matrix.

On the chip, taking out every second element and putting it back turns each tile into rows and back, twice. A product
with a matrix that has one 1 or -1 in each column exchanges the elements of a pair instead, exactly in bfloat16.
Infinities and NaN spread along their row.
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
"""Largest last dimension; the matrix is its square, and heads are narrower."""


class _Half(NamedTuple):
    """The elements of ``source`` at even, or with ``odd`` at odd, positions of its last dimension."""

    source: SSAValue
    odd: bool
    sizes: tuple[int, ...]
    """Shape [..., D] of the source, at least [1, D], whose neighbours are the pairs."""


@pattern(ConcatOp, approximate=True)
def turned_pairs(op: ConcatOp, rewriter: PatternRewriter) -> None:
    """Rewrites pairs (-b, a) of the pairs (a, b) of x [..., D] to x times a matrix."""
    halves = _interleaved(op)
    negation = unary(halves[0], "neg") if halves is not None else None
    if halves is None or negation is None:
        return
    half = _pairs(halves[1], negation.operands[0])
    if half is not None:
        x = reshaped(rewriter, op, half.source, half.sizes)
        rewriter.replace(op, [], [reshaped(rewriter, op, _exchanged(rewriter, op, x), shape(op.result))])


@pattern(ConcatOp, approximate=True)
def rotary_by_pairs(op: ConcatOp, rewriter: PatternRewriter) -> None:
    """Rewrites pairs (a * cos - b * sin, b * cos + a * sin) of the pairs (a, b) of x [..., D].

    They become x * cos + exchanged x * sin, with each element of the tables repeated once.
    """
    halves = _interleaved(op)
    if halves is None:
        return
    difference, total = producer(halves[0], Subtract), producer(halves[1], Add)
    if difference is None or total is None:
        return
    products = [producer(value, Multiply) for term in (difference, total) for value in term.operands]
    straight, turned, *others = products
    if (
        straight is None
        or turned is None
        or any(term is None or only_user(term.results[0]) is None for term in products)
    ):
        return
    added = [set(term.operands) for term in others if term is not None]
    for a, cosine in both_ways(straight):
        for b, sine in both_ways(turned):
            rotated_terms = [{b, cosine}, {a, sine}]
            half = _pairs(a, b) if added in (rotated_terms, rotated_terms[::-1]) else None
            if half is not None:
                _rotate(rewriter, op, half, cosine, sine)
                return


def _rotate(rewriter: PatternRewriter, op: ConcatOp, half: _Half, cosine: SSAValue, sine: SSAValue) -> None:
    """Replaces a concatenation by the rotation of what it has a half of; the tables may have more rows than that."""
    sizes, element = _joined_shape(op), tensor_type(op.result).element_type
    x = reshaped(rewriter, op, half.source, half.sizes)
    factors = [(x, cosine), (_exchanged(rewriter, op, x), sine)]
    terms = [
        insert_before(rewriter, op, Multiply, [value, _doubled(rewriter, op, table)], tensor(sizes, element))
        for value, table in factors
    ]
    total = insert_before(rewriter, op, Add, terms, tensor(sizes, element))
    rewriter.replace(op, [], [reshaped(rewriter, op, total, shape(op.result))])


def _interleaved(op: ConcatOp) -> list[SSAValue] | None:
    """Returns two tensors [..., D / 2] whose elements alternate in a concatenation [..., D / 2, 2], or None."""
    sizes = shape(op.result)
    if len(sizes) < 3 or sizes[-1] != 2 or 2 * sizes[-2] > _WIDEST or not is_float(op.result):
        return None
    if op.dim % len(sizes) != len(sizes) - 1:
        return None
    reshapes = [producer(value, ReshapeOp) for value in op.operands]
    if any(reshape is None or shape(reshape.input) != sizes[:-1] for reshape in reshapes):
        return None
    return [reshape.input for reshape in reshapes if reshape is not None]


def _joined_shape(op: ConcatOp) -> tuple[int, ...]:
    """Returns the shape [..., D] of a concatenation of pairs."""
    *leading, pairs, _ = shape(op.result)
    return (*leading, 2 * pairs)


def _pairs(even: SSAValue, odd: SSAValue) -> _Half | None:
    """Returns the first of two halves of one tensor, or None."""
    first, second = _half(even), _half(odd)
    if first is None or second is None or first.odd or not second.odd or first.source is not second.source:
        return None
    return first


def _half(value: SSAValue) -> _Half | None:
    """Returns the half that a value is: x[..., odd::2], or x[..., odd] of pairs x [..., D / 2, 2]; else None."""
    reshape = producer(value, ReshapeOp)
    part = producer(value if reshape is None else reshape.input, SliceStaticOp)
    if part is None:
        return None
    full, values = shape(part.input), part.values()
    *before, first = values["begins"]
    if any(before) or [*values["ends"][:-1]] != [*full[:-1]] or any(step != 1 for step in values["step"][:-1]):
        return None
    if reshape is None:
        is_half = first in (0, 1) and values["step"][-1] == 2 and values["ends"][-1] > full[-1] - 2 + first
        return _Half(part.input, bool(first), _rows(full)) if is_half and full[-1] % 2 == 0 else None
    if full[-1] != 2 or shape(part.result)[-1] != 1 or shape(value) != full[:-1] or len(full) < 2:
        return None
    return _Half(part.input, bool(first), _rows((*full[:-2], 2 * full[-2])))


def _rows(sizes: tuple[int, ...]) -> tuple[int, ...]:
    """Returns a shape of at least two dimensions, as products need."""
    return (1, *sizes) if len(sizes) == 1 else sizes


def _exchanged(rewriter: PatternRewriter, op: TTOp, x: SSAValue) -> SSAValue:
    """Returns pairs (-b, a) of the pairs (a, b) of x [..., D]."""
    width, element = shape(x)[-1], tensor_type(x).element_type
    matrix = np.zeros((width, width), np.float32)
    places = np.arange(0, width, 2)
    matrix[places + 1, places], matrix[places, places + 1] = -1, 1
    type_ = tensor((width, width), element)
    constant = insert_before(rewriter, op, ConstantOp, [], type_, value=elements(matrix, type_))
    flags = {"transpose_a": False, "transpose_b": False}
    return insert_before(rewriter, op, MatmulOp, [x, constant], tensor_type(x), **flags)


def _doubled(rewriter: PatternRewriter, op: TTOp, table: SSAValue) -> SSAValue:
    """Returns a table [..., D / 2] with each element repeated once, or the table where it has one element for all."""
    *leading, width = shape(table)
    if width == 1:
        return table
    element = tensor_type(table).element_type
    part = reshaped(rewriter, op, table, (*leading, width, 1))
    type_ = tensor((*leading, width, 2), element)
    pairs = insert_before(rewriter, op, ConcatOp, [[part, part]], type_, dim=len(leading) + 1)
    return reshaped(rewriter, op, pairs, (*leading, 2 * width))


PATTERNS = (turned_pairs, rotary_by_pairs)
