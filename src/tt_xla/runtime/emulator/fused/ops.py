"""C++ of ops that do not go row by row over one shape: products, sums of columns, reads and writes at computed places.

Each op is a unit: a function of pointers to its operands ``a0``, ``a1`` and so on, to its result ``o`` and to memory
``room`` of its own, which returns whether it could compute. Ops with the same text share one.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from tt_xla.ir.program import TensorSpec
from tt_xla.runtime.emulator import matrix_unit, sums
from tt_xla.runtime.emulator.containers import CONTAINERS
from tt_xla.runtime.emulator.context import Context
from tt_xla.runtime.emulator.functions import FUNCTIONS, fused_activation
from tt_xla.runtime.emulator.fused.convolution import convolution_room, emit_convolution, takes_convolution
from tt_xla.runtime.emulator.fused.cpp import GRAIN, TYPES, Operand, Place, View, copied, loops
from tt_xla.runtime.emulator.fused.rows import EXTREMA, has_cpp, literal, summed_dims

Attributes = Mapping[str, Any]

_FLOATS = (torch.bfloat16, torch.float32)


@dataclass(frozen=True)
class Unit:
    """An op that is written on its own."""

    takes: Callable[[Context, Attributes], bool]
    """Whether the op is written in C++."""
    emit: Callable[[Context, Attributes, Sequence[Place], Place | None], Iterator[str]]
    """Writes the op from the places of its operands and of its result, if it has one."""
    room: Callable[[Context, Attributes], int] = lambda context, attributes: 0
    """Returns the number of floats at ``room``."""
    dense: tuple[int, ...] = ()
    """Positions of operands whose elements must lie side by side in order."""


def _container(context: Context, name: str) -> torch.dtype:
    return CONTAINERS[context.spec(name).layout.dtype]


# Products.


@dataclass(frozen=True)
class Product:
    """A product of matrices, or of many: rows, terms, columns and the number of matrices."""

    context: Context
    attributes: Attributes

    @property
    def columns(self) -> int:
        """Columns of the second operand."""
        return self.context.spec("b").shape[-2 if self.attributes.get("transpose_b") else -1]

    @property
    def inner(self) -> int:
        """Terms of a sum."""
        return self.context.spec("a").shape[-2 if self.attributes.get("transpose_a") else -1]

    @property
    def batch(self) -> tuple[int, ...]:
        """Sizes of the dimensions of matrices; none where one second operand is for all rows."""
        return () if len(self.context.spec("b").shape) == 2 else self.context.result.shape[:-2]

    @property
    def rows(self) -> int:
        """Rows of each matrix."""
        return math.prod(self.context.result.shape[:-1]) // math.prod(self.batch)

    @property
    def panels(self) -> int:
        """Panels of columns."""
        return -(-self.columns // sums.LANES)

    @property
    def activation(self) -> str | None:
        """Function that the product ends with."""
        return fused_activation(self.attributes.get("activation"), self.attributes.get("matmul_program_config"))

    @property
    def masks(self) -> list[int]:
        """Bits of a float32 that take part, of each operand."""
        config = self.attributes.get("compute_config")
        return [matrix_unit.mask_of(bits) for bits in matrix_unit.source_bits(config, silicon=self.context.silicon)]


def _takes_product(context: Context, attributes: Attributes) -> bool:
    if list(context.operands) not in (["a", "b"], ["a", "b", "bias"]):
        return False
    if min(len(context.spec(name).shape) for name in ("a", "b")) < 2:
        return False
    if any(CONTAINERS[spec.layout.dtype] not in _FLOATS for spec in context.specs):
        return False
    product = Product(context, attributes)
    if not matrix_unit.is_one_product(attributes.get("compute_config"), silicon=context.silicon):
        return False
    if product.activation is not None and not has_cpp(product.activation):
        return False
    if not math.prod(context.result.shape) * product.inner:
        return False
    one_matrix = math.prod(context.spec("b").shape[:-2]) == 1
    rows = math.prod(context.result.shape[:-1]) if one_matrix else product.rows
    return not sums.is_large(rows, product.inner, product.columns)


_ROOM_OF_THREAD = 1 << 18
"""Floats, at most, that each thread has for one of many matrices. Larger ones lie in the arena beside each other."""


def _product_room(context: Context, attributes: Attributes) -> int:
    product = Product(context, attributes)
    each, count = _room_of_each(product), math.prod(product.batch)
    return 0 if count > 1 and each <= _ROOM_OF_THREAD else count * each


def _room_of_each(product: Product) -> int:
    """Returns the number of floats that one product takes: both operands and the sums."""
    width = product.panels * sums.LANES
    return product.rows * (product.inner + width) + product.inner * width


def emit_product(
    context: Context, attributes: Attributes, places: Sequence[Place], result: Place | None, *, packed: bool = False
) -> Iterator[str]:
    """Writes a product; ``packed`` says that the second operand comes in panels."""
    assert result is not None
    product = Product(context, attributes)
    a, b, *bias = places
    rows, inner, columns, panels = product.rows, product.inner, product.columns, product.panels
    width, count = panels * sums.LANES, math.prod(product.batch)
    batch = {f"i{dim}": size for dim, size in enumerate(product.batch)}
    own = {f"m{dim}": size for dim, size in enumerate(context.result.shape[len(batch) : -1])}
    each = _room_of_each(product)
    if count > 1:
        shared = f"{count * rows * inner * columns}L > SHARED"
        yield f"#pragma omp parallel for collapse({len(batch)}) if ({shared})"
    yield f"{loops([*batch], batch.values())} {{"
    if _product_room(context, attributes):
        index = "0"
        for name, size in batch.items():
            index = f"({index} * {size} + {name})"
        yield f"float* const p = room + {index} * {each}L;"
    else:
        yield f"float* const p = (float*)thread_memory({each * 4}L);"
    yield f"float *const q = p + {rows * inner}, *const r = q + {inner * width};"
    yield from _left_packed(product, a, [*batch], own)
    kind = b.c_type if packed else "float"
    panel = f"(const {kind}*)a1" if packed else "q"
    if not packed:
        yield from _right_packed(product, b, [*batch])
    name = "multiply_bfloat16" if kind == "uint16_t" else "multiply"
    yield f"{name}(p, {panel}, r, {rows}, {inner}, {columns});"
    yield from _finished(product, bias, result, [*batch], own, width)
    yield "}"


def _element(place: Place, *indices: str) -> str:
    """Returns the C++ of an element; a place with fewer dimensions is broadcast along the first ones."""
    return f"load({place.at(*indices[len(indices) - len(place.operand.shape) :])})"


def _masked(value: str, mask: int) -> str:
    return value if mask == 0xFFFFFFFF else f"cut({value}, 0x{mask:08x}u)"


def _left_packed(product: Product, a: Place, batch: Sequence[str], own: Mapping[str, int]) -> Iterator[str]:
    """Writes rows of the first operand side by side at ``p``."""
    last = (*batch, *own)[-1]
    outer = (*batch, *own)[:-1]
    pair = ("k", last) if product.attributes.get("transpose_a") else (last, "k")
    value = _masked(_element(a, *outer, *pair), product.masks[0])
    yield "{ float* t = p;"
    yield f"{loops([*own], own.values())} {{ {loops('k', (product.inner,))} t[k] = {value}; t += {product.inner}; }} }}"


def _right_packed(product: Product, b: Place, batch: Sequence[str]) -> Iterator[str]:
    """Writes the second operand in panels at ``q``; columns that fill up the last one are 0."""
    pair = ("n", "k") if product.attributes.get("transpose_b") else ("k", "n")
    value = _masked(_element(b, *batch, *pair), product.masks[1])
    tail = "" if product.columns % sums.LANES == 0 else f"n >= {product.columns} ? 0.0f : "
    yield f"for (long n0 = 0; n0 < {product.panels * sums.LANES}; n0 += {sums.LANES})"
    yield f"for (long k = 0; k < {product.inner}; ++k) {{"
    yield f"float* const t = q + n0 * {product.inner} + k * {sums.LANES};"
    yield f"for (long i = 0; i < {sums.LANES}; ++i) {{ const long n = n0 + i; t[i] = {tail}{value}; }} }}"


def _finished(
    product: Product, bias: Sequence[Place], result: Place, batch: Sequence[str], own: Mapping[str, int], width: int
) -> Iterator[str]:
    """Writes bias, activation and rounding of the sums at ``r``."""
    value = "s[n]" + (f" + {_bias(bias[0], batch, own)}" if bias else "")
    if product.activation:
        value = FUNCTIONS[product.activation].cpp.format(x=value, p="")
    value = f"rounded({value})" if product.context.container is torch.bfloat16 else value
    to = result.at(*batch, *own, "n")
    yield f"{{ const float* s = r; {loops([*own], own.values())} {{"
    yield f"#pragma omp simd\n{loops('n', (product.columns,))} store({to}, {value});"
    yield f"s += {width}; }} }}"


def _bias(place: Place, batch: Sequence[str], own: Mapping[str, int]) -> str:
    """Returns the C++ of the bias of an element: a row, in a tile with rows of padding or without, or a matrix."""
    indices = [*batch, *own, "n"]
    shape, last = place.operand.shape, [*own.values()][-1]
    if len(shape) > 1 and shape[-2] not in (1, last):
        indices[-2] = "0"
    return _element(place, *indices)


# Sums of columns.


def _takes_sum(context: Context, attributes: Attributes) -> bool:
    floats = _container(context, "input") in _FLOATS and context.container in _FLOATS
    plain = attributes.get("scalar", 1.0) == 1 and bool(summed_dims(context, attributes))
    return floats and plain and bool(math.prod(context.spec("input").shape))


def _sum_room(context: Context, attributes: Attributes) -> int:
    return math.prod(context.spec("input").shape) + math.prod(context.result.shape)


def _emit_sum(context: Context, attributes: Attributes, places: Sequence[Place], result: Place | None) -> Iterator[str]:
    assert result is not None
    shape, dims = places[0].operand.shape, summed_dims(context, attributes)
    names = [f"k{dim}" for dim in range(len(shape))]
    side_by_side = dims == [*range(dims[0], dims[-1] + 1)]
    kept = [dim for dim in range(len(shape)) if dim not in dims]
    order = [*range(len(shape))] if side_by_side else [*kept, *dims]
    before = dims[0] if side_by_side else len(kept)
    length = math.prod(shape[dim] for dim in dims)
    outer = math.prod(shape[dim] for dim in order[:before])
    inner = math.prod(shape) // outer // length
    source = "(const float*)a0"
    ordered = Place("x", Operand(shape, tuple(places[0].operand.stride), places[0].operand.dtype))
    if not (places[0].c_type == "float" and places[0].is_contiguous and side_by_side):
        source = "room"
        lines = loops([names[dim] for dim in order], [shape[dim] for dim in order])
        yield f"{{ const {ordered.c_type}* const x = (const {ordered.c_type}*)a0; long i = 0;"
        yield f"{lines} room[i++] = load({ordered.at(*names)}); }}"
    yield f"float* const y = room + {math.prod(shape)}; sums({source}, y, {outer}, {length}, {inner});"
    value = f"*s / {length}.0f" if context.op == "ttnn.mean" else "*s"
    value = f"rounded({value})" if context.container is torch.bfloat16 else value
    out = [f"i{dim}" for dim in range(len(result.operand.shape))]
    yield f"{{ const float* s = y; {loops(out, result.operand.shape)} {{ store({result.at(*out)}, {value}); ++s; }} }}"


# Maxima and minima, and positions of maxima.


def _emit_extremum(
    context: Context, attributes: Attributes, places: Sequence[Place], result: Place | None
) -> Iterator[str]:
    """Finds the greatest or least elements along some dimensions. Zeros are positive."""
    assert result is not None
    source, dims, op = places[0], summed_dims(context, attributes), EXTREMA[context.op]
    shape = source.operand.shape
    names = [f"k{dim}" for dim in range(len(shape))]
    kept = [dim for dim in range(len(shape)) if dim not in dims]
    outer, sizes = [names[dim] for dim in kept], tuple(shape[dim] for dim in kept)
    yield f"{loops(outer, sizes)} {{ float most = {op}::neutral;"
    if dims == [len(shape) - 1] and source.c_type == "float" and source.operand.stride[-1] == 1:
        yield f"most = reduced<{op}>(&{source.at(*outer, 0)}, {shape[-1]});"
    else:
        inner = loops([names[dim] for dim in dims], [shape[dim] for dim in dims])
        yield f"{inner} most = {op}::of(most, load({source.at(*names)}));"
    value = "rounded(most + 0.0f)" if context.container is torch.bfloat16 else "most + 0.0f"
    yield f"store({_flat(result, sizes).at(*outer)}, {value}); }}"


def _searched_dim(context: Context, attributes: Attributes) -> int | None:
    """Returns the dimension that is searched; None for all of them."""
    dims = attributes.get("dim") if attributes.get("dim") is not None else attributes.get("dim_arg")
    rank = len(context.spec("input").shape)
    if dims is None or (not isinstance(dims, int) and len(dims) == rank != 1):
        return None
    dim = dims if isinstance(dims, int) else dims[0]
    return dim % rank if rank else None


def _takes_argmax(context: Context, attributes: Attributes) -> bool:
    dims = attributes.get("dim_arg")
    one = dims is None or isinstance(dims, int) or len(dims) in (1, len(context.spec("input").shape))
    integers = context.container in (torch.int32, torch.int64)
    return one and integers and _container(context, "input") in _FLOATS and bool(math.prod(context.spec("input").shape))


def _emit_argmax(
    context: Context, attributes: Attributes, places: Sequence[Place], result: Place | None
) -> Iterator[str]:
    """Finds the first greatest element, or the first NaN."""
    assert result is not None
    dim, shape = _searched_dim(context, attributes), places[0].operand.shape
    names = [f"k{position}" for position in range(len(shape))]
    outer = [] if dim is None else [name for position, name in enumerate(names) if position != dim]
    sizes = [] if dim is None else [size for position, size in enumerate(shape) if position != dim]
    out = _flat(result, tuple(sizes)) if sizes else Place(result.pointer, Operand((), (), result.operand.dtype))
    inner = names if dim is None else [names[dim]]
    yield f"{loops(outer, sizes)} {{ long at = 0, best = 0; float most = -INFINITY;"
    yield f"{loops(inner, shape if dim is None else (shape[dim],))} {{ const float x = load({places[0].at(*names)});"
    yield "if (most == most && (x != x || x > most)) { most = x; best = at; } ++at; }"
    yield f"{out.at(*outer)} = best; }}"


# Elements at computed places.


def _integer_index(context: Context, name: str) -> bool:
    return _container(context, name) in (torch.int32, torch.int64)


def _takes_embedding(context: Context, attributes: Attributes) -> bool:
    weight = context.spec("weight")
    alike = weight.layout.dtype is context.dtype and weight.layout.dtype.is_float
    return _integer_index(context, "input") and alike and context.container in TYPES


def _emit_embedding(
    context: Context, attributes: Attributes, places: Sequence[Place], result: Place | None
) -> Iterator[str]:
    assert result is not None
    indices, weight = places
    width, count = weight.operand.shape[-1], math.prod(weight.operand.shape[:-1])
    shape = indices.operand.shape
    names = [f"k{dim}" for dim in range(len(shape))]
    table, flat = _flat(weight, (count, width)), _flat(result, (math.prod(shape), width))
    yield f"long row = 0; {loops(names, shape)} {{ const long at = (long){indices.at(*names)};"
    yield f"if (at < 0 || at >= {count}) return false;"
    yield f"{loops('j', (width,))} {flat.at('row', 'j')} = {table.at('at', 'j')}; ++row; }}"


def _flat(place: Place, shape: tuple[int, ...]) -> Place:
    """Returns a place with another shape; callers check that its elements lie so."""
    viewed = place.viewed(lambda tensor: tensor.view(shape))
    assert viewed is not None
    return viewed


def _takes_gather(context: Context, attributes: Attributes) -> bool:
    alike = context.spec("input").layout.dtype is context.dtype
    return _integer_index(context, "index") and alike and context.container in TYPES


def _emit_gather(
    context: Context, attributes: Attributes, places: Sequence[Place], result: Place | None
) -> Iterator[str]:
    assert result is not None
    source, index = places
    shape, dim = result.operand.shape, attributes["dim"] % len(result.operand.shape)
    names = [f"k{position}" for position in range(len(shape))]
    picked = [*names[:dim], "at", *names[dim + 1 :]]
    yield "bool inside = true;"
    if math.prod(shape) > GRAIN:
        yield "#pragma omp parallel for reduction(&& : inside)"
    yield f"{loops(names, shape)} {{ const long at = (long){index.at(*names)};"
    yield f"if (at < 0 || at >= {source.operand.shape[dim]}) inside = false;"
    yield f"else {result.at(*names)} = {source.at(*picked)}; }}"
    yield "if (!inside) return false;"


def _takes_scatter(context: Context, attributes: Attributes) -> bool:
    alike = len({context.spec(name).layout.dtype for name in ("input", "source")} | {context.dtype}) == 1
    replaces = attributes.get("scatter_reduce_type", "invalid") == "invalid"
    return alike and replaces and _integer_index(context, "index") and context.container in TYPES


def _emit_scatter(
    context: Context, attributes: Attributes, places: Sequence[Place], result: Place | None
) -> Iterator[str]:
    """Copies the operand, then writes elements; of several at one place the last one stays."""
    assert result is not None
    source, index, values = places
    shape, dim = result.operand.shape, attributes["dim"] % len(result.operand.shape)
    names = [f"k{position}" for position in range(len(shape))]
    yield from copied(source, result)
    yield f"{loops(names, index.operand.shape)} {{ const long at = (long){index.at(*names)};"
    yield f"if (at < 0 || at >= {shape[dim]}) return false;"
    yield f"{result.at(*names[:dim], 'at', *names[dim + 1 :])} = {values.at(*names)}; }}"


def _takes_running_sum(context: Context, attributes: Attributes) -> bool:
    dtypes = {_container(context, "input"), context.container}
    return context.spec("input").shape != () and (dtypes <= {*_FLOATS} or dtypes == {torch.int32})


def _emit_running_sum(
    context: Context, attributes: Attributes, places: Sequence[Place], result: Place | None
) -> Iterator[str]:
    """Adds the elements along a dimension one after another, floats in double, as torch does."""
    assert result is not None
    shape = result.operand.shape
    dim = attributes["dim"] % len(shape)
    names = [f"k{position}" for position in range(len(shape))]
    outer = [name for position, name in enumerate(names) if position != dim]
    sizes = [size for position, size in enumerate(shape) if position != dim]
    kind = "double" if context.container.is_floating_point else "int64_t"
    at = f"{shape[dim] - 1} - i" if attributes.get("reverse_order") else "i"
    if outer and math.prod(shape) > GRAIN:
        yield f"#pragma omp parallel for collapse({len(outer)})"
    yield f"{loops(outer, sizes)} {{ {kind} total = 0; for (long i = 0; i < {shape[dim]}; ++i) {{"
    yield f"const long {names[dim]} = {at}; total += load({places[0].at(*names)});"
    value = "(float)total" if kind == "double" else "(int32_t)total"
    value = f"rounded({value})" if context.container is torch.bfloat16 else value
    yield f"store({result.at(*names)}, {value}); }} }}"


def _takes_update(context: Context, attributes: Attributes) -> bool:
    plain = list(context.operands) == ["cache", "input", "update_index"] and not attributes.get("share_cache")
    dtypes = [spec.layout.dtype for spec in context.specs[:2]]
    floats = all(CONTAINERS[dtype] in _FLOATS and not dtype.is_block_float for dtype in dtypes)
    return plain and floats and _container(context, "update_index") in (torch.int32, torch.int64)


def _emit_update(
    context: Context, attributes: Attributes, places: Sequence[Place], result: Place | None
) -> Iterator[str]:
    cache, rows, positions = places
    sequences, heads, length, width = cache.operand.shape
    value = f"load({rows.at('0', 'b', 'h', 'j')})"
    value = f"rounded({value})" if cache.c_type == "uint16_t" and rows.c_type == "float" else value
    yield f"for (long b = 0; b < {math.prod(positions.operand.shape)}; ++b) {{"
    yield f"const long at = (long){positions.at('b')};"
    yield "if (at < 0) continue;"
    yield f"if (at >= {length} || b >= {sequences}) return false;"
    yield f"{loops('hj', (heads, width))} keep({cache.at('b', 'h', 'at', 'j')}, {value}); }}"


# Moves.


def _takes_concat(context: Context, attributes: Attributes) -> bool:
    alike = len({spec.layout.dtype for spec in context.specs}) == 1
    return alike and not context.dtype.is_block_float and context.container in TYPES


def _emit_concat(
    context: Context, attributes: Attributes, places: Sequence[Place], result: Place | None
) -> Iterator[str]:
    """Copies each operand to its part of the result."""
    assert result is not None
    dim, start = attributes["dim"] % len(context.result.shape), 0
    for place in places:
        if math.prod(place.operand.shape):
            yield from copied(place, _part(result, {dim: start}, place.operand.shape))
        start += place.operand.shape[dim]


def _part(place: Place, starts: Mapping[int, int], shape: Sequence[int]) -> Place:
    """Returns a part of a place: its first position along some dimensions, else 0, and its shape."""
    spans = tuple(slice(starts.get(dim, 0), starts.get(dim, 0) + size) for dim, size in enumerate(shape))
    part = place.viewed(lambda tensor: tensor[spans])
    assert part is not None
    return part


def _takes_pad(context: Context, attributes: Attributes) -> bool:
    whole = all(size >= 0 for size in attributes["padding"])
    plain = context.spec("input").layout.dtype is context.dtype and not context.dtype.is_block_float
    value = float(attributes.get("value", 0.0))
    if not context.container.is_floating_point:
        plain = plain and value.is_integer() and (context.container is torch.int32 or value >= 0)
    return whole and plain and context.container in TYPES and bool(math.prod(context.spec("input").shape))


def _emit_pad(context: Context, attributes: Attributes, places: Sequence[Place], result: Place | None) -> Iterator[str]:
    assert result is not None
    names = [f"i{dim}" for dim in range(len(result.operand.shape))]
    value = float(attributes.get("value", 0.0))
    filled = f"keep({result.at(*names)}, {_constant(value, context)});"
    yield f"{loops(names, result.operand.shape)} {filled}"
    starts = dict(enumerate(attributes["padding"][::2]))
    yield from copied(places[0], _part(result, starts, places[0].operand.shape))


def _constant(value: float, context: Context) -> str:
    if not context.container.is_floating_point:
        return f"({TYPES[context.container]}){int(value)}LL"
    held = float(torch.tensor(value, dtype=context.container, device="cpu"))
    return literal(held)


UNITS: dict[str, Unit] = {
    **dict.fromkeys(("ttnn.linear", "ttnn.matmul"), Unit(_takes_product, emit_product, _product_room)),
    **dict.fromkeys(("ttnn.sum", "ttnn.mean"), Unit(_takes_sum, _emit_sum, _sum_room)),
    **dict.fromkeys(EXTREMA, Unit(_takes_sum, _emit_extremum)),
    "ttnn.argmax": Unit(_takes_argmax, _emit_argmax),
    "ttnn.cumsum": Unit(_takes_running_sum, _emit_running_sum),
    "ttnn.concat": Unit(_takes_concat, _emit_concat),
    "ttnn.conv2d": Unit(takes_convolution, emit_convolution, convolution_room, dense=(0,)),
    "ttnn.embedding": Unit(_takes_embedding, _emit_embedding, dense=(1,)),
    "ttnn.gather": Unit(_takes_gather, _emit_gather),
    "ttnn.pad": Unit(_takes_pad, _emit_pad),
    "ttnn.scatter": Unit(_takes_scatter, _emit_scatter),
    "ttnn.paged_update_cache": Unit(_takes_update, _emit_update),
}
"""Ops that are written on their own, by name."""


# Views.


def _reshaped(context: Context, attributes: Attributes) -> list[View]:
    return [lambda tensor: tensor.view(context.result.shape)]


def _permuted(context: Context, attributes: Attributes) -> list[View]:
    return [lambda tensor: tensor.permute(tuple(attributes["permutation"]))]


def _transposed(context: Context, attributes: Attributes) -> list[View]:
    return [lambda tensor: tensor.transpose(attributes["dim0"], attributes["dim1"])]


def _sliced(context: Context, attributes: Attributes) -> list[View]:
    spans = zip(attributes["begins"], attributes["ends"], attributes["step"], strict=True)
    places = tuple(slice(*span) for span in spans)
    return [lambda tensor: tensor[places]]


def _heads_joined(context: Context, attributes: Attributes) -> list[View]:
    return [lambda tensor: tensor.permute(0, 2, 1, 3), *_reshaped(context, attributes)]


def _repeated(context: Context, attributes: Attributes) -> list[View]:
    shape, counts = context.spec("input").shape, tuple(attributes["repeat_dims"])
    rank = max(len(shape), len(counts))
    shape, counts = ((1,) * (rank - len(each)) + tuple(each) for each in (shape, counts))
    pairs = [*itertools.chain.from_iterable(zip(counts, shape, strict=True))]
    apart = [*itertools.chain.from_iterable((1, size) for size in shape)]
    return [lambda tensor: tensor.view(apart), lambda tensor: tensor.expand(pairs), *_reshaped(context, attributes)]


def _interleaved(context: Context, attributes: Attributes) -> list[View]:
    shape, dim = list(context.spec("input").shape), attributes["dim"] % len(context.result.shape)
    before, after = shape[: dim + 1], shape[dim + 1 :]
    apart, wide = [*before, 1, *after], [*before, attributes["repeats"], *after]
    return [lambda tensor: tensor.view(apart), lambda tensor: tensor.expand(wide), *_reshaped(context, attributes)]


def _as_it_is(context: Context, attributes: Attributes) -> list[View]:
    return []


VIEWS: dict[str, Callable[[Context, Attributes], list[View]]] = {
    "ttnn.reshape": _reshaped,
    "ttnn.permute": _permuted,
    "ttnn.transpose": _transposed,
    "ttnn.slice_static": _sliced,
    "ttnn.repeat": _repeated,
    "ttnn.repeat_interleave": _interleaved,
    **dict.fromkeys(("ttnn.concatenate_heads", "ttnn.nlp_concat_heads"), _heads_joined),
    **dict.fromkeys(("ttnn.to_layout", "ttnn.to_memory_config", "ttnn.typecast"), _as_it_is),
}
"""Views that a move consists of, one after another; a tensor that has no such view is copied before it."""


def is_view(context: Context) -> bool:
    """Whether an op only moves elements, without changing their type."""
    if context.op not in VIEWS or len(context.operands) != 1 or len(context.results) != 1:
        return False
    (spec,) = context.operands.values()
    plain = isinstance(spec, TensorSpec) and spec.layout.dtype is context.dtype and context.container in TYPES
    return plain and bool(math.prod(context.result.shape)) and not context.dtype.is_block_float
