"""JAX programs with symbolic sizes, whose padding holds noise, judged by the programs of fixed sizes."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.export import is_symbolic_dim

from tests.fuzz.cases import Difference, NotDrawnError
from tests.fuzz.paddings.judge import differences, new_symbols, sizes_for
from tt_xla.frontends.capacity.sizes import integer_value

_NAMES = "sb"

Step = tuple[str, Callable[..., Any], list[int]]
"""A line of a program: its text, the function, and the numbers of the values that it takes."""


@dataclass(eq=False)
class Program:
    """A drawn program with symbolic sizes.

    Attributes:
        shapes: shapes of the arguments.
        dtypes: types of the arguments.
        sizes: values of the symbols.
        steps: its lines.
        results: numbers of the values that it returns.
    """

    shapes: list[tuple[Any, ...]]
    dtypes: list[str]
    sizes: dict[str, int]
    steps: list[Step] = field(default_factory=list)
    results: list[int] = field(default_factory=list)

    def __call__(self, *arrays: Any) -> list[Any]:
        values = [*arrays]
        for _, function, operands in self.steps:
            values.append(function(*(values[number] for number in operands)))
        return [values[number] for number in self.results]

    @property
    def text(self) -> str:
        lines = [
            f"v{n} = argument {shape} {dtype}"
            for n, (shape, dtype) in enumerate(zip(self.shapes, self.dtypes, strict=True))
        ]
        for number, (text, _, operands) in enumerate(self.steps, len(self.shapes)):
            lines.append(f"v{number} = {text}({', '.join(f'v{operand}' for operand in operands)})")
        return "\n".join(
            [*lines, f"return {', '.join(f'v{number}' for number in self.results)}", f"sizes {self.sizes}"]
        )

    def check(self) -> Iterator[Difference]:
        yield from differences(self, self.shapes, self.dtypes, self.sizes)


def draw(generator: random.Random) -> Program:
    """Draws a program of up to 12 lines."""
    symbols = new_symbols(_NAMES)
    s, b = (symbols[name] for name in _NAMES)
    sizes = [s, b, s + 1, 2 * s, 3, 4, s, b, 2]
    shapes = [
        tuple(generator.choice(sizes) for _ in range(generator.randint(1, 4))) for _ in range(generator.randint(1, 3))
    ]
    dtypes = [generator.choice(["float32", "float32", "float32", "int32"]) for _ in shapes]
    program = Program(shapes, dtypes, sizes_for(generator, _NAMES))
    values = [jax.ShapeDtypeStruct(shape, dtype) for shape, dtype in zip(shapes, dtypes, strict=True)]
    for _ in range(generator.randint(3, 12)):
        for _ in range(8):
            template = generator.choice(TEMPLATES)
            step = template(generator, values)
            if step is None:
                continue
            try:
                value = jax.eval_shape(step[1], *(values[number] for number in step[2]))
            except Exception:  # JAX refuses it for these sizes
                continue
            counts = [integer_value(size, program.sizes) for size in value.shape]
            if len(counts) > 5 or not all(0 < count < 100 for count in counts) or math.prod(counts) > 20_000:
                continue
            program.steps.append((step[0], step[1], [*step[2]]))
            values.append(value)
            break
    if not program.steps:
        raise NotDrawnError("no step applies")
    program.results = sorted({len(values) - 1, *generator.sample(range(len(values)), min(2, len(values)))})
    return program


Template = Callable[[random.Random, list[Any]], Step | None]
TEMPLATES: list[Template] = []


def _template(template: Template) -> Template:
    TEMPLATES.append(template)
    return template


def _one(generator: random.Random, values: list[Any], rank: int = 0) -> int | None:
    """Returns the number of a value of at least some dimensions; later values more often."""
    fitting = [number for number, value in enumerate(values) if len(value.shape) >= rank]
    return max(generator.choice(fitting), generator.choice(fitting)) if fitting else None


def _axis(generator: random.Random, values: list[Any]) -> tuple[int, int] | None:
    number = _one(generator, values, 1)
    return None if number is None else (number, generator.randrange(len(values[number].shape)))


@_template
def unary(generator: random.Random, values: list[Any]) -> Step | None:
    name = generator.choice(["sin", "abs", "negative", "exp", "sign", "square", "tanh", "floor"])
    bounded = name == "exp"
    function = getattr(jnp, name)
    return name, (lambda x: function(jnp.clip(x, -2, 2))) if bounded else function, [_one(generator, values)]


@_template
def binary(generator: random.Random, values: list[Any]) -> Step | None:
    name = generator.choice(["add", "multiply", "subtract", "maximum", "minimum", "less", "equal"])
    first, second = _one(generator, values), _one(generator, values)
    return name, getattr(jnp, name), [first, second]


@_template
def reduction(generator: random.Random, values: list[Any]) -> Step | None:
    if (found := _axis(generator, values)) is None:
        return None
    name = generator.choice(["sum", "max", "min", "mean", "prod", "argmax", "argmin", "any", "all"])
    keep = generator.random() < 0.5
    return f"{name} axis {found[1]} {keep}", lambda x: getattr(jnp, name)(x, axis=found[1], keepdims=keep), [found[0]]


@_template
def along(generator: random.Random, values: list[Any]) -> Step | None:
    if (found := _axis(generator, values)) is None:
        return None
    axis = found[1]
    choices: dict[str, Callable[..., Any]] = {
        "cumsum": lambda x: lax.cumsum(x, axis),
        "cumsum reverse": lambda x: lax.cumsum(x, axis, reverse=True),
        "cummax": lambda x: lax.cummax(x, axis),
        "softmax": lambda x: jax.nn.softmax(x.astype("float32"), axis),
        "log_softmax": lambda x: jax.nn.log_softmax(x.astype("float32"), axis),
        "sort": lambda x: jnp.sort(x, axis),
        "argsort": lambda x: jnp.argsort(x, axis, descending=True),
        "flip": lambda x: jnp.flip(x, axis),
        "roll": lambda x: jnp.roll(x, 1, axis),
        "tile": lambda x: jnp.concatenate([x, x], axis),
        "diff": lambda x: (
            lax.slice_in_dim(x, 1, x.shape[axis], axis=axis) - lax.slice_in_dim(x, 0, x.shape[axis] - 1, axis=axis)
        ),
        "head": lambda x: lax.slice_in_dim(x, 0, x.shape[axis] - 1, axis=axis),
        "tail": lambda x: lax.slice_in_dim(x, 1, x.shape[axis], axis=axis),
        "last": lambda x: lax.slice_in_dim(x, x.shape[axis] - 1, x.shape[axis], axis=axis),
        "steps": lambda x: lax.slice_in_dim(x, 0, x.shape[axis], 2, axis=axis),
        "normalised": lambda x: (x - x.mean(axis, keepdims=True)) / jnp.sqrt(x.var(axis, keepdims=True) + 1e-3),
        "top": lambda x: lax.top_k(jnp.moveaxis(x, axis, -1), 2)[0],
        "indices": lambda x: x * jnp.expand_dims(jnp.arange(x.shape[axis]), [n for n in range(x.ndim) if n != axis]),
        "length": lambda x: x * x.shape[axis],
        "positions": lambda x: jnp.take_along_axis(x, jnp.argsort(x, axis), axis),
    }
    name = generator.choice([*choices])
    return f"{name} axis {axis}", choices[name], [found[0]]


@_template
def pad(generator: random.Random, values: list[Any]) -> Step | None:
    if (found := _axis(generator, values)) is None:
        return None
    low, high, inner = generator.choice([(1, 0, 0), (0, 2, 0), (1, 1, 1), (0, -1, 0), (-1, 2, 0), (0, 0, 2)])
    number = generator.choice([0, 1])

    def padded(x: Any) -> Any:
        config = [(0, 0, 0)] * x.ndim
        config[found[1]] = (low, high, inner)
        return lax.pad(x, np.asarray(number, x.dtype), config)

    return f"pad axis {found[1]} {low, high, inner} with {number}", padded, [found[0]]


@_template
def joined(generator: random.Random, values: list[Any]) -> Step | None:
    if (found := _axis(generator, values)) is None:
        return None
    others = [number for number, value in enumerate(values) if len(value.shape) == len(values[found[0]].shape)]
    parts = [found[0], *(generator.choice(others) for _ in range(generator.randint(1, 2)))]
    generator.shuffle(parts)
    return f"concatenate axis {found[1]}", lambda *xs: jnp.concatenate(xs, found[1]), parts


@_template
def reordered(generator: random.Random, values: list[Any]) -> Step | None:
    number = _one(generator, values, 2)
    if number is None:
        return None
    order = [*range(len(values[number].shape))]
    generator.shuffle(order)
    return f"transpose {order}", lambda x: jnp.transpose(x, order), [number]


@_template
def merged(generator: random.Random, values: list[Any]) -> Step | None:
    number = _one(generator, values, 2)
    if number is None:
        return None
    axis = generator.randrange(len(values[number].shape) - 1)
    return (
        f"merge {axis}",
        lambda x: lax.reshape(x, (*x.shape[:axis], x.shape[axis] * x.shape[axis + 1], *x.shape[axis + 2 :])),
        [number],
    )


def _size(generator: random.Random, values: list[Any]) -> tuple[int, int]:
    """Returns a value and an axis of it, whose size another value takes."""
    return generator.choice([(n, axis) for n, value in enumerate(values) for axis in range(len(value.shape))])


@_template
def split(generator: random.Random, values: list[Any]) -> Step | None:
    if (found := _axis(generator, values)) is None:
        return None
    axis, (other, of_other), number = found[1], _size(generator, values), generator.choice([0, 2, 3, 4])
    outer_first = generator.random() < 0.5

    def reshaped(x: Any, y: Any) -> Any:
        inner = number or y.shape[of_other]
        rest = x.shape[axis] // inner
        if rest * inner != x.shape[axis]:
            raise ValueError("the size is no product of these")
        pair = (rest, inner) if outer_first else (inner, rest)
        return lax.reshape(x, (*x.shape[:axis], *pair, *x.shape[axis + 1 :]))

    return f"split {axis} by {number or of_other} {outer_first}", reshaped, [found[0], other]


@_template
def resized(generator: random.Random, values: list[Any]) -> Step | None:
    if (found := _axis(generator, values)) is None:
        return None
    axis, (other, of_other) = found[1], _size(generator, values)

    def repeated(x: Any, y: Any) -> Any:
        x = jnp.expand_dims(x, axis)
        return jnp.broadcast_to(x, (*x.shape[:axis], y.shape[of_other], *x.shape[axis + 1 :]))

    return f"expand {axis} to size {of_other}", repeated, [found[0], other]


@_template
def product(generator: random.Random, values: list[Any]) -> Step | None:
    first, second = _one(generator, values, 1), _one(generator, values, 1)
    if first is None or second is None:
        return None
    name = generator.choice(["matmul", "transposed", "outer"])
    if name == "outer":
        return name, lambda x, y: lax.dot_general(x, y, (((), ()), ((), ()))), [first, second]
    if name == "transposed":
        return name, lambda x, y: jnp.matmul(x, jnp.swapaxes(y, -1, -2)), [first, second]
    return name, jnp.matmul, [first, second]


@_template
def looked_up(generator: random.Random, values: list[Any]) -> Step | None:
    if (found := _axis(generator, values)) is None:
        return None
    number, axis = found
    indices = _one(generator, values)
    mode = generator.choice(["clip", "fill", "wrap"])

    def taken(x: Any, index: Any) -> Any:
        return jnp.take(x, (index * 2).astype("int32"), axis=axis, mode=mode)

    return f"take axis {axis} {mode}", taken, [number, indices]


@_template
def updated(generator: random.Random, values: list[Any]) -> Step | None:
    number = _one(generator, values, 1)
    if number is None:
        return None
    indices = _one(generator, values)
    how = generator.choice(["add", "set one", "max", "multiply"])

    def written(x: Any, index: Any) -> Any:
        rows = jnp.ravel(index.astype("int32")) if index.ndim else index.astype("int32")[None]
        if how == "set one":
            return x.at[rows[0]].set(jnp.ones((), x.dtype))
        target = x.at[jnp.abs(rows)]
        update = jnp.asarray(2, x.dtype)
        return target.add(update) if how == "add" else target.max(update) if how == "max" else target.multiply(update)

    return f"at {how}", written, [number, indices]


@_template
def moved_window(generator: random.Random, values: list[Any]) -> Step | None:
    if (found := _axis(generator, values)) is None:
        return None
    number, axis = found
    writes, start = generator.random() < 0.5, generator.choice([0, 1, 50])

    def window(x: Any) -> Any:
        index = jnp.asarray(start, "int32")
        part = lax.dynamic_slice_in_dim(x, index, 2, axis)
        return lax.dynamic_update_slice_in_dim(x, part * 2, index + 1, axis) if writes else part

    return f"window axis {axis} at {start} {writes}", window, [number]


@_template
def convolved(generator: random.Random, values: list[Any]) -> Step | None:
    number = _one(generator, values, 3)
    if number is None or len(values[number].shape) > 4:
        return None
    channels = values[number].shape[1]
    spatial = len(values[number].shape) - 2
    if is_symbolic_dim(channels):
        return None
    stride, dilation = generator.choice([1, 2]), generator.choice([1, 1, 2])
    edges = [generator.choice([(0, 0), (1, 1), (0, 1)])] * spatial
    kernel = np.linspace(-1, 1, 2 * int(channels) * 2**spatial, dtype="float32").reshape(
        2, int(channels), *[2] * spatial
    )
    return (
        f"conv {stride} {dilation} {edges}",
        lambda x: lax.conv_general_dilated(
            x.astype("float32"), kernel, [stride] * spatial, edges, rhs_dilation=[dilation] * spatial
        ),
        [number],
    )


@_template
def pooled(generator: random.Random, values: list[Any]) -> Step | None:
    if (found := _axis(generator, values)) is None:
        return None
    number, axis = found
    stride, edge = generator.choice([1, 2]), generator.choice([(0, 0), (1, 1), (0, 1)])
    is_sum = generator.random() < 0.5

    def windows(x: Any) -> Any:
        lengths, strides, edges = [1] * x.ndim, [1] * x.ndim, [(0, 0)] * x.ndim
        lengths[axis], strides[axis], edges[axis] = 2, stride, edge
        x = x.astype("float32")
        return lax.reduce_window(x, 0.0 if is_sum else -np.inf, lax.add if is_sum else lax.max, lengths, strides, edges)

    return f"pool axis {axis} {stride} {edge} {is_sum}", windows, [number]


@_template
def looped(generator: random.Random, values: list[Any]) -> Step | None:
    number = _one(generator, values)
    how = generator.choice(["while", "scan", "cond", "map"])

    def run(x: Any) -> Any:
        x = x.astype("float32")
        if how == "while":
            return lax.while_loop(lambda c: c[0] < 2, lambda c: (c[0] + 1, jnp.tanh(c[1] + c[1].sum())), (0, x))[1]
        if how == "cond":
            return lax.cond(jnp.abs(x).sum() > 1, lambda y: y * 2, lambda y: y - y.max(), x)
        if how == "map":
            return lax.map(lambda row: row / (1 + jnp.abs(row).sum()), jnp.stack([x, x + 1]))
        return lax.scan(lambda carry, row: (carry + row, carry.sum() + row), x, jnp.stack([x, x * 2]))[1]

    return how, run, [number]
