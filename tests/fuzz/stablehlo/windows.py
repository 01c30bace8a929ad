"""Drawers of reductions, sliding windows, products and convolutions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tests.fuzz.stablehlo.builder import Builder
from tests.fuzz.stablehlo.drawers import draws
from tests.fuzz.stablehlo.indexing import combiner, combining
from tests.fuzz.stablehlo.types import (
    BOOL,
    COMPLEX,
    FLOATS,
    INTEGERS,
    Value,
    flags,
    is_float,
    limits,
    longs,
    pairs,
)


def neutral(kind: str, element: str) -> float:
    """Returns the number that an op on two elements ignores."""
    if element in BOOL:
        return kind in ("multiply", "minimum", "and")
    if kind in ("maximum", "minimum"):
        if is_float(element):
            return float("-inf") if kind == "maximum" else float("inf")
        return limits(element)[0 if kind == "maximum" else 1]
    return {"multiply": 1, "and": -1 if not element.startswith("u") else limits(element)[1]}.get(kind, 0)


def initial(b: Builder, kind: str, element: str, *, once: bool = True) -> Value:
    """Returns the value that a reduction starts from: mostly the neutral one, a constant.

    Another one needs reductions that apply it once, which StableHLO does not say, nor XLA does for single elements.
    """
    if b.chance(0.75) or not once:
        return b.scalar(element, neutral(kind, element))
    return b.operand((), element)


def is_many(shape: Sequence[int], dims: Sequence[int]) -> bool:
    """Whether a reduction over dimensions joins several elements."""
    return any(shape[dim] > 1 for dim in dims)


@draws("stablehlo.reduce")
def reduce(b: Builder, name: str) -> list[Value]:
    shape = b.shape((0, 1, 1, 2, 2, 3, 4))
    if b.is_hollow():
        shape = (0, *(max(1, size) for size in shape))
    dims = b.some(b.random.randint(0 if b.chance(0.1) else min(1, len(shape)), len(shape)), len(shape))
    if b.hollow:
        dims = sorted({0, *dims})
    if b.chance(0.2):
        return _extreme_and_place(b, shape, dims)
    count = b.random.choice((1, 1, 1, 2))
    elements = [b.element(BOOL, INTEGERS, FLOATS, COMPLEX if count == 1 else ()) for _ in range(count)]
    kinds = ["add" if element in COMPLEX else combiner(b, element) for element in elements]
    operands = [b.operand(shape, element) for element in elements]
    starts = [
        initial(b, kind, element, once=is_many(shape, dims)) for kind, element in zip(kinds, elements, strict=True)
    ]
    left = [size for dim, size in enumerate(shape) if dim not in dims]
    region = combining(b, kinds, elements)
    attributes = f"dimensions = {longs(dims)}"
    return b.op(name, [*operands, *starts], [(left, element) for element in elements], attributes, [region])


def _extreme_and_place(b: Builder, shape: Sequence[int], dims: Sequence[int]) -> list[Value]:
    """Appends JAX's reduction for the extreme element and its position."""
    element, index = b.element(FLOATS, INTEGERS), b.element(("i32", "i64", "ui32", "i8"))
    greatest = b.chance(0.5)
    operand = b.operand(shape, element)
    iota = (
        b.one("stablehlo.iota", [], shape, index, f"iota_dimension = {dims[0] if dims else 0} : i64")
        if shape
        else b.scalar(index, 0)
    )
    start = b.scalar(element, neutral("maximum" if greatest else "minimum", element))

    def body(taken: list[Value]) -> list[Value]:
        old, place, new, other = taken
        better = b.compare(old, new, "GT" if greatest else "LT")
        if is_float(element):
            better = b.one("stablehlo.or", [better, b.compare(old, old, "NE")], (), "i1")
        earlier = b.one("stablehlo.and", [b.compare(old, new, "EQ"), b.compare(place, other, "LT")], (), "i1")
        first = b.one("stablehlo.or", [better, earlier], (), "i1")
        value = b.one("stablehlo.select", [better, old, new], (), element)
        return [value, b.one("stablehlo.select", [first, place, other], (), index)]

    arguments = [((), element), ((), index)] * 2
    left = [size for dim, size in enumerate(shape) if dim not in dims]
    return b.op(
        "stablehlo.reduce",
        [operand, iota, start, b.scalar(index, 0)],
        [(left, element), (left, index)],
        f"dimensions = {longs(dims)}",
        [b.region(arguments, body)],
    )


