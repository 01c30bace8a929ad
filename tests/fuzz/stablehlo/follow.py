"""Ops behind the results of a drawn op, where faults of two ops together lie, and what a program returns."""

from __future__ import annotations

from collections.abc import Callable

from tests.fuzz.judge import Module
from tests.fuzz.stablehlo.builder import Builder, can_convert
from tests.fuzz.stablehlo.drawers import draw
from tests.fuzz.stablehlo.types import BOOL, COMPLEX, FLOATS, INTEGERS, Value, is_float, longs
from tests.fuzz.stablehlo.windows import initial, is_many

ARITHMETIC = ("add", "subtract", "multiply", "maximum", "minimum")
FUNCTIONS = ("abs", "negate", "sign", "floor")


def ordinary(value: Value) -> bool:
    """Whether XLA computes with elements of the type."""
    return value.element in (*BOOL, *INTEGERS, *FLOATS)


def converted(b: Builder, value: Value) -> Value | None:
    kinds = [kind for kind in (*INTEGERS[:5], "ui8", "ui32", *FLOATS) if can_convert(value.element, kind)]
    return b.convert(value, b.random.choice(kinds)) if kinds else None


def computed(b: Builder, value: Value) -> Value | None:
    if not ordinary(value) or value.element in BOOL:
        return None
    if b.chance(0.25) and not value.element.startswith("u"):
        return b.one(
            f"stablehlo.{b.random.choice(FUNCTIONS[: 4 if is_float(value.element) else 3])}",
            [value],
            value.shape,
            value.element,
        )
    way = b.random.random()
    other = value if way < 0.15 else b.splat(value.shape, value.element, b.notable(value.element))
    if way > 0.6:
        other = b.operand(value.shape, value.element)
    pair = [value, other] if b.chance(0.7) else [other, value]
    return b.one(f"stablehlo.{b.random.choice(ARITHMETIC)}", pair, value.shape, value.element)


def compared(b: Builder, value: Value) -> Value | None:
    if not ordinary(value):
        return None
    other = b.splat(value.shape, value.element, b.notable(value.element))
    mask = b.compare(value, other, b.random.choice(("EQ", "NE", "LT", "LE", "GT", "GE")))
    if b.chance(0.4):
        return mask
    pair = [value, b.operand(value.shape, value.element)]
    return b.one("stablehlo.select", [mask, *pair[:: b.random.choice((1, -1))]], value.shape, value.element)


def clamped(b: Builder, value: Value) -> Value | None:
    if not ordinary(value) or value.element in BOOL:
        return None
    low, high = (b.scalar(value.element, number) for number in sorted((0.0, float(b.random.choice((1, 2, 6))))))
    return b.one("stablehlo.clamp", [low, value, high], value.shape, value.element)


def moved(b: Builder, value: Value) -> Value | None:
    way = b.random.choice(("reshape", "transpose", "reverse", "concatenate", "slice", "broadcast"))
    shape, rank = value.shape, len(value.shape)
    if way == "reshape" or rank == 0:
        return b.reshape(value, b.other_shape(shape))
    dim = b.random.randrange(rank)
    if way == "transpose":
        order = b.random.sample(range(rank), rank)
        return b.one(
            "stablehlo.transpose", [value], [shape[d] for d in order], value.element, f"permutation = {longs(order)}"
        )
    if way == "reverse":
        return b.one("stablehlo.reverse", [value], shape, value.element, f"dimensions = {longs([dim])}")
    if way == "broadcast":
        place = b.random.randint(0, rank)
        wider = (*shape[:place], 2, *shape[place:])
        dims = [d + (d >= place) for d in range(rank)]
        return b.one(
            "stablehlo.broadcast_in_dim", [value], wider, value.element, f"broadcast_dimensions = {longs(dims)}"
        )
    if way == "concatenate":
        other = value if b.chance(0.5) else b.operand(shape, value.element)
        joined = (*shape[:dim], 2 * shape[dim], *shape[dim + 1 :])
        return b.one("stablehlo.concatenate", [value, other], joined, value.element, f"dimension = {dim} : i64")
    low = b.random.randint(0, shape[dim] // 2)
    starts, ends = [low if d == dim else 0 for d in range(rank)], list(shape)
    sizes = [shape[d] - starts[d] for d in range(rank)]
    attributes = f"start_indices = {longs(starts)}, limit_indices = {longs(ends)}, strides = {longs([1] * rank)}"
    return b.one("stablehlo.slice", [value], sizes, value.element, attributes)


def reduced(b: Builder, value: Value) -> Value | None:
    if not ordinary(value) or not value.shape:
        return None
    kind = "or" if value.element in BOOL else b.random.choice(("add", "maximum", "minimum"))
    dims = b.some(b.random.randint(1, len(value.shape)), len(value.shape))
    left = [size for dim, size in enumerate(value.shape) if dim not in dims]
    region = b.region([((), value.element)] * 2, lambda two: [b.one(f"stablehlo.{kind}", two, (), value.element)])
    start = initial(b, kind, value.element, once=is_many(value.shape, dims))
    return b.one("stablehlo.reduce", [value, start], left, value.element, f"dimensions = {longs(dims)}", [region])


def multiplied(b: Builder, value: Value) -> Value | None:
    """Appends a matrix product with a drawn matrix."""
    if not ordinary(value) or value.element in BOOL or not value.shape or value.size > 1024:
        return None
    columns = b.random.choice((1, 3, 8))
    other = b.operand((value.shape[-1], columns), value.element)
    last = len(value.shape) - 1
    dot = f"#stablehlo.dot<lhs_contracting_dimensions = [{last}], rhs_contracting_dimensions = [0]>"
    shape = (*value.shape[:-1], columns)
    return b.one("stablehlo.dot_general", [value, other], shape, value.element, f"dot_dimension_numbers = {dot}")


FOLLOWERS: tuple[Callable[[Builder, Value], Value | None], ...] = (
    *(converted, computed, computed, compared, clamped, moved, moved, reduced, multiplied),
)


def followed(b: Builder, results: list[Value]) -> list[Value]:
    """Appends up to two ops behind drawn results, and returns what the program returns."""
    returned = list(results)
    last = b.random.choice(results)
    for _ in range(b.random.choice((0, 0, 1, 1, 2))):
        after = b.random.choice(FOLLOWERS)(b, last) if last.size <= 8192 else None
        if after is None:
            continue
        if b.chance(0.5) and last in returned and len(returned) > 1:
            returned.remove(last)
        elif b.chance(0.3) and returned == [last]:
            returned = []
        returned.append(after)
        last = after
    if b.chance(0.1):
        returned.append(b.random.choice(returned))
    if b.chance(0.05) and b.arguments:
        returned.append(b.random.choice(b.arguments))
    if b.chance(0.1):
        b.argument(b.shape(most=64), b.element(FLOATS, INTEGERS))
    return returned


def program(b: Builder, results: list[Value]) -> Module:
    """Returns the module that returns some values, with its inputs."""
    source, plain = b.texts(results)
    return Module(source, tuple(b.inputs), special=b.special, plain="" if plain == source else plain)


def used(b: Builder, name: str) -> Module:
    """Returns a program around one drawn use of an op."""
    return program(b, followed(b, draw(b, name)))


__all__ = ["COMPLEX", "followed", "program", "used"]
