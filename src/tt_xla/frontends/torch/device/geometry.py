"""Describes strided views as steps from the contiguous base of their storage.

The steps are: reshape the base, slice some dimensions, permute, expand. :func:`find_view` derives them from size,
stride and offset alone, so the ops by which the user made the view do not matter.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Slice:
    """A slice of dimension ``dim`` that drops elements: from ``start`` up to ``stop``, exclusive, every ``step``-th."""

    dim: int
    start: int
    stop: int
    step: int


@dataclass(frozen=True)
class View:
    """Steps from a contiguous base to a view of it.

    Attributes:
        lengths: shape of the reshaped base.
        slices: slices of the reshaped base.
        counts: shape after the slices.
        large_sizes: sizes greater than one, in memory order.
        order: for each dimension of the view with such a size, in the view's order, its position in ``large_sizes``.
        unexpanded: the view's shape with 1 for dimensions of stride 0.
        size: the view's shape.
    """

    lengths: Shape
    slices: tuple[Slice, ...]
    counts: Shape
    large_sizes: Shape
    order: Shape
    unexpanded: Shape
    size: Shape


@dataclass(frozen=True)
class _Cut:
    """One dimension of the reshaped base, and the ``count`` positions in it that the view takes."""

    length: int
    start: int
    step: int
    count: int


def contiguous_strides(shape: Sequence[int]) -> Shape:
    """Returns the strides, in elements, of a contiguous tensor."""
    strides = [1] * len(shape)
    for dim in range(len(shape) - 2, -1, -1):
        strides[dim] = strides[dim + 1] * max(shape[dim + 1], 1)
    return tuple(strides)


def memory_order(shape: Sequence[int], stride: Sequence[int]) -> Shape | None:
    """Returns the permutation that makes a dense tensor contiguous.

    Args:
        shape: sizes.
        stride: strides, in elements.

    Returns:
        The dimensions from the outermost in memory to the innermost; None when elements overlap or leave gaps.
    """
    order = sorted(range(len(shape)), key=lambda dim: (-stride[dim], -shape[dim]))
    expected = 1
    for dim in reversed(order):
        if shape[dim] != 1:
            if stride[dim] != expected:
                return None
            expected *= shape[dim]
    return tuple(order)


def storage_elements(size: Sequence[int], stride: Sequence[int], offset: int = 0) -> int:
    """Returns the number of elements that a storage needs to hold such a tensor."""
    if 0 in size:
        return 0
    return offset + 1 + sum((n - 1) * s for n, s in zip(size, stride, strict=True))


@functools.lru_cache(4096)
def find_view(base: Shape, size: Shape, stride: Shape, offset: int) -> View | None:
    """Returns the steps from a contiguous base to a view.

    Args:
        base: shape of the base.
        size: shape of the view.
        stride: strides of the view, in elements.
        offset: position of the view's first element in the base.

    Returns:
        The steps, or None when the view's elements overlap or cross, so that only a gather can read them.
    """
    dims = sorted(
        ((s, n, axis) for axis, (s, n) in enumerate(zip(stride, size, strict=True)) if n > 1 and s > 0),
        key=lambda dim: -dim[0],
    )
    cuts = _cut(math.prod(base), offset, tuple((s, n) for s, n, _ in dims), contiguous_strides(base))
    if cuts is None:
        return None
    lengths = tuple(cut.length for cut in cuts)
    slices = tuple(
        Slice(dim, cut.start, cut.start + cut.step * (cut.count - 1) + 1, cut.step)
        for dim, cut in enumerate(cuts)
        if cut.count != cut.length
    )
    rank_of_axis = {axis: rank for rank, (_, _, axis) in enumerate(dims)}
    return View(
        lengths=lengths,
        slices=slices,
        counts=tuple(cut.count for cut in cuts),
        large_sizes=tuple(n for _, n, _ in dims),
        order=tuple(rank_of_axis[axis] for axis in sorted(rank_of_axis)),
        unexpanded=tuple(n if s > 0 or n == 1 else 1 for s, n in zip(stride, size, strict=True)),
        size=size,
    )


def _cut(block: int, offset: int, dims: tuple[tuple[int, int], ...], strides: Shape) -> list[_Cut] | None:
    """Cuts a block of elements into dimensions so that each dimension of the view is a slice of one of them.

    The base's own strides are tried first as dimensions, so that a row of a matrix is a row and not a range of
    elements.

    Args:
        block: number of elements.
        offset: position of the view's first element in the block.
        dims: stride and size of each dimension of the view, largest stride first.
        strides: strides of the base.

    Returns:
        The dimensions, outermost first; None when there is no such cut.
    """
    extent = sum(s * (n - 1) for s, n in dims)
    if not dims:
        for stride in strides:
            if 1 <= stride < block and block % stride == 0:
                rest = _cut(stride, offset % stride, dims, strides)
                return None if rest is None else [_Cut(block // stride, offset // stride, 1, 1), *rest]
        return [_Cut(block, offset, 1, 1)] if block > 1 else []
    (first, count), *others = dims
    for stride in strides:
        if first < stride < block and block % stride == 0 and offset % stride + extent < stride:
            rest = _cut(stride, offset % stride, dims, strides)
            if rest is not None:
                return [_Cut(block // stride, offset // stride, 1, 1), *rest]
            break
    candidates = [s for s in strides if s <= first and first % s == 0 and block % s == 0][:1]
    for inner in dict.fromkeys([*candidates, math.gcd(first, block)]):
        start, step = offset // inner, first // inner
        remaining = sum(s * (n - 1) for s, n in others)
        if start + step * (count - 1) >= block // inner or offset % inner + remaining >= inner:
            continue
        rest = _cut(inner, offset % inner, tuple(others), strides)
        if rest is not None:
            return [_Cut(block // inner, start, step, count), *rest]
    return None
