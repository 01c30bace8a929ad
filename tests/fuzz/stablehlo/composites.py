"""Drawers of composites with known names. Their decompositions compute in float32, as the ops they stand for do."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tests.fuzz.stablehlo.builder import Builder, Elements
from tests.fuzz.stablehlo.control import types
from tests.fuzz.stablehlo.drawers import draws
from tests.fuzz.stablehlo.types import Value, constant_text, longs, pairs

FLOATS = ("f32", "bf16", "bf16", "f16")


def _composite(
    b: Builder, name: str, operands: Sequence[Value], results: Sequence[Value], function: str, attributes: str
):
    """Appends a composite."""
    text = f'name = "{name}", decomposition = @{function}, composite_attributes = {{{attributes}}}'
    return b.op("stablehlo.composite", operands, types(results), text)


def _wide(b: Builder, value: Value) -> Value:
    return value if value.element == "f32" else b.convert(value, "f32")


def _narrow(b: Builder, value: Value, element: str) -> Value:
    return value if element == "f32" else b.convert(value, element)


def _apply(b: Builder, name: str, *operands: Value) -> Value:
    """Appends an op on float32 elements."""
    return b.one(name, operands, operands[0].shape, "f32")


def _number(b: Builder, like: Value, number: float) -> Value:
    return b.splat(like.shape, "f32", number)


@draws("tenstorrent.gelu", "tenstorrent.gelu_tanh")
def gelu(b: Builder, name: str) -> list[Value]:
    x = b.operand(b.shape(), b.element(FLOATS))

    def body(taken: list[Value]) -> list[Value]:
        wide = _wide(b, taken[0])
        half = _apply(b, "stablehlo.multiply", wide, _number(b, wide, 0.5))
        if name.endswith("tanh"):
            square = _apply(b, "stablehlo.multiply", wide, wide)
            cube = _apply(
                b, "stablehlo.multiply", _apply(b, "stablehlo.multiply", square, wide), _number(b, wide, 0.044715)
            )
            inner = _apply(
                b,
                "stablehlo.multiply",
                _apply(b, "stablehlo.add", wide, cube),
                _number(b, wide, math.sqrt(2 / math.pi)),
            )
            part = _apply(b, "stablehlo.tanh", inner)
        else:
            part = _apply(b, "chlo.erf", _apply(b, "stablehlo.multiply", wide, _number(b, wide, math.sqrt(0.5))))
        whole = _apply(b, "stablehlo.multiply", half, _apply(b, "stablehlo.add", part, _number(b, wide, 1)))
        return [_narrow(b, whole, x.element)]

    function, returned = b.function(types([x]), body)
    attributes = 'approximate = "tanh"' if name.endswith("tanh") else 'approximate = "none"'
    return _composite(b, name, [x], returned, function, attributes)


@draws("tenstorrent.rms_norm", "tenstorrent.layer_norm")
def norm(b: Builder, name: str) -> list[Value]:
    """Draws a norm over the last one or two dimensions, with and without weight and bias."""
    element, shape = b.element(FLOATS), b.shape((1, 2, 2, 3, 4), most=2048)
    shape = tuple(max(1, size) for size in shape)
    inner = shape[-b.random.randint(1, min(2, len(shape))) :]
    centred = name.endswith("layer_norm")
    count = b.random.randint(0, 2 if centred else 1)
    epsilon = b.random.choice((1e-5, 1e-6, 0.01))
    operands = [b.operand(shape, element), *(b.operand(inner, element) for _ in range(count))]

    def body(taken: list[Value]) -> list[Value]:
        wide = [_wide(b, value) for value in taken]
        x = wide[0]
        if centred:
            x = _apply(b, "stablehlo.subtract", x, _mean(b, x, len(inner)))
        square = _apply(b, "stablehlo.multiply", x, x)
        variance = _apply(b, "stablehlo.add", _mean(b, square, len(inner)), _number(b, x, epsilon))
        x = _apply(b, "stablehlo.multiply", x, _apply(b, "stablehlo.rsqrt", variance))
        for factor, combine in zip(wide[1:], ("multiply", "add"), strict=False):
            dims = list(range(len(shape) - len(inner), len(shape)))
            spread = b.one(
                "stablehlo.broadcast_in_dim", [factor], shape, "f32", f"broadcast_dimensions = {longs(dims)}"
            )
            x = _apply(b, f"stablehlo.{combine}", x, spread)
        return [_narrow(b, x, element)]

    function, returned = b.function(types(operands), body)
    sizes = constant_text(np.array(inner, np.int64), "i64")
    return _composite(b, name, operands, returned, function, f"normalized_shape = {sizes}, epsilon = {epsilon:e} : f32")


def _mean(b: Builder, x: Value, count: int) -> Value:
    """Returns the mean over the last dimensions, in the shape of the operand."""
    rank = len(x.shape)
    dims, kept = list(range(rank - count, rank)), list(range(rank - count))
    region = b.region([((), "f32")] * 2, lambda two: [b.one("stablehlo.add", two, (), "f32")])
    left = x.shape[: rank - count]
    total = b.one("stablehlo.reduce", [x, b.scalar("f32", 0)], left, "f32", f"dimensions = {longs(dims)}", [region])
    spread = b.one("stablehlo.broadcast_in_dim", [total], x.shape, "f32", f"broadcast_dimensions = {longs(kept)}")
    return _apply(b, "stablehlo.divide", spread, _number(b, x, math.prod(x.shape[rank - count :])))


@draws("tenstorrent.sparse_matmul")
def sparse_matmul(b: Builder, name: str) -> list[Value]:
    """Draws products of blocks of rows with the weights of the experts that a block uses."""
    element, owned = b.element(FLOATS), b.random.random() < 0.5
    outer, inner, experts, count, columns = (b.random.choice((1, 2, 3)) for _ in range(5))
    rows = b.random.choice((1, 3, 32))
    taken = (outer, experts, rows, count) if owned else (outer, inner, rows, count)
    used = (1, 1, outer, experts) if owned else (outer, inner, 1, experts)
    batch = (outer, experts) if owned else (outer, inner, 1, experts)
    marks = b.operand(used, element, Elements(low=-1, high=1))
    operands = [b.operand(taken, element), b.operand((1, experts, count, columns), element), marks]

    def spread(x: Value, shape: tuple[int, ...], dims: list[int]) -> Value:
        return b.one("stablehlo.broadcast_in_dim", [x], shape, "f32", f"broadcast_dimensions = {longs(dims)}")

    def body(given: list[Value]) -> list[Value]:
        x, weights, marks = (_wide(b, value) for value in given)
        last = len(batch)
        x = x if owned else spread(x, (*batch, rows, count), [0, 1, last, last + 1])
        weights = spread(
            b.reshape(weights, (experts, count, columns)), (*batch, count, columns), [last - 1, last, last + 1]
        )
        axes = list(range(last))
        numbers = (
            f"dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = {axes}, "
            f"rhs_batching_dimensions = {axes}, lhs_contracting_dimensions = [{last + 1}], "
            f"rhs_contracting_dimensions = [{last}]>"
        )
        shape = (*batch, rows, columns)
        product = b.one("stablehlo.dot_general", [x, weights], shape, "f32", numbers)
        marks = spread(b.reshape(marks, batch), shape, axes)
        nothing = _number(b, marks, 0)
        is_used = b.compare(marks, nothing, "NE")
        return [_narrow(b, b.one("stablehlo.select", [is_used, product, nothing], shape, "f32"), element)]

    function, returned = b.function(types(operands), body)
    return _composite(b, name, operands, returned, function, f"is_input_a_sparse = {str(owned).lower()}")


@draws("tenstorrent.max_pool2d_with_indices")
def max_pool(b: Builder, name: str) -> list[Value]:
    """Draws pooling of planes that also returns the position of each maximum in its plane."""
    element = b.random.choice(("bf16", "bf16", "f32"))
    height, width = b.random.randint(3, 9), b.random.randint(3, 9)
    shape = (b.random.randint(1, 2), b.random.choice((1, 2, 8, 33)), height, width)
    kernel, stride = [b.random.randint(1, 3) for _ in range(2)], [b.random.randint(1, 3) for _ in range(2)]
    edges = [b.random.randint(0, size // 2) for size in kernel]
    result = [
        (size + 2 * edge - window) // step + 1
        for size, edge, window, step in zip(shape[2:], edges, kernel, stride, strict=True)
    ]
    x = b.operand(shape, element, Elements(low=-9, high=9))  # the composite says nothing of NaN

    def body(taken: list[Value]) -> list[Value]:
        row = b.one("stablehlo.iota", [], (height * width,), "i32", "iota_dimension = 0 : i64")
        places = b.one(
            "stablehlo.broadcast_in_dim",
            [b.reshape(row, (height, width))],
            shape,
            "i32",
            f"broadcast_dimensions = {longs([2, 3])}",
        )
        starts = [b.scalar(element, float("-inf")), b.scalar("i32", 0)]

        def greater(four: list[Value]) -> list[Value]:
            old, place, new, other = four
            tie = b.one("stablehlo.and", [b.compare(old, new, "EQ"), b.compare(place, other, "LT")], (), "i1")
            kept = b.one("stablehlo.or", [b.compare(old, new, "GT"), tie], (), "i1")
            return [b.one("stablehlo.select", [kept, *two], (), two[0].element) for two in ((old, new), (place, other))]

        ones = longs([1] * 4)
        padding = pairs([[0, 0], [0, 0], *([edge, edge] for edge in edges)])
        attributes = (
            f"window_dimensions = {longs([1, 1, *kernel])}, window_strides = {longs([1, 1, *stride])}, "
            f"base_dilations = {ones}, window_dilations = {ones}, padding = {padding}"
        )
        pooled = [((*shape[:2], *result), element), ((*shape[:2], *result), "i32")]
        region = b.region([((), element), ((), "i32")] * 2, greater)
        values = b.op("stablehlo.reduce_window", [taken[0], places, *starts], pooled, attributes, [region])
        return [values[0], b.convert(values[1], "i64")]

    function, returned = b.function(types([x]), body)
    given = {
        "kernel": kernel,
        "stride": stride,
        "dilation": [1, 1],
        "padding": [edges[0], edges[1], edges[0], edges[1]],
    }
    attributes = ", ".join(f"{key} = {constant_text(np.array(sizes, np.int64), 'i64')}" for key, sizes in given.items())
    return _composite(b, name, [x], returned, function, attributes)
