"""C++ of small convolutions: products of patches of the image, in one of a few orders over kernel and channels."""

from __future__ import annotations

import ctypes
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence

import torch
import torch.nn.functional as F

from tt_xla.ir.layout import DataType
from tt_xla.runtime.emulator import matrix_unit
from tt_xla.runtime.emulator.containers import CONTAINERS, hold
from tt_xla.runtime.emulator.context import Context
from tt_xla.runtime.emulator.fast.convolution import is_small
from tt_xla.runtime.emulator.fused.cpp import Operand, Place, loops
from tt_xla.runtime.emulator.fused.forms import Attributes, Family
from tt_xla.runtime.emulator.fused.products import ORDERS, cuts, multiplied, orders, whole_vectors
from tt_xla.runtime.emulator.windows import Geometry

_LOOPS = {"by_taps": "yxc", "by_columns": "xyc"}
"""Orders of the inner dimension, outermost loop first: row and column of the kernel, and channel. oneDNN's convolutions
by batches of products (brgemm) take one tap after another, with pairs of bfloat16 among its channels; of an image with
few channels they take one column of the kernel after another, with pairs among all."""

_ENDS = {"keeps_nan": "relu({})", "drops_nan": "({0} > 0.0f ? {0} : 0.0f)"}
"""Forms of relu: torch's, and oneDNN's, which is 0 for NaN."""

_WIDEST = 8
"""Drawn numbers lie between 2**-8 and 2**8 in magnitude, so that sums of products of bfloat16 are rounded."""


def _takes(context: Context, attributes: Attributes) -> bool:
    if list(context.operands) not in (["input", "weight"], ["input", "weight", "bias"]):
        return False
    dtypes = {CONTAINERS[spec.layout.dtype] for spec in context.specs}
    if dtypes not in ({torch.bfloat16}, {torch.float32}):
        return False
    geometry = Geometry.of(attributes)
    # oneDNN skips terms of the padding, which would show beside infinite weights.
    if any(geometry.sides) or geometry.groups != 1 or geometry.activation not in (None, "relu"):
        return False
    outputs, rows = geometry.out_channels, geometry.batch_size * math.prod(_out_sizes(geometry))
    pixels = geometry.batch_size * geometry.input_height * geometry.input_width
    flat = context.spec("input").shape == (1, 1, pixels, geometry.in_channels)
    flat = flat and context.result.shape == (1, 1, rows, outputs)
    whole_bias = "bias" not in context.operands or math.prod(context.spec("bias").shape) == outputs
    weights = context.spec("weight").shape in (geometry.weight, (1, 1, math.prod(geometry.weight[1:]), outputs))
    stored_as = (geometry.conv2d_config or {}).get("weights_dtype")
    as_they_are = not stored_as or not DataType(stored_as).is_block_float
    one_product = matrix_unit.is_one_product(attributes.get("compute_config"), silicon=context.silicon)
    plain = as_they_are and one_product and flat and whole_bias and weights
    return plain and is_small(context, geometry)


def _out_sizes(geometry: Geometry) -> tuple[int, int]:
    """Height and width of the result of a convolution without padding."""
    stride, _, dilation, _ = geometry.window
    height, width = (
        (size - spread * (taps - 1) - 1) // step + 1
        for size, spread, taps, step in zip(
            geometry.image_shape[2:], dilation, geometry.weight[2:], stride, strict=True
        )
    )
    return height, width


def _forms(context: Context, attributes: Attributes, operands: Sequence[Operand]) -> Mapping[str, str]:
    symbols = orders(operand.dtype for operand in operands[:2])
    geometry = Geometry.of(attributes)
    ends = _ENDS if geometry.activation else ("",)
    pairs_of_channels = geometry.in_channels % 2 == 0
    columns_lie_together = geometry.weight[3] == 1 or geometry.window[2][1] == 1
    pairs_across = {"by_taps": pairs_of_channels, "by_columns": pairs_of_channels or columns_lie_together}
    return {
        f"{loop} {order} {end}": symbol
        for (order, symbol), loop, end in itertools.product(symbols.items(), _LOOPS, ends)
        if order == "fused" or (order == "pairs" and pairs_across[loop])
    }


def _drawn(context: Context, attributes: Attributes, operands: Sequence[Operand]) -> Iterator[list[torch.Tensor]]:
    """Draws images that are constant along one dimension, and weights that cancel along it."""
    geometry = Geometry.of(attributes)
    _, channels, height, width = geometry.weight
    for seed, (dim, size) in enumerate(((3, width), (2, height), (1, channels))):
        if size > 1:
            yield _cancelling(context, geometry, operands, dim, seed)
    if operands[0].dtype is torch.bfloat16 and channels % 2:
        yield from _with_infinities(geometry, operands)


