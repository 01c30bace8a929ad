"""C++ of softmax, layer_norm, sum and mean, in the order in which torch adds with its vectors."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Iterator, Mapping, Sequence

import torch

from tt_xla.runtime.emulator.containers import CONTAINERS, hold
from tt_xla.runtime.emulator.context import Context
from tt_xla.runtime.emulator.fused.cpp import Operand, Place, Shape, contiguous, loops
from tt_xla.runtime.emulator.fused.forms import Attributes, Family, function

_FLOATS = (torch.bfloat16, torch.float32)

_VECTORS = (8, 16)
"""Floats in a vector: torch computes some ops with vectors of AVX2 on CPUs that have AVX-512."""

_TRIED = 1 << 16
"""Elements that a form is tried on, about: differences are rare where the result is rounded to bfloat16."""

_WIDEST = 10
"""Numbers that cancel in a sum lie between 2**-10 and 2**10 in magnitude, so that sums of bfloat16 are rounded."""


def _container(context: Context, name: str) -> torch.dtype:
    return CONTAINERS[context.spec(name).layout.dtype]


def _all_floats(context: Context) -> bool:
    return all(CONTAINERS[spec.layout.dtype] in _FLOATS for spec in context.specs)


def _finished(value: str, context: Context, computed_in: torch.dtype) -> str:
    """Returns the C++ of a float as it is stored: torch's kernel rounds to its own dtype, then comes the result's."""
    return f"rounded({value})" if torch.bfloat16 in (computed_in, context.container) else value


def _tall(context: Context, operands: Sequence[Operand], seed: int) -> list[torch.Tensor]:
    """Draws operands of which the first one has as many rows as show rare differences."""
    generator = torch.Generator(device="cpu").manual_seed(seed)
    *outer, length = operands[0].shape
    rows = (max(1, _TRIED // length), *[1] * (len(outer) - 1)) if outer else ()
    shapes = [(*rows, length), *(operand.shape for operand in operands[1:])]
    return [
        (torch.randn(shape, generator=generator, device="cpu", dtype=torch.float32) * (2 + seed)).to(operand.dtype)
        for shape, operand in zip(shapes, operands, strict=True)
    ]


def _rows_drawn(context: Context, attributes: Attributes, operands: Sequence[Operand]) -> Iterator[list[torch.Tensor]]:
    yield from (_tall(context, operands, seed) for seed in range(2))


def _loaded(place: Place, to: str, shape: Shape, names: Sequence[str]) -> str:
    """Returns C++ that loads a tensor's elements, indexed by ``names``, as floats side by side."""
    return f"{{ long i = 0; {loops(names, shape)} {to}[i++] = load({place.at(*names)}); }}"


# Softmax over the last dimension.


def _takes_softmax(context: Context, attributes: Attributes) -> bool:
    rank = len(context.result.shape)
    return list(context.operands) == ["input"] and _all_floats(context) and attributes["dimension"] in (-1, rank - 1)


def _softmax_name(context: Context) -> str:
    return "softmax_of_bfloat16" if _container(context, "input") is torch.bfloat16 else "softmax"


def _softmax_forms(context: Context, attributes: Attributes, operands: Sequence[Operand]) -> Mapping[str, str]:
    name = _softmax_name(context)
    return {f"{name}<{width}>": f"{name}_{width}" for width in reversed(_VECTORS)}


