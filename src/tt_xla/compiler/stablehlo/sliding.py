"""Sliding windows with any element type and any of the common reducers, as combinations of shifted slices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import bf16
from xdsl.ir import SSAValue

from tt_xla.compiler.stablehlo.context import ImportContext
from tt_xla.compiler.stablehlo.structure import crop, extend, spread_with
from tt_xla.ir import shapes, ttir
from tt_xla.ir.base import shape, tensor, tensor_type
from tt_xla.ir.ttir.structure import SliceStaticOp

COMBINERS = {
    "stablehlo.add": "add",
    "stablehlo.maximum": "maximum",
    "stablehlo.minimum": "minimum",
    "stablehlo.multiply": "multiply",
}
ON_BOOLEANS = {
    "stablehlo.add": "logical_or",
    "stablehlo.and": "logical_and",
    "stablehlo.maximum": "logical_or",
    "stablehlo.minimum": "logical_and",
    "stablehlo.multiply": "logical_and",
    "stablehlo.or": "logical_or",
}
"""TTIR op that combines two elements, by reducer. TTIR holds booleans as 0 and 1 in bfloat16."""

Combine = Callable[[SSAValue, SSAValue], SSAValue]
"""Emits the combination of two tensors."""


def padding_of(op: Any, rank: int) -> list[tuple[int, int]]:
    """Returns the padding before and after each dimension over which a window slides."""
    if "padding" not in op.attributes:
        return [(0, 0)] * rank
    return [(int(low), int(high)) for low, high in np.array(op.attributes["padding"]).reshape(rank, 2)]


def windows_of(op: Any) -> list[shapes.Window]:
    """Returns the window of a ``reduce_window`` or ``select_and_scatter`` along each dimension of its operand."""
    rank = len(op.operands[0].type.shape)
    names = ("window_dimensions", "window_strides", "window_dilations", "base_dilations")
    sizes, strides, dilations, base = (
        [int(number) for number in op.attributes[name]] if name in op.attributes else [1] * rank for name in names
    )
    edges = zip(*padding_of(op, rank), strict=True)
    return list(map(shapes.Window, sizes, strides, *edges, dilations, base))


def slide(context: ImportContext, op: Any, reducer: str, windows: Sequence[shapes.Window]) -> SSAValue:
    """Converts ``stablehlo.reduce_window`` one dimension at a time.

    Each dimension takes at most twice as many steps as the window size has bits. The initial value must be the neutral
    element of the reducer; padding and the gaps of a dilated input are filled with it.

    Args:
        reducer: name of the one op in the body.
        windows: the window along each dimension.

    Raises:
        UnsupportedOpError: no elementwise op combines two elements like the body.
    """
    type_ = context.result_type(op)
    boolean = str(op.results[0].type.element_type) == "i1"
    name = (ON_BOOLEANS if boolean else COMBINERS).get(reducer)
    if name is None:
        raise context.reject(op, "its body is not one add, multiply, maximum, minimum, or boolean and or or")
    kind = ttir.BINARY_OPS[name]

    def combine(lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        return context.emit(kind, [lhs, rhs], tensor(shape(lhs), bf16 if boolean else type_.element_type))

    value, initial = context.operands(op)
    for dim, window in enumerate(windows):
        value = spread_with(context, value, dim, window.base_dilation, initial)
        value = crop(context, value, dim, max(0, -window.low), shape(value)[dim] - max(0, -window.high))
        value = extend(context, value, dim, (max(0, window.low), max(0, window.high)), initial)
        value = _along(context, value, dim, (window.kernel, window.dilation), combine)
        value = strided(context, value, dim, window.stride)
    return value


def _along(context: ImportContext, value: SSAValue, dim: int, window: tuple[int, int], combine: Combine) -> SSAValue:
    """Combines the elements of each window along one dimension.

    A window of 2, 4, 8, ... elements is the combination of two windows of half its size. A window of another size is a
    sequence of such windows, one for each binary digit of the size that is 1.

    Args:
        window: number of elements, and distance between them.
    """
    size, step = window
    length = shape(value)[dim] - (size - 1) * step
    combined: SSAValue | None = None
    done, power = 0, 1
    while True:
        if size & power:
            window_slice = crop(context, value, dim, done * step, done * step + length)
            combined = window_slice if combined is None else combine(combined, window_slice)
            done += power
        if done == size:
            assert combined is not None
            return combined
        full_length = shape(value)[dim]
        first = crop(context, value, dim, 0, full_length - power * step)
        value = combine(first, crop(context, value, dim, power * step, full_length))
        power *= 2


def strided(context: ImportContext, value: SSAValue, dim: int, stride: int) -> SSAValue:
    """Slices a dimension with a stride."""
    sizes = shape(value)
    if stride == 1:
        return value
    steps = tuple(stride if d == dim else 1 for d in range(len(sizes)))
    result_shape = (*sizes[:dim], -(-sizes[dim] // stride), *sizes[dim + 1 :])
    type_ = tensor(result_shape, tensor_type(value).element_type)
    return context.emit(SliceStaticOp, [value], type_, begins=(0,) * len(sizes), ends=sizes, step=steps)
