"""C++ of convolutions in which each channel has a kernel of its own."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch

from tt_xla.runtime.emulator import depthwise, matrix_unit
from tt_xla.runtime.emulator.containers import CONTAINERS
from tt_xla.runtime.emulator.context import Context
from tt_xla.runtime.emulator.functions import FUNCTIONS
from tt_xla.runtime.emulator.fused.cpp import GRAIN, Operand, Place, contiguous, loops
from tt_xla.runtime.emulator.fused.rows import has_cpp
from tt_xla.runtime.emulator.windows import Geometry

Attributes = Mapping[str, Any]


@dataclass(frozen=True)
class _Convolution:
    """Sizes of a depthwise convolution."""

    geometry: Geometry

    @cached_property
    def image(self) -> tuple[int, int, int, int]:
        """Images, height, width and channels with the padding."""
        top, bottom, left, right = self.geometry.sides
        height, width = self.geometry.input_height + top + bottom, self.geometry.input_width + left + right
        return self.geometry.batch_size, height, width, self.geometry.in_channels

    @cached_property
    def taps(self) -> tuple[int, int]:
        """Height and width of a kernel."""
        return self.geometry.weight[2], self.geometry.weight[3]

    @cached_property
    def size(self) -> tuple[int, int]:
        """Height and width of the result."""
        geometry = self.geometry
        return depthwise.result_size(geometry.image_shape, geometry.weight, geometry.window)

    @property
    def parts(self) -> tuple[int, int, int]:
        """Floats of the image, of the kernels and of the result."""
        channels, count = self.geometry.in_channels, math.prod(self.size) * self.geometry.batch_size
        return math.prod(self.image), math.prod(self.taps) * channels, count * channels


def takes_convolution(context: Context, attributes: Attributes) -> bool:
    """Whether a convolution is written in C++."""
    names = list(context.operands)
    if names not in (["input", "weight"], ["input", "weight", "bias"]):
        return False
    dtypes = [CONTAINERS[spec.layout.dtype] for spec in context.specs]
    config = attributes.get("compute_config")
    if not set(dtypes) <= {torch.bfloat16, torch.float32} or ("bias" in names and dtypes[1] is not dtypes[2]):
        return False
    if not matrix_unit.is_one_product(config, silicon=context.silicon):
        return False
    geometry = Geometry.of(attributes)
    plain = context.spec("weight").shape == geometry.weight and not geometry.stores_blocks
    known = geometry.activation is None or has_cpp(geometry.activation)
    return plain and known and depthwise.takes(geometry.image_shape, geometry.weight, geometry.window)


def convolution_room(context: Context, attributes: Attributes) -> int:
    """Returns the number of floats that a convolution takes: image, kernels and result."""
    return sum(_Convolution(Geometry.of(attributes)).parts)


def emit_convolution(
    context: Context, attributes: Attributes, places: Sequence[Place], result: Place | None
) -> Iterator[str]:
    """Writes a depthwise convolution: its operands as the library's function reads them, its call and what ends it."""
    assert result is not None
    convolution = _Convolution(Geometry.of(attributes))
    config = attributes.get("compute_config")
    masks = [matrix_unit.mask_of(bits) for bits in matrix_unit.source_bits(config, silicon=context.silicon)]
    x, weight, *bias = places
    of_image, of_kernels, _ = convolution.parts
    yield f"float *const p = room, *const w = p + {of_image}, *const y = w + {of_kernels};"
    yield from _image(convolution, x, masks[0])
    yield from _kernels(convolution, weight, masks[1])
    geometry = convolution.geometry
    stride, _, dilation, _ = geometry.window
    numbers = (*convolution.image, *convolution.taps, *convolution.size, *stride, *dilation)
    yield f"const int64_t sizes[] = {{{', '.join(map(str, numbers))}}};"
    yield "depthwise(p, w, y, sizes);"
    channels = geometry.in_channels
    rows = geometry.batch_size * math.prod(convolution.size)
    value = f"y[i * {channels} + c]" + (f" + load({_row(bias[0], channels).at('c')})" if bias else "")
    if geometry.activation:
        value = FUNCTIONS[geometry.activation].cpp.format(x=value, p="")
    value = f"rounded({value})" if context.container is torch.bfloat16 else value
    to = result.viewed(lambda tensor: tensor.view(rows, channels))
    assert to is not None
    yield _threads(rows * channels) + loops("i", (rows,))
    yield f"{{\n#pragma omp simd\n{loops('c', (channels,))} store({to.at('i', 'c')}, {value}); }}"


def _image(convolution: _Convolution, x: Place, mask: int) -> Iterator[str]:
    """Writes the image at ``p``, with zeros around it, cut to the bits that the matrix unit reads."""
    geometry = convolution.geometry
    top, _, left, _ = geometry.sides
    _, height, width, channels = convolution.image
    inside = (geometry.batch_size, geometry.input_height, geometry.input_width, channels)
    if any(geometry.sides):
        yield f"std::memset(p, 0, {math.prod(convolution.image) * 4}L);"
    own = Place(x.pointer, Operand(inside, contiguous(inside), x.operand.dtype))
    names = ("n", "i", "j", "c")
    to = f"p[((n * {height} + i + {top}) * {width} + j + {left}) * {channels} + c]"
    yield _threads(math.prod(inside), together=3) + loops(names[:3], inside[:3])
    value = f"load({own.at(*names)})"
    value = value if mask == 0xFFFFFFFF else f"cut({value}, 0x{mask:08x}u)"
    yield f"{{\n#pragma omp simd\n{loops('c', (channels,))} {to} = {value}; }}"


def _kernels(convolution: _Convolution, weight: Place, mask: int) -> Iterator[str]:
    """Writes the kernels at ``w`` with their channels side by side, cut to the bits that the matrix unit reads."""
    (rows, columns), channels = convolution.taps, convolution.geometry.in_channels
    value = f"load({weight.at('c', '0', 'i', 'j')})"
    value = value if mask == 0xFFFFFFFF else f"cut({value}, 0x{mask:08x}u)"
    yield f"{loops('ijc', (rows, columns, channels))} w[(i * {columns} + j) * {channels} + c] = {value};"


def _row(bias: Place, channels: int) -> Place:
    """Returns the first elements of a bias as a row."""
    row = bias.viewed(lambda tensor: tensor.reshape(-1)[:channels])
    assert row is not None
    return row


def _threads(count: int, together: int = 1) -> str:
    """Returns the line that has threads share loops over many elements."""
    return f"#pragma omp parallel for collapse({together})\n" if count > GRAIN else ""
