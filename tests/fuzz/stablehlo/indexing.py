"""Drawers of gathers, scatters, sorts and top-k."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tests.fuzz.stablehlo.builder import ANY, DISTINCT, Builder, can_be_distinct
from tests.fuzz.stablehlo.drawers import draws
from tests.fuzz.stablehlo.structure import ALL
from tests.fuzz.stablehlo.types import BOOL, FLOATS, INTEGERS, REAL, Value, is_float, is_integer, limits, longs

SORTED = tuple(element for element in REAL if element not in ("i2", "ui2"))
"""Types of which XLA's CPU client sorts elements; with those of 2 bits it ends the process."""
SENT = tuple(element for element in SORTED if element not in ("i4", "ui4"))
"""Types of elements that XLA's CPU client passes between devices; with those of fewer bits it ends the process."""
INDICES = ("i32", "i32", "i64", "ui32", "i8", "ui8", "i16", "ui16", "ui64")


@dataclass(frozen=True)
class Windows:
    """Windows of an operand at computed positions.

    Attributes:
        shape: Operand.
        sizes: Window in each dimension of the operand.
        batching: Dimensions of the operand that are batched with the indices.
        dropped: Dimensions of size 1 that the windows leave out.
        indexed: Dimensions that the components of an index are for.
        indices: Shape of the indices.
        component: Dimension of the indices along which an index lies; their rank for indices of one number.
        batched: Dimensions of the indices that are batched with the operand.
        offsets: Dimensions of all windows together that are those of one window.
        result: Shape of all windows together.
    """

    shape: tuple[int, ...]
    sizes: tuple[int, ...]
    batching: tuple[int, ...]
    dropped: tuple[int, ...]
    indexed: tuple[int, ...]
    indices: tuple[int, ...]
    component: int
    batched: tuple[int, ...]
    offsets: tuple[int, ...]
    result: tuple[int, ...]


def windows(b: Builder) -> Windows:
    """Draws windows of an operand; one of ten is the lookup of rows."""
    if b.chance(0.15) and not b.hollow:
        rows, width = b.random.randint(1, 40), b.random.choice((1, 8, 33))
        batch = b.sizes(b.random.randint(1, 2), 1, 5)
        indices, result = (*batch, 1), (*batch, width)
        return Windows((rows, width), (1, width), (), (0,), (0,), indices, len(batch), (), (len(batch),), result)
    rank = b.random.choice((1, 1, 2, 2, 3, 4))
    shape = b.sizes(rank, 1, 6)
    dims = list(range(rank))
    batching = b.some(b.random.choice((0, 0, 0, 1, min(2, rank - 1))) if rank > 1 else 0, rank)
    free = [dim for dim in dims if dim not in batching]
    indexed = b.random.sample(free, b.random.randint(0 if b.chance(0.1) else 1, len(free)))
    dropped = [dim for dim in free if shape[dim] and b.chance(0.4)]
    sizes = [
        1
        if dim in dropped
        else min(1, shape[dim])
        if dim in batching
        else b.random.randint(min(1, shape[dim]), shape[dim])
        for dim in dims
    ]
    batch: list[tuple[int, int | None]] = [(shape[dim], dim) for dim in batching]
    batch += [
        (b.random.choice((1, 2, 3, 5, 0 if b.chance(0.05) else 4)), None) for _ in range(b.random.choice((0, 1, 1, 2)))
    ]
    if b.is_hollow():
        batch.append((0, None))
    b.random.shuffle(batch)
    component = b.random.randint(0, len(batch))
    indices = [size for size, _ in batch]
    places = {dim: place + (place >= component) for place, (_, dim) in enumerate(batch) if dim is not None}
    if len(indexed) == 1 and b.chance(0.3):
        component = len(batch)
        places = {dim: place for place, (_, dim) in enumerate(batch) if dim is not None}
    else:
        indices.insert(component, len(indexed))
    inner = [sizes[dim] for dim in dims if dim not in dropped and dim not in batching]
    offsets = b.some(len(inner), len(inner) + len(batch))
    inside, outside = iter(inner), iter(size for size, _ in batch)
    result = [next(inside) if place in offsets else next(outside) for place in range(len(inner) + len(batch))]
    return Windows(
        shape,
        tuple(sizes),
        tuple(batching),
        tuple(dropped),
        tuple(indexed),
        tuple(indices),
        component,
        tuple(places[dim] for dim in batching),
        tuple(offsets),
        tuple(result),
    )


