"""Draws shapes, element types and the elements of inputs, special ones among them."""

from __future__ import annotations

import random
from collections.abc import Sequence

import ml_dtypes
import numpy as np

SIZES = (1, 1, 2, 3, 4, 5, 7, 8, 16, 31, 32, 33, 64, 65)
"""Sizes of dimensions: small, odd, and around the 32 rows and columns of a tile."""

FLOATS = ("float32", "bfloat16", "float16", "float64")
INTEGERS = ("int32", "int8", "uint8", "int16", "uint16", "uint32", "int64", "uint64")

SPECIAL = (0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3e38, -3e38, 1e-30, 65504.0, 1e5, float("inf"), float("-inf"), float("nan"))
"""Floats at which functions, comparisons and formats change their behaviour."""


def dtype(name: str) -> np.dtype:
    """Returns the NumPy type of an element type's name in NumPy or ml_dtypes."""
    return np.dtype(getattr(ml_dtypes, name, None) or name)


def shape(
    random: random.Random, ranks: Sequence[int] = (0, 1, 1, 2, 2, 2, 3, 3, 4), most: int = 4096
) -> tuple[int, ...]:
    """Returns a drawn shape of at most ``most`` elements; one of 30 has a dimension without elements."""
    sizes = [random.choice(SIZES) for _ in range(random.choice(ranks))]
    while np.prod(sizes, dtype=int) > most:
        sizes[sizes.index(max(sizes))] = random.choice(SIZES[:7])
    if sizes and random.random() < 1 / 30:
        sizes[random.randrange(len(sizes))] = 0
    return tuple(sizes)


def is_float(type_: np.dtype) -> bool:
    """Whether a type is one of floating-point numbers, those of ml_dtypes included."""
    return type_.kind == "f" or (type_.kind == "V" and "float" in type_.name)


def array(random: random.Random, shape: Sequence[int], name: str, *, special: bool = False) -> np.ndarray:
    """Returns drawn elements.

    Args:
        random: the generator.
        shape: sizes.
        name: element type in NumPy or ml_dtypes.
        special: whether floats may be NaN, infinities, signed zeros and numbers near the ends of the range, and
            integers near the ends of theirs. Otherwise floats are normally distributed, and integers are small.
    """
    drawn, type_ = np.random.default_rng(random.getrandbits(64)), dtype(name)
    if type_ == np.bool_:
        return drawn.integers(0, 2, shape).astype(np.bool_)
    if type_.kind == "c":
        return (drawn.standard_normal(shape) + 1j * drawn.standard_normal(shape)).astype(type_)
    if is_float(type_):
        values = drawn.standard_normal(shape)
        if special:
            values = np.where(drawn.random(shape) < 0.3, drawn.choice(SPECIAL, shape), values)
        with np.errstate(over="ignore"):
            return np.asarray(values).astype(type_)
    limits = ml_dtypes.iinfo(
        {"int64": "int32", "uint64": "uint16"}.get(type_.name, type_)
    )  # the chip has 32 bits for 64
    least, most = int(limits.min), int(limits.max)
    values = drawn.integers(max(least, -9), min(most, 9) + 1, shape).astype(type_)
    if special:
        ends = np.array([least, most, least + 1, most - 1, most // 2 + 1, 0]).astype(type_)
        values = np.where(drawn.random(shape) < 0.3, drawn.choice(ends, shape), values)
    return np.asarray(values).astype(type_)


def strided(random: random.Random, value: np.ndarray) -> np.ndarray:
    """Returns an array of the same elements that lies otherwise in memory: with gaps, transposed or backwards."""
    if value.ndim == 0 or random.random() < 0.5:
        return value
    way = random.choice(("backwards", "gaps", "transposed"))
    if way == "transposed":
        return np.ascontiguousarray(value.T).T
    axis = random.randrange(value.ndim)
    step = -1 if way == "backwards" else 2
    sizes = list(value.shape)
    sizes[axis] *= abs(step)
    place: list[slice] = [slice(None)] * value.ndim
    place[axis] = slice(None, None, step)
    around = np.zeros(sizes, value.dtype)
    around[tuple(place)] = value
    return around[tuple(place)]
