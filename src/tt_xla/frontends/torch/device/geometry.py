"""Views as plain steps: how the elements of a strided view lie in the contiguous base of its storage.

A view is its base reshaped, some dimensions sliced, then permuted and expanded. :func:`find_view` finds those steps
from size, stride and offset alone, so it does not matter by which ops the user came to the view.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Part:
    """A slice of one dimension that takes less than all of it."""

    dim: int
    start: int
    stop: int
    step: int


@dataclass(frozen=True)
class View:
    """Steps from a contiguous base to a view of it.

    Attributes:
        lengths: the base reshaped.
        parts: slices of it; ``counts`` is the shape after them.
        kept: sizes greater than one, in memory order.
        order: where the dimensions of the view that are kept find theirs in ``kept``.
        unexpanded: the view's shape with 1 for dimensions of stride 0.
        size: the view's shape.
    """

    lengths: Shape
    parts: tuple[Part, ...]
    counts: Shape
    kept: Shape
    order: Shape
    unexpanded: Shape
    size: Shape


@dataclass(frozen=True)
class _Cut:
    """One dimension of the reshaped base, and which of its places the view takes."""

    length: int
    start: int
    step: int
    count: int


def contiguous_strides(shape: Sequence[int]) -> Shape:
    """Strides, in elements, of a contiguous tensor."""
    strides = [1] * len(shape)
    for dim in range(len(shape) - 2, -1, -1):
        strides[dim] = strides[dim + 1] * max(shape[dim + 1], 1)
    return tuple(strides)


def memory_order(shape: Sequence[int], stride: Sequence[int]) -> Shape | None:
    """The permutation that makes a dense tensor contiguous; None when it has gaps or shares elements."""
    order = sorted(range(len(shape)), key=lambda dim: (-stride[dim], -shape[dim]))
    expected = 1
    for dim in reversed(order):
        if shape[dim] != 1:
            if stride[dim] != expected:
                return None
            expected *= shape[dim]
    return tuple(order)


def storage_elements(size: Sequence[int], stride: Sequence[int], offset: int = 0) -> int:
    """How many elements a storage needs so that such a tensor lies within it."""
    if 0 in size:
        return 0
    return offset + 1 + sum((n - 1) * s for n, s in zip(size, stride, strict=True))


@functools.lru_cache(4096)
def find_view(base: Shape, size: Shape, stride: Shape, offset: int) -> View | None:
    """Steps from a base of this shape to the view; None when only a gather will do (its elements overlap or cross)."""
    dims = sorted(
        ((s, n, at) for at, (s, n) in enumerate(zip(stride, size, strict=True)) if n > 1 and s > 0),
        key=lambda dim: -dim[0],
    )
    cuts = _cut(math.prod(base), offset, tuple((s, n) for s, n, _ in dims), contiguous_strides(base))
    if cuts is None:
        return None
    lengths = tuple(cut.length for cut in cuts)
    parts = tuple(
        Part(dim, cut.start, cut.start + cut.step * (cut.count - 1) + 1, cut.step)
        for dim, cut in enumerate(cuts)
        if cut.count != cut.length
    )
    place = {at: rank for rank, (_, _, at) in enumerate(dims)}
    return View(
        lengths=lengths,
        parts=parts,
        counts=tuple(cut.count for cut in cuts),
        kept=tuple(n for _, n, _ in dims),
        order=tuple(place[at] for at in sorted(place)),
        unexpanded=tuple(n if s > 0 or n == 1 else 1 for s, n in zip(stride, size, strict=True)),
        size=size,
    )


def _cut(block: int, offset: int, dims: tuple[tuple[int, int], ...], strides: Shape) -> list[_Cut] | None:
    """Cuts a block of elements into dimensions such that each of the view's is a slice of one.

    ``dims`` are strides and sizes, largest stride first. The base's own strides are tried as places to cut, so that a
    row of a matrix is a row and not a stretch of its elements.
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
    tried = [s for s in strides if s <= first and first % s == 0 and block % s == 0][:1]
    for inner in dict.fromkeys([*tried, math.gcd(first, block)]):
        start, step = offset // inner, first // inner
        remaining = sum(s * (n - 1) for s, n in others)
        if start + step * (count - 1) >= block // inner or offset % inner + remaining >= inner:
            continue
        rest = _cut(inner, offset % inner, tuple(others), strides)
        if rest is not None:
            return [_Cut(block // inner, start, step, count), *rest]
    return None
