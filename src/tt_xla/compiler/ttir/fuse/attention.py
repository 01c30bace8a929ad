"""Fusion of scaled dot product attention: scores, scale, mask, softmax and weighted sum of values become one op.

TT-NN's op takes bfloat16, heads of a multiple of 32 elements, and a mask with a row for each query, as its checks in
mock mode show. Other forms stay separate ops.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from xdsl.dialects.builtin import bf16
from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from tt_xla.compiler.rewriting import both_ways, insert_before, pattern, producer
from tt_xla.compiler.ttir.dimensions import (
    VIEWS,
    Dims,
    Factor,
    arranged,
    before,
    leaves,
    product,
    refined,
    through,
    unsplit,
)
from tt_xla.compiler.ttir.match import (
    BINARY,
    Add,
    cast,
    equal_up_to_casts,
    is_float,
    reshaped,
    skip_casts,
    skip_casts_and_broadcasts,
    skip_casts_and_reshapes,
    skip_ops,
    splat_before,
    times_constant,
    unary,
)
from tt_xla.ir import shapes
from tt_xla.ir.base import only_user, shape, tensor, tensor_type
from tt_xla.ir.layout import TILE
from tt_xla.ir.ttir.attention import ScaledDotProductAttentionOp
from tt_xla.ir.ttir.contraction import MatmulOp
from tt_xla.ir.ttir.creation import ArangeOp, splat
from tt_xla.ir.ttir.reduction import MaxOp, SoftmaxOp
from tt_xla.ir.ttir.structure import BroadcastOp, PermuteOp, ReshapeOp, WhereOp

_HIDDEN = -1e4
"""Upper bound of the value that a mask puts in the place of a score; no real score is this small."""


class _Mask(NamedTuple):
    """A tensor that is added to scores, or a predicate of the scores that stay or, with ``hides``, are hidden."""

    value: SSAValue
    is_predicate: bool
    hides: bool
    hidden: float
    """Value that a predicate puts in the place of a hidden score."""
    point: Dims
    """Dimensions of the scores at the op that applies the mask."""


class _Scores(NamedTuple):
    """The product of queries and keys, with its scale and mask."""

    product: MatmulOp
    result: Dims
    """Dimensions of the product."""
    scale: float
    mask: _Mask | None


class _Weights(NamedTuple):
    """The softmax whose result weights the values, and how the product reads it."""

    softmax: SoftmaxOp
    is_guarded: bool
    """Whether a row that sees no key has weights of 0, as in PyTorch."""
    scores: Dims
    """Dimensions of the softmax."""
    keys: list[Factor]
    """The dimension that the softmax runs along."""
    operand: Dims
    """Dimensions of the weights as the product's operand."""
    is_transposed: bool
    """Whether the product is value.T @ weights.T."""


_Described = tuple[SSAValue, Dims]
"""A value with the factors of its dimensions."""


class _Roles(NamedTuple):
    """The role of each factor of the scores, which are [batch, heads + groups, rows, keys]."""

    batch: list[Factor]
    heads: list[Factor]
    groups: list[Factor]
    """Query heads that share one head of keys and values."""
    rows: list[Factor]
    keys: list[Factor]

    @property
    def sizes(self) -> tuple[int, int, int, int]:
        """Sizes of the batch, of the query heads, of the rows and of the keys."""
        return product(self.batch), product(self.heads + self.groups), product(self.rows), product(self.keys)


@pattern(MatmulOp, approximate=True)
def attention(op: MatmulOp, rewriter: PatternRewriter) -> None:
    """Fuses softmax(query @ key.T * scale + mask) @ value, in any order of dimensions and products.

    Dimensions are followed from the softmax to both products. Dimensions that both operands of the scores have are
    batch and heads. Dimensions that only the query has are its rows or, where a mask does not vary along them, heads of
    a group.
    """
    if tensor_type(op.result).element_type != bf16:
        return
    weights = _weights(op)
    scores = _scores(weights.softmax.input, weights.scores) if weights is not None else None
    if weights is None or scores is None:
        return
    outer = scores.product
    width = shape(outer.a)[-2 if outer.transpose_a else -1]
    other = op.a if weights.is_transposed else op.b
    if any(tensor_type(skip_casts(value)).element_type != bf16 for value in (outer.a, outer.b, other)) or width % TILE:
        return
    roles = _roles(weights, scores)
    if roles is None or shape(op.result)[-2 if weights.is_transposed else -1] != width:
        return
    _replace(op, rewriter, weights, scores, roles, width)


