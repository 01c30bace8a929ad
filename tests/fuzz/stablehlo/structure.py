"""Drawers of ops that make, move and cut tensors, and of those whose shapes are operands."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tests.fuzz.stablehlo.builder import ANY, Builder
from tests.fuzz.stablehlo.drawers import draws
from tests.fuzz.stablehlo.types import (
    COMPLEX,
    FLOATS,
    INTEGERS,
    NARROW_FLOATS,
    REAL,
    Value,
    constant_text,
    longs,
)

ALL = (REAL, COMPLEX, NARROW_FLOATS)


@draws("stablehlo.constant", "chlo.constant")
def constant(b: Builder, name: str) -> Value:
    element, shape = b.element(*ALL), b.shape()
    array = b.array(shape, element)
    if b.chance(0.3) and array.size:
        array = np.full(shape, array.flat[0])
    return b.one(name, [], shape, element, f"value = {constant_text(array, element)}")


@draws("chlo.constant_like")
def constant_like(b: Builder, name: str) -> Value:
    element, shape = b.element(INTEGERS, FLOATS), b.shape()
    number = constant_text(b.array((), element), element).removeprefix("dense<").partition(">")[0]
    return b.one(name, [b.operand(shape, element)], shape, element, f"value = {number} : {element}")


@draws("tensor.empty")
def empty(b: Builder, name: str) -> Value:
    """Draws a tensor of any elements, of which a product with zero or a full update leaves none."""
    element, shape = b.element(("f32", "bf16", "i32", "i8", "i1", "ui8")), b.shape((1, 2, 2, 3))

    def zeros(_: Sequence[Value], results: Sequence[Value]) -> list[str]:
        text = constant_text(np.zeros(shape, bool if element == "i1" else np.int8), element)
        return [b.line("stablehlo.constant", [], [], results, f"value = {text}")]

    (made,) = b.op(name, [], [(shape, element)], reference=zeros)
    b.values.remove(made)
    if b.chance(0.5):
        mask = b.splat(shape, "i1", 0)
        return b.one("stablehlo.select", [mask, made, b.operand(shape, element)], shape, element)
    starts = [b.scalar("i32", 0) for _ in shape]
    whole = b.operand(shape, element)
    return b.one("stablehlo.dynamic_update_slice", [made, whole, *starts], shape, element)


@draws("stablehlo.iota")
def iota(b: Builder, name: str) -> Value:
    element, shape = b.element(INTEGERS, FLOATS, COMPLEX), b.shape((1, 1, 2, 2, 3, 4))
    return b.one(name, [], shape, element, f"iota_dimension = {b.random.randrange(len(shape))} : i64")


@draws("stablehlo.dynamic_iota")
def dynamic_iota(b: Builder, name: str) -> Value:
    element, shape = b.element(INTEGERS, FLOATS, COMPLEX), b.shape((1, 1, 2, 2, 3, 4))
    attributes = f"iota_dimension = {b.random.randrange(len(shape))} : i64"
    return b.one(name, [sizes_of(b, shape)], shape, element, attributes)


def sizes_of(b: Builder, sizes: Sequence[int], element: str | None = None) -> Value:
    """Returns a constant of sizes, or one that an op computes from constants."""
    element = element or b.random.choice(("i32", "i64"))
    if b.chance(0.6) or not sizes:
        return b.constant(np.array(sizes, np.int64).reshape(len(sizes)), element)
    if b.chance(0.5):
        cut = b.random.randint(0, len(sizes) - 1)
        parts = [b.constant(np.array(part, np.int64).reshape(-1), element) for part in (sizes[:cut], sizes[cut:])]
        return b.one("stablehlo.concatenate", parts, (len(sizes),), element, "dimension = 0 : i64")
    off = b.random.randint(1, 5)
    base = b.constant(np.array(sizes, np.int64) - off, element)
    return b.one("stablehlo.add", [base, b.splat((len(sizes),), element, off)], (len(sizes),), element)


@draws("stablehlo.reshape", "stablehlo.dynamic_reshape")
def reshape(b: Builder, name: str) -> Value:
    element, shape = b.element(*ALL), b.shape()
    after = b.other_shape(shape)
    more = [] if name == "stablehlo.reshape" else [sizes_of(b, after)]
    return b.one(name, [b.operand(shape, element), *more], after, element)


@draws("stablehlo.transpose")
def transpose(b: Builder, name: str) -> Value:
    element, shape = b.element(*ALL), b.shape((0, 1, 2, 2, 3, 3, 4, 5))
    order = b.random.sample(range(len(shape)), len(shape))
    operand = b.operand(shape, element)
    return b.one(name, [operand], [shape[dim] for dim in order], element, f"permutation = {longs(order)}")


@draws("stablehlo.broadcast_in_dim", "stablehlo.dynamic_broadcast_in_dim")
def broadcast_in_dim(b: Builder, name: str) -> Value:
    """Draws the dimensions of the result that the operand's become, in any order, and which ones grow."""
    element, shape = b.element(*ALL), b.shape()
    dims = b.random.sample(range(len(shape)), b.random.randint(0, len(shape)))
    if b.chance(0.7):
        dims.sort()
    operand = b.operand([1 if b.chance(0.3) else shape[dim] for dim in dims], element)
    attributes = f"broadcast_dimensions = {longs(dims)}"
    more = [] if name == "stablehlo.broadcast_in_dim" else [sizes_of(b, shape)]
    return b.one(name, [operand, *more], shape, element, attributes)