def _softmax_computed(
    library: ctypes.CDLL, form: str, context: Context, attributes: Attributes, tensors: Sequence[torch.Tensor]
) -> torch.Tensor:
    (x,) = tensors
    rows = x.to(torch.float32).contiguous()
    result = torch.empty_like(rows)
    length = rows.shape[-1]
    symbol = _softmax_forms(context, attributes, ())[form]
    function(library, symbol, 2, 2)(rows, result, rows.numel() // length, length)
    return hold(result.to(x.dtype), context.dtype)


def _softmax_room(context: Context, attributes: Attributes) -> int:
    return 2 * context.result.shape[-1]


def _softmax_emitted(
    context: Context, attributes: Attributes, places: Sequence[Place], result: Place, form: str
) -> Iterator[str]:
    *outer, length = context.result.shape
    names = [f"i{dim}" for dim in range(len(outer))]
    yield f"{loops(names, outer)} {{"
    yield f"float *const x = room, *const y = room + {length};"
    yield f"{loops('j', (length,))} x[j] = load({places[0].at(*names, 'j')});"
    yield f"{form}(x, y, {length});"
    value = _finished("y[j]", context, _container(context, "input"))
    yield f"{loops('j', (length,))} store({result.at(*names, 'j')}, {value}); }}"


SOFTMAX = Family(
    ops=("ttnn.softmax",),
    takes=_takes_softmax,
    forms=_softmax_forms,
    drawn=_rows_drawn,
    computed=_softmax_computed,
    room=_softmax_room,
    emit=_softmax_emitted,
    probe="".join(
        f'extern "C" void {name}_{width}(const float* x, float* y, long rows, long n) {{\n'
        f"  for (; rows; --rows, x += n, y += n) {name}<{width}>(x, y, n);\n}}\n"
        for name in ("softmax", "softmax_of_bfloat16")
        for width in _VECTORS
    ),
    calls=2,
)


# Layer normalisation.


def _takes_layer_norm(context: Context, attributes: Attributes) -> bool:
    length = context.result.shape[-1] if context.result.shape else 0
    parameters = [context.spec(name) for name in context.operands if name != "input"]
    alike = all(math.prod(parameter.shape) == length for parameter in parameters)
    plain = next(iter(context.operands)) == "input" and "residual" not in context.operands
    return plain and bool(length) and alike and _all_floats(context)


def _normalized_in(context: Context) -> torch.dtype:
    """Returns the dtype in which the kernel normalises: that of all operands, or float32 if they differ."""
    dtypes = {_container(context, name) for name in context.operands}
    return dtypes.pop() if len(dtypes) == 1 else torch.float32


def _layer_norm_forms(context: Context, attributes: Attributes, operands: Sequence[Operand]) -> Mapping[str, str]:
    name = "layer_norm_of_bfloat16" if _normalized_in(context) is torch.bfloat16 else "layer_norm"
    return {
        f"{name}<{add}_add, {width}>": f"{name}_{add}_{width}" for add in ("fused", "rounded") for width in _VECTORS
    }


def _epsilon(attributes: Attributes) -> float:
    return ctypes.c_float(attributes.get("epsilon", 1e-12)).value


def _layer_norm_computed(
    library: ctypes.CDLL, form: str, context: Context, attributes: Attributes, tensors: Sequence[torch.Tensor]
) -> torch.Tensor:
    named = {
        name: tensor.to(torch.float32).contiguous() for name, tensor in zip(context.operands, tensors, strict=True)
    }
    rows = named["input"]
    result, epsilon = torch.empty_like(rows), torch.tensor(_epsilon(attributes), device="cpu", dtype=torch.float32)
    length = rows.shape[-1]
    symbol = _layer_norm_forms(context, attributes, ())[form]
    read = [named.get(name) for name in ("input", "weight", "bias")]
    function(library, symbol, 5, 2)(*read, result, epsilon, rows.numel() // length, length)
    return hold(result.to(_normalized_in(context)), context.dtype)


def _layer_norm_room(context: Context, attributes: Attributes) -> int:
    return 4 * context.result.shape[-1]


def _layer_norm_emitted(
    context: Context, attributes: Attributes, places: Sequence[Place], result: Place, form: str
) -> Iterator[str]:
    *outer, length = context.result.shape
    named = dict(zip(context.operands, places, strict=True))
    names = [f"i{dim}" for dim in range(len(outer))]
    yield f"{{ float *const x = room, *const y = room + {length};"
    for position, name in enumerate(("weight", "bias"), start=2):
        if name in named:
            yield f"float* const {name} = room + {position * length};"
            parameter = named[name]
            dims = [f"k{dim}" for dim in range(len(parameter.operand.shape))]
            yield _loaded(parameter, name, parameter.operand.shape, dims)
        else:
            yield f"const float* const {name} = nullptr;"
    yield f"{loops(names, outer)} {{"
    yield f"{loops('j', (length,))} x[j] = load({named['input'].at(*names, 'j')});"
    yield f"{form}(x, weight, bias, y, {length}, {_epsilon(attributes).hex()}f);"
    value = _finished("y[j]", context, _normalized_in(context))
    yield f"{loops('j', (length,))} store({result.at(*names, 'j')}, {value}); }} }}"


LAYER_NORM = Family(
    ops=("ttnn.layer_norm",),
    takes=_takes_layer_norm,
    forms=_layer_norm_forms,
    drawn=_rows_drawn,
    computed=_layer_norm_computed,
    room=_layer_norm_room,
    emit=_layer_norm_emitted,
    probe="".join(
        f'extern "C" void {name}_{add}_{width}(const float* x, const float* scale, const float* shift, float* y,\n'
        f"    const float* epsilon, long rows, long n) {{\n"
        f"  for (; rows; --rows, x += n, y += n) {name}<{add}_add, {width}>(x, scale, shift, y, n, *epsilon);\n}}\n"
        for name in ("layer_norm", "layer_norm_of_bfloat16")
        for add in ("fused", "rounded")
        for width in _VECTORS
    ),
    calls=2,
)


# Sums and means over dimensions side by side.


def _summed_dims(context: Context, attributes: Attributes) -> list[int]:
    rank = len(context.spec("input").shape)
    dims = attributes.get("dim_arg")
    dims = range(rank) if dims is None else [dims] if isinstance(dims, int) else dims
    return sorted({dim % rank for dim in dims}) if rank else []


def _takes_sum(context: Context, attributes: Attributes) -> bool:
    if list(context.operands) != ["input"] or not _all_floats(context):
        return False
    shape, dims = context.spec("input").shape, _summed_dims(context, attributes)
    between = range(dims[0], dims[-1] + 1) if dims else ()
    return bool(dims) and all(dim in dims or shape[dim] == 1 for dim in between)


def _sum_sizes(context: Context, attributes: Attributes) -> tuple[int, int, int]:
    """Elements before, along and after the summed dimensions."""
    shape, dims = context.spec("input").shape, _summed_dims(context, attributes)
    return math.prod(shape[: dims[0]]), math.prod(shape[dims[0] : dims[-1] + 1]), math.prod(shape[dims[-1] + 1 :])


def _sum_forms(context: Context, attributes: Attributes, operands: Sequence[Operand]) -> Mapping[str, str]:
    if any(operand.stride != contiguous(operand.shape) for operand in operands):
        return {}  # torch goes through memory in its order
    parts = (1, 2) if _container(context, "input") is torch.bfloat16 else (1,)
    return {f"sums<{width}, {count}>": f"sums_{width}_{count}" for width in _VECTORS for count in parts}


def _cancelling(context: Context, attributes: Attributes, operands: Sequence[Operand]) -> Iterator[list[torch.Tensor]]:
    """Draws numbers whose sums consist of rounding errors: each comes a second time with the other sign."""
    outer, length, inner = _sum_sizes(context, attributes)
    for seed in range(3):
        generator = torch.Generator(device="cpu").manual_seed(seed)
        size = (outer, length, inner)
        exponents = torch.randint(-_WIDEST, _WIDEST, size, generator=generator, device="cpu")
        numbers = torch.ldexp(torch.randn(size, generator=generator, device="cpu", dtype=torch.float32), exponents).to(
            operands[0].dtype
        )
        order = torch.randperm(length, generator=generator, device="cpu")
        half = length // 2
        numbers[:, order[half : half * 2]] = -numbers[:, order[:half]]
        yield [numbers.view(operands[0].shape)]


def _sum_computed(
    library: ctypes.CDLL, form: str, context: Context, attributes: Attributes, tensors: Sequence[torch.Tensor]
) -> torch.Tensor:
    outer, length, inner = _sum_sizes(context, attributes)
    numbers = tensors[0].to(torch.float32, copy=True).contiguous()
    result = torch.empty(outer, inner, device="cpu", dtype=torch.float32)
    symbol = _sum_forms(context, attributes, ())[form]
    function(library, symbol, 2, 3)(numbers, result, outer, length, inner)
    result = result / length if context.op == "ttnn.mean" else result
    return hold(result.to(tensors[0].dtype).view(context.result.shape), context.dtype)


def _sum_room(context: Context, attributes: Attributes) -> int:
    outer, length, inner = _sum_sizes(context, attributes)
    return outer * (length + 1) * inner


def _sum_emitted(
    context: Context, attributes: Attributes, places: Sequence[Place], result: Place, form: str
) -> Iterator[str]:
    outer, length, inner = _sum_sizes(context, attributes)
    source = places[0].operand
    yield f"{{ float *const x = room, *const y = room + {outer * length * inner}, *s = y;"
    yield _loaded(places[0], "x", source.shape, [f"k{dim}" for dim in range(len(source.shape))])
    yield f"{form}(x, y, {outer}, {length}, {inner});"
    names = [f"i{dim}" for dim in range(len(context.result.shape))]
    value = _finished(f"*s / {length}.0f" if context.op == "ttnn.mean" else "*s", context, source.dtype)
    yield f"{loops(names, context.result.shape)} {{ store({result.at(*names)}, {value}); ++s; }} }}"


SUMS = Family(
    ops=("ttnn.sum", "ttnn.mean"),
    takes=_takes_sum,
    forms=_sum_forms,
    drawn=_cancelling,
    computed=_sum_computed,
    room=_sum_room,
    emit=_sum_emitted,
    probe="".join(
        f'extern "C" void sums_{width}_{count}(float* x, float* y, long outer, long n, long inner) {{\n'
        f"  sums<{width}, {count}>(x, y, outer, n, inner);\n}}\n"
        for width in _VECTORS
        for count in (1, 2)
    ),
    calls=2,
)