def indices_of(b: Builder, drawn: Windows, element: str, *, unique: bool = False) -> Value:
    """Returns drawn positions, some of them outside of the operand."""
    least, most = limits(element)
    generator = np.random.default_rng(b.random.getrandbits(64))
    low, high = (-1, max((*drawn.shape, 1)) + 1) if b.chance(0.4) else (0, max(1, min((*drawn.shape, 8))))
    numbers = generator.integers(max(least, low), max(1, high), drawn.indices)
    if unique or b.chance(0.1):
        numbers = np.arange(numbers.size).reshape(drawn.indices) % (min(most, 100) + 1)
    return b.given(numbers, element)


@draws("stablehlo.gather", "stablehlo.dynamic_gather")
def gather(b: Builder, name: str) -> Value:
    drawn, element = windows(b), b.element(*ALL)
    numbers = (
        f"#stablehlo.gather<offset_dims = {list(drawn.offsets)}, collapsed_slice_dims = {list(drawn.dropped)}, "
        f"operand_batching_dims = {list(drawn.batching)}, start_indices_batching_dims = {list(drawn.batched)}, "
        f"start_index_map = {list(drawn.indexed)}, index_vector_dim = {drawn.component}>"
    )
    operands = [b.operand(drawn.shape, element), indices_of(b, drawn, b.element(INDICES))]
    attributes = f"dimension_numbers = {numbers}, indices_are_sorted = false"
    if name == "stablehlo.dynamic_gather":
        operands.append(b.constant(np.array(drawn.sizes, np.int64), b.random.choice(("i32", "i64"))))
    else:
        attributes += f", slice_sizes = {longs(drawn.sizes)}"
    return b.one(name, operands, drawn.result, element, attributes)


COMBINERS = ("add", "multiply", "maximum", "minimum")
BITWISE = ("and", "or", "xor")


def combiner(b: Builder, element: str) -> str:
    """Returns an op that combines elements of a type in any order."""
    if element in BOOL:
        return b.random.choice(COMBINERS + BITWISE)
    return b.random.choice(COMBINERS + BITWISE if is_integer(element) else COMBINERS)


def combining(b: Builder, kinds: Sequence[str], elements: Sequence[str]) -> str:
    """Returns the region that combines old values and new ones, an op for each pair; ``set`` keeps the new one."""

    def body(taken: list[Value]) -> list[Value]:
        count = len(elements)
        combined: list[Value] = []
        for kind, element, old, new in zip(kinds, elements, taken[:count], taken[count:], strict=True):
            pair = [new, old] if b.chance(0.2) else [old, new]
            combined.append(new if kind == "set" else b.one(f"stablehlo.{kind}", pair, (), element))
        return combined

    return b.region([((), element) for element in (*elements, *elements)], body)


