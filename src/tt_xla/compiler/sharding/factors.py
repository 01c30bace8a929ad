"""Ops whose dimensions correspond: how to split such an op over chips.

A *factor* is an index of the loops that an op stands for: a matrix product has the factors m, n and k, and each of its
operands has two of them as dimensions. Splitting a factor splits every dimension that it is, and where the result does
not have it, the chips' results are combined.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from jaxlib.mlir import ir

from tt_xla.compiler.sharding.builder import element_type
from tt_xla.compiler.sharding.context import Hints, Localiser
from tt_xla.compiler.sharding.emitter import Shard
from tt_xla.compiler.sharding.reshard import axes_before, moved_elements
from tt_xla.ir.mesh import Axes, Mesh, Shape, Sharding

Dims = tuple["int | None", ...]
"""Factor of each dimension of a tensor; None for a dimension that must not be split."""


@dataclass(frozen=True)
class Factors:
    """The factors of an op."""

    operands: Sequence[Dims]
    results: Sequence[Dims]

    def splits(self, context: Localiser, operands: Sequence[Shard], hints: Hints) -> Splits:
        """Chooses mesh axes for each factor; no axis splits two factors.

        The operands and the results each propose axes. Of the choices that follow when all count by size, or when one
        of them counts first, the one that moves the least data between chips is taken.
        """
        tensors = [
            (dims, operand.sharding, operand.shape) for dims, operand in zip(self.operands, operands, strict=True)
        ]
        sizes = {factor: size for dims, _, shape in tensors for factor, size in zip(dims, shape, strict=True)}
        hinted = [
            (dims, hint, tuple(sizes.get(factor, 1) for factor in dims))
            for dims, hint in zip(self.results, hints, strict=True)
            if hint is not None
        ]
        proposals = [tensor for tensor in (*tensors, *hinted) if not tensor[1].is_replicated]
        agreed = _agreed(proposals)
        if agreed is not None:
            return Splits(context, self, agreed)
        in_results = {factor for dims in self.results for factor in dims}
        choices = [
            _choose(proposals, in_results, None),
            *(_choose(proposals, in_results, first) for first in proposals),
        ]
        costs = [_cost(context.mesh, choice, tensors, hinted, in_results, sizes) for choice in choices]
        return Splits(context, self, choices[costs.index(min(costs))])


@dataclass(frozen=True)
class Splits:
    """Mesh axes that split each factor of an op."""

    context: Localiser
    factors: Factors
    axes: dict[int, Axes]

    def sharding(self, dims: Dims) -> Sharding:
        return Sharding(tuple(() if factor is None else self.axes.get(factor, ()) for factor in dims))

    def operands(self, operands: Sequence[Shard]) -> list[Shard]:
        """Returns the operands in the shardings that the factors ask for."""
        pairs = zip(operands, self.factors.operands, strict=True)
        return [self.context.reshard(operand, self.sharding(dims)) for operand, dims in pairs]

    def result_types(self, op: Any) -> list[Any]:
        """Returns the types that an op has on one chip, before results are combined."""
        pairs = zip(op.results, self.factors.results, strict=True)
        return [self.context.local_type(result.type, self.sharding(dims)) for result, dims in pairs]

    def results(self, op: Any, values: Sequence[Any]) -> list[Shard]:
        """Returns the results of an op as shards."""
        return self.context.shards(op, values, [self.sharding(dims) for dims in self.factors.results])

    def reduced(self) -> Axes:
        """Returns the axes of factors that no result has, so that the chips' results must be combined over them."""
        in_results = {factor for dims in self.factors.results for factor in dims}
        return tuple(axis for factor, axes in sorted(self.axes.items()) if factor not in in_results for axis in axes)

    def copy(self, op: Any, operands: Sequence[Shard], attributes: dict[str, Any] | None = None) -> list[Shard]:
        """Copies an op on operands that have the shardings of the factors; for ops that combine nothing."""
        values = self.context.copy(op, [operand.value for operand in operands], self.result_types(op), attributes)
        return self.results(op, values)


Proposal = tuple[Dims, Sharding, Shape]
"""A tensor that proposes how to split factors: its factors, its sharding and its shape."""


def _agreed(proposals: Sequence[Proposal]) -> dict[int, Axes] | None:
    """Returns the axes of each factor if no two tensors propose different ones, and no axis splits two factors."""
    agreed: dict[int, Axes] = {}
    for dims, sharding, _ in proposals:
        for factor, axes in zip(dims, sharding.dims, strict=True):
            if factor is not None and axes and agreed.setdefault(factor, axes) != axes:
                return None
    used = [axis for axes in agreed.values() for axis in axes]
    return agreed if len(used) == len({*used}) else None


