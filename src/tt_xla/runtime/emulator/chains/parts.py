"""C++ of ops on small tensors that do not go row by row: products, convolutions, sums over dimensions, joined tensors.

Sums are of float64 (:mod:`tt_xla.runtime.emulator.small`), as the kernels have them there.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tt_xla.ir.program import TensorSpec
from tt_xla.runtime.emulator import matrix_unit
from tt_xla.runtime.emulator.chains.prelude import LANES, TYPES
from tt_xla.runtime.emulator.chains.rows import Operand
from tt_xla.runtime.emulator.kernels.convolution import Geometry, is_small_convolution
from tt_xla.runtime.emulator.kernels.matrix import fused_activation, is_small
from tt_xla.runtime.emulator.registry import Context
from tt_xla.runtime.emulator.small import FUNCTIONS, are_small

_ACTIVATIONS = {None: "same", "relu": "relu"} | FUNCTIONS
"""C++ functions of float64 by the names that products end with."""


@dataclass(frozen=True)
class Place:
    """Where a tensor lies: a C++ pointer to its first element, and its strides."""

    pointer: str
    operand: Operand

    def at(self, *indices: str | int) -> str:
        """The element at these indices, C++ expressions."""
        steps = zip(indices, self.operand.shape, self.operand.stride, strict=True)
        offset = " + ".join(f"({index}) * {step}L" for index, size, step in steps if size != 1 and step)
        return f"{self.pointer}[{offset or 0}]"


@dataclass(frozen=True)
class Part:
    """An op of small tensors."""

    takes: Callable[[Context, Mapping[str, Any]], bool]
    emit: Callable[[Context, Mapping[str, Any], Sequence[Place], Place], list[str]]
    """C++ in which ``wide`` points to :attr:`room` numbers of float64."""
    room: Callable[[Context, Mapping[str, Any]], int]
    calls: int
    """Of torch, that its kernel makes, about."""


def loops(names: Sequence[str], sizes: Iterable[int]) -> str:
    """A loop in a loop."""
    return " ".join(
        f"for (long {name} = 0; {name} < {size}; ++{name})" for name, size in zip(names, sizes, strict=True)
    )


def _stored(to: str, place: Place, value: str) -> str:
    """A statement that rounds a float64 to the place's type."""
    single = f"(float)({value})"
    return f"store({to}, {f'rounded({single})' if TYPES[place.operand.dtype] == 'uint16_t' else single});"


def _cuts(context: Context, attributes: Mapping[str, Any]) -> list[Callable[[str], str]]:
    """What the registers of both operands keep of a float."""
    bits = matrix_unit.source_bits(attributes.get("compute_config"), silicon=context.silicon)
    masks = [0xFFFFFFFF >> (24 - count) << (24 - count) for count in bits]
    return [lambda value, mask=mask: f"cut({value}, 0x{mask:08x}u)" for mask in masks]