@draws("stablehlo.concatenate")
def concatenate(b: Builder, name: str) -> Value:
    element, shape = b.element(*ALL), b.shape((1, 2, 2, 3, 4), most=1024)
    dim = b.random.randrange(len(shape))
    sizes = [b.random.choice((shape[dim], 0, 1, 2, 5, 32)) if b.chance(0.5) else shape[dim] for _ in range(4)]
    sizes = sizes[: b.random.randint(1, 4)]
    operands = [b.operand((*shape[:dim], size, *shape[dim + 1 :]), element) for size in sizes]
    if b.chance(0.2):
        operands.append(operands[0])
        sizes.append(sizes[0])
    result = (*shape[:dim], sum(sizes), *shape[dim + 1 :])
    return b.one(name, operands, result, element, f"dimension = {dim} : i64")


def cuts(b: Builder, shape: Sequence[int]) -> tuple[list[int], list[int], list[int], list[int]]:
    """Returns starts, ends, strides and sizes of drawn slices of a shape."""
    starts = [b.random.randint(0, size) if b.chance(0.5) else 0 for size in shape]
    ends = [b.random.randint(low, size) if b.chance(0.5) else size for low, size in zip(starts, shape, strict=True)]
    strides = [b.random.choice((1, 1, 1, 2, 3)) for _ in shape]
    sizes = [-(-(high - low) // step) for low, high, step in zip(starts, ends, strides, strict=True)]
    return starts, ends, strides, sizes


@draws("stablehlo.slice")
def slice_(b: Builder, name: str) -> Value:
    element, shape = b.element(*ALL), b.shape()
    starts, ends, strides, sizes = cuts(b, shape)
    attributes = f"start_indices = {longs(starts)}, limit_indices = {longs(ends)}, strides = {longs(strides)}"
    return b.one(name, [b.operand(shape, element)], sizes, element, attributes)


@draws("stablehlo.real_dynamic_slice")
def real_dynamic_slice(b: Builder, name: str) -> Value:
    element, shape = b.element(*ALL), b.shape()
    *numbers, sizes = cuts(b, shape)
    type_ = b.random.choice(("i32", "i64"))
    bounds = [b.constant(np.array(row, np.int64).reshape(len(shape)), type_) for row in numbers]
    return b.one(name, [b.operand(shape, element), *bounds], sizes, element)


@draws("stablehlo.pad", "stablehlo.dynamic_pad")
def pad(b: Builder, name: str) -> Value:
    """Draws paddings, negative ones among them, and gaps between elements."""
    element, shape = b.element(*ALL), b.shape(most=512)
    if b.is_hollow():
        shape = (0, *(max(1, size) for size in shape))
    rows: list[tuple[int, int, int]] = []
    sizes: list[int] = []
    for size in shape:
        inner = b.random.choice((0, 0, 0, 1, 2))
        low, high = (b.random.randint(-2 if size else 1, 3) if b.chance(0.6) or not size else 0 for _ in range(2))
        whole = size + max(size - 1, 0) * inner
        if whole + low + high < 0:
            low, high = 0, 0
        rows.append((low, high, inner))
        sizes.append(whole + low + high)
    operands = [b.operand(shape, element), b.operand((), element)]
    lows, highs, inners = ([row[place] for row in rows] for place in range(3))
    if name == "stablehlo.dynamic_pad":
        type_ = b.random.choice(("i32", "i64"))
        operands += [b.constant(np.array(row, np.int64).reshape(-1), type_) for row in (lows, highs, inners)]
        return b.one(name, operands, sizes, element)
    attributes = f"edge_padding_low = {longs(lows)}, edge_padding_high = {longs(highs)}"
    return b.one(name, operands, sizes, element, f"{attributes}, interior_padding = {longs(inners)}")


@draws("stablehlo.reverse")
def reverse(b: Builder, name: str) -> Value:
    element, shape = b.element(*ALL), b.shape()
    dims = b.random.sample(range(len(shape)), b.random.randint(0, len(shape)))
    return b.one(name, [b.operand(shape, element)], shape, element, f"dimensions = {longs(dims)}")


@draws("stablehlo.dynamic_slice")
def dynamic_slice(b: Builder, name: str) -> Value:
    element, shape = b.element(*ALL), b.shape()
    sizes = [b.random.randint(1, size) if size else 0 for size in shape]
    starts = positions(b, shape)
    attributes = f"slice_sizes = {longs(sizes)}"
    return b.one(name, [b.operand(shape, element), *starts], sizes, element, attributes)


@draws("stablehlo.dynamic_update_slice")
def dynamic_update_slice(b: Builder, name: str) -> Value:
    element, shape = b.element(*ALL), b.shape()
    sizes = [b.random.randint(min(1, size), size) for size in shape]
    if b.is_hollow():
        shape = tuple(max(1, size) for size in shape) or (3,)
        sizes = [0, *shape[1:]]
    operands = [b.operand(shape, element), b.operand(sizes, element)]
    return b.one(name, [*operands, *positions(b, shape)], shape, element)


def positions(b: Builder, shape: Sequence[int]) -> list[Value]:
    """Returns a scalar for each dimension, a position within it or beside it."""
    element = b.element(("i32", "i32", "i64", "ui32", "i8", "ui8", "i16", "ui16", "ui64"))
    scalars: list[Value] = []
    for size in shape:
        if b.chance(0.2):
            scalars.append(b.operand((), element, ANY))
            continue
        low = 0 if element.startswith("u") else -1
        number = np.array(b.random.randint(low, min(size + 1, 100)))
        scalars.append(b.given(number, element))
    return scalars
