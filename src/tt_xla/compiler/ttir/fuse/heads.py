"""Heads: projections of one input become one, split into heads by one op, and heads are joined by one op.

TT-NN wants heads of a multiple of 32 elements for both (its checks, tried in mock mode); rows may be any number.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from xdsl.ir import Block, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import InsertPoint

from tt_xla.compiler.analysis.constness import is_constant
from tt_xla.compiler.rewriting import insert_before, pattern, producer, replace_with
from tt_xla.compiler.ttir.match import reshaped
from tt_xla.ir.base import only_user, shape, tensor, tensor_type
from tt_xla.ir.layout import TILE
from tt_xla.ir.ttir.attention import ConcatenateHeadsOp, SplitQueryKeyValueAndSplitHeadsOp
from tt_xla.ir.ttir.contraction import LinearOp, MatmulOp
from tt_xla.ir.ttir.structure import ConcatOp, PermuteOp, ReshapeOp

_HEADS_FIRST, _HEADS_LAST_KEY = (0, 2, 1, 3), (0, 2, 3, 1)


@pattern(ReshapeOp)
def concatenate_heads(op: ReshapeOp, rewriter: PatternRewriter) -> None:
    """A reshape of permute([B, H, S, D], (0, 2, 1, 3)) that keeps the rows, S or B * S, and joins H and D."""
    permute = producer(op.input, PermuteOp)
    if permute is None or only_user(op.input) is not op or permute.permutation != _HEADS_FIRST:
        return
    batch, heads, rows, width = shape(permute.input)
    result = shape(op.result)
    if width % TILE or heads == 1 or result[-1:] != (heads * width,):
        return
    type_ = tensor((batch, rows, heads * width), tensor_type(op.result).element_type)
    joined = insert_before(rewriter, op, ConcatenateHeadsOp, [permute.input], type_)
    rewriter.replace(op, [], [reshaped(rewriter, op, joined, result)])


class _Projection(NamedTuple):
    """permute(reshape(x @ w + b)), which is [B, H, S, D], or [B, H, D, S] where the permutation swaps them."""

    product: MatmulOp | LinearOp
    permute: PermuteOp
    sizes: tuple[int, int, int, int]
    """B, H, S, D"""


@pattern(MatmulOp, LinearOp)
def split_heads(op: MatmulOp | LinearOp, rewriter: PatternRewriter) -> None:
    """Three projections of one input into heads: one projection by the weights side by side, and one split.

    Where the weights are parameters, const-eval joins them once; else only where that is less work than the moves
    that it saves.
    """
    if _projection(op) is None:
        return
    users = {use.operation for use in op.a.uses if use.index == 0 and type(use.operation) is type(op)}
    found = [made for user in users if (made := _projection(user)) is not None]
    if len(found) != 3 or not _alike(found):
        return
    block = op.parent_block()
    assert block is not None
    order = {other: position for position, other in enumerate(block.ops)}
    found.sort(key=lambda made: order[made.product])
    place = _place(found, block, order)
    if found[0].product is not op or place is None:
        return
    # Of three, the one with more heads is the query.
    counts = [made.sizes[1] for made in found]
    query = next((made for made in found if counts.count(made.sizes[1]) == 1), found[0])
    others = [made for made in found if made is not query]
    if others[0].sizes[1] != others[1].sizes[1] or query.sizes[1] % others[0].sizes[1]:
        return
    weights = [made.product.operands[1] for made in found]
    rows = math.prod(shape(op.a)[:-1])
    if not all(is_constant(weight) for weight in weights) and shape(op.a)[-1] > rows:
        return
    _merge(rewriter, op, [query, *others], place)


def _place(found: list[_Projection], block: Block, order: dict[Operation, int]) -> Operation | None:
    """What one product for all is put before: the last of the products, or a use of heads that is above it.

    None where a weight is made later than that.
    """
    users = (block.find_ancestor_op_in_block(use.operation) for made in found for use in made.permute.result.uses)
    place = min((found[-1].product, *filter(None, users)), key=order.__getitem__)
    makers = (value.owner for made in found for value in made.product.operands[1:])
    return place if all(isinstance(owner, Block) or order[owner] < order[place] for owner in makers) else None


def _projection(op: Operation) -> _Projection | None:
    if not isinstance(op, MatmulOp | LinearOp) or op.transpose_a or len(shape(op.operands[1])) != 2:
        return None
    if isinstance(op, LinearOp) and op.bias is None:
        return None
    reshape = only_user(op.result)
    permute = only_user(reshape.results[0]) if isinstance(reshape, ReshapeOp) else None
    if not isinstance(permute, PermuteOp) or permute.permutation not in (_HEADS_FIRST, _HEADS_LAST_KEY):
        return None
    batch, rows, heads, width = shape(permute.input)
    if width % TILE or shape(op.result)[-1] != heads * width:
        return None
    return _Projection(op, permute, (batch, heads, rows, width))


def _alike(found: list[_Projection]) -> bool:
    first = found[0]
    return all(
        made.sizes[0] == first.sizes[0]
        and made.sizes[2:] == first.sizes[2:]
        and made.product.transpose_b == first.product.transpose_b
        and tensor_type(made.product.result).element_type == tensor_type(first.product.result).element_type
        for made in found
    )


def _merge(rewriter: PatternRewriter, op: MatmulOp | LinearOp, found: list[_Projection], place: Operation) -> None:
    """Replaces query, key and value, in this order, by a product and a split before ``place``."""
    batch, heads, rows, width = found[0].sizes
    groups = found[1].sizes[1]
    element, columns = tensor_type(op.result).element_type, (heads + 2 * groups) * width
    transposed, depth = op.transpose_b, shape(op.a)[-1]
    sizes = (columns, depth) if transposed else (depth, columns)
    weight = _joined(rewriter, place, [made.product.operands[1] for made in found], sizes, 0 if transposed else 1)
    operands = [op.a, weight]
    if isinstance(op, LinearOp):
        biases = [
            reshaped(rewriter, place, made.product.operands[2], (shape(made.product.result)[-1],)) for made in found
        ]
        operands.append(_joined(rewriter, place, biases, (columns,), 0))
    type_ = tensor((*shape(op.result)[:-1], columns), element)
    flags = {"transpose_a": False, "transpose_b": transposed}
    merged = insert_before(rewriter, place, type(op), operands, type_, **flags)
    merged = reshaped(rewriter, place, merged, (batch, rows, columns))
    types = [tensor((batch, made.sizes[1], rows, width), element) for made in found]
    split = SplitQueryKeyValueAndSplitHeadsOp.make(
        [merged, None],
        types,
        op.location,
        num_heads=heads,
        num_kv_heads=groups,
        transpose_key=False,
    )
    rewriter.insert(split, InsertPoint.before(place))
    for made, value in zip(found, split.results, strict=True):
        if made.permute.permutation == _HEADS_FIRST:
            rewriter.replace(made.permute, [], [value])
        else:
            replace_with(rewriter, made.permute, PermuteOp, [value], permutation=(0, 1, 3, 2))


def _joined(
    rewriter: PatternRewriter, op: Operation, values: list[SSAValue], sizes: tuple[int, ...], dim: int
) -> SSAValue:
    type_ = tensor(sizes, tensor_type(values[0]).element_type)
    return insert_before(rewriter, op, ConcatOp, [values], type_, dim=dim)


PATTERNS = (concatenate_heads, split_heads)