def _padded(count: int) -> int:
    return -(-count // LANES) * LANES


def _multiplied(
    rows: Mapping[str, int], inner: int, columns: int, filled: str, b: str, finished: Callable[[str], str]
) -> list[str]:
    """A product of matrices of any elements.

    Args:
        rows: names and sizes of the indices that rows are counted by.
        filled: a statement that fills ``p`` with the first one.
        b: the element at place ``k`` and column ``n`` of the second one.
        finished: of the sum for a row and column ``n``, a statement.
    """
    wide, count = _padded(columns), math.prod(rows.values())
    return [
        f"double *const p = wide, *const q = p + {count * inner}, *const r = q + {inner * wide}, *s = r;",
        filled,
        f"{loops('kn', (inner, columns))} q[k * {wide} + n] = {b};",
        f"multiply(p, q, r, {count}, {inner}, {wide});",
        f"{loops([*rows], rows.values())} {{ {loops('n', (columns,))} {finished('s[n]')} s += {wide}; }}",
    ]


def _room(rows: int, inner: int, columns: int) -> int:
    return rows * inner + (inner + rows) * _padded(columns)


def _spec(context: Context, name: str) -> TensorSpec:
    spec = context.operands[name]
    assert isinstance(spec, TensorSpec)
    return spec


def _matmul_activation(attributes: Mapping[str, Any]) -> str | None:
    return fused_activation(attributes.get("activation"), attributes.get("matmul_program_config"))


def _takes_matmul(context: Context, attributes: Mapping[str, Any]) -> bool:
    transpose_a = bool(attributes.get("transpose_a"))
    return is_small(context, attributes.get("compute_config"), transpose_a=transpose_a) and (
        _matmul_activation(attributes) in _ACTIVATIONS
    )


def _matmul_sizes(context: Context, attributes: Mapping[str, Any]) -> tuple[int, int, int]:
    rows, columns = context.result.shape[-2:]
    return rows, _spec(context, "a").shape[-2 if attributes.get("transpose_a") else -1], columns


def _emit_matmul(context: Context, attributes: Mapping[str, Any], places: Sequence[Place], result: Place) -> list[str]:
    a, b, *bias = places
    transposed = [bool(attributes.get(name)) for name in ("transpose_a", "transpose_b")]
    batch = {f"i{dim}": size for dim, size in enumerate(context.result.shape[:-2])}
    rows, inner, columns = _matmul_sizes(context, attributes)
    lines, counted = batch, {"m": rows}
    if len(b.operand.shape) == 2:  # the same for all
        lines, counted = {}, batch | counted

    def element(place: Place, *pair: str) -> str:
        indices = [*batch, *pair]
        return f"load({place.at(*indices[len(indices) - len(place.operand.shape) :])})"

    def finished(sum: str) -> str:
        more = f" + {element(bias[0], 'm', 'n')}" if bias else ""
        total = f"{_ACTIVATIONS[_matmul_activation(attributes)]}({sum}{more})"
        return _stored(result.at(*batch, "m", "n"), result, total)

    first, second = _cuts(context, attributes)
    left = first(element(a, *("km" if transposed[0] else "mk")))
    filled = f"double* t = p; {loops([*counted, 'k'], (*counted.values(), inner))} *t++ = {left};"
    right = second(element(b, *("nk" if transposed[1] else "kn")))
    product = _multiplied(counted, inner, columns, filled, right, finished)
    return [f"{loops([*lines], lines.values())} {{", *product, "}"]


def _takes_convolution(context: Context, attributes: Mapping[str, Any]) -> bool:
    geometry = Geometry.of(attributes)
    if geometry.activation not in _ACTIVATIONS or geometry.block_float:
        return False
    shapes = {name: spec.shape for name, spec in context.operands.items() if isinstance(spec, TensorSpec)}
    flat = shapes["input"][:2] == (1, 1) and len(shapes["input"]) == len(shapes["weight"]) == 4
    row = "bias" not in shapes or (math.prod(shapes["bias"][:-1]) == 1 and shapes["bias"][-1] >= geometry.out_channels)
    return flat and row and is_small_convolution(context, geometry, attributes.get("compute_config"))


def _convolution_sizes(context: Context, attributes: Mapping[str, Any]) -> tuple[int, int, int]:
    geometry = Geometry.of(attributes)
    outputs, inputs, high, wide = geometry.weight
    return math.prod(context.result.shape[:-1]), inputs * high * wide, outputs // geometry.groups


def _emit_convolution(
    context: Context, attributes: Mapping[str, Any], places: Sequence[Place], result: Place
) -> list[str]:
    """Its windows as rows of a matrix, for each group."""
    g = Geometry.of(attributes)
    input, weight, *bias = places
    _, inputs, high, wide = g.weight
    rows, inner, columns = _convolution_sizes(context, attributes)
    first, second = _cuts(context, attributes)
    top, _, left, _ = g.sides
    pixel = input.at(0, 0, f"(b * {g.input_height} + y) * {g.input_width} + x", f"g * {inputs} + i")
    inside = f"y >= 0 && x >= 0 && y < {g.input_height} && x < {g.input_width}"
    filled = (
        f"double* t = p; {loops(['b', 'h', 'w', 'u', 'v'], (g.batch_size, *g.result, high, wide))} {{ "
        f"const long y = h * {g.steps[0]} - {top} + u * {g.spread[0]};"
        f"const long x = w * {g.steps[1]} - {left} + v * {g.spread[1]};"
        f"if ({inside}) {loops('i', (inputs,))} *t++ = {first(f'load({pixel})')};"
        f"else {loops('i', (inputs,))} *t++ = 0.0; }}"
    )
    output = f"g * {columns} + n"
    if weight.operand.shape == g.weight:
        factor = weight.at(output, f"k % {inputs}", f"k / {inputs * wide}", f"k / {inputs} % {wide}")
    else:
        factor = weight.at(0, 0, f"k / {inputs} * {g.in_channels} + g * {inputs} + k % {inputs}", output)
    to = result.at(*[0] * (len(result.operand.shape) - 2), "m", output)
    more = f" + load({bias[0].at(*[0] * (len(bias[0].operand.shape) - 1), output)})" if bias else ""

    def finished(sum: str) -> str:
        return _stored(to, result, f"{_ACTIVATIONS[g.activation]}({sum}{more})")

    product = _multiplied({"m": rows}, inner, columns, filled, second(f"load({factor})"), finished)
    return [f"{loops('g', (g.groups,))} {{", *product, "}"]


def _reduced(context: Context, attributes: Mapping[str, Any]) -> list[int]:
    rank = len(_spec(context, "input").shape)
    given = attributes.get("dim_arg")
    dims = range(rank) if given is None else [given] if isinstance(given, int) else given
    return sorted({dim % rank for dim in dims})


def _takes_reduction(context: Context, attributes: Mapping[str, Any]) -> bool:
    return are_small([*context.operands.values(), context.result]) and bool(_reduced(context, attributes))


def _emit_reduction(
    context: Context, attributes: Mapping[str, Any], places: Sequence[Place], result: Place
) -> list[str]:
    (input,) = places
    shape, dims = input.operand.shape, _reduced(context, attributes)
    names = [f"i{dim}" for dim in range(len(shape))]
    kept = [dim for dim in range(len(shape)) if dim not in dims]
    full = len(result.operand.shape) == len(shape)
    target = [names[dim] if dim in kept else 0 for dim in (range(len(shape)) if full else kept)]
    total = math.prod(shape[dim] for dim in dims)
    mean = context.op == "ttnn.mean"
    return [
        f"{loops([names[dim] for dim in kept], [shape[dim] for dim in kept])} {{ double s = 0.0;",
        f"{loops([names[dim] for dim in dims], [shape[dim] for dim in dims])} s += load({input.at(*names)});",
        f"{_stored(result.at(*target), result, f's / {total}' if mean else 's')} }}",
    ]


def _takes_joined(context: Context, attributes: Mapping[str, Any]) -> bool:
    specs = context.operands.get("inputs")
    specs = specs if isinstance(specs, tuple) else (specs,)
    kinds = {spec.layout.dtype for spec in (*specs, context.result) if isinstance(spec, TensorSpec)}
    return len(kinds) == 1 and are_small([*specs, context.result])


def _emit_joined(context: Context, attributes: Mapping[str, Any], places: Sequence[Place], result: Place) -> list[str]:
    names = [f"i{dim}" for dim in range(len(context.result.shape))]
    at = attributes["dim"] % len(names)
    starts = itertools.accumulate((place.operand.shape[at] for place in places), initial=0)
    return [
        copied(place, result, names, [*names[:at], f"{names[at]} + {start}", *names[at + 1 :]])
        for place, start in zip(places, starts, strict=False)
    ]


def copied(place: Place, to: Place, names: Sequence[str], target: Sequence[str]) -> str:
    """All elements of one place to ``target`` of another one, of the same type."""
    return f"{loops(names, place.operand.shape)} {to.at(*target)} = {place.at(*names)};"


def _none(context: Context, attributes: Mapping[str, Any]) -> int:
    return 0


def _matmul_room(context: Context, attributes: Mapping[str, Any]) -> int:
    rows, inner, columns = _matmul_sizes(context, attributes)
    return _room(rows * math.prod(context.result.shape[:-2]), inner, columns)


def _convolution_room(context: Context, attributes: Mapping[str, Any]) -> int:
    return _room(*_convolution_sizes(context, attributes))


PARTS = {
    **dict.fromkeys(("ttnn.linear", "ttnn.matmul"), Part(_takes_matmul, _emit_matmul, _matmul_room, 4)),
    "ttnn.conv2d": Part(_takes_convolution, _emit_convolution, _convolution_room, 8),
    **dict.fromkeys(("ttnn.sum", "ttnn.mean"), Part(_takes_reduction, _emit_reduction, _none, 3)),
    "ttnn.concat": Part(_takes_joined, _emit_joined, _none, 3),
}