def window_rows(
    b: Builder, shape: Sequence[int], *, dilates: bool
) -> tuple[list[list[int]], list[list[int]], list[int]]:
    """Returns sizes, strides, base and window dilations of a drawn window, its padding, and the sizes of the result."""
    sizes = [b.random.choice((1, 1, 2, 3)) for _ in shape]
    strides = [b.random.choice((1, 1, 2, 3)) for _ in shape]
    base = [b.random.choice((1, 1, 1, 2)) if dilates else 1 for _ in shape]
    window = [b.random.choice((1, 1, 1, 2)) if dilates else 1 for _ in shape]
    padding: list[list[int]] = []
    result: list[int] = []
    for dim, size in enumerate(shape):
        low, high = (b.random.randint(0, 2) if b.chance(0.4) or not size else 0 for _ in range(2))
        padding.append([low, high])
        whole = (size - 1) * base[dim] + 1 + low + high if size else low + high
        extent = (sizes[dim] - 1) * window[dim] + 1
        result.append(max(0, (whole - extent) // strides[dim] + 1) if whole >= extent else 0)
    return [sizes, strides, base, window], padding, result


@draws("stablehlo.reduce_window")
def reduce_window(b: Builder, name: str) -> list[Value]:
    if b.chance(0.2) and not b.hollow:
        return _cumulative(b)
    shape = b.sizes(b.random.choice((1, 2, 2, 3, 4)), 1, 8)
    if b.is_hollow():
        shape = (*shape[:-1], 0)
    (sizes, strides, base, window), padding, result = window_rows(b, shape, dilates=True)
    count = b.random.choice((1, 1, 1, 1, 2))
    elements = [b.element(BOOL, INTEGERS, FLOATS) for _ in range(count)]
    kinds = [combiner(b, element) for element in elements]
    operands = [b.operand(shape, element) for element in elements]
    starts = [initial(b, kind, element) for kind, element in zip(kinds, elements, strict=True)]
    attributes = (
        f"window_dimensions = {longs(sizes)}, window_strides = {longs(strides)}, base_dilations = {longs(base)}, "
        f"window_dilations = {longs(window)}, padding = {pairs(padding)}"
    )
    region = combining(b, kinds, elements)
    return b.op(name, [*operands, *starts], [(result, element) for element in elements], attributes, [region])


def _cumulative(b: Builder) -> list[Value]:
    """Appends a cumulative sum, product, maximum or minimum, as JAX writes it."""
    element, shape = b.element(INTEGERS, FLOATS), b.shape((1, 2, 2, 3), most=1024)
    shape = tuple(max(1, size) for size in shape)
    dim, kind, backwards = b.random.randrange(len(shape)), combiner(b, element), b.chance(0.4)
    ones, edge = [1] * len(shape), shape[dim] - 1
    padding = [[0, 0] for _ in shape]
    padding[dim] = [0, edge] if backwards else [edge, 0]
    sizes = [size if d == dim else 1 for d, size in enumerate(shape)]
    attributes = (
        f"window_dimensions = {longs(sizes)}, window_strides = {longs(ones)}, base_dilations = {longs(ones)}, "
        f"window_dilations = {longs(ones)}, padding = {pairs(padding)}"
    )
    operands = [b.operand(shape, element), b.scalar(element, neutral(kind, element))]
    region = combining(b, [kind], [element])
    return b.op("stablehlo.reduce_window", operands, [(shape, element)], attributes, [region])


@draws("stablehlo.select_and_scatter")
def select_and_scatter(b: Builder, name: str) -> Value:
    shape = b.sizes(b.random.choice((1, 2, 3, 4)), 1, 7)
    (sizes, strides, _, _), padding, result = window_rows(b, shape, dilates=False)
    if b.is_hollow():
        sizes[0], result[0] = shape[0] + sum(padding[0]) + 1, 0
    element = b.element(FLOATS, INTEGERS)
    direction = b.random.choice(("GE", "GE", "LE", "GT", "LT"))
    select = b.region([((), element)] * 2, lambda taken: [b.compare(*taken, direction)])
    kind = "add" if b.chance(0.8) or 0 in result else combiner(b, element)  # XLA starts from 0 without updates
    operands = [b.operand(shape, element), b.operand(result, element), initial(b, kind, element)]
    attributes = f"window_dimensions = {longs(sizes)}, window_strides = {longs(strides)}, padding = {pairs(padding)}"
    return b.one(name, operands, shape, element, attributes, [select, combining(b, [kind], [element])])


def result_element(b: Builder, element: str) -> str:
    """Returns the type of a product: the operands' or a wider one."""
    if b.chance(0.7) or element in COMPLEX:
        return element
    wider = {"bf16": "f32", "f16": "f32", "i8": "i32", "ui8": "i32", "i16": "i32", "f32": "f32"}
    return wider.get(element, element)


PRECISION = ("DEFAULT", "HIGH", "HIGHEST")


def precision(b: Builder) -> str:
    two = ", ".join(f"#stablehlo<precision {b.random.choice(PRECISION)}>" for _ in range(2))
    return f", precision_config = [{two}]" if b.chance(0.4) else ""


@draws("stablehlo.dot_general")
def dot_general(b: Builder, name: str) -> Value:
    """Draws batch, contracted and free dimensions of both operands in any order."""
    element = b.element(INTEGERS, FLOATS, COMPLEX, BOOL)
    roles = [("batch", b.random.choice((1, 2, 3))) for _ in range(b.random.choice((0, 0, 0, 1, 1, 2)))]
    roles += [("contracted", b.random.choice((1, 2, 5, 8, 33))) for _ in range(b.random.choice((0, 1, 1, 1, 1, 2)))]
    if b.is_hollow():
        roles = [*roles, ("contracted", 0)]
        roles = [(role, 0 if role == "contracted" else size) for role, size in roles]
    shared = list(enumerate(roles))
    orders: list[list[tuple[int, str, int]]] = []
    for side in range(2):
        free = [
            (10 * (side + 1) + n, ("free", b.random.choice((1, 2, 3, 7, 32))))
            for n in range(b.random.choice((0, 1, 1, 2)))
        ]
        dims = [(key, role, size) for key, (role, size) in (*shared, *free)]
        if b.chance(0.6):
            b.random.shuffle(dims)
        orders.append(dims)
    places = [{key: place for place, (key, _, _) in enumerate(dims)} for dims in orders]
    numbers: list[list[int]] = []
    for role in ("batch", "contracted"):
        keys = [key for key, (kind, _) in shared if kind == role]
        numbers += [[place[key] for key in keys] for place in places]
    result = [size for kind, size in roles if kind == "batch"]
    result += [size for dims in orders for _, role, size in dims if role == "free"]
    dot = (
        f"#stablehlo.dot<lhs_batching_dimensions = {numbers[0]}, rhs_batching_dimensions = {numbers[1]}, "
        f"lhs_contracting_dimensions = {numbers[2]}, rhs_contracting_dimensions = {numbers[3]}>"
    )
    operands = [b.operand([size for _, _, size in dims], element) for dims in orders]
    attributes = f"dot_dimension_numbers = {dot}{precision(b)}"
    return b.one(name, operands, result, result_element(b, element), attributes)


@draws("stablehlo.convolution", "stablehlo.dynamic_conv")
def convolution(b: Builder, name: str) -> Value:
    """Draws windows, dilations, negative paddings, groups, reversals and the order of dimensions."""
    rank = b.random.choice((0, 1, 1, 2, 2, 2, 3)) if b.chance(0.9) else 2
    groups, batches = b.random.choice(((1, 1), (1, 1), (1, 1), (2, 1), (3, 1), (1, 2)))
    features, outputs = groups * b.random.choice((1, 2, 3, 8)), groups * batches * b.random.choice((1, 2, 4))
    batch = batches * b.random.choice((1, 1, 2))
    if b.is_hollow():
        features = 0
    if groups > 1 and features and b.chance(0.4):
        features = groups
    spatial, kernel = b.sizes(rank, 1, 8), b.sizes(rank, 1, 3)
    strides = [b.random.choice((1, 1, 2, 3)) for _ in range(rank)]
    left = [b.random.choice((1, 1, 1, 2, 3)) for _ in range(rank)]
    right = [b.random.choice((1, 1, 1, 2)) for _ in range(rank)]
    turned = [b.chance(0.15) for _ in range(rank)]
    padding: list[list[int]] = []
    windows: list[int] = []
    for dim in range(rank):
        low, high = (b.random.randint(-1, 3) if b.chance(0.6) else 0 for _ in range(2))
        extent, whole = (kernel[dim] - 1) * right[dim] + 1, (spatial[dim] - 1) * left[dim] + 1
        if whole + low + high < extent:
            low, high = extent // 2, max(0, extent - whole)
        padding.append([low, high])
        windows.append((whole + low + high - extent) // strides[dim] + 1 if whole + low + high >= extent else 0)
    element = b.element(FLOATS, INTEGERS, COMPLEX)
    orders = [_order(b, letters, rank) for letters in (("b", "f"), ("i", "o"), ("b", "f"))]
    sizes = [
        {"b": batch, "f": features, **_numbered(spatial)},
        {"i": features // groups, "o": outputs, **_numbered(kernel)},
        {"b": batch // batches, "f": outputs, **_numbered(windows)},
    ]
    lhs, rhs, result = ([size[letter] for letter in order] for size, order in zip(sizes, orders, strict=True))
    texts = [f"[{', '.join(order)}]" for order in orders]
    operands = [b.operand(lhs, element), b.operand(rhs, element)]
    attributes = (
        f"window_strides = {longs(strides)}, lhs_dilation = {longs(left)}, rhs_dilation = {longs(right)}, "
        f"window_reversal = {flags(turned)}, dimension_numbers = #stablehlo.conv<{texts[0]}x{texts[1]}->{texts[2]}>, "
        f"feature_group_count = {groups} : i64, batch_group_count = {batches} : i64{precision(b)}"
    )
    fixed = f"{attributes}, padding = {pairs(padding)}"
    if name == "stablehlo.convolution":
        return b.one(name, operands, result, result_element(b, element), fixed)

    def static(given: Sequence[Value], results: Sequence[Value]) -> list[str]:
        taken = [value.name for value in given[:2]], [value.type for value in given[:2]]
        return [b.line("stablehlo.convolution", *taken, results, fixed)]

    operands.append(b.constant(np.array(padding, np.int32).reshape(rank, 2), "i32"))
    return b.op(name, operands, [(result, result_element(b, element))], attributes, reference=static)[0]


def _numbered(sizes: Sequence[int]) -> dict[str, int]:
    return {str(dim): size for dim, size in enumerate(sizes)}


def _order(b: Builder, letters: Sequence[str], rank: int) -> list[str]:
    """Returns the order of a convolution's dimensions: channels first, channels last, or any."""
    numbers = [str(dim) for dim in range(rank)]
    first, second = letters
    way = b.random.choice(("first", "last", "any"))
    order = {"first": [first, second, *numbers], "last": [first, *numbers, second]}.get(way, [*letters, *numbers])
    if letters == ("i", "o"):
        order = {"first": ["o", "i", *numbers], "last": [*numbers, "i", "o"]}.get(way, order)
    if way == "any":
        b.random.shuffle(order)
    return order