def _choose(proposals: Sequence[Proposal], in_results: set[int | None], first: Proposal | None) -> dict[int, Axes]:
    """Returns axes of each factor: those that the largest tensors propose, or those of one tensor before others."""
    votes: dict[tuple[int, Axes], float] = {}
    for proposal in proposals:
        dims, sharding, shape = proposal
        size = math.inf if proposal is first else math.prod(shape)
        for factor, axes in zip(dims, sharding.dims, strict=True):
            if factor is not None and axes:
                votes[factor, axes] = votes.get((factor, axes), 0) + size
    chosen: dict[int, Axes] = {}
    used: set[int] = set()
    for factor, axes in sorted(votes, key=lambda key: (-votes[key], key[0] not in in_results, key)):
        free = axes_before(axes, used)
        if factor not in chosen and free:
            chosen[factor] = free
            used.update(free)
    return chosen


_LOOPS_PER_MOVED = 4000
"""Loop iterations in the time in which one element moves between chips: multiplications of the matrix unit."""


def _cost(
    mesh: Mesh,
    choice: dict[int, Axes],
    operands: Sequence[Proposal],
    results: Sequence[Proposal],
    in_results: set[int | None],
    sizes: dict[int | None, int],
) -> float:
    """Returns the elements that a chip receives for a choice of axes, and a little for what it computes."""

    def chosen(dims: Dims) -> Sharding:
        return Sharding(tuple(() if factor is None else choice.get(factor, ()) for factor in dims))

    moved = float(sum(moved_elements(mesh, shape, now, chosen(dims)) for dims, now, shape in operands))
    partial = {axis for factor, axes in choice.items() if factor not in in_results for axis in axes}
    for dims, hint, shape in results:
        moved += moved_elements(mesh, shape, chosen(dims), hint)
        if partial - {*hint.unreduced}:
            moved += 2 * math.prod(chosen(dims).local_shape(mesh, shape))
    split = math.prod(mesh.shape[axis] for axes in choice.values() for axis in axes)
    return moved + math.prod(sizes.values()) / split / _LOOPS_PER_MOVED


def elementwise(rank: int, operands: Sequence[Shard], results: int) -> Factors:
    """Returns the factors of an op on tensors of one shape; scalars among them are used as they are."""
    dims = tuple(range(rank))
    return Factors([dims if operand.rank == rank else () for operand in operands], [dims] * results)


def has_identity(kind: str, element: Any) -> bool:
    """Whether a reduction leaves some scalar without effect.

    Args:
        kind: an op of ``builder.REDUCERS``; an empty string, which is none, for another body.
        element: type of the elements.
    """
    return kind in ("add", "or") or (kind != "" and _identity_attribute(kind, element) is not None)


def identity_value(context: Localiser, kind: str, element: Any) -> Any | None:
    """Returns a scalar that a reduction leaves without effect; None if the element type has none.

    Args:
        kind: an op of ``builder.REDUCERS``.
        element: type of the elements.
    """
    attribute = _identity_attribute(kind, element)
    if attribute is None:
        return context.builder.zero(element) if kind in ("add", "or") else None
    scalar = ir.RankedTensorType.get([], element)
    return context.builder.constant(ir.DenseElementsAttr.get_splat(scalar, attribute))


def _identity_attribute(kind: str, element: Any) -> Any | None:
    if isinstance(element, ir.IntegerType):
        bits = element.width
        lowest, highest = (
            (0, 2**bits - 1) if element.is_unsigned or bits == 1 else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
        )
        ones = 2**bits - 1 if element.is_unsigned else -1
        value = {"multiply": 1, "maximum": lowest, "minimum": highest, "and": ones, "add": 0, "or": 0}[kind]
        if bits == 1:
            value = int(kind in ("and", "multiply", "minimum"))
        return ir.IntegerAttr.get(element, value)
    if isinstance(element, ir.FloatType) and kind in ("multiply", "maximum", "minimum"):
        value = {"multiply": 1.0, "maximum": float("-inf"), "minimum": float("inf")}[kind]
        return ir.FloatAttr.get(element, value)
    return None


def masked_operands(
    context: Localiser, splits: Splits, operands: Sequence[Shard], fill: Callable[[Any], Any]
) -> list[Shard]:
    """Returns operands whose padding along factors that no result has holds a value without effect.

    Args:
        fill: returns the scalar to fill with, given an element type.
    """
    in_results = {factor for dims in splits.factors.results for factor in dims}
    masked: list[Shard] = []
    for dims, operand in zip(splits.factors.operands, operands, strict=True):
        padded = [
            dim
            for dim, factor in enumerate(dims)
            if factor is not None and factor not in in_results and context.is_padded(operand, dim)
        ]
        masked.append(context.masked(operand, padded, fill(element_type(operand.value))) if padded else operand)
    return masked