def _with_infinities(geometry: Geometry, operands: Sequence[Operand]) -> Iterator[list[torch.Tensor]]:
    """Draws images in which each pixel is infinite once, so far from others that most sums have one or none of them.

    With an odd number of channels, oneDNN fills pairs with elements beside those of a sum and multiplies them by 0.
    """
    _, _, *kernel = geometry.weight
    _, _, dilation, _ = geometry.window
    rows, columns = (spread * (taps - 1) for spread, taps in zip(dilation, kernel, strict=True))
    distance = (rows + 1) * geometry.input_width + columns + 3
    ones = [torch.ones(operand.shape, dtype=operand.dtype, device="cpu") for operand in operands[1:]]
    for start in range(min(distance, operands[0].shape[2])):
        image = torch.ones(operands[0].shape, dtype=operands[0].dtype, device="cpu")
        image[:, :, start::distance] = torch.inf
        yield [image, *ones]


def _cancelling(
    context: Context, geometry: Geometry, operands: Sequence[Operand], dim: int, seed: int
) -> list[torch.Tensor]:
    generator = torch.Generator(device="cpu").manual_seed(seed)

    def wide(shape: Sequence[int]) -> torch.Tensor:
        exponents = torch.randint(-_WIDEST, _WIDEST, tuple(shape), generator=generator, device="cpu")
        return torch.ldexp(torch.randn(tuple(shape), generator=generator, device="cpu", dtype=torch.float32), exponents)

    batch, channels = geometry.batch_size, geometry.in_channels
    image = wide((batch, channels, geometry.input_height, geometry.input_width))
    image = image.narrow(dim, 0, 1).expand(image.shape)
    weight = wide(geometry.weight)
    order = torch.randperm(weight.shape[dim], generator=generator, device="cpu")
    half = len(order) // 2
    weight.index_copy_(dim, order[half : half * 2], -weight.index_select(dim, order[:half]))
    weight.index_fill_(dim, order[half * 2 :], 0.0)
    if context.spec("weight").shape != geometry.weight:
        prepared = weight.new_zeros(context.spec("weight").shape)
        geometry.oihw(prepared).copy_(weight)
        weight = prepared
    tensors = [image.permute(0, 2, 3, 1).reshape(operands[0].shape), weight]
    tensors += [torch.zeros(operand.shape, device="cpu", dtype=torch.float32) for operand in operands[2:]]
    return [tensor.to(operand.dtype) for tensor, operand in zip(tensors, operands, strict=True)]


def _computed(
    library: ctypes.CDLL, form: str, context: Context, attributes: Attributes, tensors: Sequence[torch.Tensor]
) -> torch.Tensor:
    """Computes the product of patches by the compiled probe, and what comes after the sum by torch."""
    loop, order, *end = form.split()
    geometry = Geometry.of(attributes)
    outputs = geometry.out_channels
    bits = matrix_unit.source_bits(attributes.get("compute_config"), silicon=context.silicon)
    image, weight = (
        matrix_unit.significant(tensor.to(torch.float32), count)
        for tensor, count in zip((geometry.input_image(tensors[0]), geometry.oihw(tensors[1])), bits, strict=True)
    )
    rows, following = (_patches(each, geometry, _LOOPS[loop]) for each in (image, F.pad(image, (0, 1))[..., 1:]))
    columns = weight.permute(0, *("cyx".index(name) + 1 for name in _LOOPS[loop]))
    rows, columns = rows.flatten(1), columns.flatten(1)
    if order == "pairs" and rows.shape[1] % 2:
        rows, columns = torch.cat([rows, following[:, -1, 0, :1]], 1), F.pad(columns, (0, 1))
    (total,) = multiplied(library, order, rows.unsqueeze(0), columns.t().unsqueeze(0))
    if len(tensors) > 2:
        total = total + tensors[2].reshape(-1)[:outputs].to(torch.float32)
    if end == ["drops_nan"]:
        total = torch.where(total > 0, total, 0.0)
    elif end:
        total = torch.relu(total)
    return hold(total.reshape(context.result.shape), context.dtype)


def _patches(image: torch.Tensor, geometry: Geometry, names: str) -> torch.Tensor:
    """Returns the patches [rows, ...] of an image NCHW, with the dimensions of a patch in this order."""
    stride, _, dilation, _ = geometry.window
    _, channels, height, width = geometry.weight
    patches = F.unfold(image, (height, width), dilation=dilation, stride=stride)
    patches = patches.reshape(len(image), channels, height, width, -1).permute(0, 4, 1, 2, 3).flatten(0, 1)
    return patches.permute(0, *("cyx".index(name) + 1 for name in names))