def _replace(
    op: MatmulOp, rewriter: PatternRewriter, weights: _Weights, scores: _Scores, roles: _Roles, width: int
) -> None:
    """Replaces the last product by an attention op on rearranged operands."""
    depth, outer = [Factor(width)], scores.product
    *batch, rows, columns = refined(scores.result)
    first = outer.a, [*batch, depth, rows] if outer.transpose_a else [*batch, rows, depth]
    second = outer.b, [*batch, columns, depth] if outer.transpose_b else [*batch, depth, columns]
    (queries, query_dims), key = (second, first) if rows == roles.keys else (first, second)
    scale, plain = scores.scale, skip_casts(queries)
    scaled = times_constant(plain)
    if scaled is not None and scaled[0].type == plain.type:
        plain, scale = scaled[0], scale * scaled[1]
    *batch, free, contracted = refined(weights.operand)
    if free == roles.keys:
        free, contracted = contracted, free
    turned = op.transpose_a if weights.is_transposed else op.transpose_b
    is_deep_first = turned != weights.is_transposed
    value = (
        op.a if weights.is_transposed else op.b,
        [*batch, depth, contracted] if is_deep_first else [*batch, contracted, depth],
    )
    result = [*batch, depth, free] if weights.is_transposed else [*batch, free, depth]
    (key, value), heads = _shared_heads(key, value, roles.heads)
    roles = _Roles(*(leaves(factors) for factors in roles))
    as_query = [roles.batch, roles.heads + roles.groups, roles.rows, depth]
    as_key = [roles.batch, heads, roles.keys, depth]
    query = arranged(rewriter, op, plain, refined(query_dims), as_query)
    keys, values = (arranged(rewriter, op, skip_casts(one), refined(dims), as_key) for one, dims in (key, value))
    causal = scores.mask is not None and _is_causal(scores.mask, roles)
    mask = None if causal or scores.mask is None else _additive(rewriter, op, scores.mask, roles)
    attended = insert_before(
        rewriter,
        op,
        ScaledDotProductAttentionOp,
        [query, keys, values, mask, None],
        tensor((*roles.sizes[:3], width), bf16),
        is_causal=causal,
        scale=scale,
    )
    if weights.is_guarded and mask is not None and scores.mask is not None and math.isinf(scores.mask.hidden):
        attended = _guarded(rewriter, op, attended, mask)
    attended = arranged(rewriter, op, attended, as_query, refined(result))
    rewriter.replace(op, [], [reshaped(rewriter, op, attended, shape(op.result))])


def _weights(op: MatmulOp) -> _Weights | None:
    """Returns the weights that a product multiplies the values by, or None."""
    for operand, is_transposed in ((op.a, False), (op.b, True)):
        flag = op.transpose_b if is_transposed else op.transpose_a
        weights = skip_ops(operand, *VIEWS)
        guarded = _behind_guard(weights)
        softmax = producer(weights, SoftmaxOp) or guarded
        if softmax is None or only_user(weights) is None:
            continue
        scores = unsplit(shape(softmax.result))
        keys = scores[softmax.dimension]
        dims = through(weights, operand, scores) if _same_batch(op) else None
        if dims is not None and leaves(dims[-2 if flag != is_transposed else -1]) == leaves(keys):
            return _Weights(softmax, guarded is not None, scores, keys, dims, is_transposed)
    return None


