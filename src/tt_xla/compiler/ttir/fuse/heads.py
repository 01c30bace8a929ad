"""Fusion of attention heads: projections of one input are merged and split into heads by one op, and joined by one op.

TT-NN requires heads of a multiple of 32 elements for both ops, as its checks in mock mode show; rows may be any number.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from xdsl.ir import Block, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import InsertPoint

from tt_xla.compiler.analysis.constness import is_constant
from tt_xla.compiler.rewriting import insert_before, pattern, producer
from tt_xla.compiler.ttir.match import reshaped, transposed
from tt_xla.ir.base import only_user, shape, tensor, tensor_type
from tt_xla.ir.layout import TILE
from tt_xla.ir.ttir.attention import ConcatenateHeadsOp, SplitQueryKeyValueAndSplitHeadsOp
from tt_xla.ir.ttir.contraction import LinearOp, MatmulOp
from tt_xla.ir.ttir.structure import ConcatOp, PermuteOp, ReshapeOp

_HEADS_FIRST, _HEADS_LAST_KEY = (0, 2, 1, 3), (0, 2, 3, 1)


@pattern(ReshapeOp)
def concatenate_heads(op: ReshapeOp, rewriter: PatternRewriter) -> None:
    """Fuses a permute of [B, H, S, D] by (0, 2, 1, 3) and a reshape that joins H and D.

    The reshape may join the rows S with the batch B.
    """
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
    """permute(reshape(x @ w + b)), of shape [B, H, S, D], or [B, H, D, S] where the permutation swaps the last two."""

    product: MatmulOp | LinearOp
    permute: PermuteOp
    sizes: tuple[int, int, int, int]
    """B, H, S and D."""


@pattern(MatmulOp, LinearOp)
def split_heads(op: MatmulOp | LinearOp, rewriter: PatternRewriter) -> None:
    """Merges three projections of one input into one product with joined weights, and one split into heads.

    Where the weights are parameters, const-eval joins them once. Otherwise they are joined only where that is less work
    than the moves that it saves.
    """
    if _projection(op) is None:
        return
    users = {use.operation for use in op.a.uses if use.index == 0 and type(use.operation) is type(op)}
    projections = [projection for user in users if (projection := _projection(user)) is not None]
    if len(projections) != 3 or not _alike(projections):
        return
    block = op.parent_block()
    assert block is not None
    order = {other: position for position, other in enumerate(block.ops)}
    projections.sort(key=lambda projection: order[projection.product])
    place = _place(projections, block, order)
    if projections[0].product is not op or place is None:
        return
    # The projection whose number of heads differs is the query.
    counts = [projection.sizes[1] for projection in projections]
    query = next((projection for projection in projections if counts.count(projection.sizes[1]) == 1), projections[0])
    others = [projection for projection in projections if projection is not query]
    if others[0].sizes[1] != others[1].sizes[1] or query.sizes[1] % others[0].sizes[1]:
        return
    weights = [projection.product.operands[1] for projection in projections]
    rows = math.prod(shape(op.a)[:-1])
    if not all(is_constant(weight) for weight in weights) and shape(op.a)[-1] > rows:
        return
    _merge(rewriter, op, [query, *others], place)


def _place(projections: list[_Projection], block: Block, order: dict[Operation, int]) -> Operation | None:
    """Returns the op before which the merged product goes: the last product, or an earlier use of heads.

    Returns None where a weight is computed after that.
    """
    users = (
        block.find_ancestor_op_in_block(use.operation)
        for projection in projections
        for use in projection.permute.result.uses
    )
    place = min((projections[-1].product, *filter(None, users)), key=order.__getitem__)
    makers = (value.owner for projection in projections for value in projection.product.operands[1:])
    return place if all(isinstance(owner, Block) or order[owner] < order[place] for owner in makers) else None


def _projection(op: Operation) -> _Projection | None:
    """Returns the projection whose product is ``op``, or None."""
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


def _alike(projections: list[_Projection]) -> bool:
    """Returns whether projections agree in sizes, transposition and element type."""
    first = projections[0]
    return all(
        projection.sizes[0] == first.sizes[0]
        and projection.sizes[2:] == first.sizes[2:]
        and projection.product.transpose_b == first.product.transpose_b
        and tensor_type(projection.product.result).element_type == tensor_type(first.product.result).element_type
        for projection in projections
    )


def _merge(
    rewriter: PatternRewriter, op: MatmulOp | LinearOp, projections: list[_Projection], place: Operation
) -> None:
    """Replaces the projections of query, key and value, in this order, by a product and a split before ``place``."""
    batch, heads, rows, width = projections[0].sizes
    groups = projections[1].sizes[1]
    element, columns = tensor_type(op.result).element_type, (heads + 2 * groups) * width
    is_turned, depth = op.transpose_b, shape(op.a)[-1]
    sizes = (columns, depth) if is_turned else (depth, columns)
    weight = _joined(
        rewriter, place, [projection.product.operands[1] for projection in projections], sizes, 0 if is_turned else 1
    )
    operands = [op.a, weight]
    if isinstance(op, LinearOp):
        biases = [
            reshaped(rewriter, place, projection.product.operands[2], (shape(projection.product.result)[-1],))
            for projection in projections
        ]
        operands.append(_joined(rewriter, place, biases, (columns,), 0))
    type_ = tensor((*shape(op.result)[:-1], columns), element)
    flags = {"transpose_a": False, "transpose_b": is_turned}
    merged = insert_before(rewriter, place, type(op), operands, type_, **flags)
    merged = reshaped(rewriter, place, merged, (batch, rows, columns))
    types = [tensor((batch, projection.sizes[1], rows, width), element) for projection in projections]
    split = SplitQueryKeyValueAndSplitHeadsOp.make(
        [merged, None],
        types,
        op.location,
        num_heads=heads,
        num_kv_heads=groups,
        transpose_key=False,
    )
    rewriter.insert(split, InsertPoint.before(place))
    for projection, value in zip(projections, split.results, strict=True):
        if projection.permute.permutation != _HEADS_FIRST:
            value = transposed(rewriter, place, value, (0, 1, 3, 2))
        rewriter.replace(projection.permute, [], [value])


def _joined(
    rewriter: PatternRewriter, op: Operation, values: list[SSAValue], sizes: tuple[int, ...], dim: int
) -> SSAValue:
    """Inserts a concatenation of values along a dimension."""
    type_ = tensor(sizes, tensor_type(values[0]).element_type)
    return insert_before(rewriter, op, ConcatOp, [values], type_, dim=dim)


PATTERNS = (concatenate_heads, split_heads)
