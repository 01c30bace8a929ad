"""Mesh axes as digits of a chip's position, and the mesh in which no sharding uses a part of an axis.

Chips are numbered by position. An axis of a mesh, a part of an axis (Shardy's sub-axis), and a dimension of GSPMD's
device list all take one digit, or several, from the position: ``position // stride % size``. Two shardings that were
written for meshes of different shapes or axis names can be compared once both are digits.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tt_xla.errors import CompileError
from tt_xla.ir.mesh import Mesh

Positions = npt.NDArray[np.int64]
"""Positions of chips, arranged in the shape of a mesh."""


class Digit(NamedTuple):
    """The part ``position // stride % size`` of a chip's position."""

    stride: int
    size: int


Digits = tuple[Digit, ...]
"""Digits of one axis or of one dimension of a tensor, major first."""


def row_major(sizes: Sequence[int]) -> list[Digit]:
    """Returns the digit of each axis of a mesh whose chips are in row-major order."""
    return [Digit(math.prod(sizes[axis + 1 :]), size) for axis, size in enumerate(sizes)]


def part(digits: Digits, before: int, size: int) -> Digits:
    """Returns the digits of a part of an axis.

    Args:
        digits: the digits of the axis.
        before: product of the sizes of the parts that are major to this one.
        size: size of the part.

    Raises:
        CompileError: the parts do not divide the axis.
    """
    digits_of_part: list[Digit] = []
    after = math.prod(digit.size for digit in digits) // (before * size)
    seen = 1
    for digit in reversed(digits):
        low, high = max(seen, after), min(seen * digit.size, after * size)
        if high > low:
            if low % seen or high % low:
                raise CompileError(f"A part of {size} of a mesh axis does not divide {digit.size} chips evenly.")
            digits_of_part.append(Digit(digit.stride * (low // seen), high // low))
        seen *= digit.size
    return tuple(reversed(digits_of_part))


def digits_of(positions: Positions) -> list[Digits] | None:
    """Returns the digits of each axis of an arrangement of positions; None if its order is not one of digits."""
    if positions.size == 0 or positions.flat[0] != 0:
        return None
    axes = [
        _digits_along(np.moveaxis(positions, axis, -1).reshape(-1, size)[0])
        for axis, size in enumerate(positions.shape)
    ]
    ordered = [digits for digits in axes if digits is not None]
    if len(ordered) < len(axes):
        return None
    rebuilt = np.zeros(positions.shape, np.int64)
    for axis, digits in enumerate(ordered):
        along = np.zeros(1, np.int64)
        for digit in digits:
            along = (along[:, None] + np.arange(digit.size) * digit.stride).reshape(-1)
        rebuilt += along.reshape([-1 if other == axis else 1 for other in range(positions.ndim)])
    return ordered if np.array_equal(rebuilt, positions) else None


def _digits_along(values: Positions) -> Digits | None:
    """Returns the digits that a row of positions counts through; its first position is 0."""
    digits: list[Digit] = []
    while len(values) > 1:
        stride = int(values[1])
        length = next((n for n, value in enumerate(values) if value != n * stride), len(values))
        while len(values) % length:
            length -= 1
        if stride <= 0 or length < 2:
            return None
        digits.append(Digit(stride, length))
        values = values[::length]
    return tuple(reversed(digits))


def finest_mesh(digits: Iterable[Digit], chips: int, names: Mapping[Digit, str]) -> tuple[Mesh, list[Digit]]:
    """Returns the mesh of the fewest axes such that each digit is a sequence of whole axes.

    Args:
        digits: the digits that shardings and meshes use.
        chips: number of chips.
        names: names of axes that the user gave to some digits.

    Returns:
        The mesh, and the digit of each of its axes.

    Raises:
        CompileError: no mesh has all these digits as axes.
    """
    cuts = {1, chips}
    for digit in digits:
        if digit.size > 1:
            cuts.update((digit.stride, digit.stride * digit.size))
    ordered = sorted(cuts)
    for low, high in itertools.pairwise(ordered):
        if high % low:
            raise CompileError(
                f"The shardings of the module split {chips} chips in runs of {low} and in runs of {high}; "
                "no mesh has axes for both.",
                hint="Use meshes whose axis sizes divide each other.",
            )
    axes = [Digit(low, high // low) for low, high in itertools.pairwise(ordered)][::-1]
    return Mesh(tuple(axis.size for axis in axes), tuple(_names(axes, names))), axes


def _names(axes: Sequence[Digit], names: Mapping[Digit, str]) -> Iterable[str]:
    """Yields the name of each axis: the user's, or that of the axis it is a part of with the part's number."""
    used: set[str] = set()
    for number, axis in enumerate(axes):
        name = names.get(axis, "")
        if not name:
            within = [other for stride_size, other in names.items() if _contains(stride_size, axis)]
            name = f"{within[0]}.{number}" if within else f"axis{number}"
        while name in used:
            name += "_"
        used.add(name)
        yield name


def _contains(digit: Digit, other: Digit) -> bool:
    return digit.stride <= other.stride and other.stride * other.size <= digit.stride * digit.size


def whole_axes(digits: Iterable[Digit], axes: Sequence[Digit]) -> tuple[int, ...]:
    """Returns the indices of the axes of the finest mesh that some digits consist of, major first."""
    return tuple(
        index for digit in digits for index, axis in enumerate(axes) if digit.size > 1 and _contains(digit, axis)
    )