def _behind_guard(value: SSAValue) -> SoftmaxOp | None:
    """Returns the softmax behind PyTorch's safe softmax, which gives 0 in rows whose scores are all -inf."""
    guard = producer(value, WhereOp)
    softmax = producer(skip_casts(guard.third), SoftmaxOp) if guard is not None else None
    if (
        guard is None
        or softmax is None
        or splat(skip_casts_and_broadcasts(guard.second)) != 0
        or only_user(softmax.result) is None
    ):
        return None
    dim = softmax.dimension
    test = producer(skip_ops(guard.first, BroadcastOp, ReshapeOp), BINARY["eq"])
    for one, other in both_ways(test) if test is not None else ():
        greatest = producer(skip_casts(one), MaxOp)
        if greatest is None or splat(skip_casts_and_broadcasts(other)) != -math.inf or greatest.dim_arg != (dim,):
            continue
        spread = shape(skip_ops(guard.first, BroadcastOp))
        rows = shapes.reduce(shape(softmax.input), (dim,), True)
        if spread == rows and shape(guard.third) == shape(value) and equal_up_to_casts(greatest.input, softmax.input):
            return softmax
    return None


def _guarded(rewriter: PatternRewriter, op: Operation, attended: SSAValue, mask: SSAValue) -> SSAValue:
    """Returns ``attended`` with 0 in rows where an additive mask hides all keys."""
    sizes = shape(mask)[:-1]
    greatest = insert_before(rewriter, op, MaxOp, [mask], tensor((*sizes, 1), bf16), dim_arg=(3,), keep_dim=True)
    nothing, never = (splat_before(rewriter, op, number, tensor((1,), bf16)) for number in (0.0, -math.inf))
    sees = insert_before(rewriter, op, BINARY["ne"], [greatest, never], tensor((*sizes, 1), bf16))
    return insert_before(rewriter, op, WhereOp, [sees, attended, nothing], tensor_type(attended))


def _same_batch(op: MatmulOp) -> bool:
    """Returns whether neither operand of a product is broadcast along the batch."""
    return shape(op.a)[:-2] == shape(op.b)[:-2] == shape(op.result)[:-2]


def _scores(value: SSAValue, dims: Dims) -> _Scores | None:
    """Returns the scores that a value was computed from, or None."""
    scale, mask = 1.0, None
    while True:
        value = skip_casts(value)
        producer_op = value.op if isinstance(value, OpResult) else None
        if isinstance(producer_op, MatmulOp):
            return _Scores(producer_op, dims, scale, mask) if _same_batch(producer_op) else None
        if isinstance(producer_op, ReshapeOp | PermuteOp):
            inner = before(producer_op, dims)
            if inner is None:
                return None
            value, dims = producer_op.input, inner
            continue
        scaled = times_constant(value)
        if scaled is not None and shape(scaled[0]) == shape(value):
            value, scale = scaled[0], scale * scaled[1]
            continue
        masked = _masked(value, dims, scale) if mask is None else None
        if masked is None:
            return None
        value, dims, mask = masked


def _roles(weights: _Weights, scores: _Scores) -> _Roles | None:
    """Returns the role of each factor, or None where the products contract or keep other dimensions than attention."""
    keys = leaves(weights.keys)
    *batch, one, other = refined(scores.result)
    queries = other if one == keys else one if other == keys else None
    *outer_batch, first, second = refined(weights.operand)
    free = second if first == keys else first
    shared = leaves(factor for dim in batch for factor in dim)
    if queries is None or set(free) != set(queries) or {f for dim in outer_batch for f in dim} != set(shared):
        return None
    roles = _Roles(shared[:-1], shared[-1:], [], queries, keys)
    return roles if scores.mask is None else _masked_roles(roles, scores.mask)


