"""Arrays with padding, and what makes the padding of several arrays alike.

A dimension of a :class:`Padded` is a row-major product of :class:`Factor`, each with a size that may be a symbol, and a
capacity. Most have one factor. A dimension that a program made of two, such as batch and position, keeps both, as its
valid elements are not the first ones.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import jax
import numpy as np
from jax import lax
from jax.export import is_symbolic_dim

from tt_xla.errors import UnsupportedOpError
from tt_xla.frontends.capacity.sizes import Capacities, Size, value_of

Array = jax.Array


class NoRuleError(UnsupportedOpError):
    """A primitive has no rule for the padding of its operands, so the program is compiled for each size."""


class Factor(NamedTuple):
    """A part of a dimension: its first ``size`` of ``capacity`` elements are valid."""

    size: Size
    capacity: int

    @property
    def is_exact(self) -> bool:
        """Whether all elements are valid."""
        return not is_symbolic_dim(self.size) and int(self.size) == self.capacity


Dim = tuple[Factor, ...]
"""A dimension: the product of factors, the last one varying fastest."""


def exact(size: int) -> Dim:
    """Returns a dimension without padding."""
    return (Factor(int(size), int(size)),)


def capacity_of(dim: Dim) -> int:
    """Returns the number of elements of a dimension with its padding."""
    return math.prod(factor.capacity for factor in dim)


def size_of(dim: Dim) -> Size:
    """Returns the number of valid elements of a dimension."""
    return math.prod(factor.size for factor in dim)


def is_exact(dim: Dim) -> bool:
    """Returns whether a dimension has no padding."""
    return all(factor.is_exact for factor in dim)


def normalized(factors: Iterable[Factor]) -> Dim:
    """Returns a dimension of factors: those that are 1 are left out, and exact ones join the one before."""
    joined: list[Factor] = []
    for factor in factors:
        if factor.is_exact and factor.capacity == 1:
            continue
        if joined and factor.is_exact:
            joined[-1] = Factor(joined[-1].size * factor.size, joined[-1].capacity * factor.capacity)
        else:
            joined.append(factor)
    return tuple(joined) or exact(1)


@dataclass(frozen=True, eq=False)
class Padded:
    """An array whose dimensions may have padding.

    Attributes:
        array: the elements, of the capacities of ``dims``.
        dims: the dimensions.
        fill: what all elements of the padding are; None if they may be anything, also infinite or NaN.
        uniform: axes along which all elements are equal, also those of the padding.
    """

    array: Array
    dims: tuple[Dim, ...]
    fill: Any = None
    uniform: frozenset[int] = frozenset()

    @property
    def padded_axes(self) -> list[int]:
        """The axes that have padding."""
        return [axis for axis, dim in enumerate(self.dims) if not is_exact(dim)]

    @property
    def is_exact(self) -> bool:
        """Whether the array has no padding."""
        return not self.padded_axes


def exact_value(array: Any) -> Padded:
    """Returns an array without padding."""
    return Padded(array, tuple(exact(size) for size in np.shape(array)))


class Padding:
    """The capacities of a program that is being traced, its valid lengths, and operations on padded arrays.

    Args:
        capacities: the capacities.
        lengths: valid lengths in the running program: an integer array without dimensions for each symbol.
        replaced: gets each result of a rule and returns the value that the program goes on with, which may differ from
            it in the padding. Tests fill the padding with it.
    """

    def __init__(
        self,
        capacities: Capacities,
        lengths: dict[str, Array],
        replaced: Callable[[Padding, Padded], Padded] | None = None,
    ) -> None:
        self.capacities = capacities
        self.replaced = replaced
        self._lengths = lengths
        self._known: dict[str, Array] = {}
        self.masks = 0
        """Number of times that the program needed a valid length."""

    @contextlib.contextmanager
    def inner(self) -> Generator[None]:
        """Context manager for the trace of a function within the program, whose values only that function sees."""
        outer, self._known = self._known, dict(self._known)
        try:
            yield
        finally:
            self._known = outer

    # Sizes

    def dim(self, size: Size) -> Dim:
        """Returns the dimension of a size whose valid elements are the first ones."""
        return (Factor(size, self.capacities[size]),) if is_symbolic_dim(size) else exact(size)

    def dims(self, sizes: Sequence[Size]) -> tuple[Dim, ...]:
        """Returns the dimensions of a shape."""
        return tuple(map(self.dim, sizes))

    def length(self, size: Size) -> Any:
        """Returns a size in the running program: an int, or an i32 array without dimensions."""
        if not is_symbolic_dim(size):
            return int(size)
        self.masks += 1
        key = str(size)
        if key not in self._known:
            self._known[key] = value_of(size, self._lengths, _OF_ARRAYS)
        return self._known[key]

    # Masks

    def valid(self, value: Padded, axes: Iterable[int]) -> Array:
        """Returns which elements of an array are valid along some axes: booleans of its shape."""
        shape = value.array.shape
        found: Array | None = None
        for axis in axes:
            for factor, index in self._indices(value.dims[axis]):
                if factor.is_exact:
                    continue
                mask = lax.lt(index, lax.full_like(index, 0) + self.length(factor.size))
                mask = lax.broadcast_in_dim(mask, shape, (axis,))
                found = mask if found is None else lax.bitwise_and(found, mask)
        assert found is not None
        return found

    def _indices(self, dim: Dim) -> list[tuple[Factor, Array]]:
        """Returns for each factor of a dimension the position of each element of the dimension along it."""
        total = capacity_of(dim)
        inner = total
        found: list[tuple[Factor, Array]] = []
        for factor in dim:
            inner //= factor.capacity
            index = lax.iota(np.int32, total)
            if inner > 1:
                index = lax.div(index, np.int32(inner))
            if factor.capacity * inner < total:
                index = lax.rem(index, np.int32(factor.capacity))
            found.append((factor, index))
        return found

    def filled(self, value: Padded, number: Any, axes: Iterable[int] | None = None) -> Padded:
        """Returns an array whose padding holds a number.

        Args:
            value: the array.
            number: the number, or an array without dimensions of the same type.
            axes: axes along which the padding has to hold it; None for all.
        """
        padded = value.padded_axes
        needed = padded if axes is None else [axis for axis in padded if axis in set(axes)]
        is_number = not isinstance(number, jax.Array | np.ndarray)
        if not needed or (is_number and value.fill is not None and same_number(value.fill, number)):
            return value
        other = lax.full(value.array.shape, number, value.array.dtype)
        array = lax.select(self.valid(value, needed), value.array, other)
        return Padded(array, value.dims, number if is_number and needed == padded else None)

    # Layouts

    def aligned(self, values: Sequence[Padded], axes: Sequence[Sequence[int]] | None = None) -> list[Padded]:
        """Returns arrays whose dimensions have the same factors.

        Args:
            values: arrays.
            axes: for each group of axes that are to be alike, its axis of each array; by default equal axes.
        """
        if axes is None:
            axes = [[axis] * len(values) for axis in range(len(values[0].dims))]
        values = list(values)
        for group in axes:
            dims = [value.dims[axis] for value, axis in zip(values, group, strict=True)]
            if all(dim == dims[0] for dim in dims):
                continue
            target = self._common(values, dims, group)
            for number, axis in enumerate(group):
                if values[number].dims[axis] != target:
                    values[number] = self.with_dim(values[number], axis, target)
        return values

    def _common(self, values: Sequence[Padded], dims: Sequence[Dim], group: Sequence[int]) -> Dim:
        """Returns the factors that some dimensions of one size all take."""
        firm = [dim for value, dim, axis in zip(values, dims, group, strict=True) if axis not in value.uniform]
        firm = firm or list(dims)
        assert all(size_of(dim) == size_of(dims[0]) for dim in dims), dims
        if len({tuple(factor.size for factor in dim) for dim in firm}) > 1:
            return self.dim(size_of(firm[0]))
        return tuple(
            Factor(factors[0].size, min(factor.capacity for factor in factors)) for factors in zip(*firm, strict=True)
        )

    def with_dim(self, value: Padded, axis: int, target: Dim) -> Padded:
        """Returns an array with other factors of a dimension, for the same valid elements."""
        dim = value.dims[axis]
        if dim == target:
            return value
        dims = (*value.dims[:axis], target, *value.dims[axis + 1 :])
        if axis in value.uniform:
            first = lax.slice_in_dim(value.array, 0, 1, axis=axis)
            shape = tuple(map(capacity_of, dims))
            array = lax.broadcast_in_dim(first, shape, tuple(range(len(shape))))
            return replace(value, array=array, dims=dims, fill=None)
        if [factor.size for factor in dim] == [factor.size for factor in target]:
            number = 0 if value.fill is None else value.fill
            return replace(value, array=_resized(value.array, axis, dim, target, number), dims=dims)
        return self.gathered(value, dims)

    def single(self, value: Padded, axis: int) -> Padded:
        """Returns an array whose valid elements are the first ones of a dimension."""
        return value if len(value.dims[axis]) == 1 else self.with_dim(value, axis, self.dim(size_of(value.dims[axis])))

    def canonical(self, value: Padded, sizes: Sequence[Size]) -> Padded:
        """Returns an array with the dimensions that :meth:`dims` gives for a shape."""
        for axis, dim in enumerate(self.dims(sizes)):
            value = self.with_dim(value, axis, dim)
        return value

    def gathered(self, value: Padded, dims: tuple[Dim, ...]) -> Padded:
        """Returns the valid elements of an array, in their order, in an array of other dimensions."""
        shape = tuple(map(capacity_of, dims))
        position = self._flat(dims, shape)
        flat: Any = 0
        stride = 1
        for factor in reversed([factor for dim in value.dims for factor in dim]):
            length = self.length(factor.size)
            index = lax.rem(position, lax.full_like(position, 0) + length)
            position = lax.div(position, lax.full_like(position, 0) + length)
            flat = flat + index * np.int32(stride)
            stride *= factor.capacity
        indices = lax.clamp(np.int32(0), flat, np.int32(stride - 1))
        elements = value.array.reshape(-1).at[indices].get(mode="promise_in_bounds")
        return Padded(elements, dims)

    def _flat(self, dims: tuple[Dim, ...], shape: tuple[int, ...]) -> Array:
        """Returns for each element of dimensions its position among the valid ones, in row-major order."""
        flat: Any = lax.full(shape, 0, np.int32)
        length: Any = 1
        for axis in reversed(range(len(dims))):
            for factor, index in reversed(self._indices(dims[axis])):
                index = lax.broadcast_in_dim(index, shape, (axis,))
                flat = flat + index * length
                length = length * self.length(factor.size)
        return flat


def _resized(array: Array, axis: int, dim: Dim, target: Dim, number: Any) -> Array:
    """Returns an array with other capacities of the factors of a dimension. New padding holds ``number``."""
    before, after = array.shape[:axis], array.shape[axis + 1 :]
    array = lax.reshape(array, (*before, *(factor.capacity for factor in dim), *after))
    for offset, (old, new) in enumerate(zip(dim, target, strict=True)):
        if new.capacity < old.capacity:
            array = lax.slice_in_dim(array, 0, new.capacity, axis=axis + offset)
        elif new.capacity > old.capacity:
            edges = [(0, 0, 0)] * array.ndim
            edges[axis + offset] = (0, new.capacity - old.capacity, 0)
            array = lax.pad(array, np.asarray(number, array.dtype), edges)
    return lax.reshape(array, (*before, capacity_of(target), *after))


def same_number(first: Any, second: Any) -> bool:
    """Returns whether two numbers are the same, so that 0.0 is not -0.0, and NaN is NaN."""
    first, second = np.asarray(first), np.asarray(second)
    if first.dtype.kind == "b" or second.dtype.kind == "b":
        return bool(first) == bool(second)
    return bool(first == second or (first != first and second != second)) and bool(
        np.signbit(np.float64(first)) == np.signbit(np.float64(second))
    )


_OF_ARRAYS: dict[str, Callable[..., Any]] = {
    "floordiv": lambda a, b: jax.numpy.floor_divide(a, b),
    "mod": lambda a, b: jax.numpy.mod(a, b),
    "max": lambda a, b: jax.numpy.maximum(a, b),
    "min": lambda a, b: jax.numpy.minimum(a, b),
    "non_negative": lambda a: jax.numpy.maximum(a, 0),
}

__all__ = [
    "Dim",
    "Factor",
    "NoRuleError",
    "Padded",
    "Padding",
    "capacity_of",
    "exact",
    "exact_value",
    "is_exact",
    "normalized",
    "same_number",
    "size_of",
]