@draws("stablehlo.scatter")
def scatter(b: Builder, name: str) -> list[Value]:
    """Draws updates of one or two operands; a body that keeps the last one gets positions that differ."""
    drawn = windows(b)
    count = b.random.choice((1, 1, 1, 2))
    elements = [
        b.element(*((BOOL, INTEGERS, FLOATS) if count == 1 else (("f32", "i32", "bf16"),))) for _ in range(count)
    ]
    kinds = ["set" if b.chance(0.35) else combiner(b, element) for element in elements]
    numbers = (
        f"#stablehlo.scatter<update_window_dims = {list(drawn.offsets)}, inserted_window_dims = {list(drawn.dropped)}, "
        f"input_batching_dims = {list(drawn.batching)}, scatter_indices_batching_dims = {list(drawn.batched)}, "
        f"scatter_dims_to_operand_dims = {list(drawn.indexed)}, index_vector_dim = {drawn.component}>"
    )
    unique = "set" in kinds and len(drawn.indexed) == 1 and drawn.sizes[drawn.indexed[0]] == 1 and b.chance(0.7)
    operands = [b.operand(drawn.shape, element) for element in elements]
    operands.append(indices_of(b, drawn, b.element(INDICES), unique=unique))
    operands += [b.operand(drawn.result, element) for element in elements]
    attributes = f"scatter_dimension_numbers = {numbers}, indices_are_sorted = false, unique_indices = false"
    region = combining(b, kinds, elements)
    return b.op(name, operands, [(drawn.shape, element) for element in elements], attributes, [region])


@draws("stablehlo.sort")
def sort(b: Builder, name: str) -> list[Value]:
    """Draws one to three operands; a sort that is not stable, and one by other keys, gets keys that differ."""
    shape = b.shape((1, 1, 2, 2, 3), most=1024)
    dim, count = b.random.randrange(len(shape)), b.random.choice((1, 1, 2, 2, 3))
    elements = [b.element(SORTED) for _ in range(count)]
    stable = b.chance(0.6)
    distinct = not stable and can_be_distinct(elements[0], math.prod(shape))
    stable = stable or not distinct
    ordered = b.special and is_float(elements[0])
    key = b.operand(shape, elements[0], DISTINCT if distinct else ANY)
    operands = [key, *(b.operand(shape, element) for element in elements[1:])]
    direction = b.random.choice(("LT", "GT"))
    total = is_float(elements[0]) and (ordered or b.chance(0.4))
    canonical = total and b.chance(0.6)
    second = count > 1 and stable and not ordered and not is_float(elements[1]) and b.chance(0.3)

    def body(taken: list[Value]) -> list[Value]:
        left, right = taken[0], taken[1]
        if canonical:
            left, right = (_canonical(b, value) for value in (left, right))
        less = _ordered(b, left, right, direction, total=total)
        if not second:
            return [less]
        equal = b.compare(taken[0], taken[1], "EQ")
        later = b.one("stablehlo.and", [equal, b.compare(taken[2], taken[3], "LT")], (), "i1")
        return [b.one("stablehlo.or", [less, later], (), "i1")]

    arguments = [((), element) for element in elements for _ in range(2)]
    attributes = f"dimension = {dim} : i64, is_stable = {str(stable).lower()}"
    return b.op(name, operands, [(shape, element) for element in elements], attributes, [b.region(arguments, body)])


def _ordered(b: Builder, left: Value, right: Value, direction: str, *, total: bool) -> Value:
    kind = ", compare_type = #stablehlo<comparison_type TOTALORDER>" if total else ""
    attributes = f"comparison_direction = #stablehlo<comparison_direction {direction}>{kind}"
    return b.one("stablehlo.compare", [left, right], (), "i1", attributes)


def _canonical(b: Builder, value: Value) -> Value:
    """Returns one zero and one NaN for all, as JAX's comparators do."""
    zero, nan = b.scalar(value.element, 0.0), b.scalar(value.element, float("nan"))
    value = b.one("stablehlo.select", [b.compare(value, zero, "EQ"), zero, value], (), value.element)
    return b.one("stablehlo.select", [b.compare(value, value, "NE"), nan, value], (), value.element)


@draws("chlo.top_k")
def top_k(b: Builder, name: str) -> list[Value]:
    element, shape = b.element(SORTED[1:]), b.shape((1, 1, 2, 2, 3), most=1024)
    k = b.random.randint(min(1, shape[-1]), shape[-1])
    distinct = DISTINCT if b.chance(0.5) and can_be_distinct(element, math.prod(shape)) else ANY
    result = (*shape[:-1], k)
    return b.op(name, [b.operand(shape, element, distinct)], [(result, element), (result, "i32")], f"k = {k} : i64")