def _masked_roles(roles: _Roles, mask: _Mask) -> _Roles | None:
    """Returns the roles with query dimensions that the mask does not vary along as heads of a group.

    Returns None where TT-NN cannot take such a mask.
    """
    dims = _mask_dims(mask)
    if dims is None or not (mask.is_predicate or is_float(mask.value)):
        return None
    varied = [factor for dim in dims for factor in dim]
    rows = [factor for factor in varied if factor in roles.rows]
    if rows:
        roles = roles._replace(rows=rows, groups=[factor for factor in roles.rows if factor not in rows])
    shared = roles.batch + roles.heads
    for first in (len(shared) - 1, *range(len(shared) + 1)):
        roles = roles._replace(batch=shared[: max(first, 0)], heads=shared[max(first, 0) :])
        if all(_is_uniform(varied, together) for together in (roles.batch, roles.heads + roles.groups)):
            return roles
    return None


def _is_uniform(varied: list[Factor], together: list[Factor]) -> bool:
    """Returns whether a mask varies along all factors of a dimension or along none of them."""
    return len({factor in varied for factor in together}) < 2


def _mask_dims(mask: _Mask) -> Dims | None:
    """Returns the factors of each of the mask's dimensions; a dimension of size 1 has none."""
    point = refined(mask.point)
    sizes = shape(mask.value)
    aligned = point[len(point) - len(sizes) :] if len(sizes) <= len(point) else []
    if len(aligned) != len(sizes) or any(
        size not in (1, product(dim)) for size, dim in zip(sizes, aligned, strict=True)
    ):
        return None
    return [dim if size != 1 else [] for size, dim in zip(sizes, aligned, strict=True)]


def _masked(value: SSAValue, dims: Dims, scale: float) -> tuple[SSAValue, Dims, _Mask] | None:
    """Returns the scores before a mask, their dimensions and the mask; None where ``value`` applies no mask.

    Args:
        value: Value that may be masked scores.
        dims: Dimensions of the value.
        scale: Factor that is applied to the masked scores later.
    """
    add, where = producer(value, Add), producer(value, WhereOp)
    for one, other in both_ways(add) if add is not None else ():
        if scale == 1 and _is_as_large(one, value) and _leads_to_product(one):
            return one, _last(dims, one), _Mask(skip_casts(other), False, False, -math.inf, dims)
    if where is None:
        return None
    for hides in (False, True):
        shown, instead = (where.third, where.second) if hides else (where.second, where.third)
        hidden = splat(instead)
        if hidden is not None and hidden * scale <= _HIDDEN and _is_as_large(shown, value):
            mask = skip_ops(where.first, BroadcastOp)
            inverse = unary(mask, "logical_not") if hides else None
            if inverse is not None:
                mask, hides = skip_ops(inverse.operands[0], BroadcastOp), False
            return shown, _last(dims, shown), _Mask(mask, True, hides, float(hidden) * scale, dims)
    return None


def _is_as_large(one: SSAValue, value: SSAValue) -> bool:
    """Returns whether an operand has the result's shape, up to leading dimensions of size 1."""
    sizes = shape(value)
    return shape(one) == sizes[len(sizes) - len(shape(one)) :] and math.prod(shape(one)) == math.prod(sizes)


def _last(dims: Dims, value: SSAValue) -> Dims:
    """Returns the last dimensions, as many as ``value`` has."""
    return dims[len(dims) - len(shape(value)) :]


def _leads_to_product(value: SSAValue) -> bool:
    """Returns whether a value is a matrix product, perhaps scaled and behind casts, reshapes and permutes."""
    value = skip_ops(value, *VIEWS)
    scaled = times_constant(value)
    return producer(skip_ops(scaled[0], *VIEWS) if scaled is not None else value, MatmulOp) is not None


def _is_causal(mask: _Mask, roles: _Roles) -> bool:
    """Returns whether a predicate lets each position see itself and those before it.

    Such a predicate compares two ranges.
    """
    compared = skip_ops(mask.value, *VIEWS)
    later = producer(compared, BINARY["ge"])
    test = later or producer(compared, BINARY["le"])
    rows, keys = roles.sizes[2:]
    if not mask.is_predicate or mask.hides or test is None or rows != keys:
        return False
    if math.prod(shape(test.results[0])) != rows * keys:
        return False
    dims = unsplit(shape(test.results[0]))
    compared_dims = through(test.results[0], mask.value, dims)
    for mine, theirs in zip(_mask_dims(mask) or (), compared_dims or (), strict=False):
        if theirs and mine != (roles.rows if leaves(theirs) == leaves(dims[-2]) else roles.keys):
            return False
    first, second = test.operands if later is not None else reversed(test.operands)
    return (
        compared_dims is not None
        and shape(test.results[0])[-2:] == (rows, keys)
        and _is_range(first, -2)
        and _is_range(second, -1)
    )