def _product(context: Context, attributes: Attributes) -> tuple[int, int, int]:
    """Rows, inner dimension and columns of the product of patches."""
    outputs, channels, height, width = Geometry.of(attributes).weight
    return math.prod(context.result.shape) // outputs, channels * height * width, outputs


def _room(context: Context, attributes: Attributes) -> int:
    rows, inner, columns = _product(context, attributes)
    even, wide = inner + inner % 2, whole_vectors(columns)
    return 2 * rows * even + 2 * even * wide + rows * wide


def _emitted(
    context: Context, attributes: Attributes, places: Sequence[Place], result: Place, form: str
) -> Iterator[str]:
    loop, order, *end = form.split()
    geometry = Geometry.of(attributes)
    weight = places[1].viewed(geometry.oihw)
    assert weight is not None
    outputs, channels, height, width = geometry.weight
    rows, inner, wide, pairs = (
        _product(context, attributes)[0],
        channels * height * width,
        whole_vectors(outputs),
        order == "pairs",
    )
    length = inner + inner % 2 if pairs else inner
    sizes = {"y": height, "x": width, "c": channels}
    kernel = loops(_LOOPS[loop], [sizes[name] for name in _LOOPS[loop]])
    first, second = cuts(context, attributes)
    pixel, tap = first(_pixel(places[0], geometry)), second(f"load({weight.at(*'ncyx')})")
    yield f"{{ float *const p = room, *const q = p + {rows * length}, *t = p;"
    yield f"{loops('ihw', (geometry.batch_size, *_out_sizes(geometry)))} {{ {kernel} *t++ = {pixel};"
    if length > inner:
        last = f"const long y = 0, x = {width - 1}; *t++ = {first(_pixel(places[0], geometry, following=True))};"
        yield f"{{ {last} }}"
    yield "}"
    yield f"t = q; {kernel} {{ {loops('n', (outputs,))} t[n] = {tap}; t += {wide}; }}"
    yield f"float *const r = q + {length * wide}, *s = r;"
    if pairs:
        half = length // 2
        if length > inner:
            yield f"{loops('n', (outputs,))} t[n] = 0.0f;"
        yield f"uint32_t *const a = (uint32_t*)(r + {rows * wide}), *const b = a + {rows * half};"
        yield f"{loops('k', (rows * half,))} a[k] = pair(p[k * 2], p[k * 2 + 1]);"
        low, high = (f"q[(k * 2 + {later}) * {wide} + n]" for later in (0, 1))
        yield f"{loops('kn', (half, outputs))} b[k * {wide} + n] = pair({low}, {high});"
        yield f"{ORDERS[order]}(a, b, r, {rows}, {half}, {wide});"
    else:
        yield f"{ORDERS[order]}(p, q, r, {rows}, {inner}, {wide});"
    value = "s[n]"
    if len(places) > 2:
        bias = places[2].viewed(lambda tensor: tensor.view(-1))
        assert bias is not None
        value = f"({value} + load({bias.at('n')}))"
    value = _ENDS[end[0]].format(value) if end else value
    value = f"rounded({value})" if context.container is torch.bfloat16 else value
    to = result.at(0, 0, "m", "n")
    yield f"{loops('m', (rows,))} {{ {loops('n', (outputs,))} store({to}, {value}); s += {wide}; }} }}"


def _pixel(place: Place, geometry: Geometry, *, following: bool = False) -> str:
    """Returns the C++ of an element of the image: in batch ``i``, under row ``y``, column ``x`` and channel ``c`` of
    the kernel when that computes row ``h`` and column ``w`` of the result.

    Args:
        following: returns the first channel one column further on, 0 beyond the image. oneDNN multiplies it by 0 where
            a pair has no second element, which shows where it is infinite or NaN.
    """
    stride, _, dilation, _ = geometry.window
    height, width = geometry.input_height, geometry.input_width
    row, column = f"h * {stride[0]} + y * {dilation[0]}", f"w * {stride[1]} + x * {dilation[1]} + {int(following)}"
    at = f"(i * {height} + {row}) * {width} + {column}"
    value = f"load({place.at(0, 0, at, 0 if following else 'c')})"
    return f"({column} < {width} ? {value} : 0.0f)" if following else value


CONVOLUTIONS = Family(
    ops=("ttnn.conv2d",),
    takes=_takes,
    forms=_forms,
    drawn=_drawn,
    computed=_computed,
    room=_room,
    emit=_emitted,
    probe="",
    calls=8,
)
