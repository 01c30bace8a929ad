"""Rules of ops that move elements: transposes, broadcasts, reshapes, and joins and cuts of dimensions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from jaxlib.mlir import ir

from tt_xla.compiler.sharding.context import Broadcast, Hints, Localiser, localises, shape_of
from tt_xla.compiler.sharding.emitter import Shard
from tt_xla.compiler.sharding.factors import Factors
from tt_xla.ir.mesh import Shape, Sharding


def integers(attribute: Any) -> list[int]:
    """Returns the integers of an array attribute."""
    return [int(value) for value in ir.DenseI64ArrayAttr(attribute)]


@localises("stablehlo.transpose")
def transpose(context: Localiser, op: Any, operands: Sequence[Shard], hints: Hints) -> Sequence[Shard]:
    order = integers(op.attributes["permutation"])
    factors = Factors([tuple(range(len(order)))], [tuple(order)])
    splits = factors.splits(context, operands, hints)
    return splits.copy(op, splits.operands(operands))


@localises("stablehlo.broadcast_in_dim")
def broadcast_in_dim(context: Localiser, op: Any, operands: Sequence[Shard], hints: Hints) -> Sequence[Shard]:
    """Broadcasts the part that the chip needs. A dimension of size 1 is not split, what it becomes may be."""
    dims = integers(op.attributes["broadcast_dimensions"])
    shape = shape_of(op.results[0])
    sources = tuple(None if operands[0].shape[index] != shape[dim] else dim for index, dim in enumerate(dims))
    splits = Factors([sources], [tuple(range(len(shape)))]).splits(context, operands, hints)
    (result,) = splits.copy(op, splits.operands(operands))
    return [context.broadcast(result, Broadcast(operands[0], tuple(dims)))]


@localises("stablehlo.reshape")
def reshape(context: Localiser, op: Any, operands: Sequence[Shard], hints: Hints) -> Sequence[Shard]:
    """Reshapes the chip's part.

    Dimensions of operand and result that have the same elements form a group. Within a group, a sharding carries over
    as long as it splits evenly from the outermost dimension inwards; otherwise the operand's dimensions are gathered.
    """
    (operand,) = operands
    shape = shape_of(op.results[0])
    before: list[tuple[int, ...]] = [()] * operand.rank
    after: list[tuple[int, ...]] = [()] * len(shape)
    for old, new in _groups(operand.shape, shape):
        candidates = [_carried(context, operand.sharding, operand.shape, shape, old, new)]
        if hints[0] is not None:
            back = _carried(context, hints[0], shape, operand.shape, new, old)
            candidates.append((back[1], back[0]))
        best = max(candidates, key=lambda pair: context.extent([axis for axes in pair[0] for axis in axes]))
        for dims, carried, place in ((old, best[0], before), (new, best[1], after)):
            for dim, axes in zip(dims, carried, strict=True):
                place[dim] = axes
    used = [axis for axes in before for axis in axes]
    if len(used) != len(set(used)):
        before, after = [()] * operand.rank, [()] * len(shape)
    part = context.reshard(operand, Sharding(tuple(before)))
    sharding = Sharding(tuple(after))
    values = context.copy(op, [part.value], [context.local_type(op.results[0].type, sharding)])
    return context.shards(op, values, [sharding])


Carried = tuple[list[tuple[int, ...]], list[tuple[int, ...]]]
"""Axes that split each dimension of a group before a reshape, and after it."""


def _carried(
    context: Localiser, sharding: Sharding, old_shape: Shape, new_shape: Shape, old: range, new: range
) -> Carried:
    """Returns as much of a sharding as carries over from dimensions before a reshape to those after it."""
    before: list[tuple[int, ...]] = [()] * len(old)
    after: list[tuple[int, ...]] = [()] * len(new)
    large_old = [index for index, dim in enumerate(old) if old_shape[dim] != 1]
    large_new = [index for index, dim in enumerate(new) if new_shape[dim] != 1]
    if len(large_old) == len(large_new) == 1:
        before[large_old[0]] = after[large_new[0]] = sharding.dims[old[large_old[0]]]
        return before, after
    place, left = 0, new_shape[new[0]] if new else 1
    for index, dim in enumerate(old):
        rest = old_shape[dim]
        for axis in sharding.dims[dim]:
            extent = context.mesh.shape[axis]
            while place < len(new) and left == 1 and place + 1 < len(new):
                place += 1
                left = new_shape[new[place]]
            if not new or rest % extent or left % extent:
                return before, after
            before[index] += (axis,)
            after[place] += (axis,)
            rest, left = rest // extent, left // extent
        # What this dimension is not split by must lie within one place of the result.
        if rest > 1:
            return before, after
    return before, after


def _groups(before: Shape, after: Shape) -> list[tuple[range, range]]:
    """Returns the smallest runs of dimensions that have the same number of elements before and after a reshape."""
    if 0 in before:
        return []
    groups: list[tuple[range, range]] = []
    i = j = 0
    while i < len(before) or j < len(after):
        old, new = i, j
        i, j = min(i + 1, len(before)), min(j + 1, len(after))
        while math.prod(before[old:i]) != math.prod(after[new:j]):
            if math.prod(before[old:i]) < math.prod(after[new:j]):
                i += 1
            else:
                j += 1
        groups.append((range(old, i), range(new, j)))
    return groups