def _is_range(value: SSAValue, dim: int) -> bool:
    """Returns whether a value counts 0, 1, ... along one of the last two dimensions and is constant along the
    others."""
    value = skip_ops(value, BroadcastOp)
    sizes = (1, 1, *shape(value))
    count = producer(value if len(shape(value)) == 1 else skip_casts_and_reshapes(value), ArangeOp)
    if count is None or (count.start, count.step) != (0, 1):
        return False
    return sizes[dim] == math.prod(shape(value)) == shape(count.result)[-1] and len(shape(count.result)) == 1


def _additive(rewriter: PatternRewriter, op: Operation, mask: _Mask, roles: _Roles) -> SSAValue:
    """Returns the mask as a bfloat16 tensor to add, with four dimensions and a row for each query."""
    value, dims = mask.value, _mask_dims(mask)
    assert dims is not None
    if mask.is_predicate:
        constants = [splat_before(rewriter, op, number, tensor((1,), bf16)) for number in (0.0, mask.hidden)]
        chosen = reversed(constants) if mask.hides else constants
        value = insert_before(rewriter, op, WhereOp, [value, *chosen], tensor(shape(value), bf16))
    varied = {factor for dim in dims for factor in dim}
    whole_dims = (roles.batch, roles.heads + roles.groups, roles.rows, roles.keys)
    varied_dims = [[factor for factor in dim if factor in varied] for dim in whole_dims]
    value = arranged(rewriter, op, cast(rewriter, op, value, op.results[0]), dims, varied_dims)
    batch, heads, rows, columns = shape(value)
    factors = (1, 1, roles.sizes[2] // rows, roles.sizes[3] // columns)
    if factors == (1, 1, 1, 1):
        return value
    sizes = (batch, heads, *roles.sizes[2:])
    return insert_before(rewriter, op, BroadcastOp, [value], tensor(sizes, bf16), broadcast_dimensions=factors)


def _shared_heads(key: _Described, value: _Described, heads: list[Factor]) -> tuple[list[_Described], list[Factor]]:
    """Returns keys and values before each head is repeated for a group of query heads, and their heads.

    Returns them unchanged where they are not repeated alike.
    """
    once = [_once(*operand) for operand in (key, value)]
    heads = leaves(heads)
    for *_, repeated in once:
        key_heads = heads[: len(heads) - len(repeated)]
        if {*leaves(repeated)} != {*leaves(once[0][2])} or key_heads + leaves(repeated) != heads:
            return [key, value], heads
    return [(source, dims) for source, dims, _ in once], heads[: len(heads) - len(once[0][2])]


def _once(value: SSAValue, dims: Dims) -> tuple[SSAValue, Dims, list[Factor]]:
    """Returns a value before its broadcast, its dimensions there, and the factors that the broadcast repeats."""
    broadcast = producer(skip_ops(value, *VIEWS), BroadcastOp)
    if broadcast is None:
        return value, dims, []
    current, inner = value, refined(dims)
    while current is not broadcast.result:
        assert isinstance(current, OpResult)
        outer = before(current.op, inner)
        if outer is None:
            return value, dims, []
        current, inner = current.op.operands[0], outer
    sizes = shape(broadcast.input)
    repeated = leaves(factor for size, dim in zip(sizes, inner, strict=True) if size == 1 for factor in dim)
    return broadcast.input, [dim if size != 1 else [] for size, dim in zip(sizes, inner, strict=True)], repeated


PATTERNS = (attention,)
